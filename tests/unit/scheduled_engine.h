// A scheduler and its pool without a clock, for tests of what it decides.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/scheduler/scheduler.h"

namespace kvcap::scheduled_engine {

inline constexpr int64_t kBlock = 4;  // tokens

// Texts of prompts; every request generates a text of its own.
inline constexpr Key kText = 7;
inline constexpr Key kOther = 8;

struct Settings {
  ServingOptions serving = {.max_num_seqs = 8, .max_num_batched_tokens = 64, .async_scheduling = false};
  SequenceTokens tokens;
};
inline Settings options() { return {}; }
inline Settings with_budget(int64_t max_num_seqs, int64_t max_num_batched_tokens) {
  Settings with;
  with.serving.max_num_seqs = max_num_seqs;
  with.serving.max_num_batched_tokens = max_num_batched_tokens;
  return with;
}

// A scheduler and its pool. Requests find what the pool has; tests say what else happens to them.
class Engine : private Admitter {
 public:
  Engine(const Settings& with, int64_t blocks, bool caches = true) : Engine(with, pool_of(blocks, caches)) {}
  Engine(const Settings& with, const KvPoolOptions& pool)
      : pool_(pool), settings_(with), scheduler_(settings_.serving, with.tokens, pool_, *this) {}

  // The next request, number 0 being the first; with a priority, number 100 x priority.
  Request& ask(const std::vector<TextRun>& prompt, int64_t output_tokens, int priority = 0) {
    auto request = std::make_unique<Request>();
    request->number = 100 * priority + next_;
    std::vector<TextRun> texts = prompt;
    for (const TextRun& run : prompt) request->input_tokens += run.tokens;
    request->output_tokens = output_tokens;
    texts.push_back({answer_of(next_++), 0, output_tokens});
    request->chain = block_runs(texts, pool_.unit_tokens());
    Request& asked = *request;
    scheduler_.add(std::move(request));
    return asked;
  }
  static Key answer_of(int number) { return 1000 + static_cast<Key>(number); }

  // What a plan computes of each request: "0:8+1!" are the token after the first 8 of request 0, and one that
  // is sampled.
  static std::string told(const StepPlan& plan) {
    std::string text;
    for (const Slice& slice : plan.slices) {
      if (!text.empty()) text += ' ';
      text += name(*slice.request) + ":" + std::to_string(slice.first) + "+" + std::to_string(slice.tokens);
      if (slice.yields) text += '!';
    }
    return text;
  }
  StepPlan plan(bool throttles = false) {
    StepPlan plan;
    scheduler_.plan(plan, throttles);
    check();
    return plan;
  }
  void finish(const StepPlan& plan) {
    for (const Slice& slice : plan.slices) {
      if (scheduler_.finish(slice) && Scheduler::ended(*slice.request)) {
        ended_ += name(*slice.request);
        scheduler_.remove(*slice.request);
      }
    }
    check();
  }
  // Steps one after the other, none planned ahead.
  std::string step(bool throttles = false) {
    const StepPlan now = plan(throttles);
    finish(now);
    return told(now);
  }

  std::string waiting() const {
    std::string numbers;
    for (const RequestPtr& request : scheduler_.waiting()) numbers += name(*request);
    return numbers;
  }
  const std::string& ended() const { return ended_; }
  KvPool& pool() { return pool_; }
  Scheduler& scheduler() { return scheduler_; }

  int times_asked = 0;  // how often, whether it admits a request
  bool beside = false;  // restorations compute prompts as well
  // By the request's number; absent: it runs.
  std::map<Order, Outcome> says;
  std::map<Order, int64_t> loads;        // it loads so many tokens
  std::map<Order, int64_t> lies_beside;  // so many tokens of it lie on the GPU, but in no block

  static KvPoolOptions pool_of(int64_t blocks, bool caches) {
    return {.blocks = blocks,
            .layout = {.groups = {{.block_tokens = kBlock}}, .unit_tokens = kBlock},
            .caching = caches};
  }
  int64_t named_blocks(const Request& request) const { return pool_.named_tokens(request.holding) / kBlock; }

 private:
  static std::string name(const Request& request) {
    return std::to_string(static_cast<int64_t>(request.number));
  }
  Admitted admit(Request& request, const Fits& fits) override {
    ++times_asked;
    if (says.contains(request.number)) return {says[request.number]};
    const bool loads_some = loads.contains(request.number);
    Found found{.gpu = pool_.find(request.chain, request.known_tokens() - 1)};
    if (lies_beside.contains(request.number)) {
      found.gpu = {};
      request.named = false;
      request.free_tokens = lies_beside[request.number];
    }
    if (loads_some) found.load_tokens = loads[request.number];
    if (!fits(found)) return {Outcome::waits};
    const int64_t there = found.gpu.tokens + request.free_tokens;
    if (!loads_some) return {Outcome::runs, found.gpu.tokens, there};
    request.fused = beside;
    const int64_t tokens = found.load_tokens;
    return {beside ? Outcome::computes_beside : Outcome::loads, found.gpu.tokens, tokens, tokens};
  }
  void preempted(Request&) override {}
  void check() {
    scheduler_.check();
    pool_.check(scheduler_.holdings());
  }

  KvPool pool_;
  Settings settings_;
  Scheduler scheduler_;
  int next_ = 0;
  std::string ended_;
};

inline std::vector<TextRun> text(int64_t tokens, Key key = kText) { return {{key, 0, tokens}}; }

}  // namespace kvcap::scheduled_engine
