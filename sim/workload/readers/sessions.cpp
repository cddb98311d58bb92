// Reads and writes kvcap's own session JSONL: one session per line (traces/formats.md).
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/input_error.h"
#include "workload/logs/odd_rows.h"
#include "workload/logs/rows.h"
#include "workload/pieces.h"
#include "workload/source.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSessionKeys[] = {"id",      "task",  "context_tokens", "context_id",
                                             "history", "turns", "piece_keys"};
constexpr std::string_view kTurnKeys[] = {"input_tokens", "output_tokens", "arrival_s",
                                          "pieces",       "parent",        "think_s"};
constexpr std::string_view kPieceKeysNames[] = {"prefix", "text"};  // in the order of PieceKeys

Turn read_turn(const Json& row, const std::string& path, bool needs_arrival) {
  if (!row.is_object()) bad_value(path, row, "an object");
  const std::string inside = path + ".";
  refuse_unknown_keys(row, kTurnKeys, inside);
  Turn turn;
  turn.input_tokens = token_count(required(row, "input_tokens", inside), inside + "input_tokens", 1);
  turn.output_tokens = token_count(required(row, "output_tokens", inside), inside + "output_tokens", 1);
  turn.time_s = NAN;
  const auto arrival = row.find("arrival_s");
  if (arrival == row.end()) {
    if (needs_arrival) {
      throw BadRowError{inside + "arrival_s: missing, required where arrivals.process is \"trace\""};
    }
    return turn;
  }
  turn.time_s = arrival->is_number() ? arrival->get<double>() : NAN;
  if (!(turn.time_s >= 0 && turn.time_s <= kMaxArrival_s)) {
    bad_value(inside + "arrival_s", *arrival, "a number from 0 to 1e10");
  }
  return turn;
}

// Returns the seconds from the answer to the turn's parent until the turn; NaN if not given.
double read_think_time_s(const Json& row, std::size_t turn, const std::string& path) {
  const auto found = row.find("think_s");
  if (found == row.end()) return NAN;
  if (turn == 0) bad_value(path + ".think_s", *found, "none for the first turn");
  const double time_s = found->is_number() ? found->get<double>() : NAN;
  if (!(time_s >= 0 && time_s <= kMaxArrival_s)) {
    bad_value(path + ".think_s", *found, "a number from 0 to 1e10");
  }
  return time_s;
}

// Returns the number of the earlier turn on which `turn` builds, or kNoParent.
int32_t read_parent(const Json& row, std::size_t turn, const std::string& path) {
  const auto found = row.find("parent");
  if (found == row.end()) return static_cast<int32_t>(turn) - 1;
  if (found->is_null()) return kNoParent;
  const bool whole = found->is_number_integer();
  const int64_t parent = whole ? found->get<int64_t>() : -2;
  if (parent < -1 || parent >= static_cast<int64_t>(turn)) {
    const std::string range = "an integer from 0 to " + std::to_string(static_cast<int64_t>(turn) - 1);
    bad_value(path + ".parent", *found,
              turn == 0 ? "null or -1 (the first turn has no parent)"
                        : range + " (an earlier turn of the session), or null or -1 for none");
  }
  return static_cast<int32_t>(parent);
}

// Contents of a session's turns.
struct SessionTurns {
  std::vector<Turn> turns;
  std::vector<int32_t> parents;
  std::vector<double> think_times_s;
};

// Throws BadRowError if a turn arrives before the turn that it waits for.
void refuse_early_arrival(const SessionTurns& all, const Json& rows, std::size_t i, const std::string& path) {
  if (i == 0) return;
  const int32_t parent = all.parents[i];
  const std::size_t awaited = parent == kNoParent ? 0 : static_cast<std::size_t>(parent);
  if (!(all.turns[i].time_s < all.turns[awaited].time_s)) return;
  const std::string which = parent == kNoParent ? "the session's first turn"
                            : awaited + 1 == i  ? "the turn before"
                                                : "its parent, turn " + std::to_string(parent);
  bad_value(path + ".arrival_s", rows[i]["arrival_s"], "no less than that of " + which);
}

SessionTurns read_turns(const Json& row, bool needs_arrivals) {
  const Json& rows = required(row, "turns", "");
  if (!rows.is_array() || rows.empty()) bad_value("turns", rows, "an array with at least one turn");
  SessionTurns all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string path = "turns." + std::to_string(i);
    all.turns.push_back(read_turn(rows[i], path, needs_arrivals));
    all.parents.push_back(read_parent(rows[i], i, path));
    all.think_times_s.push_back(read_think_time_s(rows[i], i, path));
    refuse_early_arrival(all, rows, i, path);
  }
  return all;
}

void refuse_unless_name(const Json& value, const std::string& path) {
  if (!value.is_string() && !value.is_number_integer()) bad_value(path, value, "a string or an integer");
}

bool has_pieces(const Json& row) {
  const auto has = [](const Json& turn) { return turn.contains("pieces"); };
  return std::any_of(row["turns"].begin(), row["turns"].end(), has);
}

std::vector<Piece> read_pieces(const Json& list, const Turn& turn, const std::string& path) {
  if (!list.is_array()) bad_value(path, list, "an array of [key, tokens]");
  std::vector<Piece> pieces;
  int64_t sum = 0;
  for (const Json& one : list) {
    const std::string inside = path + "." + std::to_string(pieces.size());
    if (!one.is_array() || one.size() != 2) bad_value(inside, one, "[key, tokens]");
    pieces.push_back({piece_key(one[0], inside + ".0"), token_count(one[1], inside + ".1", 1)});
    sum += pieces.back().tokens;
  }
  const int64_t most = int64_t{turn.input_tokens} + turn.output_tokens;
  if (sum > most) {
    throw BadRowError{path + ": found " + std::to_string(sum) + " tokens, allowed: at most " +
                      std::to_string(most) + " (input_tokens + output_tokens)"};
  }
  return pieces;
}

// Returns the pieces of all turns; empty if no turn has any.
std::vector<std::vector<Piece>> read_all_pieces(const Json& row, const std::vector<Turn>& turns) {
  std::vector<std::vector<Piece>> pieces;
  if (!has_pieces(row)) return pieces;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const auto found = row["turns"][i].find("pieces");
    const bool some = found != row["turns"][i].end();
    const std::string path = "turns." + std::to_string(i) + ".pieces";
    pieces.push_back(some ? read_pieces(*found, turns[i], path) : std::vector<Piece>());
  }
  return pieces;
}

History read_history(const Json& row) {
  const auto found = row.find("history");
  if (found == row.end()) return History::automatic;
  if (*found == "grow") return History::grow;
  if (*found == "context") return History::context;
  bad_value("history", *found, "grow, context");
}

class SessionRows {
 public:
  SessionRows(History history, bool needs_arrivals) : history_(history), needs_arrivals_(needs_arrivals) {}

  // Appends the row's session to `source`; leaves `source` unchanged if the row is bad.
  void read(const Json& row, Source& source) {
    refuse_unknown_keys(row, kSessionKeys, "");
    const Json& id = required(row, "id", "");
    refuse_unless_name(id, "id");
    const auto task = row.find("task");
    if (task != row.end() && !task->is_string()) bad_value("task", *task, "a string");
    Session session;
    const auto context = row.find("context_tokens");
    if (context != row.end()) session.context_tokens = token_count(*context, "context_tokens", 0);
    const History history = read_history(row);
    const SessionTurns all = read_turns(row, needs_arrivals_);
    const std::vector<std::vector<Piece>> pieces = read_all_pieces(row, all.turns);
    const PieceKeys piece_keys = read_piece_keys(row, has_pieces(row), source);
    const auto document = row.find("context_id");
    if (document != row.end()) check_document(*document, row, session.context_tokens);
    // Comes last, so that bad rows, which throw above, are not recorded.
    if (!pieces.empty() && source.piece_begin.empty()) pieces_.emplace(piece_keys);
    take_pieces(all, pieces, history_grows(history_, history, session.context_tokens));
    if (document != row.end()) session.document = document_of(*document, session.context_tokens, source);
    if (!pieces.empty()) source.piece_keys = piece_keys;
    source.add(session, all.turns, pieces, all.parents);
    const auto is_known = [](double time_s) { return !std::isnan(time_s); };
    if (std::any_of(all.think_times_s.begin(), all.think_times_s.end(), is_known)) {
      source.add_think_times(all.think_times_s);
    }
    add_history(history, source);
    source.labels.push_back({id.dump(), task == row.end() ? "" : task->get<std::string>()});
  }

 private:
  struct Document {
    uint32_t number = 0;
    uint32_t tokens = 0;
  };

  // Records the pieces of all turns. The pieces of a turn follow the pieces of its ancestors.
  void take_pieces(const SessionTurns& all, const std::vector<std::vector<Piece>>& pieces, bool grows) {
    if (pieces.empty()) return;
    std::vector<KnownPieces::List> lists;
    std::vector<std::optional<uint64_t>> last(pieces.size());  // last key of a turn and its ancestors
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::optional<uint64_t> after;
      if (grows && all.parents[i] != kNoParent) after = last[static_cast<std::size_t>(all.parents[i])];
      lists.push_back({pieces[i], after, "turns." + std::to_string(i) + ".pieces"});
      last[i] = pieces[i].empty() ? after : pieces[i].back().key;
    }
    pieces_->take(lists);
  }

  static void add_history(History history, Source& source) {
    if (history == History::automatic && source.histories.empty()) return;
    source.histories.resize(source.sessions.size(), History::automatic);
    source.histories.back() = history;
  }

  PieceKeys read_piece_keys(const Json& row, bool in_pieces, const Source& source) const {
    const auto found = row.find("piece_keys");
    if (found != row.end() && !in_pieces) {
      bad_value("piece_keys", *found, "none where no turn has pieces");
    }
    if (found != row.end() && *found != kPieceKeysNames[0] && *found != kPieceKeysNames[1]) {
      bad_value("piece_keys", *found, "prefix, text");
    }
    const bool text = found != row.end() && *found == kPieceKeysNames[1];
    const PieceKeys keys = text ? PieceKeys::text : PieceKeys::prefix;
    if (in_pieces && !source.piece_begin.empty() && keys != source.piece_keys) {
      const std::string earlier(kPieceKeysNames[static_cast<std::size_t>(source.piece_keys)]);
      bad_value("piece_keys", kPieceKeysNames[static_cast<std::size_t>(keys)], earlier + ", as before");
    }
    return keys;
  }

  void check_document(const Json& name, const Json& row, uint32_t context_tokens) const {
    refuse_unless_name(name, "context_id");
    const Json& tokens = required(row, "context_tokens", "");
    if (context_tokens == 0) bad_value("context_tokens", tokens, "at least 1 where context_id is given");
    const auto found = documents_.find(name.dump());
    if (found == documents_.end() || found->second.tokens == context_tokens) return;
    bad_value("context_tokens", tokens,
              std::to_string(found->second.tokens) + ", as before for this context_id");
  }

  uint32_t document_of(const Json& name, uint32_t context_tokens, Source& source) {
    const Document next{static_cast<uint32_t>(source.documents.size()), context_tokens};
    const auto [found, is_new] = documents_.try_emplace(name.dump(), next);
    if (is_new) source.documents.push_back(found->first);
    return found->second.number;
  }

  History history_;
  bool needs_arrivals_;
  std::map<std::string, Document> documents_;  // by name, as JSON
  std::optional<KnownPieces> pieces_;
};

// Contents of a file.
struct SessionFile {
  Source source;
  OddRows odd;
  BadRows bad;
  std::vector<int64_t> lines;  // line of each session
};

// Reads all rows except those on the lines `distant`, whose dates are far from all other dates.
SessionFile read_session_rows(const SourceOptions& options, std::optional<int64_t> most, bool needs_arrivals,
                              const std::set<int64_t>& distant) {
  SessionFile file;
  SessionRows rows(options.history, needs_arrivals);
  file.bad = for_each_row(options.path, options.on_bad_row, [&](const Json& row, int64_t line) {
    const RowPlace place = file.odd.place(line);
    if (distant.contains(line)) {
      file.odd.count_distant(place);
      return true;
    }
    if (file.odd.is_repeated(std::hash<Json>()(row), row.contains("id"), place)) return true;
    rows.read(row, file.source);
    file.lines.push_back(line);
    return !most || std::ssize(file.source.sessions) < *most;
  });
  return file;
}

std::set<int64_t> distant_lines(const std::string& path, const SessionFile& file) {
  std::vector<double> dates_s;
  for (const Turn& turn : file.source.turns) {
    if (!std::isnan(turn.time_s)) dates_s.push_back(turn.time_s);
  }
  const std::optional<DateRange> range = range_of_dates(path, std::move(dates_s));
  std::set<int64_t> lines;
  for (std::size_t i = 0; range && i < file.lines.size(); ++i) {
    const Session& session = file.source.sessions[i];
    for (uint32_t j = 0; j < session.turn_count; ++j) {
      const double date_s = file.source.turns[session.first_turn + j].time_s;
      if (date_s < range->first_s || date_s > range->last_s) lines.insert(file.lines[i]);
    }
  }
  return lines;
}

std::string pieces_text(const Source& source, std::size_t turn) {
  std::string text = ",\"pieces\":[";
  for (uint64_t i = source.piece_begin[turn]; i < source.piece_begin[turn + 1]; ++i) {
    const Piece& piece = source.pieces[i];
    text += text.ends_with('[') ? "[" : ",[";
    text += std::to_string(piece.key) + "," + std::to_string(piece.tokens) + "]";
  }
  return text + "]";
}

std::string parent_text(int32_t parent, uint32_t turn) {
  if (parent == static_cast<int32_t>(turn) - 1) return "";
  return ",\"parent\":" + (parent == kNoParent ? "null" : std::to_string(parent));
}

}  // namespace

Source read_sessions(const SourceOptions& options, std::optional<int64_t> most, bool needs_arrivals) {
  const auto read = [&](const std::set<int64_t>& distant) {
    return read_session_rows(options, most, needs_arrivals, distant);
  };
  SessionFile file = read({});
  const std::set<int64_t> distant = distant_lines(options.path, file);
  if (!distant.empty()) {
    if (!std::filesystem::is_regular_file(options.path)) {
      throw InputError(
          options.path + ":" + std::to_string(*distant.begin()) +
          ": arrives more than a year from the other sessions, and a pipe is read once; allowed: "
          "a file");
    }
    file = read(distant);
  }
  report_bad_rows(options.path, file.bad, file.source);
  file.odd.tell(options.path, file.source);
  return std::move(file.source);
}

std::string session_lines(const Source& source) {
  std::string text;
  for (std::size_t i = 0; i < source.sessions.size(); ++i) {
    const Session& session = source.sessions[i];
    const bool labelled = i < source.labels.size();
    text += "{\"id\":" + (labelled ? source.labels[i].id : std::to_string(i));
    if (labelled && !source.labels[i].task.empty()) text += ",\"task\":" + Json(source.labels[i].task).dump();
    if (session.context_tokens > 0) text += ",\"context_tokens\":" + std::to_string(session.context_tokens);
    if (session.document != kOwnContext) text += ",\"context_id\":" + source.documents[session.document];
    const History history = source.histories.empty() ? History::automatic : source.histories[i];
    if (history != History::automatic) {
      text += std::string(",\"history\":") + (history == History::grow ? "\"grow\"" : "\"context\"");
    }
    if (source.piece_keys == PieceKeys::text) text += ",\"piece_keys\":\"text\"";
    text += ",\"turns\":[";
    for (uint32_t j = 0; j < session.turn_count; ++j) {
      const Turn& turn = source.turns[session.first_turn + j];
      text += (j > 0 ? ",{" : "{");
      text += "\"input_tokens\":" + std::to_string(turn.input_tokens);
      text += ",\"output_tokens\":" + std::to_string(turn.output_tokens);
      if (!std::isnan(turn.time_s)) text += ",\"arrival_s\":" + Json(turn.time_s).dump();
      const double think_s = source.think_time_s(session.first_turn + j);
      if (!std::isnan(think_s)) text += ",\"think_s\":" + Json(think_s).dump();
      if (!source.piece_begin.empty()) text += pieces_text(source, session.first_turn + j);
      if (!source.parents.empty()) text += parent_text(source.parents[session.first_turn + j], j);
      text += "}";
    }
    text += "]}\n";
  }
  return text;
}

}  // namespace kvcap
