// Named workloads: the requests of specific benchmarks and tests that no generator or trace reader can
// produce.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

// The parameters of a named workload, all of which are required.
class WorkloadParameters {
 public:
  explicit WorkloadParameters(nlohmann::ordered_json request) : request_(std::move(request)) {}
  // Throw InputError, without a place, for a parameter that is missing or of another type.
  double number(const char* name) const;
  uint32_t count(const char* name) const;
  std::string text(const char* name) const;

 private:
  const nlohmann::ordered_json& at(const char* name) const;
  nlohmann::ordered_json request_;
};

// Makes the workload that a request such as {"kind": "hit_burst", ...} describes. named_workloads.cpp lists
// the parameters of each kind; files are given as paths. Throws InputError, without a place, for an unknown
// kind.
Workload named_workload(const nlohmann::ordered_json& request);

// Returns the probabilities of ranks 1 .. count, proportional to rank^-alpha.
std::vector<double> zipf(std::size_t count, double alpha);

}  // namespace kvcap
