// Check: a comparison of simulated numbers with published, measured or theoretical ones, with its verdict and
// the parameters that were tuned for the numbers. kvcap validate prints checks; it never adjusts anything.
// The checks marked `promised` make up the accuracy that README states: the command fails if one of them is
// outside.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/text/names.h"

namespace kvcap {

// What a check claims. exact: each simulated number equals a published one. range: all simulated numbers lie
// in a published range. order: the simulated numbers are in a stated order. at_most: the simulated number,
// which is an error over many cases, does not exceed a stated limit.
enum class Claim : uint8_t { exact, range, order, at_most };

// test: nothing was fitted to this reference number. fitted: a parameter was fitted to this number or to the
// data that it summarises. input: the number was given to the simulator, or follows from given numbers by
// arithmetic.
enum class Role : uint8_t { test, fitted, input };
inline constexpr std::string_view kRoleNames[] = {"test", "fitted", "input"};
constexpr Names names_of(Role) { return kRoleNames; }

enum class Agreement : uint8_t { inside, near, outside, not_comparable };
inline constexpr std::string_view kAgreementNames[] = {"inside", "near", "outside", "not comparable"};

struct Check {
  std::string id;  // identifies the check, e.g. "vllm.e2el.mean"
  std::string suite;
  std::string what;
  std::string source;  // where the reference is published; may be empty
  Claim claim = Claim::exact;
  Role role = Role::test;
  std::vector<double> simulated;
  std::vector<double> reference;  // range: the two ends; order: empty; at_most: the limit
  bool holds = false;             // order: whether the ordering holds
  // A number of an exact claim is inside if its error is at most `exact_tolerance`; a number of any claim is
  // near if its error is at most `tolerance`. Errors are relative, or differences of shares if `absolute`.
  double exact_tolerance = 0.02;
  double tolerance = 0.1;
  bool absolute = false;
  bool promised = false;
  // Half-widths of the confidence intervals of simulated means. A mean of an exact claim is also inside if it
  // differs from its reference by at most its half-width.
  std::vector<double> half_width;
  double error = 0;  // largest error of any number; 0 inside a range
  std::vector<std::string> tuned;
  Agreement verdict = Agreement::not_comparable;
  std::string reason;  // why the check is not inside or not comparable
  // For charts: the single numbers behind a summary of many cases, all in one unit.
  struct Case {
    double simulated = 0, reference = 0;
  };
  std::vector<Case> cases;
  std::string cases_of;  // the policy whose restorations the cases are; empty: other figures
  // A simulated number as a point of a published figure, together with the published number or range.
  struct Point {
    std::string figure, y_axis, series;
    std::variant<double, std::string> x;  // a number or the name of a case
    double simulated = 0;
    std::vector<double> published;  // one number, the two ends of a range, or none
  };
  std::string x_axis;  // name and unit
  std::vector<Point> points;
};

// Sets error and verdict. REQUIRES: `check` has as many references as its claim needs.
void judge(Check& check);

// Returns the ids of promised checks that are outside, separated by commas.
std::string broken_promises(const std::vector<Check>& checks);

}  // namespace kvcap
