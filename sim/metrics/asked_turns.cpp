#include "metrics/asked_turns.h"

namespace kvcap {
namespace {

double prompt_tokens(const TurnRecord& turn) {
  return static_cast<double>(turn.history_tokens) + turn.input_tokens;
}

}  // namespace

AskedTurns::AskedTurns(const Recorded& recorded, const RunFacts& facts) : recorded_(recorded), facts_(facts) {
  for (const TurnRecord& turn : recorded.turns) {
    servable_ += is_servable(turn) ? 1 : 0;
    if (!turn.answered()) continue;
    ++answered_;
    answered_prompt_tokens_ += prompt_tokens(turn);
    computed_prompt_tokens_ += prompt_tokens(turn) - turn.hit_tokens;
  }
}

bool AskedTurns::is_servable(const TurnRecord& turn) const {
  const int64_t tokens = int64_t{turn.history_tokens} + turn.input_tokens + turn.output_tokens;
  return !turn.rejected || tokens <= facts_.max_model_len.value_or(tokens);
}

double AskedTurns::worth_of_work() const {
  const auto wasted_tokens = static_cast<double>(recorded_.wasted_prompt_tokens);
  return answered_ * (computed_prompt_tokens_ > 0 ? 1 + wasted_tokens / computed_prompt_tokens_ : 1);
}

MeanTurn AskedTurns::mean() const {
  double tokens = 0, output_tokens = 0;
  for (const TurnRecord& turn : recorded_.turns) {
    if (!is_servable(turn)) continue;
    tokens += prompt_tokens(turn);
    output_tokens += turn.output_tokens;
  }
  const double computed_share =
      answered_prompt_tokens_ > 0 ? computed_prompt_tokens_ / answered_prompt_tokens_ : 1;
  const double computed_tokens =
      computed_prompt_tokens_ + (tokens - answered_prompt_tokens_) * computed_share;
  return {tokens / servable_, output_tokens / servable_, computed_tokens / servable_};
}

}  // namespace kvcap
