#include "validate/published_stacks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/random.h"
#include "metrics/quantiles.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

// Set before the first run. Hit rates in points; all else relative.
constexpr double kInsideHits = 0.01, kNearHits = 0.03;
constexpr double kInside = 0.1, kNearLatencies = 0.25;
// Of the entries: how many are expressed at least, and the share of these that is inside or near.
constexpr int64_t kLeastExpressed = 200;
constexpr double kLeastNear = 0.7;

struct Entry {
  std::string id, setting, metric, unit;
  double value = 0;
};

constexpr std::array kNotExpressed = {
    NotExpressed{"copy-",
                 "the copy curve of the profile h100-sxm is what these blocks of figures 3 and 4 gave",
                 Role::input},
    NotExpressed{"kernel-copy-cost", "copies by kernels that take multiprocessors from the engine's own"},
    NotExpressed{"kimi-",
                 "the 610 recorded sessions are not public, nor is Kimi-K2.5 in NVFP4 in the catalogue"},
    NotExpressed{"mpds-", "TTFT on an H20-3e, a GPU that is not in the catalogue"},
    NotExpressed{"lmk-",
                 "how many servers with how many GPUs each, and when its 50 requests arrive, is not said"},
    NotExpressed{"i26305", "the GPUs are not named, nor what the file system below L3 gives"},
    NotExpressed{"i45238",
                 "neither the model nor the GPU is named; scheduler_test has the hits of both prompts"},
    NotExpressed{"i44294",
                 "how many requests there are and what each asks beyond the shared prefix is not said"},
    NotExpressed{
        "i4774-on",
        "what made Dynamo 0.7.0 slower than 0.6.1 with the same disk: the issue compares versions and "
        "not, as the entry has it, a disk with none"},
    NotExpressed{"i27220",
                 "slots of states that a request holds beside its own (1 + 2 + 2), and the GPU is not named"},
    NotExpressed{"i27557", "DeepSeek-V4-Flash: compressed attention beside a window is not in the catalogue"},
    NotExpressed{"te-", "a transfer engine alone, without a model", Role::input},
    NotExpressed{"3fs", "what a network file system gives", Role::input},
    NotExpressed{"weka", "a vendor's claim of what a network file system gives", Role::input},
    NotExpressed{"cmx", "a vendor's claim against storage that it does not name"},
    NotExpressed{"trt-", "the largest ratio of an unnamed set of prompts"}};

NotExpressed not_expressed(const std::string& id) {
  for (const NotExpressed& one : kNotExpressed) {
    if (id.starts_with(one.prefix)) return one;
  }
  return {"", "not examined yet"};
}

// Why entries are not inside, by how their ids begin and end; the first that fits counts. Written after the
// run, and not known where it says so.
struct Reason {
  std::string_view begins, ends, text;
};
constexpr std::string_view kTritonAttention =
    "that SGLang ran Triton's attention, of which no profile has measurements: with 0.27 of the A100's peak "
    "in "
    "place of 0.58 the rounds of GPU only would be within 22 % and from the third on within 7 %. Where "
    "tokens are "
    "found each 4,096 take 0.13 s more there: it copied pages one by one, hidden behind nothing "
    "(sgl-project/sglang#18113)";
constexpr std::string_view kFreeCopies =
    "copies cost an engine's own kernels and its host nothing here; measured 1.5 and 2.7 %, which is not "
    "more "
    "than the figures can be read to";
constexpr std::string_view kHostCacheIsLarger =
    "the host cache holds a little more here, and which contexts it keeps is decided by the order of "
    "requests "
    "in a round, which is not said";
constexpr std::string_view kSlowAtLowRates =
    "a token takes 26 ms here and 40 there where next to nothing waits: what that vLLM does between steps is "
    "not known, and its queue begins at a lower rate";
constexpr std::array kStackReasons = {
    Reason{"vllm-off-tput-hit", "",
           "loads of different requests hide behind computation here and less there: "
           "not explained"},
    Reason{"moonssd-gpu-", "-hit",
           "a cache that thrashes keeps what the order of requests in a round "
           "decides, which is not said"},
    Reason{"moonssd-l2-", "-hit", kHostCacheIsLarger},
    Reason{"moonssd-moon-", "-hit",
           "which pages leave is a matter of their names, and how the rounds are ordered is not said"},
    Reason{"moonssd-ssd-", "-hit",
           "the figure falls short of what a cache without a limit finds, as the last rounds of others who "
           "ran the "
           "benchmark do (kvcache-ai/Mooncake#3317): not explained"},
    Reason{"moonssd-", "", kTritonAttention},
    Reason{"hicacheA10", "",
           "the machine is made of a data sheet, nothing of it is measured; with a populated "
           "store the prefetch is free of waiting here"},
    Reason{"lld-tier", "", kSlowAtLowRates},
    Reason{"lld-cpu", "",
           "how many requests are sent, what was cached before and how the router weighs are not said"},
    Reason{"wm", "-ttft_p50",
           "the median stands between prompts of the first 128 and those that wait for them"},
    Reason{"wm", "-itl_p99",
           "steps that compute prompts as well are just below one in a hundred here, just "
           "above there"},
    Reason{"wm", "", "not explained"},
    Reason{"mpd-", "-ttft",
           "26 ms of a request and 10 µs of each token more than its computation takes on eight GPUs with an "
           "H800's NVLink: not explained"},
    Reason{"mpds-", "",
           "SGLang's set-up of a transfer is longer than that of vLLM's connector, which the profile has"},
    Reason{"i4774", "", "the drive is not named, and how fast Dynamo 0.6.1 reads it is not known"},
    Reason{"cliffs.rounds", "", kHostCacheIsLarger},
    Reason{"order.offload_overhead", "", kFreeCopies},
    Reason{"order.cpu_overhead", "", kFreeCopies}};

struct Share {
  int64_t near = 0, of = 0;
  void add(bool is_near) {
    near += is_near;
    ++of;
  }
  double missing() const { return static_cast<double>(of - near); }
};

std::string missing_text(const Share& all, const Share& of_hicache) {
  const double others = 100 * (all.missing() - of_hicache.missing()) /
                        static_cast<double>(std::max<int64_t>(1, all.of - of_hicache.of));
  char text[160];
  std::snprintf(
      text, sizeof text,
      "%.0f of the %.0f are of one benchmark of HiCache (moonssd); of all other entries it is %.0f %%",
      of_hicache.missing(), all.missing(), others);
  return text;
}

// What of the machine is fitted to other figures of the same source; such entries count in no share.
struct Fit {
  std::string_view begins, ends, what;
};
constexpr std::array kStackFits = {Fit{"mpd-", "-transfer", "hardware.nic to the other six lengths"},
                                   Fit{"mpd-", "-bandwidth", "hardware.nic to the other six lengths"}};

std::vector<std::string> fits_of(const std::string& id) {
  std::vector<std::string> fits;
  for (const Fit& one : kStackFits) {
    if (id.starts_with(one.begins) && id.ends_with(one.ends)) fits.emplace_back(one.what);
  }
  return fits;
}

std::string reason_of(const std::string& id) {
  for (const Reason& one : kStackReasons) {
    if (id.starts_with(one.begins) && id.ends_with(one.ends)) return std::string(one.text);
  }
  return "";
}

std::vector<Entry> entries_of(const std::string& path) {
  std::vector<Entry> entries;
  for (const nlohmann::json& one : nlohmann::json::parse(read_text(path))) {
    entries.push_back({.id = one.at("id"),
                       .setting = one.at("setting"),
                       .metric = one.at("metric"),
                       .unit = one.at("unit"),
                       .value = one.at("value")});
  }
  return entries;
}

Check begin_stack(const std::string& id, const std::string& what) {
  return {.id = "stacks." + id, .suite = "stacks", .what = what};
}

Check check_of(const Entry& entry, std::optional<double> simulated) {
  Check check = begin_stack(entry.id, entry.metric + ", " + entry.unit + ": " + entry.setting);
  if (!simulated) {
    const NotExpressed one = not_expressed(entry.id);
    check.role = one.role;
    check.reason = (one.role == Role::input ? "an input: " : "not expressed: ") + std::string(one.missing);
    return check;
  }
  const bool is_hit_rate = entry.metric == "hit_rate";
  const double scale = is_hit_rate ? 0.01 : 1;
  check.simulated = {scale * *simulated};
  check.reference = {scale * entry.value};
  check.absolute = is_hit_rate;
  check.exact_tolerance = is_hit_rate ? kInsideHits : kInside;
  check.tolerance = is_hit_rate ? kNearHits : kNearLatencies;
  check.reason = reason_of(entry.id);
  check.tuned = fits_of(entry.id);
  return check;
}

using Figures = std::map<std::string, double>;

Check order(const std::string& id, const std::string& what, std::vector<double> simulated, bool holds) {
  Check check = begin_stack(id, what);
  check.claim = Claim::order;
  check.simulated = std::move(simulated);
  check.holds = holds;
  return check;
}

// The first round in which less than three quarters of the round before are found again; -1: none.
int cliff_of(const Figures& figures, const std::string& arm) {
  for (int round = 2; round <= 8; ++round) {
    const auto hits = [&](int of) {
      return figures.at("moonssd-" + arm + "-r" + std::to_string(of) + "-hit");
    };
    if (hits(round) < 0.75 * hits(round - 1)) return round;
  }
  return -1;
}

std::vector<double> all_of(const Figures& figures, const std::vector<std::string>& ids) {
  std::vector<double> values;
  for (const std::string& id : ids) values.push_back(figures.at(id));
  return values;
}

bool falls(const std::vector<double>& values) {
  return std::is_sorted(values.rbegin(), values.rend()) && values.front() > values.back();
}

// Cliffs and orders, which have to hold whatever the figures.
std::vector<Check> claims_of(const Figures& simulated, const Figures& measured) {
  std::vector<Check> checks;
  std::vector<double> ours, theirs;
  for (const char* arm : {"gpu", "l2", "moon", "ssd"}) {
    ours.push_back(cliff_of(simulated, arm));
    theirs.push_back(cliff_of(measured, arm));
  }
  checks.push_back(
      order("cliffs.rounds",
            "the rounds in which hit rates collapse are the measured ones: GPU alone, host cache, "
            "Mooncake's 80 GB; none with SSDs",
            ours, ours == theirs));
  const auto add_falling = [&](const std::string& id, const std::string& what,
                               const std::vector<std::string>& ids) {
    const std::vector<double> values = all_of(simulated, ids);
    checks.push_back(order(id, what, values, falls(values)));
  };
  add_falling("order.hicache", "mean TTFT falls with every tier: GPU alone, host cache, Mooncake, SSDs",
              {"moonssd-ttft-GPU_only", "moonssd-ttft-+L2_(ratio_2)", "moonssd-ttft-+Mooncake_80GB",
               "moonssd-ttft-+Mooncake+SSD"});
  for (const char* rate : {"5", "10", "20", "40"}) {
    const std::string stage = "lld-tier-q" + std::string(rate);
    add_falling("order.tiers_q" + std::string(rate),
                "a CPU tier shortens the mean TTFT at " + std::string(rate) + " requests/s",
                {stage + "-hbm-ttft", stage + "-hbm+cpu-ttft"});
  }
  add_falling("order.cpu_offload", "offloading shortens the mean TTFT where prefixes outgrow the GPUs",
              {"lld-cpu-ttft_mean-off", "lld-cpu-ttft_mean-on"});
  add_falling("order.cpu_overhead", "offloading costs throughput where the GPUs hold all prefixes",
              {"lld-cpu-low-total_throughput-off", "lld-cpu-low-total_throughput-on"});
  add_falling("order.offload_overhead", "offloading costs throughput where nothing is found again",
              {"vllm-off-tput-none", "vllm-off-tput-hit0"});
  add_falling("order.watermark", "preemptions fall with the watermark, off to 0.10",
              {"wm0-preemptions", "wm0.02-preemptions", "wm0.05-preemptions", "wm0.1-preemptions"});
  const double off = simulated.at("wm0-output_throughput"), some = simulated.at("wm0.05-output_throughput"),
               most = simulated.at("wm0.15-output_throughput");
  checks.push_back(order("order.watermark_throughput",
                         "a watermark of 0.05 yields more than none, and than one of 0.15", {off, some, most},
                         some > off && some > most));
  return checks;
}

}  // namespace

// ---- scenarios and workloads ----

Scenario stack_scenario(const std::string& members, const std::vector<std::string>& overrides) {
  return parse_scenario(
      R"({"schema": "kvcap.scenario/1", "name": "stack", "workload": {"source": {"kind": "chat"}}, )" +
          members + "}",
      "stacks", overrides);
}

namespace {

// The places of prompts, shuffled.
std::vector<uint32_t> shuffled(std::size_t count) {
  std::vector<uint32_t> order(count);
  for (uint32_t i = 0; i < count; ++i) order[i] = i;
  const RandomStream random(1, "stacks");
  for (std::size_t i = count - 1; i > 0; --i) {
    std::swap(order[i], order[static_cast<std::size_t>(random.uniform(i, 0) * static_cast<double>(i + 1))]);
  }
  return order;
}

void add_prompt(Workload& workload, const SharedPrefixes& prompts, uint32_t prompt, double time_s) {
  if (workload.piece_begin.empty()) workload.piece_begin = {0};
  const auto turn = static_cast<uint32_t>(workload.turns.size());
  workload.sessions.push_back({.first_turn = turn, .turn_count = 1});
  workload.turns.push_back({prompts.shared_tokens + prompts.own_tokens, prompts.output_tokens, time_s});
  workload.pieces.push_back({prompt / prompts.prompts_of_group, prompts.shared_tokens});
  workload.pieces.push_back({prompts.groups + prompt, prompts.own_tokens});
  workload.piece_begin.push_back(workload.pieces.size());
}

}  // namespace

Workload closed_loop_of(const SharedPrefixes& prompts, std::size_t count, int64_t concurrency) {
  const std::vector<uint32_t> order = shuffled(std::size_t{prompts.groups} * prompts.prompts_of_group);
  Workload workload;
  workload.concurrency = concurrency;
  for (std::size_t i = 0; i < count; ++i) add_prompt(workload, prompts, order[i % order.size()], 0);
  return workload;
}

Workload ladder_of(const SharedPrefixes& prompts, const std::vector<Stage>& stages,
                   std::vector<MeasuredWindow>& windows) {
  constexpr double kPause_s = 3600;
  const std::vector<uint32_t> order = shuffled(std::size_t{prompts.groups} * prompts.prompts_of_group);
  const RandomStream random(2, "stacks");
  Workload workload;
  workload.absolute_times = true;
  double begin_s = 0;
  for (const Stage& stage : stages) {
    std::vector<double> dates_s;
    for (int64_t i = 0; i < std::llround(stage.rate * stage.lasts_s); ++i) {
      const uint64_t draw = workload.turns.size() + static_cast<uint64_t>(i);
      dates_s.push_back(begin_s + stage.lasts_s * random.uniform(draw, 0));
    }
    std::sort(dates_s.begin(), dates_s.end());
    for (const double date_s : dates_s) {
      add_prompt(workload, prompts, order[workload.turns.size() % order.size()], date_s);
    }
    windows.push_back({begin_s, begin_s + stage.lasts_s});
    begin_s += stage.lasts_s + kPause_s;
  }
  return workload;
}

// ---- figures of a run ----

namespace {

template <class Of>
std::vector<double> values_of(const RunResult& run, const MeasuredWindow& window, Of of) {
  std::vector<double> values;
  for (const TurnRecord& turn : run.turns) {
    if (turn.arrival_s >= window.from_s && turn.arrival_s < window.to_s) values.push_back(of(turn));
  }
  std::sort(values.begin(), values.end());
  return values;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

double mean_ttft_s(const RunResult& run, const MeasuredWindow& window) {
  return mean(values_of(run, window, [](const TurnRecord& turn) { return turn.ttft_s; }));
}

double mean_e2el_s(const RunResult& run, const MeasuredWindow& window) {
  return mean(values_of(run, window, [](const TurnRecord& turn) { return turn.e2el_s; }));
}

double ttft_quantile_s(const RunResult& run, double share, const MeasuredWindow& window) {
  return quantile_of_sorted(values_of(run, window, [](const TurnRecord& turn) { return turn.ttft_s; }),
                            share);
}

double tokens_per_s(const RunResult& run, bool with_answers, const MeasuredWindow& window) {
  double tokens = 0, last_s = 0;
  for (const TurnRecord& turn : run.turns) {
    if (turn.arrival_s < window.from_s || turn.arrival_s >= window.to_s) continue;
    tokens += turn.history_tokens + turn.input_tokens + (with_answers ? turn.output_tokens : 0);
    last_s = std::max(last_s, turn.arrival_s + turn.e2el_s);
  }
  return tokens / (last_s - window.from_s);
}

// ---- the suite ----

std::vector<Check> published_checks(const std::string& data) {
  const std::string path = data + "/stacks.json";
  if (!std::filesystem::exists(path)) {
    Check missing = begin_stack("published", "published measurements, one by one");
    missing.reason = "no " + path + " (--data)";
    return {missing};
  }
  std::vector<StackRun> stack_runs;
  for (const auto& of_kind : {offload_experiments, hicache_experiments, tier_experiments,
                              handover_experiments, pressure_experiments}) {
    for (StackRun& one : of_kind()) stack_runs.push_back(std::move(one));
  }
  std::vector<Case> cases;
  for (StackRun& one : stack_runs) cases.push_back(std::move(one.run));
  const std::vector<RunResult> runs = run_cases(cases);
  Figures simulated, measured;
  std::map<std::string, double> counts;
  for (std::size_t i = 0; i < stack_runs.size(); ++i) {
    for (const auto& [id, answer] : stack_runs[i].answers) {
      simulated[id] += answer(runs[i]);
      ++counts[id];
    }
  }
  for (auto& [id, sum] : simulated) sum /= counts.at(id);
  std::vector<Check> checks;
  int64_t expressed = 0;
  Share all, of_hicache;
  for (const Entry& entry : entries_of(path)) {
    measured[entry.id] = entry.value;
    const auto found = simulated.find(entry.id);
    checks.push_back(check_of(entry, found == simulated.end() ? std::nullopt : std::optional(found->second)));
    if (found == simulated.end()) continue;
    judge(checks.back());
    ++expressed;
    if (!checks.back().tuned.empty()) continue;
    const bool is_near =
        checks.back().verdict == Agreement::inside || checks.back().verdict == Agreement::near;
    all.add(is_near);
    if (entry.id.starts_with("moonssd-")) of_hicache.add(is_near);
  }
  for (Check& claim : claims_of(simulated, measured)) {
    claim.reason = reason_of(claim.id.substr(std::string_view("stacks.").size()));
    judge(claim);
    checks.push_back(std::move(claim));
  }
  checks.push_back(order("published.expressed", "entries that are simulated, of all published ones",
                         {static_cast<double>(expressed), static_cast<double>(measured.size())},
                         expressed >= kLeastExpressed));
  Check share =
      begin_stack("published.near", "share of the entries simulated untuned that is neither inside nor near");
  share.claim = Claim::at_most;
  share.simulated = {all.missing() / static_cast<double>(std::max<int64_t>(1, all.of))};
  share.reference = {1 - kLeastNear};
  share.reason = missing_text(all, of_hicache);
  for (const auto& [id, value] : simulated) {
    if (measured.contains(id)) share.cases.push_back({value, measured[id]});
  }
  checks.push_back(std::move(share));
  judge(checks[checks.size() - 2]);
  judge(checks.back());
  return checks;
}

}  // namespace kvcap
