// Machine: everything derived from a scenario before the run: the policy with its preset, the tiers and their
// sizes, the routes, and the KV capacity. Both the simulation and the closed-form estimates use it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/speculation/speculation.h"
#include "engine/step_time.h"
#include "policy/table.h"
#include "scenario/scenario.h"
#include "spec/kv_groups.h"
#include "workload/reused_tokens.h"
#include "workload/workload.h"

namespace kvcap {

class Machine {
 public:
  // Chooses the stored forms for histories of `mean_history_tokens` tokens and for the nearest tier that can
  // hold all contexts, `context_tokens` tokens in total. Throws InputError like simulate().
  Machine(const Scenario& scenario, int64_t mean_history_tokens, int64_t context_tokens);
  // Chooses stored forms for the tiers that serve this workload's hits. Also adds a note on policy options
  // that have no effect.
  Machine(const Scenario& scenario, const Workload& workload);

  const HardwareProfile& hardware() const { return hardware_; }
  const CostModel& cost() const { return cost_; }
  // Returns null if a step yields one token per sequence.
  const Speculation* speculation() const { return speculation_.get(); }
  // Returns the step times with these options; `serving` must outlive them.
  StepTime step_time(const ServingOptions& serving) const {
    return StepTime(cost_, policy_->traits().save_floors, serving, speculation_.get());
  }
  const Policy& policy() const { return *policy_; }
  const LoadRates& idle_rates() const { return idle_rates_; }
  const Route& route(Tier from, Tier to) const;
  const std::vector<StoreTier>& tiers() const { return tiers_; }
  std::string quality_note() const { return kvcap::quality_note(options_, *policy_); }
  // Returns the condition for a hit of this workload's prompts.
  Match match() const { return match_; }
  // Returns the scenario's options with the policy's preset applied.
  const PolicyOptions& options() const { return options_; }
  bool has_host_tier() const;
  bool uses(Tier tier) const;
  // True iff some tier evicts by score.
  bool keeps_scores() const;
  // True iff some tier evicts shared contexts later than others.
  bool soft_pins() const;
  // True iff some tier evicts by future uses, which only a bound can know.
  bool clairvoyant() const;
  // True iff loads run ahead of computation by fewer layers than the model has, so that the link may idle
  // between layers.
  bool buffers_loads() const {
    return policy_->traits().read_buffer_layers < cost_.model().num_hidden_layers;
  }
  double remote_copies() const { return remote_copies_; }  // copies per write to a remote tier
  const KvLayout& kv_layout() const { return kv_layout_; }
  int64_t kv_capacity_tokens() const { return kv_capacity_tokens_; }
  // Returns how many sequences of `tokens` tokens the KV capacity holds at the same time.
  double sequences_at_once(double tokens) const;
  int64_t max_model_len() const { return max_model_len_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // Properties of the workload for which a policy plans: the length of histories, and their reuse.
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
  void choose_kv_capacity(const Scenario& scenario);
  void note_longest_sequence(const Scenario& scenario);
  void check_host_cache(const ServingOptions& serving) const;
  void limit_whole_prompts(const ServingOptions& serving);
  void align_checkpoints(const Scenario& scenario);
  void set_hbm_tier_apart(const Scenario& scenario);
  void note_shares(const Scenario& scenario);
  // Sets the chunk size for tiers that evict by objects: they store pieces of prompts block by block. Without
  // pieces a context is one object, and such a tier evicts by LRU.
  void divide_into_objects(const Scenario& scenario, bool has_pieces);
  void note_unused_keys(const PolicyOptions& given, const Workload& workload);

  PolicyOptions options_;
  Match match_ = Match::session;
  HardwareProfile hardware_;  // one rank's share; SSD reads pass through DRAM if both tiers are used
  CostModel cost_;
  std::unique_ptr<Speculation> speculation_;
  std::vector<Route> routes_;  // index: from * kTiers.size() + to
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
