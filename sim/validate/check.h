// Check: compares simulated numbers with published, measured or theoretical ones, and records the verdict and
// the parameters that were tuned for them. kvcap validate prints checks; it never adjusts anything. Checks
// marked `promised` are the accuracy that README states: the command fails if one of them is outside.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/text/names.h"

namespace kvcap {

// exact: each simulated number should equal a published one. range: all simulated numbers should lie in a
// published range. order: an ordering, which holds or does not. at_most: an error over many cases, which is
// the simulated number, should not exceed the limit that README states.
enum class Claim : uint8_t { exact, range, order, at_most };

// test: held out; nothing was fitted to this number. fitted: a parameter was chosen by this number, or by the
// data that it summarises. input: the number was given to the simulator, or follows from given numbers by
// arithmetic.
enum class Role : uint8_t { test, fitted, input };
inline constexpr std::string_view kRoleNames[] = {"test", "fitted", "input"};
constexpr Names names_of(Role) { return kRoleNames; }

enum class Agreement : uint8_t { inside, near, outside, not_comparable };
inline constexpr std::string_view kAgreementNames[] = {"inside", "near", "outside", "not comparable"};

struct Check {
  std::string id;  // id of the published number
  std::string suite;
  std::string what;
  std::string source;  // where the reference is published; may be empty
  Claim claim = Claim::exact;
  Role role = Role::test;
  std::vector<double> simulated;
  std::vector<double> reference;  // range: the two ends; order: empty; at_most: the limit
  bool holds = false;             // order: whether the ordering holds
  // A number is inside an exact claim if it is off by at most `exact_tolerance`; any number is near if it is
  // off by at most `tolerance`. Errors are relative, or differences of shares if `absolute`.
  double exact_tolerance = 0.02;
  double tolerance = 0.1;
  bool absolute = false;
  bool promised = false;
  // Half-widths of the confidence intervals of simulated means. A mean of an exact claim is also inside if it
  // is off by at most its half-width.
  std::vector<double> half_width;
  double error = 0;  // largest error of any number; 0 inside a range
  std::vector<std::string> tuned;
  Agreement verdict = Agreement::not_comparable;
  std::string reason;  // why the check is not inside or not comparable
  // The single numbers that a summary summarises, for charts; all in one unit.
  struct Case {
    double simulated = 0, reference = 0;
  };
  std::vector<Case> cases;
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
