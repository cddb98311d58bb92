// Reads agent sessions that LMCache recorded (github.com/LMCache/lmcache-agent-trace): one request per line,
// with its number in the session, the time from the session's beginning and the full blocks of its prompt.
// Block ids are common to all sessions.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "workload/logs/odd_rows.h"
#include "workload/logs/rows.h"
#include "workload/pieces.h"
#include "workload/source.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

struct LmcacheSession {
  std::string id;  // as JSON
  int64_t last_number = 0;
  double last_s = 0;
  std::vector<Turn> turns;
  std::vector<std::vector<Piece>> pieces;
  std::vector<double> think_times_s;
};

struct LmcacheCounts {
  int64_t without_prompt = 0, without_answer = 0;
};

double read_time_s(const Json& row, double last_s) {
  const Json& value = required(row, "t_ms", "");
  const double time_s = value.is_number() ? value.get<double>() / 1000 : NAN;
  if (!(time_s >= 0 && time_s <= kMaxArrival_s)) bad_value("t_ms", value, "milliseconds from 0 to 1e13");
  if (time_s < last_s) bad_value("t_ms", value, "no less than in the session's previous row");
  return time_s;
}

std::vector<Piece> read_blocks(const Json& row, int64_t input_tokens, int64_t block_tokens) {
  const Json& ids = required(row, "hash_ids", "");
  if (!ids.is_array()) bad_value("hash_ids", ids, "an array of integers");
  const int64_t full = input_tokens / block_tokens;
  if (std::ssize(ids) != full) {
    throw BadRowError{"hash_ids: found " + std::to_string(ids.size()) +
                      " ids, allowed: " + std::to_string(full) + ", one for each full " +
                      std::to_string(block_tokens) + " tokens of input_length"};
  }
  std::vector<Piece> pieces;
  for (const Json& id : ids) {
    const uint64_t key = piece_key(id, "hash_ids." + std::to_string(pieces.size()));
    pieces.push_back({key, static_cast<uint32_t>(block_tokens)});
  }
  return pieces;
}

// Sessions in the order of their first rows.
class LmcacheRows {
 public:
  LmcacheRows(int64_t block_tokens, std::optional<int64_t> most) : block_tokens_(block_tokens), most_(most) {}

  bool take(const Json& row) {
    const Json& id = required(row, "session", "");
    if (!id.is_string() && !id.is_number_integer()) bad_value("session", id, "a string or an integer");
    const std::string name = id.dump(-1, ' ', false, Json::error_handler_t::replace);
    const auto known = numbers_.find(name);
    const bool is_new = known == numbers_.end();
    // Continues reading, because later rows may belong to the wanted sessions.
    if (is_new && most_ && std::ssize(sessions_) >= *most_) return true;
    LmcacheSession first{.id = name};
    LmcacheSession& session = is_new ? first : sessions_[known->second];
    read(row, session);
    if (is_new && !first.turns.empty()) {
      numbers_.emplace(name, sessions_.size());
      sessions_.push_back(std::move(first));
    }
    return true;
  }

  const std::vector<LmcacheSession>& sessions() const { return sessions_; }
  const LmcacheCounts& counts() const { return counts_; }

 private:
  void read(const Json& row, LmcacheSession& session) {
    const uint32_t number = token_count(required(row, "turn", ""), "turn", 1);
    if (number <= session.last_number) {
      bad_value("turn", row["turn"],
                "more than " + std::to_string(session.last_number) + ", the session's previous turn");
    }
    const double time_s = read_time_s(row, session.last_s);
    if (!session.turns.empty() && time_s - session.last_s > kLongestGap_s)
      bad_value("t_ms", row["t_ms"], "at most a year after the session's previous row");
    const uint32_t input = token_count(required(row, "input_length", ""), "input_length", 0);
    const uint32_t output = token_count(required(row, "output_length", ""), "output_length", 0);
    const std::vector<Piece> pieces = read_blocks(row, input, block_tokens_);
    known_.take(pieces, "hash_ids");
    session.last_number = number;
    if (input == 0) {
      ++counts_.without_prompt;
      return;
    }
    counts_.without_answer += output == 0;
    session.think_times_s.push_back(session.turns.empty() ? NAN : time_s - session.last_s);
    session.turns.push_back({input, std::max<uint32_t>(output, 1), time_s});
    session.pieces.push_back(pieces);
    session.last_s = time_s;
  }

  int64_t block_tokens_;
  std::optional<int64_t> most_;
  std::vector<LmcacheSession> sessions_;
  std::map<std::string, std::size_t> numbers_;
  KnownPieces known_{PieceKeys::prefix};
  LmcacheCounts counts_;
};

}  // namespace

Source read_lmcache_agent(const SourceOptions& options, std::optional<int64_t> most) {
  refuse_growing_history(options);
  LmcacheRows rows(options.block_tokens.value_or(kEngineBlockTokens), most);
  const BadRows bad = for_each_row(options.path, options.on_bad_row,
                                   [&](const Json& row, int64_t) { return rows.take(row); });
  Source source;
  for (const LmcacheSession& session : rows.sessions()) {
    source.add({}, session.turns, session.pieces);
    source.add_think_times(session.think_times_s);
    source.labels.push_back({session.id, ""});
  }
  source.histories.assign(source.sessions.size(), History::context);
  report_bad_rows(options.path, bad, source);
  const auto note = [&source](int64_t count, const std::string& text) {
    if (count > 0) source.notes.push_back(std::to_string(count) + " " + text);
  };
  note(rows.counts().without_prompt, "requests without input tokens are left out");
  note(rows.counts().without_answer, "requests without output tokens are served with one");
  source.notes.push_back(
      "the trace does not say how long requests took: think times count from the arrival of the previous "
      "request");
  return source;
}

}  // namespace kvcap
