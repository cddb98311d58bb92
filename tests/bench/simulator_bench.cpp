// Benchmarks of the simulator's speed, as ratios to SimGrid's sleep_for, measured alternately: on noisy
// machines medians of ratios vary less. Every measurement runs in its own process, because SimGrid has one
// engine per process.
//
//   turns/<policy>      wall time of the chat workload of 5,678 sessions (ShareGPT if it is present), in
//                       turns per second and in sleep_for events per turn
//   turns/<policy>/no_prefix_cache
//                       turns/<policy> with serving.prefix_caching and asynchronous scheduling off: the cost
//                       of the engine's prefix cache
//   turns/shared_prefixes
//                       100 thousand questions about 2,000 documents, recompute: many sessions share chains
//   turns/cached_attention_overload, turns/mooncake
//                       wall time of CachedAttention's own setting and of an hour of hash blocks
//   size/N              wall time of chats of about N turns: the cost per turn must not depend on N
//   memory/<policy>     growth of peak memory between 30 thousand and 300 thousand turns, in bytes per turn
//   program/<workload>  a whole `kvcap run`, from start to end, in requests per second: Mooncake's hour, and
//                       5,000 requests of 200 tokens with answers of 270, Poisson at 4/s, a 7B model on one
//                       A100
//   read/sharegpt       reading ShareGPT's sessions from their file, in bytes and turns per second
//   startup             time of `kvcap --version`, compared with an empty program linked with libsimgrid
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xbt/log.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

constexpr int kSleeps = 200'000;

double sleep_for_s() {
  simgrid::s4u::Engine engine(std::string("sleep"));
  xbt_log_control_set("root.thresh:warning");
  auto* zone = simgrid::s4u::create_full_zone("root");
  auto* host = zone->create_host("home", 1);
  zone->seal();
  simgrid::s4u::Actor::create("sleeper", host, [] {
    for (int i = 0; i < kSleeps; ++i) simgrid::s4u::this_actor::sleep_for(0.01);
  });
  const auto start = Clock::now();
  engine.run();
  return seconds_since(start);
}

const std::string kShareGpt = KVCAP_SOURCE_DIR "/../shared/data/traces/sharegpt_turns_repaired.jsonl";

Scenario chat_scenario(const std::string& policy, int64_t sessions, bool real) {
  const bool sharegpt = real && std::filesystem::exists(kShareGpt);
  const std::string source = sharegpt ? R"({"kind": "sessions", "path": ")" + kShareGpt + R"("})"
                                      : std::string(R"({"kind": "chat"})");
  return parse_scenario(
      R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "a100-40g-4x-pm9a3",
      "serving": {"max_model_len": 16384},
      "workload": {"source": )" +
          source + R"(, "arrivals": {"sessions_per_s": 0.08}, "sessions": )" + std::to_string(sessions) +
          R"(},
      "policy": {"name": ")" +
          policy + R"(", "tiers": [{"kind": "ssd"}]}})",
      "bench", {});
}

// Each run is between two measurements of sleep_for, so that a temporary slowdown of the machine affects
// both.
void turns(benchmark::State& state, const Scenario& scenario) {
  const Workload workload = make_workload(scenario.workload, 1);
  const auto count = static_cast<double>(workload.turns.size());
  std::vector<double> turns_per_s;
  std::vector<double> sleeps_per_s;
  std::vector<double> sleeps_per_turn;
  double sleep_before_s = in_worker(sleep_for_s) / kSleeps;
  for (auto _ : state) {
    const double run_s = in_worker([&] { return simulate_s(scenario, workload); });
    const double sleep_after_s = in_worker(sleep_for_s) / kSleeps;
    const double sleep_s = (sleep_before_s + sleep_after_s) / 2;
    turns_per_s.push_back(count / run_s);
    sleeps_per_s.push_back(1 / sleep_s);
    sleeps_per_turn.push_back(run_s / count / sleep_s);
    sleep_before_s = sleep_after_s;
    state.SetIterationTime(run_s);
  }
  state.counters["turns"] = count;
  state.counters["pieces_per_turn"] = static_cast<double>(workload.pieces.size()) / count;
  state.counters["turns_per_s"] = median(turns_per_s);
  state.counters["sleep_for_per_s"] = median(sleeps_per_s);
  state.counters["sleep_for_per_turn"] = median(sleeps_per_turn);
}

double peak_memory_bytes(const Scenario& scenario) {
  const Workload workload = make_workload(scenario.workload, 1);
  const RunResult result = simulate(scenario, workload);
  benchmark::DoNotOptimize(result.turns.data());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

void memory(benchmark::State& state, const std::string& policy) {
  const Scenario few = chat_scenario(policy, 5'500, false);
  const Scenario many = chat_scenario(policy, 55'000, false);
  const auto turn_count = [](const Scenario& scenario) {
    return static_cast<double>(make_workload(scenario.workload, 1).turns.size());
  };
  const double more_turns = in_worker([&] { return turn_count(many) - turn_count(few); });
  double growth = 0;
  for (auto _ : state) {
    const auto start = Clock::now();
    growth = in_worker([&] { return peak_memory_bytes(many); }) -
             in_worker([&] { return peak_memory_bytes(few); });
    state.SetIterationTime(seconds_since(start));
  }
  state.counters["bytes_per_turn"] = growth / more_turns;
}

// Returns the wall time of a program in seconds.
double program_s(const char* path, std::initializer_list<const char*> arguments) {
  const auto start = Clock::now();
  const pid_t pid = fork();
  if (pid == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    std::vector<char*> argv{const_cast<char*>(path)};
    for (const char* argument : arguments) argv.push_back(const_cast<char*>(argument));
    argv.push_back(nullptr);
    execv(path, argv.data());
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error(std::string(path) + " failed");
  return seconds_since(start);
}

void startup(benchmark::State& state) {
  double least_kvcap_s = 1e300;
  double least_empty_s = 1e300;
  for (auto _ : state) {
    least_empty_s = std::min(least_empty_s, program_s(KVCAP_EMPTY_BINARY, {}));
    const double run_s = program_s(KVCAP_BINARY, {"--version"});
    least_kvcap_s = std::min(least_kvcap_s, run_s);
    state.SetIterationTime(run_s);
  }
  state.counters["kvcap_ms"] = 1e3 * least_kvcap_s;
  state.counters["empty_ms"] = 1e3 * least_empty_s;
  state.counters["ratio"] = least_kvcap_s / least_empty_s;
}

void program(benchmark::State& state, const std::string& scenario, int64_t requests) {
  double least_run_s = 1e300;
  for (auto _ : state) {
    const double run_s = program_s(KVCAP_BINARY, {"run", scenario.c_str()});
    least_run_s = std::min(least_run_s, run_s);
    state.SetIterationTime(run_s);
  }
  state.counters["requests_per_s"] = static_cast<double>(requests) / least_run_s;
}

// A file of equal requests that exists for one run.
class EqualRequests {
 public:
  static constexpr int64_t kCount = 5000;

  EqualRequests()
      : folder_(std::filesystem::temp_directory_path() / ("kvcap-bench-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    std::ofstream sessions(folder_ / "requests.jsonl");
    for (int64_t i = 0; i < kCount; ++i)
      sessions << R"({"id": )" << i << R"(, "turns": [{"input_tokens": 200, "output_tokens": 270}]})" << '\n';
    std::ofstream(path())
        << R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "a100-80g-sxm",
      "workload": {"source": {"kind": "sessions", "path": "requests.jsonl"}, "arrivals": {"sessions_per_s": 4}},
      "policy": {"name": "recompute"}})";
  }
  ~EqualRequests() { std::filesystem::remove_all(folder_); }
  EqualRequests(const EqualRequests&) = delete;
  EqualRequests& operator=(const EqualRequests&) = delete;

  std::string path() const { return folder_ / "scenario.json"; }

 private:
  std::filesystem::path folder_;
};

void equal_requests(benchmark::State& state) {
  const EqualRequests requests;
  program(state, requests.path(), EqualRequests::kCount);
}

// Returns CachedAttention's own setting: an overloaded server, a queue of thousands, constantly busy tiers.
Scenario overload_scenario() {
  return load_scenario(KVCAP_SOURCE_DIR "/scenarios/papers/cached_attention/figures_13_to_17.json", {});
}
Scenario stateless(const std::string& policy) {
  Scenario scenario = chat_scenario(policy, 5678, true);
  scenario.serving.prefix_caching = false;
  scenario.serving.async_scheduling = false;
  return scenario;
}
Scenario shared_prefixes() {
  return parse_scenario(
      R"({"schema": "kvcap.scenario/1", "model": "llama-3.1-8b", "hardware": "h100-sxm",
      "workload": {"source": {"kind": "long_context", "documents": 2000}, "arrivals": {"sessions_per_s": 1},
                   "sessions": 100000},
      "policy": "recompute"})",
      "bench", {});
}
Scenario mooncake_scenario() { return load_scenario(KVCAP_SOURCE_DIR "/scenarios/mooncake.json", {}); }

void add_turns(const std::string& name, Scenario (*scenario)()) {
  benchmark::RegisterBenchmark(("turns/" + name).c_str(),
                               [scenario](benchmark::State& state) { turns(state, scenario()); })
      ->UseManualTime()
      ->Iterations(15)
      ->Unit(benchmark::kMillisecond);
}

void read_sharegpt(benchmark::State& state) {
  WorkloadOptions options;
  options.source.kind = "sessions";
  options.source.path = kShareGpt;
  int64_t turns = 0;
  for (auto _ : state) turns += static_cast<int64_t>(make_workload(options, 1).turns.size());
  state.SetItemsProcessed(turns);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(std::filesystem::file_size(kShareGpt)));
}

const bool kRegistered = [] {
  add_turns("recompute", [] { return chat_scenario("recompute", 5678, true); });
  add_turns("kv_offload", [] { return chat_scenario("kv_offload", 5678, true); });
  add_turns("hcache", [] { return chat_scenario("hcache", 5678, true); });
  add_turns("ideal", [] { return chat_scenario("ideal", 5678, true); });
  add_turns("recompute/no_prefix_cache", [] { return stateless("recompute"); });
  add_turns("kv_offload/no_prefix_cache", [] { return stateless("kv_offload"); });
  add_turns("hcache/no_prefix_cache", [] { return stateless("hcache"); });
  add_turns("shared_prefixes", shared_prefixes);
  add_turns("cached_attention_overload", overload_scenario);
  for (int64_t turns : {10'000, 100'000, 1'000'000}) {
    benchmark::RegisterBenchmark(("size/" + std::to_string(turns)).c_str(),
                                 [turns](benchmark::State& state) {
                                   kvcap::turns(state, chat_scenario("kv_offload", turns * 10 / 55, false));
                                 })
        ->UseManualTime()
        ->Iterations(turns > 100'000 ? 3 : 15)
        ->Unit(benchmark::kMillisecond);
  }
  if (std::filesystem::exists(KVCAP_SOURCE_DIR
                              "/../shared/data/traces/mooncake_conversation_trace.jsonl.gz")) {
    add_turns("mooncake", mooncake_scenario);
    benchmark::RegisterBenchmark(
        "program/mooncake",
        [](benchmark::State& state) { program(state, KVCAP_SOURCE_DIR "/scenarios/mooncake.json", 12'031); })
        ->UseManualTime()
        ->Iterations(7)
        ->Unit(benchmark::kMillisecond);
  }
  if (std::filesystem::exists(kShareGpt))
    benchmark::RegisterBenchmark("read/sharegpt", read_sharegpt)->Unit(benchmark::kMillisecond);
  return true;
}();
BENCHMARK_CAPTURE(memory, hcache, "hcache")->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(equal_requests)
    ->Name("program/equal_requests")
    ->UseManualTime()
    ->Iterations(7)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(startup)->UseManualTime()->Iterations(30)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kvcap

BENCHMARK_MAIN();
