#include "soak/scenario_generator.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "base/input_error.h"
#include "cost/gpu_memory.h"
#include "run/engine_memory.h"
#include "run/machine.h"
#include "scenario/json.h"
#include "scenario/load.h"
#include "soak/dice.h"
#include "soak/policy_generator.h"
#include "spec/tiers.h"
#include "workload/generators/few_shot.h"
#include "workload/generators/long_context.h"

namespace kvcap::soak {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t number) : dice_(number), number_(number) {}

  Json scenario() {
    json_["schema"] = "kvcap.scenario/1";
    json_["name"] = "soak " + std::to_string(number_);
    json_["model"] = model();
    json_["hardware"] = hardware();
    json_["workload"]["source"]["kind"] = "chat";
    known_ = parse_scenario(json_.dump(), "soak", {});  // resolves the model and the server
    json_["serving"] = serving();
    json_["serving"]["allow_impossible"] = true;  // even where an engine would not start
    json_["workload"] = workload();
    json_["policy"] = policy();
    // Not every policy supports layers that keep a window or a state.
    while (!known_.model.is_uniform() && is_refused()) json_["policy"] = policy();
    if (dice_.chance(0.3)) json_["fleet"] = fleet();
    if (dice_.chance(0.4)) json_["slo"]["ttft_ms"] = dice_.spread(1, 1e5);
    if (dice_.chance(0.4)) json_["slo"]["tpot_ms"] = dice_.spread(1, 1e3);
    if (dice_.chance(0.3)) json_["fidelity"] = dice_.pick(kFidelityNames);
    if (dice_.chance(0.1)) json_["replications"] = 2;
    if (dice_.chance(0.3) && !known_.model.is_recurrent()) {
      Json& serving = json_["serving"];
      const bool shares = known_.model.experts && serving.contains("data_parallel_size");
      serving["speculative"] = speculative(serving.contains("kv_capacity_tokens") && !shares);
    }
    json_["seed"] = number_;
    if (dice_.chance(0.25)) disaggregate();
    if (dice_.chance(0.25)) give_up(json_["workload"]);
    connect(json_["hardware"]);
    order(json_["serving"], json_["workload"]);
    return json_;
  }

 private:
  bool is_refused() const {
    try {
      parse_scenario(json_.dump(), "soak", {});
      return false;
    } catch (const InputError&) {
      return true;
    }
  }

  // ---- the machine ----

  Json model() {
    const CatalogueEntry& entry =
        catalogue(Catalogue::models)[dice_.which(catalogue(Catalogue::models).size())];
    if (dice_.chance(0.6)) return std::string(entry.name);
    Json model = parse_json(entry.text, std::string(entry.name));
    model["name"] = "changed";
    if (dice_.chance(0.5)) model["max_position_embeddings"] = dice_.tokens(256, 131072);
    if (model.contains("layer_groups")) return model;
    if (!model.contains("experts")) model["num_hidden_layers"] = dice_.between(1, 48);
    if (!model.contains("kv_lora_rank")) {
      const auto heads = model["num_attention_heads"].get<int64_t>();
      int64_t shared_by = dice_.pick({1, 2, 4, 8});
      while (heads % shared_by != 0) shared_by /= 2;
      model["num_key_value_heads"] = heads / shared_by;
    }
    if (dice_.chance(0.3)) model["kv_bytes_per_element"] = dice_.pick({1, 2, 4});
    if (dice_.chance(0.3)) model["position_encoding"] = dice_.pick(kPositionNames);
    return model;
  }

  // Rates that do not fall with the size of a piece.
  Json curve() {
    Json points = Json::array();
    double bytes = dice_.spread(1e2, 1e5), bytes_per_s = dice_.spread(1e7, 1e10);
    for (int64_t i = dice_.between(1, 4); i > 0; --i) {
      points.push_back({{"block_bytes", bytes}, {"bytes_per_s", bytes_per_s}});
      bytes *= dice_.spread(1.5, 30);
      bytes_per_s *= dice_.within(1, 4);
    }
    return points;
  }

  Json hardware() {
    const auto& all = catalogue(Catalogue::hardware);
    const CatalogueEntry& entry = all[dice_.which(all.size())];
    if (dice_.chance(0.4)) return std::string(entry.name);
    Json hardware = parse_json(entry.text, std::string(entry.name));
    hardware["name"] = "changed";
    const auto scale = [&](const char* part, const char* key) {
      if (!hardware.contains(part) || !hardware[part].contains(key) || dice_.chance(0.5)) return;
      hardware[part][key] = hardware[part][key].get<double>() * dice_.spread(0.1, 10);
    };
    scale("gpu", "peak_flops");
    scale("gpu", "memory_bandwidth_bytes_per_s");
    scale("pcie", "h2d_bandwidth_bytes_per_s");
    scale("pcie", "d2h_bandwidth_bytes_per_s");
    scale("dram", "bandwidth_bytes_per_s");
    scale("ssd", "read_bandwidth_bytes_per_s");
    scale("ssd", "write_bandwidth_bytes_per_s");
    if (dice_.chance(0.3)) hardware["gpu"]["kernel_overhead_s"] = dice_.spread(1e-7, 1e-5);
    if (dice_.chance(0.3)) hardware["pcie"]["request_overhead_s"] = dice_.spread(1e-7, 1e-4);
    if (dice_.chance(0.3)) hardware["pcie"]["h2d_curve"] = curve();
    if (dice_.chance(0.3)) hardware["pcie"]["d2h_curve"] = curve();
    if (dice_.chance(0.3)) hardware["pcie"]["duplex_share"] = dice_.within(0.5, 1);
    if (dice_.chance(0.3)) hardware["gpu"]["power_busy_w"] = 700;
    if (dice_.chance(0.6)) {
      hardware["ssd"] = {{"count", dice_.between(1, 8)},
                         {"capacity_bytes", dice_.spread(1e9, 1e13)},
                         {"read_bandwidth_bytes_per_s", dice_.spread(1e8, 2e10)},
                         {"write_bandwidth_bytes_per_s", dice_.spread(1e8, 1e10)},
                         {"request_overhead_s", dice_.pick({0.0, 1e-5, 1e-4})},
                         {"sync_write_s", dice_.pick({0.0, 2e-5})},
                         {"gpu_direct", dice_.chance(0.5)},
                         {"endurance_bytes", dice_.pick({0.0, 1e15})}};
      if (dice_.chance(0.3)) hardware["ssd"]["read_curve"] = curve();
    }
    if (dice_.chance(0.3)) {
      for (const TierRow& one : kTierRows) {
        if (!one.table) continue;
        hardware[std::string(one.name)] = {{"count", dice_.between(1, 4)},
                                           {"capacity_bytes", dice_.spread(1e9, 1e12)},
                                           {"read_bandwidth_bytes_per_s", dice_.spread(1e9, 1e11)},
                                           {"write_bandwidth_bytes_per_s", dice_.spread(1e9, 1e11)},
                                           {"latency_s", dice_.pick({0.0, 2.5e-7, 1e-4})},
                                           {"gpu_direct", dice_.chance(0.5)},
                                           {"price_usd_per_gb_hour", dice_.pick({0.0, 0.001})}};
      }
    }
    if (dice_.chance(0.6)) {
      hardware["remote"] = {{"capacity_bytes", dice_.spread(1e9, 1e14)},
                            {"bandwidth_bytes_per_s", dice_.spread(1e8, 1e11)},
                            {"latency_s", dice_.pick({0.0, 1e-4, 1e-2})},
                            {"lookup_s", dice_.pick({0.0, 1e-3, 0.3})},
                            {"price_usd_per_request", dice_.pick({0.0, 1e-7})}};
    }
    return hardware;
  }

  Json serving() {
    Json serving;
    const ModelSpec& model = known_.model;
    const HardwareProfile& hardware = known_.hardware;
    // The smallest group that holds the model, or one with a given capacity.
    int64_t size = 1;
    ExpertPlacement placement;
    const auto tokens = [&] {
      const bool knows_driver = hardware.gpu.reported_memory_bytes.has_value();
      return gpu_memory(model, hardware,
                        {.tensor_parallel_size = size,
                         .placement = placement,
                         .max_num_batched_tokens = knows_driver ? 8192 : 2048,
                         .capacity_model = knows_driver ? KvCapacityModel::engine : KvCapacityModel::simple})
          .tokens;
    };
    const auto doubled = [&] {
      return 2 * size <= hardware.gpu.count && model.num_attention_heads % (2 * size) == 0;
    };
    while (doubled() && (tokens() < 4096 || dice_.chance(0.1))) size *= 2;
    serving["tensor_parallel_size"] = size;
    const int64_t most_ranks = hardware.gpu.count / size;
    const int64_t ranks =
        most_ranks > 1 && dice_.chance(model.experts ? 0.8 : 0.3) ? dice_.between(2, most_ranks) : 1;
    if (ranks > 1) serving["data_parallel_size"] = ranks;
    if (model.experts) placement = experts(serving, ranks, ranks * size);
    kv_tokens_ = tokens();
    if (kv_tokens_ < 4096 || dice_.chance(0.5)) {
      serving["kv_capacity_tokens"] = kv_tokens_ = dice_.tokens(dice_.chance(0.3) ? 300 : 1024, 300000);
    } else if (dice_.chance(0.2)) {
      serving["gpu_memory_utilization"] = dice_.within(0.88, 1);
    }
    if (dice_.chance(0.5)) serving["max_num_seqs"] = dice_.pick({1, 2, 3, 8, 24, 64});
    if (dice_.chance(0.15)) serving["max_queued_turns"] = dice_.between(0, 20);
    if (dice_.chance(0.5)) serving["max_num_batched_tokens"] = dice_.pick({64, 100, 256, 512, 4096, 8192});
    if (dice_.chance(0.4)) serving["block_size"] = dice_.pick({1, 2, 7, 8, 32, 64, 128});
    if (dice_.chance(0.5)) serving["max_model_len"] = dice_.tokens(300, 40000);
    if (dice_.chance(0.3)) serving["overflow"] = dice_.pick(kOverflowNames);
    add_engine(serving);
    if (!model.is_uniform()) fit_blocks(serving);
    return serving;
  }

  // Blocks are as large as a state, and steps must be long enough to reach their ends.
  void fit_blocks(Json& serving) {
    if (dice_.chance(0.4)) serving["recurrent_checkpoints"] = dice_.pick(kCheckpointsNames);
    Json with = json_;
    with["serving"] = serving;
    const int64_t block_tokens = kv_layout(parse_scenario(with.dump(), "soak", {})).block_tokens();
    const int64_t step_tokens = serving.value("max_num_batched_tokens", int64_t{2048});
    if (known_.model.is_recurrent() && step_tokens < block_tokens) {
      serving["max_num_batched_tokens"] = dice_.between(block_tokens, 4 * block_tokens);
    }
    if (serving.contains("kv_capacity_tokens") && kv_tokens_ < 8 * block_tokens) {
      serving["kv_capacity_tokens"] = kv_tokens_ = 8 * block_tokens;
    }
  }

  ExpertPlacement experts(Json& serving, int64_t ranks, int64_t gpus) {
    ExpertPlacement placement{.ranks = ranks};
    if (gpus > known_.model.experts->count || dice_.chance(0.4)) return placement;
    serving["expert_parallel"] = placement.expert_parallel = true;
    if (dice_.chance(0.3)) serving["expert_imbalance"] = dice_.within(1, 4);
    if (ranks > 1 && dice_.chance(0.3)) serving["expert_exchange"] = "all_to_all";
    return placement;
  }

  void add_engine(Json& serving) {
    if (dice_.chance(0.3)) serving["prefix_caching"] = dice_.chance(0.3);
    if (dice_.chance(0.2)) serving["cache_generated"] = dice_.chance(0.3);
    if (dice_.chance(0.1))
      serving["retain_first_tokens"] = dice_.between(1, 2000);
    else if (dice_.chance(0.2))
      serving["retention"] = retention();
    if (dice_.chance(0.1)) serving["prefill_schedule_interval"] = dice_.between(1, 6);
    if (dice_.chance(0.5)) serving["admission"] = dice_.pick(kAdmissionNames);
    if (dice_.chance(0.4)) serving["schedule"] = dice_.pick(kStepOrderNames);
    if (dice_.chance(0.4)) serving["async_scheduling"] = dice_.chance(0.5);
    if (dice_.chance(0.3)) serving["step_overhead_s"] = dice_.spread(1e-5, 0.1);
    if (dice_.chance(0.3)) serving["step_overhead_per_sequence_s"] = dice_.spread(1e-6, 1e-2);
    if (dice_.chance(0.3)) serving["one_token_slices"] = "decode";
    if (dice_.chance(0.3)) serving["request_overhead_s"] = dice_.spread(1e-4, 1);
  }

  Json retention() {
    const int64_t first = dice_.between(1, 2000);
    Json early = {{"to_token", first}, {"priority", dice_.between(0, 100)}};
    Json late = {{"from_token", first + dice_.between(0, 100)}, {"priority", dice_.between(0, 100)}};
    if (dice_.chance(0.5)) late["duration_s"] = dice_.spread(0.1, 100);
    return {{"ranges", {early, late}},
            {"decode_priority", dice_.between(0, 100)},
            {"offload_min_priority", dice_.between(0, 100)}};
  }

  // A drafter takes GPU memory, which may be short if memory determines the KV capacity.
  Json speculative(bool may_take_memory) {
    Json options = {{"draft_tokens", dice_.pick({0, 1, 2, 3, 5, 16})}};
    const int64_t most = options["draft_tokens"].get<int64_t>() + 1;
    if (dice_.chance(0.3)) {
      options["drafts_by_batch"] = {{{"from_sequences", 1}, {"draft_tokens", dice_.between(0, most)}},
                                    {{"from_sequences", dice_.between(2, 40)}, {"draft_tokens", 0}}};
    }
    if (dice_.chance(0.3)) {
      options["acceptance_by_position"] = {0.9, 0.5, 0.5, 0.1};
    } else if (dice_.chance(0.5)) {
      options["acceptance_length"] = dice_.within(1, static_cast<double>(most));
    } else {
      options["acceptance_rate"] = dice_.pick({0.0, 0.3, 0.8, 1.0});
    }
    if (dice_.chance(0.3)) options["draft_step_s"] = dice_.spread(1e-6, 1e-2);
    if (may_take_memory && dice_.chance(0.5)) {
      options["method"] = "layers";
      if (dice_.chance(0.5)) options["draft_layers"] = dice_.between(1, 3);
    }
    return options;
  }

  // ---- the workload ----

  Json workload() {
    Json workload;
    workload["source"] = source();
    sessions_ = dice_.between(1, 60);
    if (workload["source"]["kind"] != "rag" || dice_.chance(0.5)) workload["sessions"] = sessions_;
    Json& arrivals = workload["arrivals"];
    rate_ = dice_.spread(0.02, 20);
    if (dice_.chance(0.2)) {
      arrivals["process"] = "closed_loop";
      arrivals["concurrency"] = dice_.between(1, 30);
    } else {
      arrivals["process"] = dice_.pick({"poisson", "gamma", "constant"});
      arrivals["sessions_per_s"] = rate_;
    }
    if (dice_.chance(0.5)) arrivals["cv"] = dice_.spread(0.1, 5);
    Json& think = workload["think_time"];
    think["distribution"] = dice_.pick({"constant", "exponential", "lognormal"});
    think["mean_s"] = dice_.chance(0.2) ? 0.0 : dice_.spread(0.01, 100);
    if (dice_.chance(0.5)) think["cv"] = dice_.spread(0.1, 3);
    if (dice_.chance(0.15)) {
      workload["warmup"] = "auto";
    } else if (dice_.chance(0.2)) {
      workload["warmup_turns"] = dice_.between(1, 40);
    }
    if (dice_.chance(0.3)) workload["warm_start"] = true;
    return workload;
  }

  // Adds client timeouts between the time of a step and that of a session.
  void give_up(Json& workload) {
    workload["client_timeout_s"] = dice_.spread(1e-3, 100);
    if (dice_.chance(0.3)) return;
    workload["retries"] = dice_.between(0, 4);
    if (dice_.chance(0.5)) return;
    workload["retries"] = {{"count", dice_.between(1, 6)},
                           {"backoff_s", dice_.chance(0.3) ? 0.0 : dice_.spread(1e-3, 10)},
                           {"multiplier", dice_.within(1, 3)},
                           {"jitter", dice_.within(0, 1)}};
  }

  // Uses separate dice, so that the other settings of a scenario number do not change.
  void connect(Json& hardware) const {
    Dice dice(number_, "peer");
    if (hardware.is_object() && dice.chance(0.3)) hardware["peer"] = dice.pick(kPeerNames);
  }
  void order(Json& serving, Json& workload) const {
    Dice dice(number_, "queue");
    if (dice.chance(0.2)) {
      serving["scheduling_policy"] = "priority";
      workload["priorities"] = {{{"share", 1}, {"priority", 0}},
                                {{"share", 2}, {"priority", dice.between(0, 3)}}};
    }
    if (!known_.model.is_recurrent() && dice.chance(0.15)) {
      serving["long_prefill_token_threshold"] = dice.between(64, 3000);
    }
    if (dice.chance(0.05)) serving["max_num_queued_reqs"] = dice.between(1, 40);
  }

  Json source() {
    Json source;
    const int64_t kind = dice_.between(0, 9);
    if (kind < 5) {
      source["kind"] = "chat";
      if (dice_.chance(0.2)) source["history"] = dice_.pick(kHistoryNames);
    } else if (kind < 6) {
      source["kind"] = "long_context";
      source["tasks"] = dice_.pick(long_context_tasks());
      source["documents"] = dice_.between(1, 12);
      if (dice_.chance(0.5)) source["zipf_alpha"] = dice_.within(0, 3);
    } else if (kind < 8) {
      source["kind"] = "few_shot";
      source["dataset"] = dice_.pick(few_shot_datasets());
      if (dice_.chance(0.5)) source["prefixes"] = dice_.between(1, 20);
      if (dice_.chance(0.7)) source["max_prefix_tokens"] = dice_.tokens(50, 10000);
      if (dice_.chance(0.5)) source["reuse_sigma"] = dice_.spread(0.1, 10);
    } else {
      source["kind"] = "rag";
      source["base_queries"] = dice_.between(1, 15);
      source["paraphrases"] = dice_.between(0, 4);
      const int64_t chunks = dice_.between(1, 8);
      source["chunks"] = chunks;
      source["chunk_tokens"] = dice_.tokens(8, 1024);
      if (dice_.chance(0.5)) source["corpus_chunks"] = chunks + dice_.between(0, 40);
      if (dice_.chance(0.5)) source["overlap"] = dice_.within(0, 1);
      if (dice_.chance(0.5)) source["zipf_alpha"] = dice_.within(0, 2);
      if (dice_.chance(0.5)) source["question_tokens"] = dice_.tokens(1, 300);
    }
    return source;
  }

  // ---- the policy and the fleet ----

  Json policy() { return policy_json(dice_, known_, kv_tokens_, json_["serving"]); }

  Json fleet() {
    Json fleet;
    const int64_t replicas = dice_.between(1, 5);
    fleet["replicas"] = replicas;
    fleet["routing"] = dice_.pick(kRoutingNames);
    if (dice_.chance(0.4)) fleet["load_bound"] = dice_.between(0, 12);
    if (known_.hardware.remote) fleet["shared_remote"] = dice_.chance(0.6);
    // While sessions arrive, and for a short time after.
    const double window_s = 1.5 * static_cast<double>(sessions_) / rate_ + 20;
    std::map<int64_t, double> up_again_s;
    for (int64_t i = dice_.between(-2, 4); i > 0; --i) {
      const int64_t node = dice_.between(0, replicas - 1);
      const double at_s = up_again_s[node] + dice_.within(0, window_s / 2);
      const double down_s = dice_.spread(0.01, window_s);
      fleet["failures"].push_back({{"replica", node}, {"at_s", at_s}, {"down_s", down_s}});
      up_again_s[node] = at_s + 1.0000001 * down_s;
    }
    return fleet;
  }

  // Disaggregates the fleet unless another setting forbids it.
  void disaggregate() {
    const Json before = json_;
    Json& hardware = json_["hardware"];
    if (!known_.hardware.nic && hardware.is_object()) {
      hardware["nic"] = {{"count", dice_.between(1, 8)},
                         {"bandwidth_bytes_per_s", dice_.spread(1e9, 5e10)},
                         {"latency_s", dice_.spread(1e-6, 1e-2)}};
    }
    Json& fleet = json_["fleet"];
    const int64_t before_replicas = fleet.is_object() ? fleet.value("replicas", int64_t{1}) : 1;
    const int64_t replicas = std::max(dice_.between(2, 5), before_replicas);
    fleet["replicas"] = replicas;
    Json options = {{"prefill_replicas", dice_.between(1, replicas - 1)}};
    const bool pushes = dice_.chance(0.5);
    if (pushes) options["transfer"] = "push";
    if (pushes && dice_.chance(0.6)) options["granularity"] = "layerwise";
    if (!pushes && dice_.chance(0.3)) options["lease_s"] = dice_.spread(1e-3, 10);
    if (dice_.chance(0.2)) options["link"] = "nvlink";
    if (dice_.chance(0.3)) options["decode"]["max_num_seqs"] = dice_.between(1, 32);
    // Steps of a model with recurrent layers must reach the end of a block.
    if (dice_.chance(0.3) && !known_.model.is_recurrent())
      options["prefill"]["max_num_batched_tokens"] = dice_.tokens(64, 8192);
    fleet["disaggregation"] = options;
    if (is_refused()) {
      json_ = before;
      return;
    }
    resize_pools();
  }

  // Gives the pools parallelism of their own, unless another setting forbids it.
  void resize_pools() {
    const Json before = json_;
    Json& options = json_["fleet"]["disaggregation"];
    for (const char* pool : {"prefill", "decode"}) {
      if (dice_.chance(0.3)) options[pool]["tensor_parallel_size"] = int64_t{1} << dice_.between(0, 2);
      if (dice_.chance(0.3)) options[pool]["data_parallel_size"] = dice_.between(1, 3);
    }
    if (is_refused()) json_ = before;
  }

  Dice dice_;
  uint64_t number_;
  Json json_;
  Scenario known_;
  int64_t kv_tokens_ = 0;
  int64_t sessions_ = 0;
  double rate_ = 1;
};

}  // namespace

std::string scenario_json(uint64_t number) { return Generator(number).scenario().dump(2); }

}  // namespace kvcap::soak
