#include "run/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/check.h"
#include "base/input_error.h"
#include "base/text/note.h"
#include "cost/drawn_machine.h"
#include "engine/versions/host_times.h"
#include "policy/keys.h"
#include "run/engine_memory.h"
#include "run/ranks.h"

namespace kvcap {
namespace {

constexpr double kUnboundedBytes = 1e18;

HardwareProfile with_staging(HardwareProfile hardware, const std::vector<TierOptions>& tiers) {
  const auto used = [&](Tier tier) {
    return std::any_of(tiers.begin(), tiers.end(), [&](const TierOptions& one) { return one.kind == tier; });
  };
  // Contexts from tiers below DRAM are promoted as they are read, so they pass through DRAM.
  if (!used(Tier::dram)) return hardware;
  if (hardware.ssd && used(Tier::ssd)) hardware.ssd->gpu_direct = false;
  for (Tier tier : kTiers) {
    if (hardware.devices[index(tier)] && used(tier)) hardware.devices[index(tier)]->gpu_direct = false;
  }
  return hardware;
}

std::vector<TierOptions> tiers_of(const Scenario& scenario) {
  if (scenario.policy.tiers) return *scenario.policy.tiers;
  std::vector<TierOptions> tiers;
  for (Tier tier : kHostTiers) {
    if (has_tier(scenario.hardware, tier)) tiers.push_back({.kind = tier});
  }
  return tiers;
}

// True iff the prompts consist of pieces of text, which separate calls can process. Other prompts take one
// call each.
bool has_texts(const Workload& workload) {
  return !workload.piece_begin.empty() && workload.piece_keys == PieceKeys::text;
}

}  // namespace

Machine::Expected Machine::expected_of(const Scenario& scenario, const Workload& workload) {
  Expected expected{.mean_history_tokens = static_cast<int64_t>(std::llround(workload.mean_history_tokens())),
                    .context_tokens = workload.context_tokens() / storing_engines(scenario),
                    .reused = {}};
  const PolicyOptions options = with_preset(scenario.policy);
  // If there is one tier, it serves all hits.
  if (tiers_of(scenario).size() > 1 && restore_row(*options.restore).plans) {
    expected.reused = reused_tokens(
        workload, {.by_prefix = options.match.value_or(Match::prefix) == Match::prefix,
                   .max_context_tokens =
                       scenario.serving.max_model_len.value_or(scenario.model.max_position_embeddings)});
  }
  return expected;
}

Machine::Machine(const Scenario& scenario, int64_t mean_history_tokens, int64_t context_tokens)
    : Machine(scenario, Expected{mean_history_tokens, context_tokens, {}}) {}

Machine::Machine(const Scenario& scenario, const Workload& workload)
    : Machine(scenario, expected_of(scenario, workload)) {
  if (!workload.piece_begin.empty()) {
    match_ = options_.match.value_or(Match::prefix);
  } else if (options_.match.value_or(kPolicyDefaults.match) != Match::session) {
    notes_.emplace_back(
        "prompts have no pieces, so policy.match is session: only a session's own history is reused");
  }
  options_.match = match_;
  divide_into_objects(scenario, !workload.piece_begin.empty());
  if (!has_texts(workload)) options_.calls = Calls::single;
  note_unused_keys(scenario.policy, workload);
  if (options_.preload == Preload::layerwise && options_.restore == Restore::load && !tiers_.empty()) {
    notes_.push_back(options_.name + std::string(kOwnSteps));
  }
  const bool has_next_use = std::any_of(tiers_.begin(), tiers_.end(), [](const StoreTier& tier) {
    return tier.eviction == EvictionKind::next_use;
  });
  if (has_next_use && !options_.look_ahead.value_or(false)) {
    notes_.push_back(noted(NoteKind::no_effect,
                           "eviction next_use of " + options_.name +
                               " is lru, because only policy.look_ahead=true tells it the waiting requests"));
  }
}

// Returns the hardware with the engine's kernels in place of vLLM's.
static HardwareProfile engine_hardware(const Scenario& scenario) {
  const ServingOptions& serving = scenario.serving;
  HardwareProfile hardware = scenario.hardware;
  if (serving.engine == EngineKind::sglang && serving.attention_backend == AttentionBackend::triton) {
    hardware.gpu.attention.padded_rows = true;
  }
  const std::optional<EngineVersion> version = parse_engine_version(serving.engine_version);
  if (!version || serving.host_times == HostTimes::none) return hardware;
  return with_slower_kernels(hardware, host_times_of(serving.engine, *version).kernel_factor);
}

Machine::Machine(const Scenario& scenario, const Expected& expected)
    : options_(with_preset(scenario.policy)),
      hardware_(with_staging(share_of_rank(scenario), tiers_of(scenario))),
      cost_(scenario.model, engine_hardware(scenario), scenario.serving.tensor_parallel_size,
            expert_placement(scenario), scenario.serving.decode_context_parallel_size) {
  const ServingOptions& serving = scenario.serving;
  if (serving.sampling && serving.sampling->filters() && serving.sampling->method) {
    cost_.filter_logits(sampler_time(*serving.sampling->method));
  }
  if (serving.enable_lora) cost_.add_adapters({serving.max_loras, serving.max_lora_rank});
  for (Tier from : kTiers) {
    for (Tier to : kTiers) {
      const bool way = from != to && has_tier(hardware_, from) && has_tier(hardware_, to);
      // A route without links takes no time.
      const bool free = to == Tier::hbm && options_.ideal_load.value_or(false);
      routes_.push_back(way && !free ? kvcap::route(hardware_, serving.gpus(), from, to) : Route{});
    }
  }
  if (options_.ideal_load.value_or(false)) notes_.emplace_back("loads take no time (policy.ideal_load=true)");
  if (serving.attention_backend == AttentionBackend::triton) {
    notes_.push_back(
        noted(NoteKind::assumption,
              "Triton's attention as fast as that of the profile; an A100's took 1.8 times as long "
              "(hardware.gpu.attention.efficiency)"));
  }
  max_model_len_ = scenario.serving.max_model_len.value_or(scenario.model.max_position_embeddings);
  const std::optional<SpeculativeOptions>& speculative = scenario.serving.speculative;
  if (speculative && speculative->draft_tokens > 0) {
    speculation_ = std::make_unique<Speculation>(
        *speculative, scenario.model, scenario.hardware, scenario.serving.tensor_parallel_size,
        static_cast<uint64_t>(scenario.seed), expert_placement(scenario));
  }
  try {
    choose_tiers(scenario);
    choose_policy(scenario, expected);
    choose_memory(scenario);
  } catch (const InputError& error) {
    if (scenario.file.empty()) throw;
    throw InputError(scenario.file + ": " + error.what());
  }
}

// Returns which share of the hit tokens each host tier serves under LRU. If tiers are inclusive, the nearest
// tier whose own capacity holds the context serves a hit. If they are exclusive, capacities add up. Contexts
// on the GPU need no restoration and are not counted. Nodes of a fleet divide the contexts evenly.
std::vector<TierShare> Machine::planned_tiers(const Scenario& scenario, const Expected& expected,
                                              double bytes_per_token) const {
  struct Rung {
    Tier tier;
    double capacity_tokens = 0;
    double hit_tokens = 0;
  };
  std::vector<Rung> rungs;
  double host_tokens = 0;
  for (const StoreTier& tier : tiers_) {
    const bool on_gpu = tier.kind == Tier::hbm;
    const bool shared = scenario.fleet.shared_remote && tier.kind == Tier::remote;
    const double nodes = shared ? 1 : static_cast<double>(storing_engines(scenario));
    const double bytes = on_gpu ? scenario.model.kv_bytes_per_token() : bytes_per_token;
    double tokens = nodes * tier.capacity_bytes / bytes;
    if (!on_gpu && !*options_.inclusive) tokens = host_tokens += tokens;
    rungs.push_back({.tier = tier.kind, .capacity_tokens = tokens});
  }
  double hit_tokens = 0;
  for (const ReusedTokens& one : expected.reused) {
    if (options_.ttl_s && one.idle_s >= *options_.ttl_s) continue;
    const auto rung = std::find_if(rungs.begin(), rungs.end(), [&](const Rung& level) {
      return static_cast<double>(one.distance_tokens) <= level.capacity_tokens;
    });
    if (rung == rungs.end() || rung->tier == Tier::hbm) continue;
    rung->hit_tokens += static_cast<double>(one.tokens);
    hit_tokens += static_cast<double>(one.tokens);
  }
  std::vector<TierShare> shares;
  for (const Rung& rung : rungs) {
    if (rung.hit_tokens > 0) shares.push_back({rung.tier, rung.hit_tokens / hit_tokens});
  }
  if (!shares.empty()) return shares;
  // If the hits are unknown, plans for the nearest tier with room for all contexts or, if there is none, for
  // the farthest.
  const double context_bytes =
      static_cast<double>(expected.context_tokens) * scenario.model.kv_bytes_per_token();
  for (const StoreTier& tier : tiers_) {
    if (tier.kind == Tier::hbm) continue;
    shares = {{tier.kind, 1}};
    if (tier.capacity_bytes >= context_bytes) break;
  }
  return shares;
}

void Machine::choose_policy(const Scenario& scenario, const Expected& expected) {
  for (const StoreTier& tier : tiers_) {
    if (tier.kind == Tier::hbm) continue;
    const Route& load = route(tier.kind, Tier::hbm);
    idle_rates_[index(tier.kind)] = {.route = &load, .stretch = 1, .delay_s = load.latency_s};
  }
  // Which tiers serve hits depends on the stored bytes per token, and these depend on which tiers the policy
  // plans for. If two plans alternate, the last one is used.
  constexpr int kMostPlans = 4;
  std::vector<TierShare> planned = planned_tiers(scenario, expected, scenario.model.kv_bytes_per_token());
  for (int plans = 0; plans < kMostPlans; ++plans) {
    policy_ = make_policy({.cost = &cost_,
                           .hardware = &hardware_,
                           .options = options_,
                           .idle_rates = idle_rates_,
                           .planned = planned,
                           .step_tokens = scenario.serving.max_num_batched_tokens,
                           .split_tokens = options_.split_tokens.value_or(expected.mean_history_tokens),
                           .max_model_len = max_model_len_,
                           .block_tokens = kvcap::kv_layout(scenario).hit_tokens(),
                           .seed = static_cast<uint64_t>(scenario.seed)});
    if (expected.reused.empty()) break;
    // A form that stores only token ids fits any tier, which is no reason to plan for the nearest one.
    const bool keeps_tokens_alone =
        policy_->schedule(std::max<int64_t>(1, expected.mean_history_tokens), main_tier(planned))
            .recompute_layers == scenario.model.num_hidden_layers;
    if (keeps_tokens_alone) break;
    std::vector<TierShare> again =
        planned_tiers(scenario, expected, policy_->traits().stored_bytes_per_token);
    if (again == planned) break;
    planned = std::move(again);
  }
  if (policy_->traits().reuse == Reuse::everything) tiers_.clear();
  if (policy_->traits().reuse == Reuse::nothing) {
    std::erase_if(tiers_, [](const StoreTier& tier) { return tier.kind != Tier::hbm; });
  }
  for (StoreTier& tier : tiers_) {
    tier.bytes_per_token = tier.kind == Tier::hbm ? scenario.model.kv_bytes_per_token()
                                                  : policy_->traits().stored_bytes_per_token;
  }
  const std::vector<std::string>& notes = policy_->traits().notes;
  notes_.insert(notes_.end(), notes.begin(), notes.end());
}

void Machine::note_unused_keys(const PolicyOptions& given, const Workload& workload) {
  const std::vector<std::string_view> unused = unused_keys(given, options_,
                                                           {.keeps = !tiers_.empty(),
                                                            .host_tiers = has_host_tier(),
                                                            .scores = keeps_scores(),
                                                            .pieces = !workload.piece_begin.empty(),
                                                            .texts = has_texts(workload)});
  if (unused.empty()) return;
  std::string note = options_.name + " does not use ";
  for (std::string_view key : unused) {
    note += (key == unused.front() ? "policy." : ", policy.") + std::string(key);
  }
  notes_.push_back(std::move(note));
}

bool Machine::uses(Tier tier) const {
  return std::any_of(tiers_.begin(), tiers_.end(), [&](const StoreTier& one) { return one.kind == tier; });
}

bool Machine::has_host_tier() const {
  return std::any_of(tiers_.begin(), tiers_.end(),
                     [](const StoreTier& tier) { return tier.kind != Tier::hbm; });
}

bool Machine::keeps_scores() const {
  return std::any_of(tiers_.begin(), tiers_.end(),
                     [](const StoreTier& tier) { return eviction_row(tier.eviction).scores; });
}

bool Machine::soft_pins() const {
  return std::any_of(tiers_.begin(), tiers_.end(), [](const StoreTier& tier) { return tier.soft_pin_s > 0; });
}

bool Machine::clairvoyant() const {
  return std::any_of(tiers_.begin(), tiers_.end(),
                     [](const StoreTier& tier) { return eviction_row(tier.eviction).clairvoyant; });
}

const Route& Machine::route(Tier from, Tier to) const {
  return routes_[index(from) * kTiers.size() + index(to)];
}

double Machine::sequences_at_once(double tokens) const {
  if (kv_layout_.is_plain()) return static_cast<double>(kv_capacity_tokens_) / tokens;
  const int64_t blocks = kv_layout_.most_blocks(std::llround(tokens), step_tokens_, checkpoints_);
  return static_cast<double>(kv_layout_.blocks_of(kv_capacity_tokens_)) / static_cast<double>(blocks);
}

// Returns the size of a tier that is given as a multiple of the engine's KV capacity. Throws InputError if it
// exceeds the available size.
static double over_gpu_bytes(const Scenario& scenario, const TierOptions& tier, double there_bytes) {
  const double bytes = *tier.capacity_over_gpu * static_cast<double>(kvcap::kv_capacity_tokens(scenario)) *
                       scenario.model.kv_bytes_per_token();
  if (bytes <= there_bytes) return bytes;
  throw InputError(
      fmt::format("policy.tiers: {}: found capacity_over_gpu {:g}, which is {:.1f} GB; allowed: at most "
                  "the {:.1f} GB that an engine has there (or set capacity_bytes instead)",
                  name(tier.kind), *tier.capacity_over_gpu, bytes / 1e9, there_bytes / 1e9));
}

// Returns the eviction order of a tier. A preset's eviction by score applies only to caches (HyperInfer
// IV-D2): scores never age, and in the tier below, which stores everything, contexts that were important long
// ago would stay.
static EvictionKind eviction_of(const TierOptions& tier, const PolicyOptions& given,
                                const PolicyOptions& whole) {
  if (tier.eviction) return *tier.eviction;
  const EvictionKind preferred = whole.eviction.value_or(kPolicyDefaults.eviction);
  const bool is_cache = tier.kind < Tier::ssd;
  return given.eviction || is_cache || !eviction_row(preferred).scores ? preferred : kPolicyDefaults.eviction;
}

void Machine::choose_tiers(const Scenario& scenario) {
  for (const TierOptions& options : tiers_of(scenario)) {
    double capacity_bytes = tier_facts(hardware_, options.kind)->capacity_bytes;
    if (options.capacity_bytes) capacity_bytes = rank_bytes(scenario, options.kind, *options.capacity_bytes);
    if (options.capacity_over_gpu) capacity_bytes = over_gpu_bytes(scenario, options, capacity_bytes);
    if (options_.unbounded && options.kind != Tier::hbm) capacity_bytes = kUnboundedBytes;
    if (options.kind == Tier::remote) remote_copies_ = static_cast<double>(options.replicas);
    tiers_.push_back({.kind = options.kind,
                      .capacity_bytes = capacity_bytes / static_cast<double>(options.replicas),
                      .eviction = eviction_of(options, scenario.policy, options_),
                      .free_fraction = options.free_fraction,
                      .exclusive = options.exclusive,
                      .evict_at = options.evict_at.value_or(0),
                      .evict_share = options.evict_share,
                      .lease_s = options.lease_s,
                      .soft_pin_s = options.soft_pin_s,
                      .after_uses = options.after_uses});
  }
}

void Machine::divide_into_objects(const Scenario& scenario, bool has_pieces) {
  const bool divides = has_pieces && options_.save_at != SaveAt::eviction;
  for (StoreTier& tier : tiers_) {
    if (!eviction_row(tier.eviction).by_object) continue;
    if (!divides) {
      tier.eviction = EvictionKind::lru;
    } else if (!options_.chunk_tokens) {
      options_.chunk_tokens = scenario.serving.block_tokens();
    }
  }
}

// Adds a note if serving.max_model_len is not set and the KV cache cannot hold a sequence as long as the
// model's window.
void Machine::note_longest_sequence(const Scenario& scenario) {
  const ServingOptions& serving = scenario.serving;
  const bool is_given = serving.max_model_len && serving.engine == EngineKind::vllm;
  const int64_t longest = longest_sequence(scenario, kv_capacity_tokens_);
  if (is_given || max_model_len_ <= longest || serving.allow_impossible) return;
  const bool starts = serving.engine != EngineKind::vllm;
  notes_.push_back(fmt::format(
      "no sequence of {} tokens fits the KV cache{}; the longest that fits has {}", max_model_len_,
      starts ? "" : " (vLLM starts only with --max-model-len auto or a smaller value)", longest));
}

void Machine::limit_whole_prompts(const ServingOptions& serving) {
  if (serving.chunked_prefill || serving.max_num_batched_tokens >= max_model_len_) return;
  notes_.push_back(
      fmt::format("sequences are limited to {} instead of {} tokens: with serving.chunked_prefill=false one "
                  "step computes "
                  "the whole prompt, within serving.max_num_batched_tokens",
                  serving.max_num_batched_tokens, max_model_len_));
  max_model_len_ = serving.max_num_batched_tokens;
}

// Throws InputError if HiCache's host cache is not larger than the GPU's cache: SGLang asserts it at its
// start (memory_pool_host.py).
void Machine::check_host_cache(const ServingOptions& serving) const {
  if (serving.engine != EngineKind::sglang || options_.name != "hicache" || serving.allow_impossible) return;
  for (const StoreTier& tier : tiers_) {
    const double tokens = tier.capacity_bytes / tier.bytes_per_token;
    if (tier.kind != Tier::dram || tokens > static_cast<double>(kv_capacity_tokens_)) continue;
    throw InputError(fmt::format(
        "policy.tiers: dram: found {:.1f} GB, which holds {:.0f} tokens; SGLang does not start because "
        "HiCache's host cache must hold more than the GPU's {} tokens; allowed: capacity_over_gpu above 1, "
        "or more "
        "than {:.1f} GB; serving.allow_impossible=true simulates it anyway",
        tier.capacity_bytes / 1e9, tokens, kv_capacity_tokens_,
        static_cast<double>(kv_capacity_tokens_) * tier.bytes_per_token / 1e9));
  }
}

void Machine::choose_memory(const Scenario& scenario) {
  const ServingOptions& serving = scenario.serving;
  kv_layout_ = kvcap::kv_layout(scenario);
  checkpoints_ = serving.recurrent_checkpoints;
  step_tokens_ = serving.max_num_batched_tokens;
  choose_kv_capacity(scenario);
  if (const std::string why = refused_at_start(scenario, kv_capacity_tokens_); !why.empty()) {
    throw InputError(why);
  }
  check_host_cache(serving);
  note_longest_sequence(scenario);
  if (serving.enable_lora) {
    notes_.push_back(
        noted(NoteKind::assumption,
              "every request uses a LoRA adapter of rank serving.max_lora_rank, all of "
              "serving.max_loras equally often; its kernels take the least time for their bytes and "
              "launches, 11 % of a step of an A100 where vLLM of 2024 took 25 % (vllm#10062)"));
  }
  limit_whole_prompts(serving);
  align_checkpoints(scenario);
  set_hbm_tier_apart(scenario);
  const double reserved_tokens = policy_->traits().kv_buffer.reserved_tokens;
  if (reserved_tokens > static_cast<double>(kv_capacity_tokens_)) {
    throw InputError(
        fmt::format("serving.max_model_len: found {}, for which {} reserves {:.1f} KV tokens per sequence; "
                    "allowed: a length whose reservation fits the KV "
                    "capacity of {} tokens",
                    max_model_len_, options_.name, reserved_tokens, kv_capacity_tokens_));
  }
  note_shares(scenario);
}

// Sets the KV capacity, given or derived. Throws InputError if it has no room for a block.
void Machine::choose_kv_capacity(const Scenario& scenario) {
  const ServingOptions& serving = scenario.serving;
  const GpuMemory derived = planned_memory(scenario);
  const int64_t block_tokens = kv_layout_.block_tokens();
  const bool fits = derived.tokens >= block_tokens;
  kv_capacity_tokens_ = serving.kv_capacity_tokens.value_or(derived.tokens);
  if (!serving.kv_capacity_tokens) {
    if (!fits) throw InputError(no_room_for_kv(scenario, derived));
    return;
  }
  if (!fits && !serving.allow_impossible) {
    throw InputError(no_room_for_kv(scenario, derived) +
                     "; serving.allow_impossible=true simulates it anyway");
  }
  if (kv_capacity_tokens_ < block_tokens) {
    throw InputError(fmt::format(
        "serving.kv_capacity_tokens: found {}, allowed: at least {} = {}", kv_capacity_tokens_,
        block_tokens == serving.block_size ? "serving.block_size" : "the tokens of a block", block_tokens));
  }
  notes_.push_back(fmt::format("serving.kv_capacity_tokens sets the KV capacity to {} tokens (derived: {})",
                               kv_capacity_tokens_, derived.tokens));
  if (!fits) {
    notes_.push_back(fmt::format("the weights of {} ({:.1f} GB) leave no room for KV on this machine",
                                 scenario.model.name,
                                 static_cast<double>(serving.gpus()) * derived.weight_bytes / 1e9));
  }
}

// Adds a note on where states of recurrent layers are cached. Throws InputError if no step can reach the end
// of a block.
void Machine::align_checkpoints(const Scenario& scenario) {
  const ServingOptions& serving = scenario.serving;
  const int64_t block_tokens = kv_layout_.block_tokens();
  if (!serving.prefix_caching || !scenario.model.is_recurrent() || checkpoints_ != Checkpoints::align) return;
  if (serving.max_num_batched_tokens < block_tokens) {
    throw InputError(fmt::format(
        "serving.max_num_batched_tokens: found {}, allowed: at least {}, the tokens of a block of {}, where "
        "prefill slices must end (serving.recurrent_checkpoints=align)",
        serving.max_num_batched_tokens, block_tokens, scenario.model.name));
  }
  if (serving.slice_budget(block_tokens) < block_tokens) {
    throw InputError(
        fmt::format("serving.long_prefill_token_threshold: found {}, allowed: 0 (no limit), or at least {}, "
                    "the tokens of "
                    "a block of {}, where prefill slices must end (serving.recurrent_checkpoints=align)",
                    serving.long_prefill_token_threshold, block_tokens, scenario.model.name));
  }
  notes_.push_back(fmt::format(
      "{} keeps its recurrent states only where a step ends with a block of {} tokens, so hits of shared "
      "prefixes end there "
      "(serving.recurrent_checkpoints=align)",
      scenario.model.name, block_tokens));
}

// Subtracts the size of the tier on the GPU, if there is one, from the KV capacity for running requests.
void Machine::set_hbm_tier_apart(const Scenario& scenario) {
  if (tiers_.empty() || tiers_.front().kind != Tier::hbm) return;
  const double kv_bytes = scenario.model.kv_bytes_per_token();
  const double all_bytes = static_cast<double>(kv_capacity_tokens_) * kv_bytes;
  StoreTier& tier = tiers_.front();
  if (tier.capacity_bytes <= 0) tier.capacity_bytes = 0.5 * all_bytes;
  const auto tier_tokens = static_cast<int64_t>(std::ceil(tier.capacity_bytes / kv_bytes));
  if (tier_tokens + scenario.serving.block_tokens() > kv_capacity_tokens_) {
    throw InputError(fmt::format(
        "policy.tiers: hbm: found capacity_bytes {:g}, allowed: less than the GPU's KV memory, {:g}",
        tier.capacity_bytes, all_bytes));
  }
  kv_capacity_tokens_ -= tier_tokens;
}

// Adds notes on the parts of a node that its ranks get, and on GPUs that are paid for but not used.
void Machine::note_shares(const Scenario& scenario) {
  const ServingOptions& serving = scenario.serving;
  const int64_t used_gpus = serving.gpus() * serving.data_parallel_size;
  if (serving.data_parallel_size > 1 && has_host_tier()) {
    notes_.push_back(
        fmt::format("each of the {} ranks has an equal part of the node's tiers and of their links",
                    serving.data_parallel_size));
  }
  if (scenario.hardware.gpu.count <= used_gpus) return;
  const bool has_shares = scenario.hardware.gpu.per_server && !scenario.billing.whole_servers;
  notes_.push_back(
      fmt::format("{} of {} GPUs are used ({}); all are paid for{}", used_gpus, scenario.hardware.gpu.count,
                  serving.data_parallel_size > 1 ? "tensor_parallel_size times data_parallel_size"
                                                 : "tensor_parallel_size",
                  has_shares ? ": hardware.gpu.count buys a share of the server" : ""));
}

}  // namespace kvcap
