// Machine: what a scenario comes to before any clock runs: its policy with all that its name stands for, the
// tiers with their sizes, the routes between them, the GPU memory that is left for KV. For the simulation,
// and for whoever reasons in closed form.
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

// Engines of a replica, and of all replicas; and those that share experts and step together.
int64_t engines(const Scenario& scenario);
// Of them, those that have tiers: all but those that only decode.
int64_t storing_engines(const Scenario& scenario);
// The scenario of the nodes that compute prompts, with what they set otherwise; the same where nothing is
// disaggregated. And that of the nodes that decode: they keep nothing but the engine's own prefix cache.
// REQUIRES of the latter: fleet.disaggregation is present.
Scenario prefill_scenario(const Scenario& scenario);
Scenario decode_scenario(const Scenario& scenario);
int64_t ranks_in_lockstep(const Scenario& scenario);
// Where the experts of the model lie; nothing where it has none.
ExpertPlacement expert_placement(const Scenario& scenario);
// The part of a node that one of its data_parallel_size engines has: of DRAM, SSDs and the remote tier's link
// the same part of capacity and bandwidth, as if the others always took theirs. PCIe and NVLink belong to
// GPUs.
HardwareProfile share_of_rank(const Scenario& scenario);

// How the scenario's KV capacity is derived where it is not given.
KvCapacityModel kv_capacity_model(const Scenario& scenario);
// REQUIRES: serving.engine_version is a version, as loading checks.
EngineSettings engine_settings(const Scenario& scenario);
// Of one GPU, for the drafter of speculative decoding.
DraftMemory draft_memory(const Scenario& scenario);
// The memory of one GPU, and the KV capacity that it leaves; 0 where the weights leave no room.
GpuMemory planned_memory(const Scenario& scenario);
// KV capacity of an engine: the given one, else what is derived. A tier in HBM is part of it.
int64_t kv_capacity_tokens(const Scenario& scenario);
// The blocks of GPU memory.
KvLayout kv_layout(const Scenario& scenario);
// A capacity of which so many sequences of `tokens` tokens are never short.
int64_t roomy_kv_capacity_tokens(const Scenario& scenario, int64_t sequences, int64_t tokens);

class Machine {
 public:
  // Stored forms are chosen for histories of `mean_history_tokens`, and for the nearest tier that can hold
  // `context_tokens`, all contexts together. Throws InputError as simulate() does.
  Machine(const Scenario& scenario, int64_t mean_history_tokens, int64_t context_tokens);
  // Stored forms are chosen for the tiers that serve this workload's hits. Notes as well which keys of the
  // policy change nothing.
  Machine(const Scenario& scenario, const Workload& workload);

  const HardwareProfile& hardware() const { return hardware_; }
  const CostModel& cost() const { return cost_; }
  // None where a step yields one token of a sequence.
  const Speculation* speculation() const { return speculation_.get(); }
  const Policy& policy() const { return *policy_; }
  const LoadRates& idle_rates() const { return idle_rates_; }
  const Route& route(Tier from, Tier to) const;
  const std::vector<StoreTier>& tiers() const { return tiers_; }
  std::string quality_note() const { return kvcap::quality_note(options_, *policy_); }
  // How this workload's prompts are looked up.
  Match match() const { return match_; }
  // The scenario's, with what the policy's name stands for.
  const PolicyOptions& options() const { return options_; }
  bool has_host_tier() const;
  bool uses(Tier tier) const;
  // True iff some tier keeps the highest scores.
  bool keeps_scores() const;
  // True iff some tier keeps what is shared for longer.
  bool soft_pins() const;
  // True iff some tier evicts by what only a bound can know.
  bool clairvoyant() const;
  double remote_copies() const { return remote_copies_; }  // of what is written to a remote tier
  const KvLayout& kv_layout() const { return kv_layout_; }
  int64_t kv_capacity_tokens() const { return kv_capacity_tokens_; }
  // Sequences of so many tokens that KV capacity holds at once.
  double sequences_at_once(double tokens) const;
  int64_t max_model_len() const { return max_model_len_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // What a policy plans for: how long histories are, and in which tiers they will be found.
  struct Expected {
    int64_t mean_history_tokens = 0;
    int64_t context_tokens = 0;        // of all contexts of one node together
    std::vector<ReusedTokens> reused;  // empty: not known
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
  // Tiers that evict by objects hold pieces of prompts page by page. A context that is no piece is one
  // object, and such tiers evict the least recently used one.
  void divide_into_objects(const Scenario& scenario, bool has_pieces);
  void note_unused_keys(const PolicyOptions& given, const Workload& workload);

  PolicyOptions options_;
  Match match_ = Match::session;
  HardwareProfile hardware_;  // a rank's; SSDs go through DRAM when both are tiers of the store
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
