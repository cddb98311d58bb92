// Means of TTFT and TPOT of real servers at a closed-loop concurrency (aiconfigurator 095f58a,
// systems/silicon_sample.csv: 604 rows of vLLM, 641 of TensorRT-LLM), beside simulated ones. Prompts are
// random and share nothing. Nothing but TensorRT-LLM's host time and kernels (host_times.cpp) is fitted to
// them. A row is expressible if its model is in the catalogue in its precision, its GPU has a profile and it
// runs under tensor parallelism, with experts divided or whole on their GPUs (expert parallelism); what is
// not is counted by its reason. TPOT is judged; TTFT is printed, since how a burst began is not known.
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
#include "run/simulate.h"
#include "scenario/load.h"
#include "scenario/names.h"
#include "spec/engine_version.h"
#include "validate/measured.h"
#include "validate/measured_run.h"
#include "workload/csv.h"

namespace kvcap {
namespace {

std::string_view name_of(EngineKind engine) { return kEngineNames[static_cast<std::size_t>(engine)]; }

struct Served {
  EngineKind engine = EngineKind::vllm;
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
    Known{"Qwen/Qwen3-235B-A22B-FP8", "fp8", "qwen3-235b-a22b", 1, true, true},
    Known{"meta-llama/Llama-3.1-8B-Instruct", "", "llama-3.1-8b"},
    Known{"Qwen/Qwen3-32B", "fp8", "qwen3-32b-fp8"}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSiliconGpus = {
    std::pair{"h100_sxm", "h100-sxm-8x"}, {"h200_sxm", "h200-sxm-8x"}, {"b200_sxm", "b200-sxm-8x"}};

constexpr double kSiliconMedian = 0.06;  // error up to which README vouches for a group
// Of models with experts: set before the first run of these rows.
constexpr double kServedExpertsMedian = 0.15;
// Of groups that nothing is promised of.
constexpr std::string_view kMiniMaxSteps =
    "not explained: on four GPUs under 0.16 steps take 4 ms longer, and on eight under 0.18 large batches do";
constexpr std::string_view kQwenSteps =
    "not explained: steps of 4 to 24 sequences last as long as steps of some 256 rows would (47 and 34 ms on "
    "two "
    "and four GPUs for 51 and 34), as where batches are padded to a large CUDA graph; SGLang 0.5.6 takes 16 "
    "ms "
    "for four sequences on two of these GPUs. The launch lines are not known";
constexpr std::string_view kGptOssSteps =
    "not explained: on two and more GPUs steps take 0.5 ms longer, and batches of 16 to 64 sequences 1.6 ms";
constexpr std::string_view kFusedKernels =
    "its launch script fuses all-reduces, norms and the quantisation of inputs, which are kernels of their "
    "own "
    "here";
const std::map<std::string, std::string_view, std::less<>> kSiliconReasons = {
    {"gpt-oss-120b.b200_sxm", kGptOssSteps},
    {"minimax-m2.h200_sxm", kMiniMaxSteps},
    {"qwen3-235b-a22b.h200_sxm", kQwenSteps},
    {"qwen3-235b-a22b.h200_sxm.expert_parallel", kQwenSteps},
    {"llama-3.1-70b-fp8.b200_sxm", kFusedKernels},
    {"trtllm.llama-3.1-70b-fp8.b200_sxm", kFusedKernels},
    {"trtllm.gpt-oss-120b.h200_sxm",
     "its experts on Hopper run in Triton's kernels, which are not described"}};

std::vector<Served> served_by(EngineKind engine, const std::string& path) {
  static constexpr std::array kColumns = {
      CsvColumn{"engine"},  CsvColumn{"model"},   CsvColumn{"gpu"},           CsvColumn{"precision"},
      CsvColumn{"isl"},     CsvColumn{"osl"},     CsvColumn{"concurrency"},   CsvColumn{"tp"},
      CsvColumn{"pp"},      CsvColumn{"attn_dp"}, CsvColumn{"moe_ep"},        CsvColumn{"ttft_ms"},
      CsvColumn{"tpot_ms"}, CsvColumn{"moe_tp"},  CsvColumn{"engine_version"}};
  std::vector<Served> rows;
  for_each_csv_row(path, BadRow::error, kColumns, true, [&](const CsvRow& row) {
    if (row.text(0) != name_of(engine)) return true;
    const auto number = [&](std::size_t i) { return std::strtod(std::string(row.text(i)).c_str(), nullptr); };
    // Absent: 1.
    const auto whole = [&](std::size_t i) { return std::max<int64_t>(1, std::llround(number(i))); };
    rows.push_back({.engine = engine,
                    .model = std::string(row.text(1)),
                    .gpu = std::string(row.text(2)),
                    .precision = std::string(row.text(3)),
                    .engine_version = std::string(row.text(14)),
                    .input_tokens = whole(4),
                    .output_tokens = whole(5),
                    .concurrency = std::llround(number(6)),
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
  if (row.concurrency < 1) return "no concurrency";
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

// MiniMax's experts are 1,536 wide and have scales of blocks of 128, so that vLLM refuses to divide them
// by 8.
bool has_whole_experts(const Served& row) {
  return row.experts > 1 || (known_model(row)->here == "minimax-m2" && row.tensor == 8);
}

std::vector<std::string> changes_of(const Served& row) {
  std::vector<std::string> changes;
  if (parse_engine_version(row.engine_version)) {
    changes.push_back("serving.engine_version=\"" + row.engine_version + "\"");
  }
  // 64 contexts of 4,224 tokens beside 33 GB of weights on one GPU, which did not wait.
  if (row.model == "Qwen/Qwen3-32B") changes.emplace_back("model.kv_bytes_per_element=1");
  if (row.gpu == "b200_sxm" && row.model != "MiniMaxAI/MiniMax-M2.5") {
    changes.emplace_back("model.kv_bytes_per_element=1");
  }
  // VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8
  if (row.gpu == "b200_sxm" && row.model == "openai/gpt-oss-120b") {
    changes.emplace_back("model.activation_bytes_per_element=1");
  }
  if (has_whole_experts(row)) changes.emplace_back("serving.expert_parallel=true");
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
          R"(", "serving": {"engine": ")" + std::string(name_of(row.engine)) +
          R"(", "sampling": {"temperature": 0}, "prefix_caching": false, "max_num_seqs": 1024, "max_num_batched_tokens": 8192, "max_model_len": )" +
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
    if (least < 1 || i >= row.concurrency) continue;
    // Equal requests would keep in step for ever: each place begins in the middle of an answer.
    uint32_t& output = workload.turns.back().output_tokens;
    output = static_cast<uint32_t>(std::ceil(random.uniform(i, 2) * static_cast<double>(output)));
  }
  return workload;
}

// Of vLLM, ids name the model alone.
std::string engine_part(EngineKind engine) {
  return engine == EngineKind::vllm ? "" : std::string(name_of(engine)) + ".";
}

Check begin_silicon(EngineKind engine, const std::string& id, const std::string& what) {
  const std::string name = engine == EngineKind::vllm ? "vLLM" : "TensorRT-LLM";
  return {.id = "silicon." + engine_part(engine) + id,
          .suite = "measured",
          .what = name + " at a closed-loop concurrency: " + what};
}

struct ServedMeans {
  double ttft_s = 0, tpot_s = 0;
};
ServedMeans means_of(const RunResult& result) {
  ServedMeans means;
  double turns = 0;
  for (const TurnRecord& turn : result.turns) {
    if (turn.warmup || !turn.answered()) continue;
    ++turns;
    means.ttft_s += turn.ttft_s;
    means.tpot_s += (turn.e2el_s - turn.ttft_s) / std::max(1.0, turn.output_tokens - 1.0);
  }
  return {means.ttft_s / turns, means.tpot_s / turns};
}

std::string group_of(const Served& row) {
  return std::string(known_model(row)->here) + "." + row.gpu + (row.experts > 1 ? ".expert_parallel" : "");
}

std::string_view reason_of(EngineKind engine, const std::string& group) {
  const auto known = kSiliconReasons.find(engine_part(engine) + group);
  return known == kSiliconReasons.end() ? "" : known->second;
}

}  // namespace

// Of TPOT, which is what is judged.
std::vector<MeasuredRun> silicon_runs(const std::string& data) {
  const std::string path = data + "/runs/silicon_agg.csv.gz";
  if (!std::filesystem::exists(path)) return {};
  std::vector<MeasuredRun> runs;
  for (const Served& row : served_by(EngineKind::vllm, path)) {
    if (!why_not(row).empty()) continue;
    runs.push_back({.family = "silicon." + group_of(row),
                    .scenario = scenario_of(row),
                    .workload = workload_of(row),
                    .measured = {row.tpot_s},
                    .simulated = [](const RunResult& result) { return std::vector{means_of(result).tpot_s}; },
                    .gap = std::string(reason_of(row.engine, group_of(row)))});
  }
  return runs;
}

static std::vector<Check> checks_of(EngineKind engine, const std::string& path) {
  const std::vector<Served> all = served_by(engine, path);
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
    Check check =
        begin_silicon(engine, id, what + ", error of the mean, median of " + std::to_string(errors.size()));
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
    add(name, name + ", TPOT", group.tpot, group.has_experts ? kServedExpertsMedian : kSiliconMedian,
        std::string(reason_of(engine, name)), group.cases);
  }
  add("tpot", "TPOT of all that is expressible", together.tpot, kSiliconMedian, counts, together.cases);
  Check ttft =
      begin_silicon(engine, "ttft", "TTFT of all that is expressible, median error of the mean (not judged)");
  std::sort(together.ttft.begin(), together.ttft.end());
  ttft.simulated = {quantile_of_sorted(together.ttft, 0.5)};
  ttft.reason = "how the bursts began is not known";
  checks.push_back(std::move(ttft));
  return checks;
}

std::vector<Check> silicon_checks(const std::string& data) {
  const std::string path = data + "/runs/silicon_agg.csv.gz";
  if (!std::filesystem::exists(path)) {
    Check missing = begin_silicon(EngineKind::vllm, "rows", "means of many servers");
    missing.reason = "no " + path + " (--data)";
    return {missing};
  }
  std::vector<Check> checks;
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::trtllm}) {
    for (Check& check : checks_of(engine, path)) checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace kvcap
