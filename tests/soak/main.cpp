// kvcap_soak [COUNT [FIRST]]: runs COUNT random scenarios from number FIRST on, prints those in which a law
// is broken and how to run one of them again.
#include <cstdio>
#include <exception>
#include <string>

#include "soak/scenario_generator.h"
#include "soak/soak.h"

int main(int argc, char** argv) try {
  using namespace kvcap::soak;
  const uint64_t count = argc > 1 ? std::stoull(argv[1]) : 1000;
  const uint64_t first = argc > 2 ? std::stoull(argv[2]) : 1;
  if (argc > 1 && count == 0) {  // only shows one
    std::puts(scenario_json(first).c_str());
    return 0;
  }
  const Tally tally = soak(
      first, count,
      [](const Finding& finding) {
        std::printf("scenario %llu: %s\n%s\nagain: %s 1 %llu\n\n",
                    static_cast<unsigned long long>(finding.number), finding.what.c_str(),
                    finding.scenario.c_str(), "kvcap_soak", static_cast<unsigned long long>(finding.number));
        std::fflush(stdout);
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
