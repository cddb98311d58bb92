#include "reference/literal_pair.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace kvcap::reference {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

enum class Where : uint8_t { nowhere, prefill_queue, prefill, decode_queue, coming, come, decode, gone };

struct State {
  Where where = Where::nowhere;
  int64_t prefilled = 0, generated = 0;
  int64_t prefill_blocks = 0, decode_blocks = 0;
  int64_t unknown_steps = 0;  // ends of decode steps until the decode node knows that its KV has come
  PairOutcome outcome;
};

class Pair {
 public:
  Pair(const PairOptions& options, const std::vector<PairRequest>& requests)
      : options_(options), requests_(requests), states_(requests.size()) {}

  std::vector<PairOutcome> run() {
    for (double now_s = 0; now_s < kNever; now_s = next_s()) at(now_s);
    std::vector<PairOutcome> outcomes;
    for (const State& state : states_) outcomes.push_back(state.outcome);
    return outcomes;
  }

 private:
  // In the order of a fleet: ends, arrivals, what is handed over, the next steps.
  void at(double now_s) {
    if (link_free_s_ <= now_s) {
      State& state = states_[on_link_.front()];
      state.where = Where::come;
      state.unknown_steps = decode_ends_s_ == kNever ? 1 : 2;
      state.outcome.arrived_s = now_s;
      state.prefill_blocks = 0;
      on_link_.erase(on_link_.begin());
      carry(now_s);
    }
    if (prefill_ends_s_ <= now_s) end_prefill_step(now_s);
    if (decode_ends_s_ <= now_s) end_decode_step(now_s);
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (states_[i].where == Where::nowhere && requests_[i].arrival_s <= now_s) {
        states_[i].where = Where::prefill_queue;
      }
    }
    if (prefill_ends_s_ == kNever) begin_prefill_step(now_s);
    if (decode_ends_s_ != kNever) return;
    begin_decode_step(now_s);
    // Without work the node asks again at once.
    while (decoding_.empty() && count_unknown() > 0) begin_decode_step(now_s);
  }

  double next_s() const {
    double next_s = std::min({link_free_s_, prefill_ends_s_, decode_ends_s_});
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (states_[i].where == Where::nowhere) next_s = std::min(next_s, requests_[i].arrival_s);
    }
    return next_s;
  }

  int64_t blocks(int64_t tokens) const { return (tokens + options_.block_size - 1) / options_.block_size; }
  int64_t count(Where where) const {
    return std::count_if(states_.begin(), states_.end(),
                         [where](const State& state) { return state.where == where; });
  }
  // Counts the states whose KV has come unnoticed, and notes that a step has ended for them.
  int64_t count_unknown() {
    int64_t unknown = 0;
    for (State& state : states_) {
      if (state.where != Where::come || state.unknown_steps == 0) continue;
      --state.unknown_steps;
      ++unknown;
    }
    return unknown;
  }
  int64_t held(int64_t State::*blocks) const {
    int64_t held = 0;
    for (const State& state : states_) held += state.*blocks;
    return held;
  }
  double step_s(std::size_t sequences) const {
    return options_.step_s + options_.step_per_sequence_s * static_cast<double>(sequences);
  }

  // ---- prompts ----

  void begin_prefill_step(double now_s) {
    int64_t budget = options_.max_num_batched_tokens;
    prefilling_.clear();
    const auto compute = [&](std::size_t i) {
      const int64_t tokens = std::min(budget, requests_[i].prompt_tokens - states_[i].prefilled);
      budget -= tokens;
      if (tokens > 0) prefilling_.emplace_back(i, tokens);
    };
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i].where == Where::prefill) compute(i);
    }
    for (std::size_t i = 0; i < states_.size() && budget > 0; ++i) {
      if (states_[i].where != Where::prefill_queue) continue;
      const int64_t needed = blocks(requests_[i].prompt_tokens);
      if (count(Where::prefill) >= options_.max_num_seqs) break;
      if (held(&State::prefill_blocks) + needed > options_.blocks) break;
      states_[i].where = Where::prefill;
      states_[i].prefill_blocks = needed;
      compute(i);
    }
    if (!prefilling_.empty()) prefill_ends_s_ = now_s + step_s(prefilling_.size());
  }

  void end_prefill_step(double now_s) {
    for (const auto& [i, tokens] : prefilling_) {
      states_[i].prefilled += tokens;
      if (states_[i].prefilled < requests_[i].prompt_tokens) continue;
      states_[i].where = Where::decode_queue;
      states_[i].outcome.prefilled_s = now_s;
    }
    prefill_ends_s_ = kNever;
  }

  // ---- answers ----

  // Whoever decodes goes on; then those whose KV has come, in their order among those who have no blocks yet.
  void begin_decode_step(double now_s) {
    int64_t budget = options_.max_num_batched_tokens;
    decoding_.clear();
    for (std::size_t i = 0; i < states_.size() && budget > 0; ++i) {
      if (states_[i].where != Where::decode) continue;
      decoding_.push_back(i);
      --budget;
    }
    bool blocked = false;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      State& state = states_[i];
      if (budget <= 0 || count(Where::decode) >= options_.max_num_seqs) break;
      if (state.where == Where::come && state.unknown_steps > 0) continue;
      if (state.where == Where::come) {
        state.where = Where::decode;
        decoding_.push_back(i);
        --budget;
      } else if (state.where == Where::decode_queue && !blocked) {
        const int64_t needed = blocks(requests_[i].prompt_tokens + requests_[i].output_tokens - 1);
        blocked = held(&State::decode_blocks) + needed > options_.blocks;
        if (blocked) continue;
        state.decode_blocks = needed;
        state.where = Where::coming;
        state.outcome.admitted_s = now_s;
        on_link_.push_back(i);
        if (on_link_.size() == 1) carry(now_s);
      }
    }
    if (!decoding_.empty()) decode_ends_s_ = now_s + step_s(decoding_.size());
  }

  void end_decode_step(double now_s) {
    for (std::size_t i : decoding_) {
      State& state = states_[i];
      if (++state.generated == 1) state.outcome.first_token_s = now_s;
      if (state.generated < requests_[i].output_tokens) continue;
      state.outcome.last_token_s = now_s;
      state.where = Where::gone;
      state.decode_blocks = 0;
    }
    count_unknown();
    decode_ends_s_ = kNever;
  }

  // The first in line begins.
  void carry(double now_s) {
    link_free_s_ = kNever;
    if (on_link_.empty()) return;
    const auto tokens = static_cast<double>(requests_[on_link_.front()].prompt_tokens);
    link_free_s_ = now_s + options_.latency_s + tokens * options_.s_per_token;
  }

  const PairOptions& options_;
  const std::vector<PairRequest>& requests_;
  std::vector<State> states_;
  std::vector<std::pair<std::size_t, int64_t>> prefilling_;  // tokens of the step that runs
  std::vector<std::size_t> decoding_;
  std::vector<std::size_t> on_link_;
  double prefill_ends_s_ = kNever, decode_ends_s_ = kNever, link_free_s_ = kNever;
};

}  // namespace

std::vector<PairOutcome> run_literally(const PairOptions& options, const std::vector<PairRequest>& requests) {
  return Pair(options, requests).run();
}

}  // namespace kvcap::reference
