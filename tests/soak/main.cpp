// Command line of the soak:
//   kvcap_soak [COUNT [FIRST]]            runs COUNT random scenarios from number FIRST on; prints those that
//                                         break a law, and the arguments that repeat one of them
//   kvcap_soak edges [COUNT [FIRST]]      runs scenarios with numbers at the limits of their ranges
//   kvcap_soak edge HEX                   prints and runs one of these scenarios
//   kvcap_soak plans [COUNT [FIRST]]      compares random small plans with exhaustive search
//   kvcap_soak plan NUMBER                prints one of these plans
//   kvcap_soak verdicts [COUNT [FIRST [SESSIONS]]]
//                                         measures how often verdicts on stability are wrong (verdicts.h)
//   kvcap_soak verdict NUMBER             prints one of these scenarios
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "soak/edge_values.h"
#include "soak/hints.h"
#include "soak/plans.h"
#include "soak/scenario_generator.h"
#include "soak/soak.h"
#include "soak/verdicts.h"

namespace {

using namespace kvcap::soak;

std::string program = "kvcap_soak";  // the name that it was called with

void print_again(const std::string& hint) {
  std::printf("again: %s %s\n", program.c_str(), hint.c_str());
  std::fflush(stdout);
}

void print(const EdgeFinding& finding) {
  std::printf("%s: %s\n", edge_changes(finding.bytes).c_str(), finding.what.c_str());
  print_again(edge_hint(finding.bytes));
}

// Prints the scenario and the result of its run. `kvcap run` on the printed file is a different run: sessions
// of the soak share documents, branch and have pieces, which no generated source has.
int run_edge(const std::string& hex) {
  const std::string bytes = bytes_of(hex);
  std::puts(edge_scenario(bytes).c_str());
  const EdgeTally tally = run_edges({bytes}, {.reduces = false});
  for (const EdgeFinding& finding : tally.findings) print(finding);
  if (tally.findings.empty()) std::puts(tally.ran > 0 ? "breaks no law" : "is refused or skipped");
  return tally.findings.empty() ? 0 : 1;
}

int run_edge_values(uint64_t count, uint64_t first) {
  EdgeTally sum;
  constexpr uint64_t kAtOnce = 1000;
  for (uint64_t begin = first; begin < first + count; begin += kAtOnce) {
    std::vector<std::string> bytes;
    for (uint64_t i = begin; i < std::min(begin + kAtOnce, first + count); ++i)
      bytes.push_back(edge_bytes(i));
    const EdgeTally tally = run_edges(bytes);
    sum.ran += tally.ran;
    sum.refused += tally.refused;
    sum.skipped += tally.skipped;
    for (const EdgeFinding& finding : tally.findings) {
      sum.findings.push_back(finding);
      print(finding);
    }
  }
  std::printf("%lld scenarios ran, %lld were refused, %lld skipped, %zu broke a law\n",
              static_cast<long long>(sum.ran), static_cast<long long>(sum.refused),
              static_cast<long long>(sum.skipped), sum.findings.size());
  return sum.findings.empty() ? 0 : 1;
}

int run_plans(uint64_t count, uint64_t first) {
  std::puts(
      "plan  configurations  simulations  verified  wrong   $/h found  exhaustive  meeting  unclear  "
      "winners");
  int64_t tally[3] = {};
  for (uint64_t number = first; number < first + count; ++number) {
    const PlanOutcome one = compare_with_exhaustive(number);
    ++tally[static_cast<std::size_t>(one.agreement)];
    std::printf("%4llu  %14lld  %11lld  %8lld  %5lld  %10.4f  %10.4f  %7lld  %7lld  %s%s%s\n",
                static_cast<unsigned long long>(one.number), static_cast<long long>(one.configurations),
                static_cast<long long>(one.simulations), static_cast<long long>(one.verified),
                static_cast<long long>(one.wrong), one.found_usd_per_hour, one.least_usd_per_hour,
                static_cast<long long>(one.meeting), static_cast<long long>(one.unclear), name(one.agreement),
                one.what.empty() ? "" : ": ", one.what.c_str());
    if (one.agreement == Agreement::different) print_again(plan_hint(number));
    std::fflush(stdout);
  }
  std::printf("%llu plans: %lld winners are the same, %lld are not told apart, %lld are different\n",
              static_cast<unsigned long long>(count), static_cast<long long>(tally[0]),
              static_cast<long long>(tally[1]), static_cast<long long>(tally[2]));
  return tally[2] == 0 ? 0 : 1;
}

int run_verdicts(uint64_t first, uint64_t count, int64_t long_sessions) {
  std::printf("setting   ratio  limit, sessions/s       verdict    sessions\n");
  const VerdictTally tally = check_verdicts(first, count, long_sessions, [](const VerdictCase& one) {
    const char* remark = !one.truth_is_known() ? "  may be the limit" : one.is_wrong() ? "  WRONG" : "";
    std::printf("%7llu  %6.3f  %8.4g to %8.4g  %-10s  %8lld%s\n", static_cast<unsigned long long>(one.number),
                one.ratio, one.low_per_s, one.high_per_s, std::string(name(one.verdict)).c_str(),
                static_cast<long long>(one.sessions), remark);
    std::fflush(stdout);
  });
  std::printf(
      "%lld settings: %lld wrong, %lld undecided (%lld of them more than 3 %% off the limit); "
      "%lld at rates that may be the limit and %lld without a limit do not count\n",
      static_cast<long long>(tally.told), static_cast<long long>(tally.wrong),
      static_cast<long long>(tally.undecided), static_cast<long long>(tally.undecided_far),
      static_cast<long long>(tally.unknown), static_cast<long long>(tally.refused));
  return tally.wrong * 50 > tally.told || tally.undecided_far > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  program = argv[0];
  if (argc > 1 && std::string_view(argv[1]) == "edges") {
    return run_edge_values(argc > 2 ? std::stoull(argv[2]) : 1000, argc > 3 ? std::stoull(argv[3]) : 1);
  }
  if (argc > 2 && std::string_view(argv[1]) == "edge") {
    return run_edge(argv[2]);
  }
  if (argc > 1 && std::string_view(argv[1]) == "plans") {
    return run_plans(argc > 2 ? std::stoull(argv[2]) : 40, argc > 3 ? std::stoull(argv[3]) : 1);
  }
  if (argc > 2 && std::string_view(argv[1]) == "plan") {
    std::puts(plan_json(std::stoull(argv[2])).c_str());
    return 0;
  }
  if (argc > 1 && std::string_view(argv[1]) == "verdicts") {
    return run_verdicts(argc > 3 ? std::stoull(argv[3]) : 1, argc > 2 ? std::stoull(argv[2]) : 200,
                        argc > 4 ? std::stoll(argv[4]) : 8000);
  }
  if (argc > 2 && std::string_view(argv[1]) == "verdict") {
    std::puts(verdict_scenario(std::stoull(argv[2])).c_str());
    return 0;
  }
  const uint64_t count = argc > 1 ? std::stoull(argv[1]) : 1000;
  const uint64_t first = argc > 2 ? std::stoull(argv[2]) : 1;
  if (argc > 1 && count == 0) {  // only prints a case
    std::puts(scenario_json(first).c_str());
    return 0;
  }
  const Tally tally = soak(
      first, count,
      [](const Finding& finding) {
        std::printf("scenario %llu: %s\n%s\n", static_cast<unsigned long long>(finding.number),
                    finding.what.c_str(), finding.scenario.c_str());
        print_again(scenario_hint(finding.number));
      },
      [](const Finding& refusal) {
        std::fprintf(stderr, "scenario %llu is refused: %s\n",
                     static_cast<unsigned long long>(refusal.number), refusal.what.c_str());
      });
  std::printf("%lld scenarios of %lld turns ran, %lld were refused, %lld broke a law\n",
              static_cast<long long>(tally.ran), static_cast<long long>(tally.turns),
              static_cast<long long>(tally.refused), static_cast<long long>(tally.found));
  return tally.found > 0 ? 1 : 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "kvcap_soak: %s\n", error.what());
  return 2;
}
