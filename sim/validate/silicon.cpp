// Means of TTFT and TPOT of real servers at a closed-loop concurrency (aiconfigurator 095f58a,
// systems/silicon_sample.csv: 604 rows of vLLM), beside simulated ones. Prompts are random and share nothing.
// Nothing is fitted to them. A row is expressible if its model is in the catalogue in its precision, its GPU
// has a profile and it runs under tensor parallelism, with experts divided or whole on their GPUs (expert
// parallelism); what is not is counted by its reason. TPOT is judged; TTFT is printed, since how a burst
// began is not known.
//
// No row of vLLM is data parallel. Those whose columns say so (attn_dp = tp, moe_ep = tp^2) have ids of plain
// tp and ep and the times of rows without data parallelism to four digits: a flag was misread on the way.
//
// Engine versions are the rows' own; vLLM's benchmark asks for a temperature of 0, so that no logits are
// filtered.
//
// The rows of Llama-3.1-70B are InferenceMAX's. Its README and launch scripts say what the table does not:
// lengths are drawn evenly from 0.8 to 1 of the nominal ones, ten requests for each place, 8,192 tokens a
// step, no prefix cache, asynchronous scheduling, and on B200 keys and values in FP8.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>

#include "base/random.h"
#include "metrics/quantiles.h"
#include "metrics/serialize.h"
#include "plan/workers.h"
#include "scenario/load.h"
#include "simulate.h"
#include "validate/measured.h"
#include "validate/measured_run.h"
#include "workload/csv.h"

namespace kvcap {
namespace {

struct Served {
  std::string model, gpu, precision;
  std::string engine_version;  // empty: not said
  int64_t input_tokens = 0, output_tokens = 0, concurrency = 0;
  int64_t tensor = 0, pipeline = 0, data = 0, experts = 0, expert_tensor = 0;
  double ttft_s = 0, tpot_s = 0;
};

struct Known {
  std::string_view model, precision, here;
  double least_length = 1;  // of the nominal one
  bool has_experts = false;
  bool is_fp8_of_16_bit = false;  // here is the model in 16 bit
};
constexpr std::array kSiliconModels = {
    Known{"meta-llama/Llama-3.1-70B", "fp8", "llama-3.1-70b-fp8", 0.8},
    Known{"nvidia/Llama-3.1-8B-Instruct-FP8", "fp8", "llama-3.1-8b-fp8"},
    // M2.5 has the dimensions of M2.
    Known{"MiniMaxAI/MiniMax-M2.5", "fp8", "minimax-m2", 0.8, true},
    Known{"openai/gpt-oss-120b", "fp4", "gpt-oss-120b", 0.8, true},
    Known{"Qwen/Qwen3-235B-A22B-FP8", "fp8", "qwen3-235b-a22b", 1, true, true}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSiliconGpus = {
    std::pair{"h100_sxm", "h100-sxm-8x"}, {"h200_sxm", "h200-sxm-8x"}, {"b200_sxm", "b200-sxm-8x"}};

constexpr double kSiliconMedian = 0.06;  // error up to which README vouches for a group
// Of models with experts: set before the first run of these rows.
constexpr double kServedExpertsMedian = 0.15;
// Of groups that nothing is promised of.
constexpr std::string_view kMiniMaxSteps =
    "not explained: small batches take 2 to 4 ms a step longer, with experts whole or divided; the norm of "
    "queries and keys over all heads, which GPUs have to exchange in every layer, is not simulated";
constexpr std::string_view kQwenSteps =
    "not explained: these steps take 10 to 30 ms longer than the kernels, on two GPUs more than on four";
constexpr std::string_view kGptOssSteps =
    "not explained: steps take some 0.7 ms longer, small batches as well as large ones; what picks experts "
    "and "
    "sorts rows for them is no kernel of its own here, and on Hopper 4-bit weights are unpacked";
const std::map<std::string, std::string_view, std::less<>> kSiliconReasons = {
    {"gpt-oss-120b.b200_sxm", kGptOssSteps},
    {"gpt-oss-120b.h100_sxm", kGptOssSteps},
    {"gpt-oss-120b.h200_sxm", kGptOssSteps},
    {"minimax-m2.b200_sxm", kMiniMaxSteps},
    {"minimax-m2.b200_sxm.expert_parallel", kMiniMaxSteps},
    {"minimax-m2.h200_sxm", kMiniMaxSteps},
    {"qwen3-235b-a22b.h200_sxm", kQwenSteps},
    {"qwen3-235b-a22b.h200_sxm.expert_parallel", kQwenSteps},
    {"llama-3.1-70b-fp8.b200_sxm",
     "its launch script fuses all-reduces, norms and the quantisation of inputs, which are kernels of their "
     "own "
     "here"}};

std::vector<Served> served_by_vllm(const std::string& path) {
  static constexpr std::array kColumns = {
      CsvColumn{"engine"},  CsvColumn{"model"},   CsvColumn{"gpu"},           CsvColumn{"precision"},
      CsvColumn{"isl"},     CsvColumn{"osl"},     CsvColumn{"concurrency"},   CsvColumn{"tp"},
      CsvColumn{"pp"},      CsvColumn{"attn_dp"}, CsvColumn{"moe_ep"},        CsvColumn{"ttft_ms"},
      CsvColumn{"tpot_ms"}, CsvColumn{"moe_tp"},  CsvColumn{"engine_version"}};
  std::vector<Served> rows;
  for_each_csv_row(path, BadRow::error, kColumns, true, [&](const CsvRow& row) {
    if (row.text(0) != "vllm") return true;
    const auto number = [&](std::size_t i) { return std::strtod(std::string(row.text(i)).c_str(), nullptr); };
    // Absent: 1.
    const auto whole = [&](std::size_t i) { return std::max<int64_t>(1, std::llround(number(i))); };
    rows.push_back({.model = std::string(row.text(1)),
                    .gpu = std::string(row.text(2)),
                    .precision = std::string(row.text(3)),
                    .engine_version = std::string(row.text(14)),
                    .input_tokens = whole(4),
                    .output_tokens = whole(5),
                    .concurrency = whole(6),
                    .tensor = whole(7),
                    .pipeline = whole(8),
                    .data = whole(9),
                    .experts = whole(10),
                    .expert_tensor = whole(13),
                    .ttft_s = 1e-3 * number(11),
                    .tpot_s = 1e-3 * number(12)});
    return true;
  });
  return rows;
}

const Known* known_model(const Served& row) {
  const auto known = std::find_if(kSiliconModels.begin(), kSiliconModels.end(), [&](const Known& one) {
    return one.model == row.model && one.precision == row.precision;
  });
  return known == kSiliconModels.end() ? nullptr : &*known;
}

std::string_view profile_of(const Served& row) {
  for (const auto& [gpu, profile] : kSiliconGpus) {
    if (gpu == row.gpu) return profile;
  }
  return {};
}

// Empty: it can be simulated.
std::string why_not(const Served& row) {
  if (!known_model(row)) return row.model + " in " + (row.precision.empty() ? "?" : row.precision);
  if (profile_of(row).empty()) return "no profile of " + row.gpu;
  // 64 places of 1.09 s each are 117,000 prompt tokens a second, 1.8e15 of 1.98e15 FLOP/s, beside decoding.
  if (row.model == "nvidia/Llama-3.1-8B-Instruct-FP8") return "no closed loop, or its prompts were cached";
  if (row.pipeline > 1) return "pipeline parallelism";
  if (row.data > 1) return "columns of data parallelism that repeat rows without";
  if (known_model(row)->has_experts && row.experts * row.expert_tensor != row.tensor) {
    return "experts on more GPUs than attention";
  }
  if (row.experts > 1 && row.expert_tensor > 1) return "experts divided both ways";
  return "";
}

std::vector<std::string> changes_of(const Served& row) {
  std::vector<std::string> changes;
  if (!row.engine_version.empty()) changes.push_back("serving.engine_version=\"" + row.engine_version + "\"");
  if (row.gpu == "b200_sxm") changes.emplace_back("model.kv_bytes_per_element=1");
  if (row.experts > 1) changes.emplace_back("serving.expert_parallel=true");
  if (!known_model(row)->is_fp8_of_16_bit) return changes;
  for (const char* change : {"model.weight_bytes_per_element=1", "model.activation_bytes_per_element=1",
                             "model.embedding_bytes_per_element=2"}) {
    changes.emplace_back(change);
  }
  return changes;
}

// Ten requests for each place, the first two of them warm-up.
Scenario scenario_of(const Served& row) {
  const auto text_of = [](int64_t number) { return std::to_string(number); };
  return parse_scenario(
      R"({"schema": "kvcap.scenario/1", "name": "silicon", "policy": "recompute", "model": ")" +
          std::string(known_model(row)->here) + R"(", "hardware": ")" + std::string(profile_of(row)) +
          R"(", "serving": {"sampling": {"temperature": 0}, "prefix_caching": false, "max_num_seqs": 1024, "max_num_batched_tokens": 8192, "max_model_len": )" +
          text_of(row.input_tokens + row.output_tokens + 16) + R"(, "tensor_parallel_size": )" +
          text_of(row.tensor) + R"(}, "workload": {"source": {"kind": "chat"}}})",
      "silicon", changes_of(row));
}

Workload workload_of(const Served& row) {
  Workload workload;
  workload.concurrency = row.concurrency;
  workload.warmup_turns = 2 * row.concurrency;
  const double least = known_model(row)->least_length;
  const RandomStream random(1, "silicon");
  for (uint32_t i = 0; i < 10 * row.concurrency; ++i) {
    workload.sessions.push_back({.first_turn = i, .turn_count = 1});
    const auto drawn = [&](int64_t nominal, uint64_t which) {
      const double share = least + (1 - least) * random.uniform(i, which);
      return static_cast<uint32_t>(std::ceil(share * static_cast<double>(nominal)));
    };
    workload.turns.push_back({drawn(row.input_tokens, 0), drawn(row.output_tokens, 1)});
  }
  return workload;
}

Check begin_silicon(const std::string& id, const std::string& what) {
  return {.id = "silicon." + id, .suite = "measured", .what = "vLLM at a closed-loop concurrency: " + what};
}

struct ServedMeans {
  double ttft_s = 0, tpot_s = 0;
};
ServedMeans means_of(const RunResult& result) {
  ServedMeans means;
  double turns = 0;
  for (const TurnRecord& turn : result.turns) {
    if (turn.warmup || turn.rejected) continue;
    ++turns;
    means.ttft_s += turn.ttft_s;
    means.tpot_s += (turn.e2el_s - turn.ttft_s) / std::max(1.0, turn.output_tokens - 1.0);
  }
  return {means.ttft_s / turns, means.tpot_s / turns};
}

std::string group_of(const Served& row) {
  return std::string(known_model(row)->here) + "." + row.gpu + (row.experts > 1 ? ".expert_parallel" : "");
}

}  // namespace

// Of TPOT, which is what is judged.
std::vector<MeasuredRun> silicon_runs(const std::string& data) {
  const std::string path = data + "/runs/silicon_agg.csv.gz";
  if (!std::filesystem::exists(path)) return {};
  std::vector<MeasuredRun> runs;
  for (const Served& row : served_by_vllm(path)) {
    if (!why_not(row).empty()) continue;
    const auto known = kSiliconReasons.find(group_of(row));
    runs.push_back({.family = "silicon." + group_of(row),
                    .scenario = scenario_of(row),
                    .workload = workload_of(row),
                    .measured = {row.tpot_s},
                    .simulated = [](const RunResult& result) { return std::vector{means_of(result).tpot_s}; },
                    .gap = known == kSiliconReasons.end() ? "" : std::string(known->second)});
  }
  return runs;
}

std::vector<Check> silicon_checks(const std::string& data) {
  const std::string path = data + "/runs/silicon_agg.csv.gz";
  if (!std::filesystem::exists(path)) {
    Check missing = begin_silicon("rows", "means of many servers");
    missing.reason = "no " + path + " (--data)";
    return {missing};
  }
  const std::vector<Served> all = served_by_vllm(path);
  std::vector<Served> rows;
  std::map<std::string, int> left_out;
  for (const Served& row : all) {
    const std::string reason = why_not(row);
    reason.empty() ? rows.push_back(row) : void(++left_out[reason]);
  }
  std::string counts =
      std::to_string(all.size()) + " rows, " + std::to_string(rows.size()) + " expressible; not:";
  for (const auto& [reason, count] : left_out) counts += " " + std::to_string(count) + " " + reason + ",";
  if (counts.ends_with(',')) counts.pop_back();

  const std::vector<std::string> results =
      run_in_workers(rows.size(), [&](std::size_t i, std::atomic<int64_t>& done) {
        return serialize(simulate(scenario_of(rows[i]), workload_of(rows[i]), {.finished_turns = &done}));
      });
  // A check a model and GPU: the median of its rows' errors.
  struct Group {
    std::vector<double> ttft, tpot;
    std::vector<Check::Case> cases;
    bool has_experts = false;
  };
  std::map<std::string, Group> groups;
  Group together;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [ttft_s, tpot_s] = means_of(deserialize(results[i]));
    for (Group* group : {&groups[group_of(rows[i])], &together}) {
      group->ttft.push_back(std::abs(ttft_s / rows[i].ttft_s - 1));
      group->tpot.push_back(std::abs(tpot_s / rows[i].tpot_s - 1));
      group->cases.push_back({1e3 * tpot_s, 1e3 * rows[i].tpot_s});
      group->has_experts = known_model(rows[i])->has_experts;
    }
  }
  std::vector<Check> checks;
  const auto add = [&](const std::string& id, const std::string& what, std::vector<double> errors,
                       double most, const std::string& reason, const std::vector<Check::Case>& cases) {
    std::sort(errors.begin(), errors.end());
    Check check = begin_silicon(id, what + ", error of the mean, median of " + std::to_string(errors.size()));
    check.claim = Claim::at_most;
    check.simulated = {quantile_of_sorted(errors, 0.5)};
    check.reference = {most};
    check.promised = reason.empty();
    check.reason = reason;
    check.cases = cases;
    judge(check);
    checks.push_back(std::move(check));
  };
  for (const auto& [name, group] : groups) {
    const auto known = kSiliconReasons.find(name);
    const std::string reason = known == kSiliconReasons.end() ? "" : std::string(known->second);
    add(name, name + ", TPOT", group.tpot, group.has_experts ? kServedExpertsMedian : kSiliconMedian, reason,
        group.cases);
  }
  add("tpot", "TPOT of all that is expressible", together.tpot, kSiliconMedian, counts, together.cases);
  Check ttft =
      begin_silicon("ttft", "TTFT of all that is expressible, median error of the mean (not judged)");
  std::sort(together.ttft.begin(), together.ttft.end());
  ttft.simulated = {quantile_of_sorted(together.ttft, 0.5)};
  ttft.reason = "how the bursts began is not known";
  checks.push_back(std::move(ttft));
  return checks;
}

}  // namespace kvcap
