// Generates chats with the statistics of ShareGPT. The tables contain quantiles of the data. The turns of a
// session are correlated by its style (long-winded or terse) in a one-factor Gaussian copula: z = sqrt(rho)
// style + sqrt(1 - rho) noise, length = quantile(Phi(z)). In the data the rank correlation of outputs falls
// only from 0.49 between adjacent turns to 0.39 between turns 5 apart, which fits a style but not a Markov
// chain.
#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "workload/generators/draws.h"
#include "workload/generators/tables.h"
#include "workload/source.h"

namespace kvcap {
namespace {

constexpr std::string_view kChatTable = "traces/chat.json";

struct ChatTables {
  std::vector<double> turns_cumulative;  // share of sessions with at most 1, 2, ... turns
  std::vector<double> probabilities;     // probabilities of the quantiles below, from 0 to 1
  std::vector<double> first_input_tokens, later_input_tokens, output_tokens;
  double input_correlation = 0, output_correlation = 0;  // correlation of z within a session
  int64_t max_session_tokens = 0;
};

ChatTables load_chat_tables() {
  const Table file(kChatTable);
  ChatTables tables;
  file.get("turns_cumulative", tables.turns_cumulative);
  file.get("probabilities", tables.probabilities);
  file.get("first_input_tokens", tables.first_input_tokens);
  file.get("later_input_tokens", tables.later_input_tokens);
  file.get("output_tokens", tables.output_tokens);
  file.get("max_session_tokens", tables.max_session_tokens);
  tables.input_correlation = normal_correlation(file.number("input_rank_correlation"));
  tables.output_correlation = normal_correlation(file.number("output_rank_correlation"));
  return tables;
}

}  // namespace

Source generate_chats(int64_t count, uint64_t seed) {
  const ChatTables tables = load_chat_tables();
  const RandomStream turn_counts(seed, "chat.turns");
  const StyledDraws inputs(seed, "chat.input", tables.input_correlation);
  const StyledDraws outputs(seed, "chat.output", tables.output_correlation);
  Source source;
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
    const auto& cumulative = tables.turns_cumulative;
    const auto found = std::lower_bound(cumulative.begin(), cumulative.end() - 1, turn_counts.uniform(i));
    const int64_t turn_count = found - cumulative.begin() + 1;
    Session session{.first_turn = static_cast<uint32_t>(source.turns.size())};
    int64_t total = 0;
    for (int64_t j = 0; j < turn_count; ++j) {
      const auto& input_table = j == 0 ? tables.first_input_tokens : tables.later_input_tokens;
      int64_t input = table_quantile(tables.probabilities, input_table, inputs.probability(i, j));
      const int64_t output =
          table_quantile(tables.probabilities, tables.output_tokens, outputs.probability(i, j));
      // Sessions in the data have at most this many tokens: a later turn that does not fit ends the session,
      // and a first turn is shortened.
      if (total + input + output > tables.max_session_tokens) {
        if (j > 0) break;
        input = tables.max_session_tokens - output;
      }
      total += input + output;
      source.turns.push_back({static_cast<uint32_t>(input), static_cast<uint32_t>(output), NAN});
      ++session.turn_count;
    }
    source.sessions.push_back(session);
  }
  source.notes.push_back("chats are drawn from statistics of ShareGPT (" + std::string(kChatTable) +
                         "); sessions end at " + std::to_string(tables.max_session_tokens) + " tokens");
  return source;
}

}  // namespace kvcap
