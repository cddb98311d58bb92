// Policy: base class of the policies that decide how contexts are stored and restored, after papers and
// production stacks. Its functions are pure: they use the cost model and the routes of the machine, but no
// clock and no queues. The engine calls them and performs the resulting restorations.
//
//   traits()         properties for the whole run: a plain value, set by the constructor
//   restore()        how each layer is restored, given the context's tiers and the load of the links
//   save_requests()  the number of requests in which new tokens are written
//   use()            the part of a hit that a turn needs, which also determines its value in a cache
//
// A policy with a new kind of restoration needs one file with a make_ function, its name in options.h and one
// line in each table of table.cpp; a preset of existing options needs one line.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cost/cost_model.h"
#include "policy/options.h"
#include "policy/restoration.h"
#include "state/store.h"

namespace kvcap {

enum class Reuse : uint8_t { nothing, stored, everything };

// A host tier that is expected to serve hits, and its share of the tokens found in host tiers.
struct TierShare {
  Tier tier = Tier::ssd;
  double share = 1;
  bool operator==(const TierShare&) const = default;
};

// Inputs of a policy's constructor; they outlive the policy.
struct PolicyInputs {
  const CostModel* cost = nullptr;
  const HardwareProfile* hardware = nullptr;
  PolicyOptions options;
  LoadRates idle_rates{};          // loads to the GPU on an idle machine, from the tiers in use
  std::vector<TierShare> planned;  // tiers expected to serve hits; shares sum to 1; empty without a host tier
  int64_t step_tokens = 0;         // the engine's token budget per step
  int64_t split_tokens = 0;        // history length for which stored forms are chosen
  int64_t max_model_len = 0;       // tokens of the longest sequence
  int64_t block_tokens = 16;       // tokens per KV block
  uint64_t seed = 1;               // for the policy's random draws
};

// Load of the engine, not counting the turn that is about to be restored.
struct EngineLoad {
  double next_step_s = 0;  // time of the next step without the turn; 0: no other requests
  int64_t next_rows = 0;   // tokens that the next step computes
  double decode_step_s = 0;
  int64_t decode_rows = 0;  // sequences that decode concurrently; a step of these takes decode_step_s
  // Other turns without a first token: they are being restored or prefilled, or wait for admission.
  int64_t waiting_turns = 0;
};

// Consecutive tokens of a node. A node is a text that is found as a whole or not at all: a piece of a prompt
// or a session's history. If a policy keeps chunks, a Stretch is one chunk of its node, else the whole node.
struct Stretch {
  int64_t node_tokens = 0;
  int64_t first_token = 0;
  int64_t tokens = 0;
};

// How a turn is expected to use found state, which consists of `tokens` tokens in `chunks` chunks of `nodes`
// nodes. Important tokens take part in the turn; touched chunks contain at least one important token.
struct PartUse {
  double tokens = 0, important_tokens = 0, touched_tokens = 0;
  double chunks = 0, touched_chunks = 0;
  double nodes = 0;
  PartUse& operator+=(const PartUse& other) {
    tokens += other.tokens;
    important_tokens += other.important_tokens;
    touched_tokens += other.touched_tokens;
    chunks += other.chunks;
    touched_chunks += other.touched_chunks;
    nodes += other.nodes;
    return *this;
  }
};

// A turn's context. `history_tokens` tokens could be reused, and `new_tokens` tokens are computed in any
// case. `resident_tokens` tokens of the history are on the GPU.
struct Context {
  int64_t history_tokens = 0;
  int64_t new_tokens = 0;
  int64_t resident_tokens = 0;
  int64_t leading_tokens = 0;                   // found tokens that were computed after the same text as now
  uint64_t turn = 0;                            // unique number, for random draws
  std::array<PartUse, kTiers.size()> use = {};  // by tier: use of the found tokens; for policies that select
  // The turn's prompt may be computed concurrently with the engine's steps. False if prompts are computed one
  // after another and another prompt, which this one would overtake, is in progress.
  bool may_compute_beside = true;
  EngineLoad engine;
};

// How much saving may delay a step, for `layers` equal layers. A layer lasts at least copy_s_per_token *
// tokens, because the device-to-host copy of the layer before must have ended, and at least
// write_s_per_sequence * sequences, the time of writes on the critical path.
struct SaveFloor {
  int64_t layers = 0;
  double copy_s_per_token = 0;
  double write_s_per_sequence = 0;
};

// Contiguous KV buffer per sequence, which a static graph needs: it reads a window of the newest tokens. The
// window moves by one with every decoded token and is copied when the buffer ends.
struct KvBuffer {
  double reserved_tokens = 0;     // per sequence from its admission on; 0: KV grows in blocks
  int64_t copy_every_tokens = 0;  // decoded tokens of a sequence per copy of the window; 0: none
  double copy_bytes = 0;          // per copy
  double copy_s = 0;              // added to the step
};

// Division of the layers of a stored context, for reports.
struct Schedule {
  int64_t hidden_layers = 0;
  int64_t kv_layers = 0;
  int64_t recompute_layers = 0;
  int64_t hidden_tokens = -1;  // token-wise splits: number of split_tokens from hidden states; -1: layer-wise
};

// Properties of a policy for the whole run.
struct PolicyTraits {
  Reuse reuse = Reuse::nothing;       // state that a turn can reuse
  double stored_bytes_per_token = 0;  // size of a context in a host tier
  // Models with recurrent layers: a hit in host tiers ends at a multiple of this number, where a state was
  // stored, or in the last block of a session's context, where its last turn left one.
  int64_t checkpoint_tokens = 1;
  // If true, only the important part of a hit takes part in a turn, and policy.retention is the share of this
  // part. If false, policy.retention is the share of a context that is kept after a turn.
  bool selects = false;
  int64_t read_buffer_layers = kUnlimited;  // layers by which loads may run ahead of computation
  bool heeds_engine = false;                // restore() reads context.engine, which is filled only if true
  bool restores_resident = false;           // restore() is also called for state on the GPU
  std::vector<SaveFloor> save_floors;       // empty if saving never delays a step
  KvBuffer kv_buffer;
  std::vector<std::string> notes;  // assumptions and decisions, shown to the user
  std::string quality_note;        // how the quality of answers suffers; empty if it does not
};

class Policy {
 public:
  virtual ~Policy() = default;

  const PolicyTraits& traits() const { return traits_; }
  // Returns the restoration. It is empty if restoring does not pay off; the engine's steps then compute the
  // hits together with the new tokens. REQUIRES: hits are in host tiers, at most one per tier; their tokens
  // and the resident ones add up to at least 1 and at most context.history_tokens.
  virtual Restoration restore(const Context& context, std::span<const Hit> hits,
                              const LoadRates& rates) const;
  // Returns which part of a Stretch a turn uses; by default, the whole Stretch.
  virtual PartUse use(const Stretch& part) const;
  // Returns the value of one use of a part, for tiers that evict by score. A part's score is its number of
  // uses times their mean weight.
  virtual double weight(const PartUse&) const { return 1; }
  // Returns the number of write requests with which `tokens` tokens are saved or demoted.
  virtual double save_requests(int64_t tokens) const;
  // Returns the division of the layers of a context of `tokens` tokens in `tier` on an idle machine.
  virtual Schedule schedule(int64_t tokens, Tier tier) const;

 protected:
  // Called last by constructors.
  void set_traits(PolicyTraits traits) { traits_ = std::move(traits); }

 private:
  PolicyTraits traits_;
};

// Returns the tier with the largest share, the nearest one on a tie. REQUIRES: at least one tier.
Tier main_tier(std::span<const TierShare> planned);
// Returns "ssd", or "dram (83 %) and ssd (17 %)".
std::string tiers_text(std::span<const TierShare> planned);
// Returns the two notes joined into one; either may be empty.
std::string joined_notes(const std::string& note, const std::string& more);

// Tokens per chunk: the unit in which hidden states or KV of one layer are read and written (HCache 4.2).
inline constexpr int64_t kChunkTokens = 64;
constexpr int64_t chunks(int64_t tokens) { return (tokens + kChunkTokens - 1) / kChunkTokens; }

}  // namespace kvcap
