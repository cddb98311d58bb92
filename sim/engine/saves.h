// Saves: performs moves of contexts from an engine's GPU to its tiers and between tiers, and keeps the GPU
// blocks that they read.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/context_cache.h"
#include "engine/instance_parts.h"
#include "engine/steps.h"

namespace kvcap {

// Callbacks of Saves.
struct SaveCallbacks {
  std::function<void()> fetched;  // a move towards the GPU has ended
  // The blocks of an ended request are no longer needed. in_run: they are released only when the current run
  // of steps ends.
  std::function<void(bool in_run)> freed;
};

class Saves {
 public:
  // All references outlive it.
  Saves(const InstanceParts& parts, ContextCache& cache, const Steps& steps, SaveCallbacks on);
  Saves(const Saves&) = delete;  // the store's and the lanes' callbacks refer to it
  Saves& operator=(const Saves&) = delete;

  // Performs saves of the request's state, which read its blocks.
  void save(std::vector<Move> moves, Request& request);
  // With SaveAt::step: saves the full blocks of the request's sequence.
  void save_progress(Request& request);
  // Performs moves that read no blocks of a request.
  void perform(std::vector<Move> moves) { perform(std::move(moves), nullptr); }
  // Performs moves when the request's load has ended; until then, they count as waiting in the write queue.
  void defer(std::vector<Move> moves, Request& request);
  void perform_deferred(Request& request);

  // Called when a request ends: keeps its blocks until its running saves have ended.
  void keep_blocks(Request& request);
  // Like keep_blocks(), but keeps the blocks at least until the caller calls the returned function.
  std::function<void()> keep_blocks_until_called(Request& request);
  // Releases the blocks whose last save has ended during the step.
  void release_blocks();
  std::vector<const KvHolding*> kept_blocks() const { return kept_; }

  // Returns until when the GPU waits for a save (KeepingOptions::blocking_save).
  double gpu_waits_until_s() const { return gpu_waits_until_s_; }

  // Aborts unless all blocks are free or kept (invariants.cpp).
  void check_ended() const;

 private:
  bool accepts(Tier from, Tier to, int64_t tokens, int64_t issued, bool ahead);
  void perform(std::vector<Move> moves, const std::shared_ptr<KvLease>& lease);
  void ended(const Move& move, double bytes, double requests, const std::shared_ptr<KvLease>& lease);
  void end_lease(const std::shared_ptr<KvLease>& lease);
  double seconds(const Move& move) const;
  double requests_of(const Move& move) const;
  // Returns how many copies a tier stores of each save.
  double copies_in(Tier tier) const { return tier == Tier::remote ? keeping_.remote_copies : 1; }
  double bytes_in(Tier tier, int64_t tokens) const;

  const InstanceParts& parts_;
  const EngineModel& engine_;
  const KeepingOptions& keeping_;
  ContextCache& cache_;
  const Steps& steps_;
  SaveCallbacks on_;
  double gpu_waits_until_s_ = 0;
  std::array<std::array<int64_t, kTiers.size()>, kTiers.size()> deferred_tokens_{};  // [from][to]
  std::vector<const KvHolding*> kept_;                // blocks of ended requests
  std::vector<std::shared_ptr<KvLease>> unreleased_;  // their last save ended during the current step
};

}  // namespace kvcap
