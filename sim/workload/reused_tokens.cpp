#include "workload/reused_tokens.h"

#include <algorithm>
#include <cmath>

#include "base/key_map.h"
#include "base/sums.h"

namespace kvcap {
namespace {

struct Sample {
  std::vector<uint32_t> sessions;
  double share = 1;  // share of all sessions in a random sample, by which distances are divided; else 1
};

Sample sample_of(const Workload& workload, std::size_t max_turns) {
  const auto count = static_cast<uint32_t>(workload.sessions.size());
  const bool all = workload.turns.size() <= max_turns;
  const bool shares = !workload.piece_begin.empty() ||
                      std::any_of(workload.sessions.begin(), workload.sessions.end(),
                                  [](const Session& one) { return one.document != kOwnContext; });
  Sample sample;
  if (!all && !shares)
    sample.share = static_cast<double>(max_turns) / static_cast<double>(workload.turns.size());
  std::size_t turns = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const bool drawn = static_cast<double>(mixed(i + 1) >> 11) * 0x1p-53 < sample.share;
    if (!drawn) continue;
    turns += workload.sessions[i].turn_count;
    if (!all && shares && turns > max_turns) break;
    sample.sessions.push_back(i);
  }
  return sample;
}

struct TokenAccess {
  double time_s = 0;
  uint32_t session = 0;
  uint32_t turn = 0;           // index in the workload
  int64_t context_tokens = 0;  // after the turn
};

// Returns the accesses in the order of arrival.
std::vector<TokenAccess> token_accesses_of(const Workload& workload, const Sample& sample) {
  std::vector<TokenAccess> accesses;
  for (uint32_t i : sample.sessions) {
    const Session& session = workload.sessions[i];
    TokenAccess access{.session = i, .turn = session.first_turn, .context_tokens = session.context_tokens};
    for (const Turn& turn : workload.turns_of(session)) {
      const bool after = access.turn > session.first_turn && !workload.absolute_times;
      access.time_s = after ? access.time_s + turn.time_s : turn.time_s;
      if (session.history_grows) access.context_tokens += int64_t{turn.input_tokens} + turn.output_tokens;
      accesses.push_back(access);
      ++access.turn;
    }
  }
  std::stable_sort(accesses.begin(), accesses.end(),
                   [](const TokenAccess& a, const TokenAccess& b) { return a.time_s < b.time_s; });
  return accesses;
}

// A store that keeps everything in the order of last use. Time advances in steps; texts used in the same step
// count as used at the same time.
class LruStack {
 public:
  LruStack(std::size_t steps, double share) : tokens_by_step_(steps), share_(share) {}

  bool has(uint64_t key) const { return places_.find(key) != kNone; }
  // REQUIRES: has(key).
  ReusedTokens find(uint64_t key, std::size_t step, double now_s) const {
    const Use& last = uses_[places_.find(key)];
    const int64_t since = tokens_by_step_.first(step) - tokens_by_step_.first(last.step);
    const double others = static_cast<double>(since - last.tokens) / share_;
    return {last.tokens + std::llround(others), last.tokens, now_s - last.time_s};
  }
  void use(uint64_t key, int64_t tokens, std::size_t step, double now_s) {
    std::size_t place = places_.find(key);
    if (place == kNone) {
      place = uses_.size();
      places_.set(key, place);
      uses_.emplace_back();
    }
    tokens_by_step_.add(uses_[place].step, -uses_[place].tokens);
    tokens_by_step_.add(step, tokens);
    uses_[place] = {tokens, step, now_s};
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Use {
    int64_t tokens = 0;
    std::size_t step = 0;
    double time_s = 0;
  };

  KeyMap<std::size_t, kNone> places_;
  std::vector<Use> uses_;
  Sums tokens_by_step_;
  double share_;
};

class Follow {
 public:
  Follow(const Workload& workload, const ReuseOptions& options, const Sample& sample)
      : workload_(workload),
        options_(options),
        warm_(workload.warm_start ? sample.sessions.size() : 0),
        accesses_(token_accesses_of(workload, sample)),
        stack_(warm_ + accesses_.size(), sample.share) {
    for (std::size_t i = 0; i < warm_; ++i) fill(sample.sessions[warm_ - 1 - i], i);
  }

  std::vector<ReusedTokens> run() {
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      if (workload_.piece_begin.empty()) {
        use_context(accesses_[i], warm_ + i);
      } else {
        use_pieces(accesses_[i], warm_ + i);
      }
    }
    return std::move(reused_);
  }

 private:
  // For a warm start: stores a session's context and the pieces of its first turn before the run.
  void fill(uint32_t session, std::size_t step) {
    const int64_t tokens = truncated(workload_.sessions[session].context_tokens);
    if (tokens > 0) stack_.use(workload_.context_key(session), tokens, step, 0);
    for_pieces(workload_.sessions[session].first_turn,
               [&](uint64_t key, int64_t piece_tokens, bool) { stack_.use(key, piece_tokens, step, 0); });
  }

  void use_context(const TokenAccess& access, std::size_t step) {
    const uint64_t key = workload_.context_key(access.session);
    if (stack_.has(key)) reused_.push_back(stack_.find(key, step, access.time_s));
    stack_.use(key, truncated(access.context_tokens), step, access.time_s);
  }

  void use_pieces(const TokenAccess& access, std::size_t step) {
    for_pieces(access.turn, [&](uint64_t key, int64_t, bool in_prompt) {
      if (in_prompt && stack_.has(key)) reused_.push_back(stack_.find(key, step, access.time_s));
    });
    for_pieces(access.turn,
               [&](uint64_t key, int64_t tokens, bool) { stack_.use(key, tokens, step, access.time_s); });
  }

  // Calls `call` with each piece's key, its tokens, and whether it is part of the prompt.
  void for_pieces(uint32_t turn, const auto& call) const {
    const bool chains = options_.by_prefix && workload_.piece_keys == PieceKeys::text;
    const std::size_t in_prompt = workload_.prompt_pieces_of(turn).size();
    uint64_t key = 0;
    std::size_t i = 0;
    for (const Piece& piece : workload_.pieces_of(turn)) {
      key = chains ? chained(key, piece.key) : piece.key;
      call(key, int64_t{piece.tokens}, i++ < in_prompt);
    }
  }

  int64_t truncated(int64_t tokens) const { return std::min(tokens, options_.max_context_tokens); }

  const Workload& workload_;
  ReuseOptions options_;
  std::size_t warm_;  // steps before the first turn
  std::vector<TokenAccess> accesses_;
  LruStack stack_;
  std::vector<ReusedTokens> reused_;
};

}  // namespace

std::vector<ReusedTokens> reused_tokens(const Workload& workload, const ReuseOptions& options) {
  return Follow(workload, options, sample_of(workload, options.max_turns)).run();
}

}  // namespace kvcap
