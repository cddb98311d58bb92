// Reads sessions of coding agents that kv-cache-tester (github.com/callanjfox/kv-cache-tester) recorded: one
// session per line with its requests in order, including those of sub-agents. A request lists the full blocks
// of its prompt; answers are not in blocks. Block ids are local to the session.
//
// A request waits for the previous request of the same agent. A sub-agent's first request waits for the
// request that launched it. The request after the sub-agents waits for the last of them to end, except for
// sub-agents that run on their own (async_launched).
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "base/key_map.h"
#include "workload/logs/odd_rows.h"
#include "workload/logs/rows.h"
#include "workload/readers/block_ranges.h"
#include "workload/source.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kSessionSpace = 0x77656b61;  // "weka"
constexpr uint64_t kToolsSpace = 0x746f6f6c73;  // "tools"
constexpr uint64_t kLargestId = uint64_t{1} << 62;
constexpr int64_t kMaxBlockTokens = 65536;

// Turns of a session, with counts for notes.
struct WekaSession {
  std::string id;
  int64_t block_tokens = 0;
  std::vector<Turn> turns;
  std::vector<int32_t> parents;
  std::vector<double> think_times_s;
  std::vector<std::vector<BlockRange>> prompts;
  int64_t without_answer = 0, without_duration = 0;
};

double seconds(const Json& value, const std::string& path) {
  const double time_s = value.is_number() ? value.get<double>() : NAN;
  if (!(time_s >= 0 && time_s <= kMaxArrival_s)) bad_value(path, value, "a number from 0 to 1e10");
  return time_s;
}

// Returns NaN if the key is missing or null.
double seconds_or_none(const Json& row, const char* key, const std::string& path) {
  const auto found = row.find(key);
  return found == row.end() || found->is_null() ? NAN : seconds(*found, path + key);
}

uint64_t block_id(const Json& value, const std::string& path) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > kLargestId) {
    bad_value(path, value, "an integer from 0 to " + std::to_string(kLargestId));
  }
  return value.get<uint64_t>();
}

// Reads "h": [first, last, first, last, ...].
std::vector<BlockRange> read_ranges(const Json& list, uint64_t space, const std::string& path) {
  if (list.size() % 2 != 0) {
    throw BadRowError{path + ": found " + std::to_string(list.size()) +
                      " numbers, allowed: pairs of a first and a last block"};
  }
  std::vector<BlockRange> ranges;
  for (std::size_t i = 0; i < list.size(); i += 2) {
    const uint64_t first = block_id(list[i], path + "." + std::to_string(i));
    const std::string end_path = path + "." + std::to_string(i + 1);
    const uint64_t last = block_id(list[i + 1], end_path);
    if (last < first || last - first >= static_cast<uint64_t>(kMaxTokens)) {
      bad_value(end_path, list[i + 1],
                "an integer from " + std::to_string(first) + ", the range's first, to " +
                    std::to_string(first + static_cast<uint64_t>(kMaxTokens) - 1));
    }
    ranges.push_back({space, first, last});
  }
  return ranges;
}

// Reads "hash_ids": [id, id, ...].
std::vector<BlockRange> read_ids(const Json& list, uint64_t space, const std::string& path) {
  std::vector<BlockRange> ranges;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const uint64_t id = block_id(list[i], path + "." + std::to_string(i));
    if (!ranges.empty() && id == ranges.back().last + 1) {
      ++ranges.back().last;
    } else {
      ranges.push_back({space, id, id});
    }
  }
  return ranges;
}

// Returns the full blocks of a prompt of `input_tokens`; drops a partial last block if the row lists it.
std::vector<BlockRange> read_blocks(const Json& row, uint64_t space, int64_t input_tokens,
                                    int64_t block_tokens, const std::string& path) {
  const bool in_ranges = row.contains("h");
  const Json& list = required(row, in_ranges ? "h" : "hash_ids", path);
  const std::string inside = path + (in_ranges ? "h" : "hash_ids");
  if (!list.is_array()) bad_value(inside, list, "an array of integers");
  std::vector<BlockRange> ranges =
      in_ranges ? read_ranges(list, space, inside) : read_ids(list, space, inside);
  const int64_t blocks = blocks_of(ranges), full = input_tokens / block_tokens;
  if (blocks != full && blocks != (input_tokens + block_tokens - 1) / block_tokens) {
    throw BadRowError{inside + ": found " + std::to_string(blocks) +
                      " blocks, allowed: " + std::to_string(full) + ", the full ones of " +
                      std::to_string(input_tokens) + " tokens"};
  }
  if (blocks > full && ranges.back().first == ranges.back().last) {
    ranges.pop_back();
  } else if (blocks > full) {
    --ranges.back().last;
  }
  return ranges;
}

// Tools and system prompt of an agent. Their blocks get ids of a space that is common to all agents whose
// tools and system prompt have the same sizes.
struct SharedText {
  uint64_t space = 0;
  uint64_t first = 0;  // first block of the agent's first prompt
  int64_t blocks = 0;
};

// Moves the shared text of a prompt to the shared id space if the prompt begins with the same block as the
// agent's first prompt.
void rename_shared(const SharedText& shared, std::vector<BlockRange>& prompt) {
  if (shared.blocks == 0 || prompt.empty() || prompt.front().first != shared.first) return;
  const BlockRange whole = prompt.front();
  const uint64_t last = std::min(whole.last, whole.first + static_cast<uint64_t>(shared.blocks) - 1);
  prompt.front() = {shared.space, 0, last - whole.first};
  if (last < whole.last) prompt.insert(prompt.begin() + 1, {whole.space, last + 1, whole.last});
}

class SessionReader {
 public:
  SessionReader(uint64_t number, bool shares_tools)
      : space_(chained(kSessionSpace, number)), shares_tools_(shares_tools) {}

  WekaSession read(const Json& row) {
    const Json& id = required(row, "id", "");
    if (!id.is_string() && !id.is_number_integer()) bad_value("id", id, "a string or an integer");
    session_.id = id.dump(-1, ' ', false, Json::error_handler_t::replace);
    const auto scope = row.find("hash_id_scope");
    if (scope != row.end() && *scope != "local") bad_value("hash_id_scope", *scope, "\"local\"");
    session_.block_tokens = token_count(required(row, "block_size", ""), "block_size", 1);
    if (session_.block_tokens > kMaxBlockTokens) {
      bad_value("block_size", row["block_size"], "an integer from 1 to " + std::to_string(kMaxBlockTokens));
    }
    Agent main;
    main.shift_s = 0;
    read_requests(row, "", main);
    if (session_.turns.empty()) throw BadRowError{"requests: found none, allowed: at least one"};
    refuse_contradictions(session_.prompts, paths_);
    return std::move(session_);
  }

 private:
  // A turn and its end, in seconds from the session's beginning.
  struct Ended {
    int32_t turn = kNoParent;
    double end_s = 0;
    bool took_known_time = false;
  };

  // State of the main agent or of a sub-agent while its requests are read.
  struct Agent {
    std::optional<double> shift_s;  // added to the times of the agent's requests to get times of the session
    double begin_s = 0;
    Ended own;      // its last request; before its first one, the request that launched it
    Ended awaited;  // awaited by its next request: `own`, or a sub-agent's last request
    std::optional<SharedText> shared{};  // set by its first request
  };

  void read_requests(const Json& row, const std::string& path, Agent& agent) {
    const Json& rows = required(row, "requests", path);
    if (!rows.is_array()) bad_value(path + "requests", rows, "an array of requests");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string one = path + "requests." + std::to_string(i);
      if (!rows[i].is_object()) bad_value(one, rows[i], "an object");
      const Json& type = required(rows[i], "type", one + ".");
      if (type == "subagent") {
        read_sub_agent(rows[i], one + ".", agent);
      } else if (type == "n" || type == "s") {
        read_request(rows[i], one + ".", row, path, agent);
      } else {
        bad_value(one + ".type", type, "\"n\", \"s\", \"subagent\"");
      }
    }
  }

  // `owner`: the object that contains the request.
  void read_request(const Json& row, const std::string& path, const Json& owner,
                    const std::string& owner_path, Agent& agent) {
    const double own_s = seconds(required(row, "t", path), path + "t");
    if (!agent.shift_s) agent.shift_s = agent.begin_s - own_s;
    if (agent.own.turn != kNoParent && own_s + *agent.shift_s - agent.own.end_s > kLongestGap_s)
      bad_value(path + "t", row["t"], "at most a year after the previous request");
    const uint32_t input = token_count(required(row, "in", path), path + "in", 1);
    const uint32_t output = token_count(required(row, "out", path), path + "out", 0);
    const double api_s = seconds_or_none(row, "api_time", path);
    std::vector<BlockRange> prompt = read_blocks(row, space_, input, session_.block_tokens, path);
    if (!agent.shared) agent.shared = shared_text(owner, owner_path, prompt);
    rename_shared(*agent.shared, prompt);
    add_turn({input, std::max<uint32_t>(output, 1), own_s + *agent.shift_s},
             seconds_or_none(row, "think_time", path), agent);
    session_.prompts.push_back(std::move(prompt));
    paths_.push_back(path + (row.contains("h") ? "h" : "hash_ids"));
    const bool is_known = !std::isnan(api_s);
    session_.without_answer += output == 0;
    session_.without_duration += !is_known;
    agent.own = {.turn = static_cast<int32_t>(session_.turns.size()) - 1,
                 .end_s = session_.turns.back().time_s + (is_known ? api_s : 0),
                 .took_known_time = is_known};
    agent.awaited = agent.own;
  }

  // Returns the text that all agents share whose tools and system prompt have the sizes in `owner`; no text
  // unless workload.source.shared_tools is set.
  SharedText shared_text(const Json& owner, const std::string& path,
                         const std::vector<BlockRange>& first_prompt) {
    const auto tokens = [&](const char* key) -> int64_t {
      const auto found = owner.find(key);
      return found == owner.end() || found->is_null() ? 0 : token_count(*found, path + key, 0);
    };
    const int64_t tools = tokens("tool_tokens"), system = tokens("system_tokens");
    if (!shares_tools_ || first_prompt.empty()) return {};
    const uint64_t sizes = chained(static_cast<uint64_t>(tools), static_cast<uint64_t>(system));
    const auto block_tokens = static_cast<uint64_t>(session_.block_tokens);
    const uint64_t first = first_prompt.front().first;
    // Agents of a session that begin with the same block have the same text, even if their sizes differ.
    return shared_texts_
        .try_emplace(first, SharedText{.space = chained(chained(kToolsSpace, block_tokens), sizes),
                                       .first = first,
                                       .blocks = (tools + system) / session_.block_tokens})
        .first->second;
  }

  // Adds a turn. A recorded think time counts from the end of the agent's previous request if that end is
  // recorded; after other requests only the elapsed time is known. A turn without a parent waits for the
  // session's first turn.
  void add_turn(Turn turn, double recorded_s, const Agent& agent) {
    const Ended& before = agent.awaited;
    double think_s = NAN;
    if (!session_.turns.empty()) {
      const bool has_parent = before.turn != kNoParent;
      const Turn& awaited = session_.turns[has_parent ? static_cast<std::size_t>(before.turn) : 0];
      turn.time_s = std::max(turn.time_s, awaited.time_s);
      const bool holds = before.took_known_time && before.turn == agent.own.turn && !std::isnan(recorded_s);
      think_s =
          holds ? recorded_s : std::max(0.0, turn.time_s - (has_parent ? before.end_s : awaited.time_s));
    }
    session_.think_times_s.push_back(think_s);
    session_.parents.push_back(before.turn);
    session_.turns.push_back(turn);
  }

  // Reads a sub-agent. The time of its entry is its end if the agent waits for it, else its launch.
  void read_sub_agent(const Json& row, const std::string& path, Agent& agent) {
    const double marker_s = seconds(required(row, "t", path), path + "t");
    const double lasts_ms = seconds_or_none(row, "duration_ms", path);
    const bool is_awaited = !std::isnan(lasts_ms);
    const Ended launcher{.turn = agent.own.turn, .end_s = agent.own.end_s};
    Agent sub{.begin_s = std::max(agent.own.end_s, is_awaited ? marker_s - lasts_ms / 1000 : marker_s),
              .own = launcher,
              .awaited = launcher};
    read_requests(row, path, sub);
    const bool has_requests = sub.own.turn != launcher.turn;
    if (is_awaited && has_requests && sub.own.end_s >= agent.awaited.end_s) agent.awaited = sub.own;
  }

  uint64_t space_;
  bool shares_tools_;
  WekaSession session_;
  std::vector<std::string> paths_;               // path of each prompt's blocks
  std::map<uint64_t, SharedText> shared_texts_;  // by first block
};

struct WekaCounts {
  int64_t duplicates = 0, without_answer = 0, without_duration = 0;
};

void add_notes(const WekaCounts& counts, bool shares_tools, Source& source) {
  const auto note = [&source](int64_t count, const std::string& text) {
    if (count > 0) source.notes.push_back(std::to_string(count) + " " + text);
  };
  note(counts.duplicates,
       "sessions are left out: according to dup_of_earlier, an earlier session has the same requests");
  note(counts.without_answer, "requests without output tokens are served with one");
  note(counts.without_duration,
       "requests have no api_time: the think time after them counts from their arrival");
  source.notes.push_back(
      shares_tools ? "assumed: tools and system prompts of equal size are the same text in all sessions "
                     "(workload.source.shared_tools)"
                   : "sessions share no text: block ids are local to a session (workload.source.shared_tools "
                     "assumes that tools and system prompts of equal size are the same)");
  source.notes.push_back(
      "prompts can hit only blocks of earlier prompts: the trace has no blocks of answers");
}

void add_session(const WekaSession& session, RangeBorders& borders, Source& source) {
  std::vector<std::vector<Piece>> pieces;
  for (const std::vector<BlockRange>& prompt : session.prompts) {
    pieces.push_back(pieces_of_ranges(borders.divided(prompt), session.block_tokens));
  }
  source.add({}, session.turns, pieces, session.parents);
  source.add_think_times(session.think_times_s);
  source.labels.push_back({session.id, ""});
}

}  // namespace

Source read_weka(const SourceOptions& options, std::optional<int64_t> most) {
  refuse_growing_history(options);
  std::vector<WekaSession> sessions;
  WekaCounts counts;
  OddRows odd;
  const auto take = [&](const Json& row, int64_t number) {
    const auto duplicate = row.find("dup_of_earlier");
    if (duplicate != row.end() && *duplicate == true) {
      ++counts.duplicates;
      return true;
    }
    if (odd.is_repeated(std::hash<Json>()(row), true, odd.place(number))) return true;
    sessions.push_back(SessionReader(static_cast<uint64_t>(number), options.shared_tools).read(row));
    counts.without_answer += sessions.back().without_answer;
    counts.without_duration += sessions.back().without_duration;
    return !most || std::ssize(sessions) < *most;
  };
  const BadRows bad = for_each_row(options.path, options.on_bad_row, take);
  RangeBorders borders;
  for (const WekaSession& session : sessions) {
    for (const std::vector<BlockRange>& prompt : session.prompts) borders.add(prompt);
  }
  Source source;
  for (const WekaSession& session : sessions) add_session(session, borders, source);
  source.histories.assign(source.sessions.size(), History::context);
  report_bad_rows(options.path, bad, source);
  odd.tell(options.path, source);
  add_notes(counts, options.shared_tools, source);
  return source;
}

}  // namespace kvcap
