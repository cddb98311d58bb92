// ContextCache: the contexts that an engine stores, in the KV blocks of its GPU and in the tiers below.
//
// The cache finds the stored parts of a prompt, pins the parts in use, tracks the running loads of each
// request, and decides what is saved and when. It has no clock and performs no transfers itself: it returns
// Moves, which Saves performs.
//
//   GPU     a KvPool: blocks, each identified by all tokens up to its end (vLLM's block hash)
//   below   the Store: parts (prompt.h), evicted as a whole or from their tails
//
// A prompt's hit begins with cached blocks of the GPU and continues with parts in the tiers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/key_map.h"
#include "engine/engine_model.h"
#include "engine/prompt.h"
#include "engine/request.h"
#include "engine/sessions.h"
#include "policy/policy.h"
#include "state/kv_pool.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

// Collaborators of a ContextCache; all outlive it.
struct ContextCacheParts {
  const EngineModel* engine = nullptr;
  const Workload* workload = nullptr;
  Sessions* sessions = nullptr;
  Store* store = nullptr;
  std::function<void(Key part, int64_t first_token)> evicted = nullptr;  // FleetCallbacks::evicted
  std::function<double()> now_s = nullptr;  // called only if the retention has durations
};

// Cached parts of a prompt.
struct FoundContext {
  KvHits blocks;         // found in the prefix cache
  int64_t resident = 0;  // tokens of these blocks
  FoundParts parts;  // found in the tiers, after the blocks; if some are in an `hbm` tier, `blocks` is empty
};

class ContextCache {
 public:
  explicit ContextCache(const ContextCacheParts& parts);
  ContextCache(const ContextCache&) = delete;  // the pool's callback refers to it
  ContextCache& operator=(const ContextCache&) = delete;

  KvPool& pool() { return pool_; }
  const KvPool& pool() const { return pool_; }

  // ---- lookups ----

  // Returns the names (keys in the prefix cache) of a sequence's blocks; empty without prefix caching.
  std::vector<BlockRun> chain_of(const TurnText& text) const;
  FoundContext find(const Request& request) const;
  // True iff a part in `found` is being loaded for another request. The caller can wait and then hit the
  // loaded blocks.
  bool is_loading(const FoundParts& found) const;
  // Returns, for a router, the prompt's tokens that are stored on this node, each counted in its nearest
  // tier.
  std::array<int64_t, kTiers.size()> found_tokens(const TurnText& text) const;

  // ---- uses ----

  // Pins the stored parts of the request's prompt until release().
  void use(Request& request, Order now);
  void release(const Request& request);
  // If some tier evicts by score, adds a use of each part of the request's prompt to the part's score.
  void weigh(const Request& request);
  // Marks the found parts of the request's prompt as being loaded to the GPU until loaded().
  void load(Request& request, const FoundParts& found);
  void loaded(Request& request);
  // Promotes the parts that a load reads; returns the resulting moves.
  std::vector<Move> promote(const FoundParts& found, Order now);
  // Prefetches the parts that a waiting request needs into the first host tier. prefetches(): true while the
  // prefetch runs.
  std::vector<Move> prefetch(Request& request, Order now);
  bool prefetches(const Request& request) const;
  // Called when the request no longer waits for its prefetch.
  void end_prefetch(Request& request) { prefetching_tokens_ -= std::exchange(request.prefetching_tokens, 0); }
  // True iff a tier beyond DRAM holds a part of the prompt that the request would reuse.
  bool lies_farther(const Request& request) const;
  // Removes the front of a stored text. `moved`: another node served the session's previous turn.
  void cut(const Cut& cut, bool moved);

  // ---- saves ----

  // Stores the parts of a turn's sequence.
  std::vector<Move> keep(const std::vector<Part>& parts, const Request& request, Order now);
  // Returns the parts that keep() stores if this node computes the prompt and another node decodes.
  std::vector<Part> prompt_parts(const Request& request) const;
  // With SaveAt::step: saves the full blocks of the request's sequence. has_progress(): false if no block has
  // filled since the last save.
  bool has_progress(const Request& request) const { return request.computed >= next_save_tokens(request); }
  std::vector<Move> save_progress(Request& request, Order now);
  // Returns how many tokens the request computes before save_progress() has more to save; at least 1.
  int64_t tokens_before_save(const Request& request) const;
  // With SaveAt::eviction: saves what the GPU has evicted since the last call.
  std::vector<Move> save_evicted(Order now);

  // Check invariants (invariants.cpp). `holdings`: all holdings of blocks. `loading`: all requests whose
  // contexts are being loaded.
  void check_pool(const std::vector<const KvHolding*>& holdings);
  void check_loads(const std::vector<RequestPtr>& loading) const;
  void check_found(const FoundParts& found) const;
  void check_ended() const;

 private:
  struct Left {
    int64_t turns = 0;
    int64_t last = -1;
  };

  bool begin_prefetch(Request& request);
  std::vector<Part> first_parts(std::span<const SequenceRun> all, int64_t tokens) const;
  FoundParts find_below(const Request& request, int64_t resident) const;
  FoundParts find_seen(const Request& request) const;
  // Returns the length of the sequence at which its next block or chunk is full (SaveAt::step).
  int64_t next_save_tokens(const Request& request) const {
    return (request.saved_tokens / save_unit_ + 1) * save_unit_;
  }
  void count_turn(Key key, const Request& request);
  bool is_worth_saving(Key key) const;
  void note_evicted(const BlockRun& run);
  void report_evicted(const BlockRun& run) const;

  ContextCacheParts parts_;
  const EngineModel& engine_;
  const ServingOptions& serving_;
  const KeepingOptions& keeping_;
  KvPool pool_;
  int64_t save_unit_;  // in tokens; with SaveAt::step
  FoundEnds ends_;
  Tier farthest_;                       // farthest tier from which contexts are loaded
  int64_t prefetching_tokens_ = 0;      // sum over waiting requests
  KeyMap<uint32_t, 0> loading_;         // by part being loaded: number of requests waiting for it
  std::unordered_map<Key, Left> left_;  // by part: the turns that used it; for store_after_hits
  std::vector<Item> evicted_;       // with SaveAt::eviction: evicted from the GPU and not saved yet, in order
  std::unordered_set<Key> shared_;  // with SaveAt::eviction and soft pins: parts that sessions share
  int64_t pool_checks_ = 0;
};

}  // namespace kvcap
