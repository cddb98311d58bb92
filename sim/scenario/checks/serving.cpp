// Checks `serving` against the model and the hardware: parallelism, experts, versions.
#include <algorithm>
#include <optional>

#include "policy/table.h"
#include "scenario/checks/checks.h"
#include "scenario/fields.h"
#include "scenario/tensor_parallel.h"
#include "spec/engine_version.h"

namespace kvcap {
namespace {

constexpr int64_t kMaxEngines = 65535;  // a turn's record has 16 bits for the index of its engine

}  // namespace

void check_tensor_parallel_size(const Scenario& scenario, int64_t size, const std::string& path,
                                const Places& places) {
  if (size > scenario.hardware.gpu.count) {
    fail(places, path, std::to_string(size),
         "at most hardware.gpu.count = " + std::to_string(scenario.hardware.gpu.count));
  }
  const std::string allowed = allowed_division(scenario, size);
  if (!allowed.empty()) fail(places, path, std::to_string(size), allowed);
}

namespace {

// Checks the decode context parallelism. vLLM divides only KV of which tensor parallelism would keep copies,
// and needs the same number of query heads on each GPU (config/model.py, verify_with_parallel_config;
// config/parallel.py).
class DecodeContextCheck {
 public:
  DecodeContextCheck(const Scenario& scenario, const Places& places)
      : scenario_(scenario), places_(places), parts_(scenario.serving.decode_context_parallel_size) {}

  void run() const {
    if (parts_ == 1) return;
    if (scenario_.serving.engine != EngineKind::vllm) allow("1 with an engine other than vllm");
    check_layers();
    check_copies();
    check_rest();
  }

 private:
  [[noreturn]] void allow(const std::string& allowed) const {
    fail(places_, "serving.decode_context_parallel_size", std::to_string(parts_), allowed);
  }

  void check_layers() const {
    const std::vector<LayerGroup> groups = scenario_.model.groups();
    if (groups.size() > 1 || !groups[0].keeps_all()) {
      allow("1 for a model whose layers keep different parts of their context (vLLM divides none of them)");
    }
    if (groups[0].indexer) allow("1 for a model with an indexer (not simulated)");
  }

  void check_copies() const {
    const int64_t gpus = scenario_.serving.tensor_parallel_size;
    const std::string of_gpus = "serving.tensor_parallel_size = " + std::to_string(gpus);
    if (gpus % parts_ != 0) allow("a divisor of " + of_gpus);
    if (scenario_.model.latent) return;
    const int64_t heads = scenario_.model.num_key_value_heads;
    const int64_t most = std::max<int64_t>(1, gpus / heads);
    if (parts_ > most) {
      allow("at most " + std::to_string(most) + ", the copies of " + std::to_string(heads) +
            " KV heads with " + of_gpus);
    }
    const int64_t queries = scenario_.model.num_attention_heads / heads;
    if (queries % parts_ != 0) {
      allow("a divisor of the " + std::to_string(queries) + " query heads of a KV head");
    }
  }

  // Rejects options that are not simulated with a divided context.
  void check_rest() const {
    const std::optional<SpeculativeOptions>& speculative = scenario_.serving.speculative;
    if (speculative && speculative->draft_tokens > 0) {
      allow("1 with serving.speculative (a drafter's KV is not divided here)");
    }
    if (scenario_.fleet.disaggregation) {
      allow("1 with fleet.disaggregation (transfers of a divided context are not simulated)");
    }
    const Restore restore = *with_preset(scenario_.policy).restore;
    if (restore != Restore::none && restore != Restore::recompute && restore != Restore::load) {
      allow("1 with policy.restore \"" + std::string(name(restore)) +
            "\" (only none, recompute and load are simulated with a divided context)");
    }
  }

  const Scenario& scenario_;
  const Places& places_;
  int64_t parts_;
};

// Checks the pipeline stages, which must fit on one node.
class PipelineCheck {
 public:
  PipelineCheck(const Scenario& scenario, const Places& places)
      : scenario_(scenario), places_(places), stages_(scenario.serving.pipeline_parallel_size) {}

  void run() const {
    if (stages_ == 1) return;
    const ServingOptions& serving = scenario_.serving;
    if (serving.engine != EngineKind::vllm) {
      allow("1 with an engine other than vllm (others divide the requests among the stages' batches)");
    }
    const int64_t most = scenario_.hardware.gpu.count / serving.tensor_parallel_size;
    if (stages_ > most) {
      allow("at most " + std::to_string(most) + ": its product with serving.tensor_parallel_size = " +
            std::to_string(serving.tensor_parallel_size) + " must not exceed hardware.gpu.count = " +
            std::to_string(scenario_.hardware.gpu.count) + " (stages on several nodes are not simulated)");
    }
    if (stages_ > scenario_.model.num_hidden_layers) {
      allow("at most model.num_hidden_layers = " + std::to_string(scenario_.model.num_hidden_layers));
    }
    if (!scenario_.model.is_uniform()) {
      allow("1 for a model with model.layer_groups (their order is not known)");
    }
    check_rest();
  }

 private:
  [[noreturn]] void allow(const std::string& allowed) const {
    fail(places_, "serving.pipeline_parallel_size", std::to_string(stages_), allowed);
  }

  // Rejects options that are not simulated with pipeline stages.
  void check_rest() const {
    const ServingOptions& serving = scenario_.serving;
    if (serving.speculative && serving.speculative->draft_tokens > 0) {
      allow("1 with serving.speculative (not simulated in stages)");
    }
    if (scenario_.fleet.disaggregation) allow("1 with fleet.disaggregation (not simulated in stages)");
    if (scenario_.model.experts && serving.data_parallel_size > 1) {
      allow(
          "1 for a model with experts with serving.data_parallel_size of 2 or more (its ranks step "
          "together)");
    }
    const PolicyOptions options = with_preset(scenario_.policy);
    const Restore restore = *options.restore;
    if (restore != Restore::none && restore != Restore::recompute && restore != Restore::load) {
      allow("1 with policy.restore \"" + std::string(name(restore)) +
            "\" (only none, recompute and load are simulated in stages)");
    }
    if (restore == Restore::load && options.preload == Preload::layerwise) {
      allow(
          "1 with policy.preload \"layerwise\" (layers that are computed while others are loaded are not "
          "simulated in stages)");
    }
  }

  const Scenario& scenario_;
  const Places& places_;
  int64_t stages_;
};

// True iff both pools state their own tensor_parallel_size (checks/disaggregation.cpp), so that no node uses
// serving.tensor_parallel_size.
bool has_sized_pools(const Scenario& scenario) {
  const std::optional<DisaggregationOptions>& pools = scenario.fleet.disaggregation;
  return pools && pools->prefill.tensor_parallel_size && pools->decode.tensor_parallel_size;
}

// Checks that all ranks of a replica fit on the GPUs of one node, and the options of experts.
void check_experts(const Scenario& scenario, const Places& places) {
  const ServingOptions& serving = scenario.serving;
  const int64_t gpus = serving.gpus() * serving.data_parallel_size;
  if (gpus > scenario.hardware.gpu.count && !has_sized_pools(scenario)) {
    fail(places, "serving.data_parallel_size", std::to_string(serving.data_parallel_size),
         "at most " + std::to_string(scenario.hardware.gpu.count / serving.gpus()) +
             ": its product with serving.tensor_parallel_size = " +
             std::to_string(serving.tensor_parallel_size) +
             (serving.pipeline_parallel_size > 1
                  ? " and serving.pipeline_parallel_size = " + std::to_string(serving.pipeline_parallel_size)
                  : "") +
             " must not exceed hardware.gpu.count = " + std::to_string(scenario.hardware.gpu.count));
  }
  if (serving.data_parallel_size * scenario.fleet.replicas > kMaxEngines) {
    fail(places, "serving.data_parallel_size", std::to_string(serving.data_parallel_size),
         "a number whose product with fleet.replicas is at most " + std::to_string(kMaxEngines));
  }
  const auto needs = [&](bool given, const char* path, const std::string& found, const char* allowed) {
    if (given) fail(places, path, found, allowed);
  };
  if (!scenario.model.experts) {
    needs(serving.expert_parallel, "serving.expert_parallel", "true", "false (the model has no experts)");
  } else if (serving.expert_parallel && gpus > scenario.model.experts->count) {
    fail(places, "serving.expert_parallel", "true over " + std::to_string(gpus) + " GPUs",
         "at most model.experts.count = " + std::to_string(scenario.model.experts->count) + " GPUs");
  }
  const std::string alone = "null without serving.expert_parallel";
  if (serving.expert_imbalance && !serving.expert_parallel) {
    fail(places, "serving.expert_imbalance", number_text(*serving.expert_imbalance), alone);
  }
  needs(
      serving.expert_exchange == ExpertExchange::all_to_all &&
          (!serving.expert_parallel || serving.data_parallel_size == 1),
      "serving.expert_exchange", "\"all_to_all\"",
      "allgather_reducescatter; all_to_all with serving.expert_parallel and serving.data_parallel_size of 2 "
      "or more");
}

void check_engine(const Scenario& scenario, const Places& places) {
  const std::optional<std::string>& written_by = scenario.kvcap_version;
  if (written_by && !parse_engine_version(*written_by)) {
    fail(places, "kvcap_version", "\"" + *written_by + "\"", "a version of kvcap: \"" KVCAP_VERSION "\"");
  }
  const std::string& version = scenario.serving.engine_version;
  if (parse_engine_version(version)) return;
  fail(places, "serving.engine_version", "\"" + version + "\"", "a version of vLLM: \"0.19\", \"0.15.1\"");
}

void check_retention(const Scenario& scenario, const Places& places) {
  if (!scenario.serving.retention) return;
  if (scenario.serving.retain_first_tokens > 0) {
    fail(places, "serving.retain_first_tokens", std::to_string(scenario.serving.retain_first_tokens),
         "0 with serving.retention (a range with a priority above 35 retains its blocks)");
  }
  int64_t from = 0;
  const std::vector<RetentionRange>& ranges = scenario.serving.retention->ranges;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::string path = "serving.retention.ranges." + std::to_string(i);
    if (ranges[i].from_token < from) {
      fail(places, path + ".from_token", std::to_string(ranges[i].from_token),
           "at least " + std::to_string(from) + ", the end of the previous range");
    }
    if (!ranges[i].to_token && i + 1 < ranges.size()) {
      fail(places, path + ".to_token", "none", "a token, because another range follows");
    }
    from = ranges[i].to_token.value_or(ranges[i].from_token + 1);
    if (from > ranges[i].from_token) continue;
    fail(places, path + ".to_token", std::to_string(from),
         "more than from_token = " + std::to_string(ranges[i].from_token));
  }
}

}  // namespace

void check_serving(Scenario& scenario, const Places& places) {
  if (!has_sized_pools(scenario)) {
    check_tensor_parallel_size(scenario, scenario.serving.tensor_parallel_size,
                               "serving.tensor_parallel_size", places);
  }
  DecodeContextCheck(scenario, places).run();
  PipelineCheck(scenario, places).run();
  check_experts(scenario, places);
  check_engine(scenario, places);
  check_retention(scenario, places);
  check_speculative(scenario, places);
}

}  // namespace kvcap
