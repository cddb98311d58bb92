// Machine: everything derived from a scenario before the run: the policy with its preset, the tiers and their
// sizes, the routes, and the KV capacity. Used by the simulation and by closed-form estimates.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cost/gpu_memory.h"
#include "cost/kv_layers.h"
#include "policy/table.h"
#include "scenario/scenario.h"
#include "serving/speculation.h"
#include "spec/expert_placement.h"
#include "workload/reused_tokens.h"
#include "workload/workload.h"

namespace kvcap {

// Returns the number of engines of all replicas.
int64_t engines(const Scenario& scenario);
// Returns the number of engines with tiers: all except those that only decode.
int64_t storing_engines(const Scenario& scenario);
// Return the scenario of the nodes that compute prompts (the scenario itself without disaggregation), and of
// the nodes that decode, which have only the engine's prefix cache. decode_scenario() REQUIRES:
// fleet.disaggregation is present.
Scenario prefill_scenario(const Scenario& scenario);
Scenario decode_scenario(const Scenario& scenario);
// Returns the number of ranks that share experts and step together.
int64_t ranks_in_lockstep(const Scenario& scenario);
// Returns the placement of the model's experts; empty without experts.
ExpertPlacement expert_placement(const Scenario& scenario);
// Returns the share of one of the node's data_parallel_size engines: an equal part of the capacity and
// bandwidth of DRAM, SSDs and the remote tier's link, as if the other engines always used theirs. PCIe and
// NVLink belong to GPUs.
HardwareProfile share_of_rank(const Scenario& scenario);

// Returns the model for the KV capacity, for a scenario that does not give the capacity.
KvCapacityModel kv_capacity_model(const Scenario& scenario);
// REQUIRES: serving.engine_version is valid, which loading checks.
EngineSettings engine_settings(const Scenario& scenario);
// Returns the memory of the drafter of speculative decoding per GPU.
DraftMemory draft_memory(const Scenario& scenario);
// Returns the memory of one GPU and the KV capacity that it leaves; 0 tokens if the weights leave no room.
GpuMemory planned_memory(const Scenario& scenario);
// Returns the given or derived KV capacity of an engine, including a tier in HBM.
int64_t kv_capacity_tokens(const Scenario& scenario);
// Returns the layout of blocks in GPU memory.
KvLayout kv_layout(const Scenario& scenario);
// Returns a capacity that always suffices for `sequences` sequences of `tokens` tokens.
int64_t roomy_kv_capacity_tokens(const Scenario& scenario, int64_t sequences, int64_t tokens);

class Machine {
 public:
  // Chooses stored forms for histories of `mean_history_tokens`, and for the nearest tier that holds
  // `context_tokens`, the sum over all contexts. Throws InputError like simulate().
  Machine(const Scenario& scenario, int64_t mean_history_tokens, int64_t context_tokens);
  // Chooses stored forms for the tiers that serve this workload's hits. Also notes unused keys of the policy.
  Machine(const Scenario& scenario, const Workload& workload);

  const HardwareProfile& hardware() const { return hardware_; }
  const CostModel& cost() const { return cost_; }
  // Null if a step yields one token per sequence.
  const Speculation* speculation() const { return speculation_.get(); }
  const Policy& policy() const { return *policy_; }
  const LoadRates& idle_rates() const { return idle_rates_; }
  const Route& route(Tier from, Tier to) const;
  const std::vector<StoreTier>& tiers() const { return tiers_; }
  std::string quality_note() const { return kvcap::quality_note(options_, *policy_); }
  // Returns how this workload's prompts are matched.
  Match match() const { return match_; }
  // Returns the scenario's options with the policy's preset applied.
  const PolicyOptions& options() const { return options_; }
  bool has_host_tier() const;
  bool uses(Tier tier) const;
  // True iff some tier keeps the highest scores.
  bool keeps_scores() const;
  // True iff some tier keeps shared contexts for longer.
  bool soft_pins() const;
  // True iff some tier evicts by future uses, which only a bound may do.
  bool clairvoyant() const;
  double remote_copies() const { return remote_copies_; }  // per write to a remote tier
  const KvLayout& kv_layout() const { return kv_layout_; }
  int64_t kv_capacity_tokens() const { return kv_capacity_tokens_; }
  // Returns the number of sequences of `tokens` tokens that the KV capacity holds concurrently.
  double sequences_at_once(double tokens) const;
  int64_t max_model_len() const { return max_model_len_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // Expectations of a policy's plan: the length of histories, and the reuse by tier.
  struct Expected {
    int64_t mean_history_tokens = 0;
    int64_t context_tokens = 0;        // sum over the contexts of one node
    std::vector<ReusedTokens> reused;  // empty: unknown
  };
  static Expected expected_of(const Scenario& scenario, const Workload& workload);

  Machine(const Scenario& scenario, const Expected& expected);
  void choose_tiers(const Scenario& scenario);
  void choose_policy(const Scenario& scenario, const Expected& expected);
  std::vector<TierShare> planned_tiers(const Scenario& scenario, const Expected& expected,
                                       double bytes_per_token) const;
  void choose_memory(const Scenario& scenario);
  void note_longest_sequence(const Scenario& scenario);
  void limit_whole_prompts(const ServingOptions& serving);
  // Prepares tiers that evict by objects: they store pieces of prompts page by page. A context without pieces
  // is one object, and such a tier then evicts by LRU.
  void divide_into_objects(const Scenario& scenario, bool has_pieces);
  void note_unused_keys(const PolicyOptions& given, const Workload& workload);

  PolicyOptions options_;
  Match match_ = Match::session;
  HardwareProfile hardware_;  // share of a rank; SSDs go through DRAM if both are tiers of the store
  CostModel cost_;
  std::unique_ptr<Speculation> speculation_;
  std::vector<Route> routes_;  // from * 4 + to
  LoadRates idle_rates_{};
  std::vector<StoreTier> tiers_;
  double remote_copies_ = 1;
  std::unique_ptr<Policy> policy_;
  KvLayout kv_layout_;
  Checkpoints checkpoints_ = Checkpoints::align;
  int64_t step_tokens_ = 0;
  int64_t kv_capacity_tokens_ = 0;
  int64_t max_model_len_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace kvcap
