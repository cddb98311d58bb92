// Policy: one system of the papers as pure answers. It knows the cost model and the routes of the machine,
// never a clock or a queue; serving asks and performs.
//
//   traits()         what holds for the whole run: a plain value, set by the constructor
//   restore()        how each layer comes back, given where the context lies and how busy the links are
//   save_requests()  in how many requests new tokens are written
//   use()            which part of what is found a turn needs, and so what it is worth in a cache
//
// Adding one that brings contexts back in a new way is one file with a make_ function, its name in options.h
// and one line in each table of table.cpp; adding a preset of what is there is one line.
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

// What a policy is built from; outlives it.
struct PolicyInputs {
  const CostModel* cost = nullptr;
  const HardwareProfile* hardware = nullptr;
  PolicyOptions options;
  LoadRates idle_rates{};          // loads to the GPU on an idle machine, from the tiers in use
  std::vector<TierShare> planned;  // where hits are expected to lie; shares sum to 1; empty: no host tier
  int64_t step_tokens = 0;         // the engine's token budget of one step
  int64_t split_tokens = 0;        // history length that stored forms are chosen for
  int64_t max_model_len = 0;       // tokens of the longest sequence
  int64_t block_tokens = 16;       // of one KV block
  uint64_t seed = 1;               // of what a policy draws
};

// What the engine does beside a turn that is about to be restored.
struct EngineLoad {
  double next_step_s = 0;  // of its next step without the turn; 0: it serves nobody else
  int64_t next_rows = 0;   // tokens that step computes
  double decode_step_s = 0;
  int64_t decode_rows = 0;  // sequences that decode meanwhile, and what a step of theirs lasts
  // Others without a token: being restored or prefilled, or kept waiting for admission.
  int64_t waiting_turns = 0;
};

// A stretch of a node, that is, of text that is found as a whole or not at all: a piece of a prompt or a
// session's history. Where a policy keeps chunks a part is one chunk of its node, else the whole node.
struct Stretch {
  int64_t node_tokens = 0;
  int64_t first_token = 0;
  int64_t tokens = 0;
};

// How a turn uses what it finds, in expected values: of `tokens` tokens in `chunks` chunks of `nodes` nodes
// important ones take part in the turn, touched chunks hold at least one of these.
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

// A turn's context: `history_tokens` could be reused, `new_tokens` are computed in any case; of the history
// `resident_tokens` lie on the GPU already.
struct Context {
  int64_t history_tokens = 0;
  int64_t new_tokens = 0;
  int64_t resident_tokens = 0;
  uint64_t turn = 0;                            // a number of its own, for draws
  std::array<PartUse, kTiers.size()> use = {};  // of the tokens found in each tier; for policies that select
  // The turn's prompt may be computed beside the engine's steps. Not where prompts are computed one after the
  // other and another's is under way, which it would overtake.
  bool may_compute_beside = true;
  EngineLoad engine;
};

// What saving costs the step that produces the tokens, for `layers` alike: a layer lasts at least
// copy_s_per_token * tokens (the device-to-host copy of the layer before must have ended) and at least
// write_s_per_sequence * sequences (writes on the critical path).
struct SaveFloor {
  int64_t layers = 0;
  double copy_s_per_token = 0;
  double write_s_per_sequence = 0;
};

// A static graph wants the KV of a sequence in one piece of memory: a window of the newest tokens, moved on
// by one with every token that is decoded, which is a copy when the buffer around it ends.
struct KvBuffer {
  double reserved_tokens = 0;     // a sequence's KV memory from its admission on; 0: it grows in blocks
  int64_t copy_every_tokens = 0;  // of a sequence's decoded tokens the one that copies the window; 0: none
  double copy_bytes = 0;          // one such copy
  double copy_s = 0;              // by which it lengthens the step
};

// How the layers of a stored context divide, for reports.
struct Schedule {
  int64_t hidden_layers = 0;
  int64_t kv_layers = 0;
  int64_t recompute_layers = 0;
  int64_t hidden_tokens = -1;  // token-wise splits: of split_tokens, by hidden states; -1: layer-wise
};

// What a policy says once for the whole run.
struct PolicyTraits {
  Reuse reuse = Reuse::nothing;       // what a turn may find of its history
  double stored_bytes_per_token = 0;  // of context, in a host tier
  // Of a model with recurrent layers: what is found in host tiers ends at a multiple of it, where a state was
  // stored, or in the last block of a session's context, where its last turn left one.
  int64_t checkpoint_tokens = 1;
  // Only the important part of what is found takes part in a turn: policy.retention is its share. Where this
  // is false, policy.retention is the share of a context that is kept after a turn.
  bool selects = false;
  int64_t read_buffer_layers = kUnlimited;  // that loads may run ahead of computation
  bool heeds_engine = false;                // restore() reads context.engine, which is filled only then
  bool restores_resident = false;           // restore() is also asked for what lies on the GPU already
  std::vector<SaveFloor> save_floors;       // empty when saving never delays a step
  KvBuffer kv_buffer;
  std::vector<std::string> notes;  // for the user: what was assumed or decided
  std::string quality_note;        // how answers suffer; empty: not at all
};

class Policy {
 public:
  virtual ~Policy() = default;

  const PolicyTraits& traits() const { return traits_; }
  // Empty when the hits are not worth bringing back: steps then compute them with the new tokens.
  // REQUIRES: hits are in host tiers, one a tier; their tokens and the resident ones add up to at least 1 and
  // at most context.history_tokens.
  virtual Restoration restore(const Context& context, std::span<const Hit> hits,
                              const LoadRates& rates) const;
  // Default: all of it.
  virtual PartUse use(const Stretch& part) const;
  // What one use of a part counts for tiers that keep the highest score (uses x mean weight).
  virtual double weight(const PartUse&) const { return 1; }
  // Pieces that a save or a demotion of `tokens` tokens is written in.
  virtual double save_requests(int64_t tokens) const;
  // The layers of a context of `tokens` tokens in `tier` on an idle machine.
  virtual Schedule schedule(int64_t tokens, Tier tier) const;

 protected:
  // Constructors call this last.
  void set_traits(PolicyTraits traits) { traits_ = std::move(traits); }

 private:
  PolicyTraits traits_;
};

// The tier with the largest share, the nearest of equal ones. REQUIRES: at least one.
Tier main_tier(std::span<const TierShare> planned);
// "ssd", or "dram (83 %) and ssd (17 %)".
std::string tiers_text(std::span<const TierShare> planned);
// Two notes as one; either may be empty.
std::string joined_notes(const std::string& note, const std::string& more);

// Tokens of one chunk: hidden states or KV of this many tokens of one layer are read and written at once
// (HCache 4.2).
inline constexpr int64_t kChunkTokens = 64;
constexpr int64_t chunks(int64_t tokens) { return (tokens + kChunkTokens - 1) / kChunkTokens; }

}  // namespace kvcap
