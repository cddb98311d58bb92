// A check: what the simulator gives beside what a paper prints, a table lists or a theory says, with what was
// tuned for it and a verdict. kvcap validate prints checks; it never adjusts anything. What README promises
// is marked: outside, it makes the command fail.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// exact: printed numbers, one for one with the simulated ones. range: a printed span in which every simulated
// number should lie. order: an ordering that `holds` or not. at_most: an error of many cases, which is itself
// what is simulated, and the share up to which README vouches for it.
enum class Claim : uint8_t { exact, range, order, at_most };

// test: nothing was set so that it comes out. fitted: a parameter was chosen by this number, or by the data
// that it sums up. input: the number was given to the simulator, or follows from such by arithmetic.
enum class Role : uint8_t { test, fitted, input };
inline constexpr std::string_view kRoleNames[] = {"test", "fitted", "input"};

enum class Agreement : uint8_t { inside, near, outside, not_comparable };
inline constexpr std::string_view kAgreementNames[] = {"inside", "near", "outside", "not comparable"};

struct Check {
  std::string id;  // that of the published number
  std::string suite;
  std::string what;
  std::string source;  // where the reference is printed; may be empty
  Claim claim = Claim::exact;
  Role role = Role::test;
  std::vector<double> simulated;
  std::vector<double> reference;  // range: its two ends; order: empty; at_most: the limit
  bool holds = false;             // order
  // An exact number is inside up to `exact_tolerance`, any number near up to `tolerance`: relative distances,
  // or those of shares themselves (`absolute`).
  double exact_tolerance = 0.02;
  double tolerance = 0.1;
  bool absolute = false;
  bool promised = false;
  // Of simulated means, at the stated confidence: an exact number within its half-width is inside.
  std::vector<double> half_width;
  double error = 0;  // distance of the worst number, as it is; 0 inside a range
  std::vector<std::string> tuned;
  Agreement verdict = Agreement::not_comparable;
  std::string reason;  // why it is not inside or cannot be compared
  // What a summary sums up, for charts: pairs of single figures in one unit.
  struct Case {
    double simulated = 0, reference = 0;
  };
  std::vector<Case> cases;
};

// Fills error and verdict. REQUIRES: as many references as the claim asks for.
void judge(Check& check);

// Ids of what is promised and outside.
std::string broken_promises(const std::vector<Check>& checks);

// "schema": "kvcap.validation/1".
std::string validation_json(const std::vector<Check>& checks);
// At most 100 columns: a line a check, the reasons of what is not inside, and a summary a suite.
std::string validation_table(const std::vector<Check>& checks);
// A line of README: a check whose error it shows, and of its runs the best error that others published, and
// the check of the share of measured means that their 80 % intervals contain.
struct Headline {
  std::string_view what, runs, check;
  std::string_view peer = "none";
  std::string_view coverage = "";  // "": no intervals
};

// Three tables in Markdown: the headlines, which README shows; a row a suite (verdicts and median error of
// its tests, what was fitted or given, tuned parameters, the worst test); and every check.
std::string validation_markdown(const std::vector<Check>& checks, std::span<const Headline> headlines);

}  // namespace kvcap
