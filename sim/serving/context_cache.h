// ContextCache: what there is of requests' contexts, in the KV blocks of an engine's GPU and in the tiers
// below it.
//
// It says what of a prompt lies where, keeps what is in use from leaving, knows what is being loaded for
// whom, and decides what is saved and when. It has no clock and performs nothing: it hands out the Moves that
// follow.
//
//   GPU     a KvPool: blocks under the chain of all tokens before them
//   below   a NodeStore: parts (prompt.h), whose blocks leave tails first or as a whole
//
// A prompt is found on the GPU as far as its chain reaches, and behind that in the tiers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/key_map.h"
#include "policy/policy.h"
#include "serving/keeping.h"
#include "serving/options.h"
#include "serving/prompt.h"
#include "serving/request.h"
#include "serving/sessions.h"
#include "state/kv_pool.h"
#include "state/node_store.h"
#include "workload/workload.h"

namespace kvcap {

// What it works with; all outlive it.
struct ContextCacheParts {
  const Workload* workload = nullptr;
  const Policy* policy = nullptr;
  Sessions* sessions = nullptr;
  NodeStore* store = nullptr;
  ServingOptions serving;
  KeepingOptions keeping;
  int64_t kv_capacity_tokens = 0;
  std::optional<KvLayout> kv_layout;  // absent: every layer keeps every token
  bool drops_last_block = false;      // Speculation::drops_last_block()
  std::function<void(Key part, int64_t first_token)> evicted = nullptr;  // FleetCallbacks::evicted
};

// What is there of a prompt.
struct FoundContext {
  KvHits blocks;         // of the prefix cache
  int64_t resident = 0;  // their tokens
  FoundParts parts;      // what the tiers have behind them; an `hbm` tier in their place
};

class ContextCache {
 public:
  explicit ContextCache(const ContextCacheParts& parts);
  ContextCache(const ContextCache&) = delete;  // the pool calls it
  ContextCache& operator=(const ContextCache&) = delete;

  KvPool& pool() { return pool_; }
  const KvPool& pool() const { return pool_; }

  // ---- what is there ----

  // The full blocks of a sequence, where the GPU's blocks have names.
  std::vector<BlockRun> chain_of(const TurnText& text) const;
  FoundContext find(const Request& request) const;
  // Of what was found some is on its way for another request, whose blocks this one will find.
  bool is_loading(const FoundParts& found) const;
  // Tokens of the prompt that lie on this node, each in the nearest tier, for a router.
  std::array<int64_t, kTiers.size()> found_tokens(const TurnText& text) const;

  // ---- what is in use ----

  // The request uses what there is of its prompt, which does not leave before release().
  void use(Request& request, Order now);
  void release(const Request& request);
  // One more use of every part, where a tier keeps the highest scores.
  void weigh(const Request& request);
  // What was found of a request's prompt is on its way to the GPU until loaded().
  void load(Request& request, const FoundParts& found);
  void loaded(Request& request);
  // What moves up with such a load.
  std::vector<Move> promote(const FoundParts& found, Order now);
  // What a request that waits needs comes to the first host tier; and whether some of it still does.
  std::vector<Move> prefetch(const Request& request, Order now);
  bool prefetches(const Request& request) const;
  // A text lost its front. `moved`: its session comes from another node.
  void cut(const Cut& cut, bool moved);

  // ---- what is saved ----

  // A turn leaves the parts behind.
  std::vector<Move> keep(const std::vector<Part>& parts, const Request& request, Order now);
  // Of a request whose prompt is computed and whose answer comes elsewhere: what keep() gets.
  std::vector<Part> prompt_parts(const Request& request) const;
  // What is full of the request's sequence by now, with SaveAt::step.
  std::vector<Move> save_progress(Request& request, Order now);
  // Tokens that the request computes until save_progress() has something more to save, at least 1.
  int64_t tokens_before_save(const Request& request) const;
  // What the GPU has evicted since the last call, with SaveAt::eviction.
  std::vector<Move> save_evicted(Order now);

  // A request has ended whose blocks are still being saved: they are not free before give_back().
  void lease(const std::shared_ptr<Saves>& saves, KvHolding holding);
  bool leases(const Saves& saves) const;
  void give_back(Saves& saves);

  // For those who check: `requests`: what they hold; and what requests that load wait for (invariants.cpp).
  void check_pool(std::vector<const KvHolding*> requests);
  void check_loads(const std::vector<RequestPtr>& loading) const;
  void check_found(const FoundParts& found) const;
  void check_ended() const;

 private:
  struct Left {
    int64_t turns = 0;
    int64_t last = -1;
  };

  std::vector<Part> first_parts(std::span<const SequenceRun> all, int64_t tokens) const;
  FoundParts find_below(const Request& request, int64_t resident) const;
  FoundParts find_seen(const Request& request) const;
  int64_t save_unit() const;  // tokens, with SaveAt::step
  void count_turn(Key key, const Request& request);
  bool is_worth_saving(Key key) const;
  void note_evicted(const BlockRun& run);
  void report_evicted(const BlockRun& run) const;

  ContextCacheParts parts_;
  KvPool pool_;
  KeyMap<uint32_t, 0> loading_;           // requests that wait for a part that is on its way
  std::vector<const KvHolding*> leased_;  // of requests that have ended
  std::unordered_map<Key, Left> left_;    // turns that have left a part, where it is saved after so many
  std::vector<Item> evicted_;             // from the GPU and not saved yet, in order
  std::unordered_set<Key> shared_;        // parts that sessions share, where evictions are saved
  int64_t pool_checks_ = 0;
};

}  // namespace kvcap
