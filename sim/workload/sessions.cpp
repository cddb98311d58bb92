#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "workload/pieces.h"
#include "workload/rows.h"
#include "workload/source.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSessionKeys[] = {"id",         "task",  "context_tokens",
                                             "context_id", "turns", "piece_keys"};
constexpr std::string_view kTurnKeys[] = {"input_tokens", "output_tokens", "arrival_s", "pieces"};
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

std::vector<Turn> read_turns(const Json& row, bool needs_arrivals) {
  const Json& rows = required(row, "turns", "");
  if (!rows.is_array() || rows.empty()) bad_value("turns", rows, "an array with at least one turn");
  std::vector<Turn> turns;
  double last_s = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string path = "turns." + std::to_string(i);
    turns.push_back(read_turn(rows[i], path, needs_arrivals));
    if (std::isnan(turns.back().time_s)) continue;
    if (turns.back().time_s < last_s) {
      bad_value(path + ".arrival_s", rows[i]["arrival_s"], "no less than that of the turn before");
    }
    last_s = turns.back().time_s;
  }
  return turns;
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

class SessionRows {
 public:
  explicit SessionRows(bool needs_arrivals) : needs_arrivals_(needs_arrivals) {}

  // Appends the row's session to `source`; leaves it untouched when the row is bad.
  void read(const Json& row, Source& source) {
    refuse_unknown_keys(row, kSessionKeys, "");
    const Json& id = required(row, "id", "");
    refuse_unless_name(id, "id");
    const auto task = row.find("task");
    if (task != row.end() && !task->is_string()) bad_value("task", *task, "a string");
    Session session;
    const auto context = row.find("context_tokens");
    if (context != row.end()) session.context_tokens = token_count(*context, "context_tokens", 0);
    const std::vector<Turn> turns = read_turns(row, needs_arrivals_);
    const bool in_pieces = has_pieces(row);
    refuse_mixture(row, session, in_pieces, source);
    const PieceKeys piece_keys = read_piece_keys(row, in_pieces, source);
    // Last, because it remembers.
    const auto document = row.find("context_id");
    if (document != row.end()) session.document = document_of(*document, row, session, source);
    if (in_pieces) {
      const std::string path = "turns.0.pieces";
      const std::vector<Piece> pieces = read_pieces(row["turns"][0]["pieces"], turns[0], path);
      if (source.sessions.empty()) pieces_.emplace(piece_keys);
      pieces_->take(pieces, path);
      source.piece_keys = piece_keys;
      source.add(turns[0], pieces);
    } else {
      source.add(session, turns);
    }
    source.labels.push_back({id.dump(), task == row.end() ? "" : task->get<std::string>()});
  }

 private:
  struct Document {
    uint32_t number = 0;
    uint32_t tokens = 0;
  };

  // All sessions have pieces, and then one turn and no context; or none has.
  static void refuse_mixture(const Json& row, const Session& session, bool in_pieces, const Source& source) {
    const bool earlier = !source.piece_begin.empty();
    if (!in_pieces && earlier) {
      throw BadRowError{"turns.0.pieces: missing, required where earlier sessions have it"};
    }
    if (!in_pieces) return;
    if (!earlier && !source.sessions.empty()) {
      throw BadRowError{"turns.0.pieces: found, allowed: only where all earlier sessions have it"};
    }
    if (row["turns"].size() > 1) {
      throw BadRowError{"turns: found " + std::to_string(row["turns"].size()) +
                        " turns, allowed: 1 where it has pieces"};
    }
    if (session.context_tokens > 0) {
      bad_value("context_tokens", row["context_tokens"], "0 where the turn has pieces");
    }
  }

  static PieceKeys read_piece_keys(const Json& row, bool in_pieces, const Source& source) {
    const auto found = row.find("piece_keys");
    if (found != row.end() && !in_pieces) {
      bad_value("piece_keys", *found, "none where the turn has no pieces");
    }
    if (found != row.end() && *found != kPieceKeysNames[0] && *found != kPieceKeysNames[1]) {
      bad_value("piece_keys", *found, "prefix, text");
    }
    const bool text = found != row.end() && *found == kPieceKeysNames[1];
    const PieceKeys keys = text ? PieceKeys::text : PieceKeys::prefix;
    if (in_pieces && !source.sessions.empty() && keys != source.piece_keys) {
      const std::string earlier(kPieceKeysNames[static_cast<std::size_t>(source.piece_keys)]);
      bad_value("piece_keys", kPieceKeysNames[static_cast<std::size_t>(keys)], earlier + ", as earlier");
    }
    return keys;
  }

  uint32_t document_of(const Json& name, const Json& row, const Session& session, Source& source) {
    refuse_unless_name(name, "context_id");
    const Json& tokens = required(row, "context_tokens", "");
    if (session.context_tokens == 0)
      bad_value("context_tokens", tokens, "at least 1 where context_id is given");
    const Document next{static_cast<uint32_t>(source.documents.size()), session.context_tokens};
    const auto [found, is_new] = documents_.try_emplace(name.dump(), next);
    if (is_new) source.documents.push_back(found->first);
    if (found->second.tokens != session.context_tokens) {
      bad_value("context_tokens", tokens,
                std::to_string(found->second.tokens) + ", as earlier for this context_id");
    }
    return found->second.number;
  }

  bool needs_arrivals_;
  std::map<std::string, Document> documents_;  // by name, as JSON
  std::optional<KnownPieces> pieces_;
};

std::string pieces_text(const Source& source, std::size_t turn) {
  std::string text = ",\"pieces\":[";
  for (uint64_t i = source.piece_begin[turn]; i < source.piece_begin[turn + 1]; ++i) {
    const Piece& piece = source.pieces[i];
    text += text.ends_with('[') ? "[" : ",[";
    text += std::to_string(piece.key) + "," + std::to_string(piece.tokens) + "]";
  }
  return text + "]";
}

}  // namespace

Source read_sessions(const SourceOptions& options, std::optional<int64_t> most, bool needs_arrivals) {
  Source source;
  SessionRows rows(needs_arrivals);
  const auto take = [&](const Json& row, int64_t) {
    rows.read(row, source);
    return !most || std::ssize(source.sessions) < *most;
  };
  report_bad_rows(options.path, for_each_row(options.path, options.on_bad_row, take), source);
  return source;
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
    if (source.piece_keys == PieceKeys::text) text += ",\"piece_keys\":\"text\"";
    text += ",\"turns\":[";
    for (uint32_t j = 0; j < session.turn_count; ++j) {
      const Turn& turn = source.turns[session.first_turn + j];
      text += (j > 0 ? ",{" : "{");
      text += "\"input_tokens\":" + std::to_string(turn.input_tokens);
      text += ",\"output_tokens\":" + std::to_string(turn.output_tokens);
      if (!std::isnan(turn.time_s)) text += ",\"arrival_s\":" + Json(turn.time_s).dump();
      if (!source.piece_begin.empty()) text += pieces_text(source, session.first_turn + j);
      text += "}";
    }
    text += "]}\n";
  }
  return text;
}

}  // namespace kvcap
