#include "workload/calls.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/input_error.h"

namespace kvcap {
namespace {

// Calls have no history, so only sessions of one turn without a context can be divided.
void refuse_unless_divisible(const Session& session) {
  if (session.turn_count == 1 && session.context_tokens == 0) return;
  throw InputError(
      "policy.calls: found more than one call per turn for a session with several turns or a context, "
      "allowed: "
      "single (only sessions of one turn without a context can be divided into calls)");
}

class Divider {
 public:
  Divider(const Workload& asked, const MapOptions& options) : asked_(asked), options_(options) {}

  Workload divide() {
    divided_.piece_begin.push_back(0);
    for (std::size_t turn = 0; turn < asked_.sessions.size(); ++turn) divide(turn);
    return std::move(divided_);
  }

 private:
  void divide(std::size_t turn) {
    const Turn& whole = asked_.turns[asked_.sessions[turn].first_turn];
    const std::span<const Piece> chunks = asked_.prompt_pieces_of(asked_.sessions[turn].first_turn);
    uint32_t question_tokens = whole.input_tokens;
    for (const Piece& chunk : chunks) question_tokens -= chunk.tokens;
    const bool reduce = options_.kind == MapKind::reduce;
    for (const Piece& chunk : chunks) {
      const uint32_t generated = options_.map_tokens + (reduce ? 0 : whole.output_tokens);
      add({chunk.tokens + question_tokens, generated, whole.time_s}, {&chunk, 1},
          {.asked_session = static_cast<uint32_t>(turn), .answers = false});
    }
    if (!chunks.empty() && !reduce) return;
    const auto count = static_cast<uint32_t>(chunks.size());
    refuse_unless_it_fits(count, question_tokens);
    add({count * options_.map_tokens + question_tokens, whole.output_tokens, whole.time_s}, {},
        {.asked_session = static_cast<uint32_t>(turn), .after = count});
  }

  // Throws InputError if the prompt of the last call would exceed 32 bits of tokens.
  void refuse_unless_it_fits(uint32_t count, uint32_t question_tokens) const {
    constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();
    if (count == 0 || options_.map_tokens <= (kMost - question_tokens) / count) return;
    throw InputError("policy.map_tokens: found " + std::to_string(options_.map_tokens) +
                     ", allowed: at most " + std::to_string((kMost - question_tokens) / count) + " (" +
                     std::to_string(count) + " chunks of one prompt)");
  }

  void add(const Turn& turn, std::span<const Piece> pieces, const Call& call) {
    divided_.sessions.push_back({.first_turn = static_cast<uint32_t>(divided_.turns.size()),
                                 .turn_count = 1,
                                 .priority = asked_.sessions[call.asked_session].priority});
    divided_.turns.push_back(turn);
    divided_.turns.back().input_tokens = std::max<uint32_t>(turn.input_tokens, 1);
    divided_.pieces.insert(divided_.pieces.end(), pieces.begin(), pieces.end());
    divided_.piece_begin.push_back(divided_.pieces.size());
    divided_.calls.push_back(call);
  }

  const Workload& asked_;
  const MapOptions options_;
  Workload divided_;
};

}  // namespace

Workload divided_into_calls(const Workload& asked, const MapOptions& options) {
  for (const Session& session : asked.sessions) refuse_unless_divisible(session);
  KVCAP_CHECK(!asked.piece_begin.empty() && asked.piece_keys == PieceKeys::text && asked.calls.empty());
  Workload divided = Divider(asked, options).divide();
  divided.piece_keys = asked.piece_keys;
  divided.absolute_times = asked.absolute_times;
  divided.warm_start = asked.warm_start;
  divided.warmup_turns = asked.warmup_turns;
  divided.concurrency = asked.concurrency;
  divided.clients = asked.clients;
  divided.sessions_per_s = asked.sessions_per_s;
  divided.bad_rows_skipped = asked.bad_rows_skipped;
  divided.odd_rows = asked.odd_rows;
  divided.notes = asked.notes;
  const std::string tokens = std::to_string(options.map_tokens);
  divided.notes.push_back(
      options.kind == MapKind::reduce
          ? "each turn is divided into one call per chunk, for a summary of " + tokens +
                " tokens, and one call over all summaries (policy.map_tokens is an "
                "assumption); TTFT is that of the last call"
          : "each turn is divided into one call per chunk, for an answer and a score of " + tokens +
                " tokens (policy.map_tokens is an assumption); TTFT ends with the last "
                "call, because no answer is chosen before");
  return divided;
}

}  // namespace kvcap
