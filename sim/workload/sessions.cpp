#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "base/input_error.h"
#include "base/json_error.h"
#include "workload/lines.h"
#include "workload/source.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxTokens = 10'000'000;
constexpr std::string_view kSessionKeys[] = {"id", "context_tokens", "task", "turns"};
constexpr std::string_view kTurnKeys[] = {"input_tokens", "output_tokens", "arrival_s"};

// What is wrong with a row, without the row's place.
struct BadRowError {
  std::string reason;
};

std::string shown(const Json& value) {
  if (value.is_array()) return value.empty() ? "an empty array" : "an array";
  if (value.is_object()) return "an object";
  constexpr std::size_t longest = 80;
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

[[noreturn]] void bad(const std::string& path, const Json& found, const std::string& allowed) {
  throw BadRowError{path + ": found " + shown(found) + ", allowed: " + allowed};
}

void refuse_unknown_keys(const Json& object, std::span<const std::string_view> known,
                         const std::string& path) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw BadRowError{path + key + ": unknown key" + suggestion(key, known)};
  }
}

const Json& required(const Json& object, const char* key, const std::string& path) {
  const auto found = object.find(key);
  if (found == object.end()) throw BadRowError{path + key + ": missing, required"};
  return *found;
}

uint32_t tokens(const Json& value, const std::string& path, int64_t least) {
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (!(number >= static_cast<double>(least) && number <= kMaxTokens && number == std::floor(number))) {
    bad(path, value, "an integer from " + std::to_string(least) + " to " + std::to_string(kMaxTokens));
  }
  return static_cast<uint32_t>(number);
}

Turn read_turn(const Json& row, const std::string& path, bool needs_arrival) {
  if (!row.is_object()) bad(path, row, "an object");
  const std::string inside = path + ".";
  refuse_unknown_keys(row, kTurnKeys, inside);
  Turn turn;
  turn.input_tokens = tokens(required(row, "input_tokens", inside), inside + "input_tokens", 1);
  turn.output_tokens = tokens(required(row, "output_tokens", inside), inside + "output_tokens", 1);
  turn.time_s = NAN;
  const auto arrival = row.find("arrival_s");
  if (arrival != row.end()) {
    if (!arrival->is_number() || arrival->get<double>() < 0) {
      bad(inside + "arrival_s", *arrival, "a number of at least 0");
    }
    turn.time_s = arrival->get<double>();
  } else if (needs_arrival) {
    throw BadRowError{inside + "arrival_s: missing, required where arrivals.process is \"trace\""};
  }
  return turn;
}

// Appends the row's session to `source`; leaves it untouched when the row is bad.
void read_session(const Json& row, bool needs_arrivals, Source& source) {
  if (!row.is_object()) bad("the line", row, "an object");
  refuse_unknown_keys(row, kSessionKeys, "");
  const Json& id = required(row, "id", "");
  if (!id.is_string() && !id.is_number_integer()) bad("id", id, "a string or an integer");
  const auto task = row.find("task");
  if (task != row.end() && !task->is_string()) bad("task", *task, "a string");
  Session session;
  const auto context = row.find("context_tokens");
  if (context != row.end()) session.context_tokens = tokens(*context, "context_tokens", 0);
  const Json& rows = required(row, "turns", "");
  if (!rows.is_array() || rows.empty()) bad("turns", rows, "an array with at least one turn");

  std::vector<Turn> turns;
  double last_s = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string path = "turns." + std::to_string(i);
    turns.push_back(read_turn(rows[i], path, needs_arrivals));
    if (std::isnan(turns.back().time_s)) continue;
    if (turns.back().time_s < last_s) {
      bad(path + ".arrival_s", rows[i]["arrival_s"], "no less than that of the turn before");
    }
    last_s = turns.back().time_s;
  }
  session.first_turn = static_cast<uint32_t>(source.turns.size());
  session.turn_count = static_cast<uint32_t>(turns.size());
  source.turns.insert(source.turns.end(), turns.begin(), turns.end());
  source.sessions.push_back(session);
}

// The reason why a line is bad, with its place; empty for a good one.
std::string read_line(std::string_view line, const std::string& file, int64_t number, bool needs_arrivals,
                      Source& source) {
  try {
    read_session(Json::parse(line), needs_arrivals, source);
    return "";
  } catch (const Json::parse_error& error) {
    return json_syntax_error(line, error.byte, error.what(), file, number);
  } catch (const Json::exception& error) {
    return file + ":" + std::to_string(number) + ": " + json_reason(error.what());
  } catch (const BadRowError& error) {
    return file + ":" + std::to_string(number) + ": " + error.reason;
  }
}

}  // namespace

Source read_sessions(const SourceOptions& options, std::optional<int64_t> most, bool needs_arrivals) {
  Source source;
  LineReader lines(options.path);
  std::string first_error;
  std::string_view line;
  while ((!most || std::ssize(source.sessions) < *most) && lines.next(line)) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const std::string error = read_line(line, options.path, lines.line_number(), needs_arrivals, source);
    if (error.empty()) continue;
    if (options.on_bad_row == BadRow::error) throw InputError(error);
    if (++source.bad_rows_skipped == 1) first_error = error;
  }
  if (source.sessions.empty()) {
    throw InputError(options.path + ": no sessions in it" +
                     (first_error.empty() ? "" : "; the first bad row: " + first_error));
  }
  if (source.bad_rows_skipped > 0) {
    source.notes.push_back(std::to_string(source.bad_rows_skipped) +
                           " bad rows skipped; the first: " + first_error);
  }
  return source;
}

}  // namespace kvcap
