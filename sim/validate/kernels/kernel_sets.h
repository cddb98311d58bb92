// KernelSets: tables of measured kernel times that a study compares with the cost model. In a study file
// (kvcap.study/1) they are under the key `kernels`. scenarios/reference/files.md lists the keys.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/field_visitor.h"
#include "validate/check.h"

namespace kvcap {

// A GPU whose kernels were measured, and the names that tables and texts use for it.
struct KernelMachine {
  std::string id, profile;
  std::map<std::string, std::string> names;  // replace {NAME} in paths, table conditions and texts
  std::map<std::string, double> numbers;     // named values for expressions
  std::optional<double> peak_flops, memory_bandwidth_bytes_per_s;  // instead of the profile's
  std::string reason;                                              // why nothing is promised on this machine
};

struct KernelTable {
  std::string csv, condition, source;
  std::map<std::string, std::vector<std::string>> where;
  std::map<std::string, std::vector<std::string>> split;  // columns of numbers divided by "/"
  std::map<std::string, std::string> calls;               // number of a call -> expression over the columns
  bool once = false;                                      // skips calls that the set already has
};

struct KernelCheck {
  std::string id, what, condition, reason;
  std::string fitted_to;  // field of the profile; if set, the check covers the fitted calls
  std::map<std::string, std::vector<std::string>> reasons;  // why nothing is promised -> ids of the machines
};

// The measured calls of one kernel on several machines, and the checks that summarise them.
struct KernelSet {
  std::string name, kernel, machines, what;
  std::vector<KernelTable> tables;
  Members<std::string> derived;  // further numbers of each call: expressions over the numbers before them
  std::string fitted;            // condition on the calls to which the profile was fitted
  std::vector<std::string> alternate;  // numbers of which every second distinct value was fitted
  double median = 0, p90 = 0;          // limits of the relative errors
  std::string p90_reason;              // why the 90th percentile is not promised
  std::vector<KernelCheck> checks;
  std::map<std::string, std::string> regimes;  // regime of the profiles' errors -> condition on its calls
  bool other_program = false;                  // measured with a program to which no profile is fitted
};

struct KernelSets {
  std::map<std::string, std::vector<KernelMachine>> machines;
  std::vector<KernelSet> sets;
};
void describe(FieldVisitor& visitor, KernelSets& sets);

// The ratio of a call's measured time to its modelled time, for the stated errors of profiles.
struct KernelError {
  std::string profile, regime, source;
  double log_ratio = 0;
  bool other_program = false;
};

// Returns the path of a data file; the file may not exist.
using DataPath = std::function<std::string(const std::string& written)>;

// Returns the median and the 90th percentile of the relative errors of each check on each machine.
std::vector<Check> kernel_checks(const KernelSets& sets, const std::string& suite, const DataPath& path_of);
// Returns the errors of the calls that belong to a regime and to which no profile was fitted. REQUIRES: the
// files exist.
std::vector<KernelError> kernel_errors(const KernelSets& sets, const DataPath& path_of);

}  // namespace kvcap
