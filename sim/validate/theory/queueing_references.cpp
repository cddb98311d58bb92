// References to shared texts: hit rates against those that theory gives for LRU, FIFO and a time to live.
#include "validate/theory/queueing.h"
#include "validate/theory/theory.h"

namespace kvcap {
namespace {

// ---- references ----

constexpr std::size_t kItems = 5000;
constexpr std::size_t kPlaces = 500;

// A cache of kPlaces is full and forgets how it began long before that.
constexpr int64_t kReferenceWarmup = 8000;
std::size_t references_of(const SuiteOptions& options) { return options.quick ? 20000 : 60000; }

Workload drawn_references(const std::vector<double>& popularity, const std::vector<double>& arrivals_s,
                          uint64_t seed) {
  Workload workload = reference_workload(arrivals_s, draw_references(arrivals_s.size(), popularity, seed));
  workload.warmup_turns = kReferenceWarmup;
  return workload;
}

double hit_rate(const RunResult& run) {
  return mean_of(run, [](const TurnRecord& turn) { return turn.hit_tokens > 0 ? 1.0 : 0.0; });
}

double stack_hit_rate(const Workload& workload, int64_t places) {
  LruStack stack(workload.pieces.size());
  double hits = 0;
  for (std::size_t i = 0; i < workload.pieces.size(); ++i) {
    const int64_t distance = stack.distance(workload.pieces[i].key);
    const bool counts = static_cast<int64_t>(i) >= workload.warmup_turns;
    if (counts && distance > 0 && distance <= places) ++hits;
    stack.use(workload.pieces[i].key);
  }
  return hits / static_cast<double>(std::ssize(workload.turns) - workload.warmup_turns);
}

Experiment lru(double alpha, const std::string& name, std::size_t count) {
  const std::vector<double> popularity = zipf(kItems, alpha);
  const std::string of = " of LRU, 500 places, 5,000 texts of Zipf popularity " + name;
  return {
      .scenario = cache_scenario(EvictionKind::lru, kPlaces),
      .workload = [=](uint64_t seed) { return drawn_references(popularity, seconds_apart(count), seed); },
      .measure =
          [](const Workload& workload, const RunResult& run) {
            return std::vector<double>{hit_rate(run), hit_rate(run), stack_hit_rate(workload, kPlaces)};
          },
      .predictions = {{"lru.zipf_" + name + ".che", "hit rate against Che's" + of,
                       lru_hit_rate(popularity, kPlaces)},
                      {"lru.zipf_" + name + ".stack",
                       "hit rate against the stack distances of the same references" + of, std::nullopt}}};
}

Experiment fifo(double alpha, const std::string& name, std::size_t count) {
  const std::vector<double> popularity = zipf(kItems, alpha);
  return {.scenario = cache_scenario(EvictionKind::fifo, kPlaces),
          .workload = [=](uint64_t seed) { return drawn_references(popularity, seconds_apart(count), seed); },
          .measure = [](const Workload&, const RunResult& run) { return std::vector<double>{hit_rate(run)}; },
          .predictions = {{"fifo.zipf_" + name + ".che",
                           "hit rate of FIFO, 500 places, 5,000 texts of Zipf popularity " + name,
                           fifo_hit_rate(popularity, kPlaces)}}};
}

Experiment ttl(double alpha, const std::string& name, std::size_t count) {
  constexpr double kTtl_s = 1000;
  const std::vector<double> popularity = zipf(kItems, alpha);
  Scenario scenario = cache_scenario(EvictionKind::lru, 2 * kItems);
  scenario.policy.ttl_s = kTtl_s;
  return {.scenario = scenario,
          .workload =
              [=](uint64_t seed) {
                return drawn_references(popularity, poisson_arrivals_s(count, 1, seed), seed);
              },
          .measure = [](const Workload&, const RunResult& run) { return std::vector<double>{hit_rate(run)}; },
          .predictions = {{"ttl.zipf_" + name,
                           "hit rate of an unbounded store that drops what was unused for 1,000 s, one "
                           "reference a second to 5,000 texts of Zipf popularity " +
                               name,
                           ttl_hit_rate(popularity, 1, kTtl_s)}}};
}

}  // namespace

std::vector<Experiment> reference_experiments(const SuiteOptions& options) {
  const std::size_t count = references_of(options);
  return {lru(0.8, "0.8", count), lru(1.2, "1.2", count), fifo(0.8, "0.8", count), ttl(0.8, "0.8", count)};
}

}  // namespace kvcap
