// Check: a comparison of simulated numbers with a paper, a table or a theory, with the parameters tuned for
// it and a verdict. kvcap validate prints checks; it never adjusts anything. Checks marked `promised` are the
// stated accuracy of README: the command fails if one is outside.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kvcap {

// exact: each simulated number against a printed one. range: all simulated numbers against a printed span.
// order: an ordering that `holds` or not. at_most: an error over many cases (which is the simulated number)
// against the limit that README states.
enum class Claim : uint8_t { exact, range, order, at_most };

// test: held out, nothing was fitted to it. fitted: a parameter was chosen by this number, or by the data
// that it summarises. input: the number was given to the simulator, or follows from given numbers by
// arithmetic.
enum class Role : uint8_t { test, fitted, input };
inline constexpr std::string_view kRoleNames[] = {"test", "fitted", "input"};

enum class Agreement : uint8_t { inside, near, outside, not_comparable };
inline constexpr std::string_view kAgreementNames[] = {"inside", "near", "outside", "not comparable"};

struct Check {
  std::string id;  // id of the published number
  std::string suite;
  std::string what;
  std::string source;  // place of the printed reference; may be empty
  Claim claim = Claim::exact;
  Role role = Role::test;
  std::vector<double> simulated;
  std::vector<double> reference;  // range: the two ends; order: empty; at_most: the limit
  bool holds = false;             // result of an order
  // Tolerances: an exact number is inside up to `exact_tolerance`, any number near up to `tolerance`.
  // Distances are relative, or differences of shares (`absolute`).
  double exact_tolerance = 0.02;
  double tolerance = 0.1;
  bool absolute = false;
  bool promised = false;
  // Half-widths of simulated means at the stated confidence; an exact number within its half-width is inside.
  std::vector<double> half_width;
  double error = 0;  // distance of the worst number; 0 inside a range
  std::vector<std::string> tuned;
  Agreement verdict = Agreement::not_comparable;
  std::string reason;  // why the check is not inside or not comparable
  // Single figures of a summary, for charts; all in one unit.
  struct Case {
    double simulated = 0, reference = 0;
  };
  std::vector<Case> cases;
  std::string cases_of;  // the policy whose restorations the cases are; empty: other figures
  // A simulated number as a point of a published figure, beside the published number or range.
  struct Point {
    std::string figure, y_axis, series;
    std::variant<double, std::string> x;  // a number or the name of a case
    double simulated = 0;
    std::vector<double> published;  // one number, the two ends of a range, or none
  };
  std::string x_axis;  // name and unit
  std::vector<Point> points;
};

// Sets error and verdict. REQUIRES: the number of references that the claim needs.
void judge(Check& check);

// Returns the ids of promised checks that are outside.
std::string broken_promises(const std::vector<Check>& checks);

// Returns "schema": "kvcap.validation/1".
std::string validation_json(const std::vector<Check>& checks);
// Returns at most 100 columns: one line per check, the reasons of checks that are not inside, one summary per
// suite.
std::string validation_table(const std::vector<Check>& checks);
// A line of README's accuracy table: a check with its error, its runs, the best published error for such
// runs, and the check of the share of measured means inside their 80 % intervals.
struct Headline {
  std::string_view what, runs, check;
  std::string_view peer = "none";
  std::string_view coverage = "";  // "": no intervals
};

// Returns three tables in Markdown: the headlines, which README shows; one row per suite (verdicts and median
// error of its tests, counts of fitted and given numbers, tuned parameters, the worst test); and every check.
std::string validation_markdown(const std::vector<Check>& checks, std::span<const Headline> headlines);

}  // namespace kvcap
