#include "workload/workload.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/check.h"
#include "base/input_error.h"
#include "base/key_map.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text/warning.h"
#include "workload/arrivals.h"
#include "workload/logs/input_meaning.h"
#include "workload/source.h"
#include "workload/sources_table.h"

namespace kvcap {
namespace {

// Lower bound on the memory that a session takes, including the records of its turns.
constexpr double kBytesOfSession = 400;

// Returns the lines of the source to use: all of them once, in order, then lines drawn at random until there
// are `wanted`.
std::vector<std::size_t> choose_lines(std::size_t lines, std::size_t wanted, uint64_t seed) {
  const RandomStream stream(seed, "resample");
  std::vector<std::size_t> chosen(wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    const double drawn = stream.uniform(i) * static_cast<double>(lines);
    chosen[i] = i < lines ? i : std::min(lines - 1, static_cast<std::size_t>(drawn));
  }
  return chosen;
}

void append_session(const Source& source, std::size_t line, History history, Workload& workload) {
  Session session = source.sessions[line];
  const Turn* first = source.turns.data() + session.first_turn;
  session.first_turn = static_cast<uint32_t>(workload.turns.size());
  const History own = source.histories.empty() ? History::automatic : source.histories[line];
  session.history_grows = history_grows(history, own, session.context_tokens);
  workload.turns.insert(workload.turns.end(), first, first + session.turn_count);
  const std::size_t begin = source.sessions[line].first_turn, end = begin + session.turn_count;
  if (!source.piece_begin.empty()) {
    for (std::size_t turn = begin; turn < end; ++turn) {
      workload.pieces.insert(workload.pieces.end(), source.pieces.data() + source.piece_begin[turn],
                             source.pieces.data() + source.piece_begin[turn + 1]);
      workload.piece_begin.push_back(workload.pieces.size());
    }
  }
  if (!source.parents.empty()) {
    workload.parents.insert(workload.parents.end(), source.parents.data() + begin,
                            source.parents.data() + end);
  }
  workload.sessions.push_back(session);
}

// Sorts the sessions by arrival and makes all times relative to the first arrival. Arrivals of sessions are
// divided by `speed`; turns keep their offsets from their session's beginning.
void order_by_trace(double speed, Workload& workload) {
  const auto arrival_s = [&workload](const Session& one) { return workload.turns[one.first_turn].time_s; };
  std::stable_sort(workload.sessions.begin(), workload.sessions.end(),
                   [&](const Session& a, const Session& b) { return arrival_s(a) < arrival_s(b); });
  const double start_s = arrival_s(workload.sessions.front());
  for (const Session& session : workload.sessions) {
    const double since_start_s = arrival_s(session) - start_s;
    const double earlier_s = since_start_s - since_start_s / speed;
    Turn* turns = workload.turns.data() + session.first_turn;
    for (uint32_t i = 0; i < session.turn_count; ++i) turns[i].time_s -= start_s + earlier_s;
  }
}

// Sorts the sessions by arrival as order_by_trace does, and sets the think times of later turns. `lines`: per
// session, its index in the source.
void order_by_delays(double speed, const Source& source, std::span<const std::size_t> lines,
                     Workload& workload) {
  order_by_trace(speed, workload);
  // Sessions are sorted now, but their turns are still in the order of `lines`.
  std::size_t turn = 0;
  for (std::size_t line : lines) {
    const Session& session = source.sessions[line];
    for (uint32_t i = 0; i < session.turn_count; ++i, ++turn) {
      if (i > 0) workload.turns[turn].time_s = source.think_time_s(session.first_turn + i);
    }
  }
}

double turns_per_session(const Workload& workload) {
  return static_cast<double>(workload.turns.size()) / static_cast<double>(workload.sessions.size());
}

// REQUIRES: the turns' times are the source's arrivals.
void refuse_without_timetable(const WorkloadOptions& options, const Workload& workload) {
  const std::string field = "workload.think_time.distribution: found \"timetable\", allowed: ";
  if (options.arrivals.process == ArrivalProcess::closed_loop) {
    throw InputError(field +
                     "auto, constant, exponential, lognormal, recorded (with closed_loop a session's "
                     "beginning depends on the machine)");
  }
  const auto lacks_time = [](const Turn& turn) { return std::isnan(turn.time_s); };
  if (std::any_of(workload.turns.begin(), workload.turns.end(), lacks_time)) {
    throw InputError(field +
                     "auto, constant, exponential, lognormal, recorded (the source does not say when "
                     "turns arrive)");
  }
}

// Draws arrivals and think times, or takes recorded think times. `lines`: per session, its index in the
// source.
void draw_times(const WorkloadOptions& options, const Source& source, std::span<const std::size_t> lines,
                uint64_t seed, Workload& workload) {
  const bool timetable = options.think_time.distribution == ThinkDistribution::timetable;
  if (timetable) refuse_without_timetable(options, workload);
  const bool recorded = uses_recorded_think_times(options, source);
  const std::vector<double> arrivals =
      draw_arrivals(options.arrivals, turns_per_session(workload), workload.sessions.size(), seed);
  workload.absolute_times = timetable;
  for (std::size_t i = 0; i < workload.sessions.size(); ++i) {
    const Session& session = workload.sessions[i];
    Turn* turns = workload.turns.data() + session.first_turn;
    const double begin_s = std::exchange(turns[0].time_s, arrivals[i]);
    for (uint32_t j = 1; j < session.turn_count; ++j) {
      const std::size_t number = source.sessions[lines[i]].first_turn + j;
      const double known_s = recorded ? source.think_time_s(number) : double{NAN};
      if (timetable) {
        turns[j].time_s += arrivals[i] - begin_s;
      } else {
        turns[j].time_s = std::isnan(known_s) ? draw_think_time_s(options.think_time, seed, i, j) : known_s;
      }
    }
  }
}

// Returns how many tokens of a turn's input are in pieces that earlier turns left in the store: chunks at any
// position, blocks up to the first miss. With a warm start, all pieces count.
int64_t known_piece_tokens(const Workload& workload, std::size_t turn, const KeySet& seen) {
  int64_t tokens = 0;
  for (const Piece& piece : workload.prompt_pieces_of(turn)) {
    if (workload.warm_start || seen.contains(piece.key)) {
      tokens += piece.tokens;
    } else if (workload.piece_keys == PieceKeys::prefix) {
      break;
    }
  }
  return tokens;
}

// True iff the source has the arrivals of all sessions and the think times of all later turns.
bool follows_delays(const Source& source) {
  for (const Session& session : source.sessions) {
    if (std::isnan(source.turns[session.first_turn].time_s)) return false;
    for (uint32_t i = 1; i < session.turn_count; ++i) {
      if (std::isnan(source.think_time_s(session.first_turn + i))) return false;
    }
  }
  return !source.think_times_s.empty();
}

bool has_unknown_arrival(const Source& source) {
  return std::any_of(source.turns.begin(), source.turns.end(),
                     [](const Turn& turn) { return std::isnan(turn.time_s); });
}

// Cuts the first answer of each session that begins at 0 to a random share of its length.
void cut_first_answers(uint64_t seed, Workload& workload) {
  const RandomStream random(seed, "staggered");
  const std::size_t places =
      std::min(workload.sessions.size(), static_cast<std::size_t>(workload.concurrency));
  for (std::size_t i = 0; i < places; ++i) {
    uint32_t& output_tokens = workload.turns[workload.sessions[i].first_turn].output_tokens;
    output_tokens = static_cast<uint32_t>(std::ceil(random.uniform(i, 0) * output_tokens));
  }
}

// Draws the priority of each session.
void draw_priorities(std::span<const PriorityShare> shares, uint64_t seed, Workload& workload) {
  if (shares.empty()) return;
  double sum = 0;
  for (const PriorityShare& one : shares) sum += one.share;
  const RandomStream random(seed, "priorities");
  for (std::size_t i = 0; i < workload.sessions.size(); ++i) {
    double left = random.uniform(i) * sum;
    auto drawn = shares.begin();
    while (drawn + 1 != shares.end() && left >= drawn->share) left -= (drawn++)->share;
    workload.sessions[i].priority = static_cast<int16_t>(drawn->priority);
  }
}

// Returns the rate at which sessions arrive on average; 0 if no rate is set.
double offered_sessions_per_s(const WorkloadOptions& options, const Workload& workload) {
  if (!draws_gaps(options.arrivals.process)) return 0;
  if (options.arrivals.rates.empty()) return constant_rate(options.arrivals, turns_per_session(workload));
  const double last_s = workload.turns[workload.sessions.back().first_turn].time_s;
  return last_s > 0 ? static_cast<double>(workload.sessions.size() - 1) / last_s : 0;
}

}  // namespace

std::span<const Piece> Workload::prompt_pieces_of(std::size_t turn) const {
  const std::span<const Piece> all = pieces_of(turn);
  int64_t tokens = 0;
  std::size_t count = 0;
  for (; count < all.size(); ++count) {
    tokens += all[count].tokens;
    if (tokens > turns[turn].input_tokens) break;
  }
  return all.first(count);
}

std::vector<int64_t> Workload::histories_of(const Session& session) const {
  std::vector<int64_t> histories(session.turn_count, session.context_tokens);
  if (!session.history_grows) return histories;
  for (uint32_t turn = 1; turn < session.turn_count; ++turn) {
    const std::optional<uint32_t> parent = parent_of(session, turn);
    if (!parent) continue;
    const Turn& before = turns[session.first_turn + *parent];
    histories[turn] = histories[*parent] + before.input_tokens + before.output_tokens;
  }
  return histories;
}

int64_t Workload::own_tokens_of(std::size_t turn) const {
  int64_t tokens = int64_t{turns[turn].input_tokens} + turns[turn].output_tokens;
  for (const Piece& piece : pieces_of(turn)) tokens -= piece.tokens;
  return tokens;
}

double Workload::mean_history_tokens() const {
  double sum = 0;
  KeySet seen;
  for (const Session& session : sessions) {
    const std::vector<int64_t> histories = histories_of(session);
    for (uint32_t i = 0; i < session.turn_count; ++i) {
      const std::size_t turn = session.first_turn + i;
      sum += static_cast<double>(histories[i] + known_piece_tokens(*this, turn, seen));
      for (const Piece& piece : pieces_of(turn)) seen.insert(piece.key);
    }
  }
  return turns.empty() ? 0 : sum / static_cast<double>(turns.size());
}

void for_each_stored_text(const Workload& workload, const std::function<void(int64_t)>& take) {
  KeySet seen;
  for (const Piece& piece : workload.pieces) {
    if (seen.insert(piece.key)) take(piece.tokens);
  }
  std::vector<bool> counted;  // per document
  for (const Session& session : workload.sessions) {
    int64_t own = session.context_tokens;
    if (session.document != kOwnContext) {
      own = 0;
      if (session.document >= counted.size()) counted.resize(session.document + 1);
      if (!counted[session.document]) take(session.context_tokens);
      counted[session.document] = true;
    }
    if (workload.keeps_history(session)) {
      for (uint32_t i = 0; i < session.turn_count; ++i) own += workload.own_tokens_of(session.first_turn + i);
    }
    if (own > 0) take(own);
  }
}

int64_t Workload::context_tokens() const {
  int64_t sum = 0;
  for_each_stored_text(*this, [&sum](int64_t tokens) { sum += tokens; });
  return sum;
}

Source open_source(const WorkloadOptions& options, uint64_t seed) {
  refuse_beyond_memory("workload.sessions", options.sessions.value_or(0), kBytesOfSession);
  const SourceRow& row = source_row(options.source.kind);
  if (!options.source.columns.empty() && !row.has_columns) {
    throw InputError("workload.source.columns: found \"" + options.source.columns +
                     "\", allowed: none with kind " + std::string(row.name) + " (csv, jsonl have columns)");
  }
  const bool timed = options.arrivals.process == ArrivalProcess::trace;
  Source source = row.open(
      {.options = options.source, .sessions = options.sessions, .seed = seed, .needs_arrivals = timed});
  if (timed && !row.is_generated && !has_timetable(source)) {
    throw InputError(options.source.path +
                     ": found no arrivals, required where arrivals.process is \"trace\"");
  }
  if (!row.is_generated) {
    settle_inputs(options.source.input_is, row.input_is, options.source.history, source);
  }
  return source;
}

bool has_timetable(const Source& source) { return !has_unknown_arrival(source) || follows_delays(source); }

bool uses_recorded_think_times(const WorkloadOptions& options, const Source& source) {
  const ThinkDistribution wanted = options.think_time.distribution;
  if (options.arrivals.process == ArrivalProcess::trace || source.think_times_s.empty()) return false;
  return wanted == ThinkDistribution::automatic || wanted == ThinkDistribution::recorded;
}

Workload arrange(const Source& source, const WorkloadOptions& options, uint64_t seed) {
  const bool timed = options.arrivals.process == ArrivalProcess::trace;
  const std::size_t lines = source.sessions.size();
  auto wanted = static_cast<std::size_t>(options.sessions.value_or(static_cast<int64_t>(lines)));
  // A stand-in is short; the scenario's number of sessions applies to the real file.
  if (timed && options.source.stands_in) wanted = std::min(wanted, lines);
  if (timed && wanted > lines) {
    throw InputError(options.source.path + ": workload.sessions: found " + std::to_string(wanted) +
                     ", allowed: at most " + std::to_string(lines) +
                     " (sessions of the file; a trace's arrivals cannot be resampled)");
  }

  Workload workload;
  workload.absolute_times = timed;
  workload.warm_start = options.warm_start;
  workload.warmup_turns = options.warmup_turns;
  if (options.client_timeout_s) workload.clients.timeout_s = *options.client_timeout_s;
  workload.clients.retries = options.retries.value_or(RetryOptions());
  workload.clients.seed = seed;
  const bool closed = options.arrivals.process == ArrivalProcess::closed_loop;
  workload.concurrency = closed ? options.arrivals.concurrency.value() : 0;
  if (closed) workload.round_sessions = static_cast<uint32_t>(options.arrivals.round_sessions.value_or(0));
  workload.bad_rows_skipped = source.bad_rows_skipped;
  workload.odd_rows = source.odd_rows;
  workload.notes = source.notes;
  workload.piece_keys = source.piece_keys;
  if (!source.piece_begin.empty()) workload.piece_begin.push_back(0);
  const std::vector<std::size_t> chosen = choose_lines(lines, wanted, seed);
  for (std::size_t line : chosen) append_session(source, line, options.source.history, workload);
  draw_priorities(options.priorities, seed, workload);
  if (wanted > lines) {
    workload.notes.push_back("the source has " + std::to_string(lines) + " sessions; " +
                             std::to_string(wanted - lines) + " more are drawn from it at random" +
                             (source.pieces.empty() ? "" : " and hit the pieces of those they repeat"));
  }
  const bool recorded = uses_recorded_think_times(options, source);
  const auto has_arrival = [](const Turn& turn) { return !std::isnan(turn.time_s); };
  const bool uses_arrivals =
      timed || recorded || options.think_time.distribution == ThinkDistribution::timetable;
  if (!uses_arrivals && std::any_of(source.turns.begin(), source.turns.end(), has_arrival)) {
    workload.notes.push_back(
        "arrival_s of the source is not used: workload.arrivals.process is not \"trace\"");
  }
  if (!recorded && options.think_time.distribution == ThinkDistribution::recorded) {
    workload.notes.push_back("workload.think_time.distribution is not used: " +
                             std::string(timed ? "workload.arrivals.process is \"trace\""
                                               : "the source has no think times; they are constant"));
  }
  if (timed && has_unknown_arrival(source)) {
    workload.absolute_times = false;
    order_by_delays(options.arrivals.speed, source, chosen, workload);
  } else if (timed) {
    order_by_trace(options.arrivals.speed, workload);
  } else {
    draw_times(options, source, chosen, seed, workload);
  }
  if (closed && options.arrivals.staggered) cut_first_answers(seed, workload);
  workload.sessions_per_s = offered_sessions_per_s(options, workload);
  return workload;
}

// True iff the source is a log with arrivals, but the scenario uses the default arrivals.
static bool draws_over_a_log(const Source& source, const WorkloadOptions& options) {
  const ArrivalOptions& arrivals = options.arrivals;
  const bool is_default = arrivals.process == ArrivalProcess::poisson && !arrivals.requests_per_s &&
                          arrivals.rates.empty() &&
                          arrivals.sessions_per_s.value_or(kDefaultSessions_per_s) == kDefaultSessions_per_s;
  return is_default && source_row(options.source.kind).has_arrivals &&
         std::none_of(source.turns.begin(), source.turns.end(),
                      [](const Turn& turn) { return std::isnan(turn.time_s); });
}

Workload make_workload(const WorkloadOptions& options, uint64_t seed) {
  const Source source = open_source(options, seed);
  warn_of(source, options);
  return arrange(source, options, seed);
}

void warn_of(const Source& source, const WorkloadOptions& options) {
  for (const std::string& warning : source.warnings) warn(warning);
  if (draws_over_a_log(source, options)) {
    warn(options.source.path +
         " has the arrivals of its requests, but arrivals are drawn at 0.1 sessions/s; "
         "--set workload.arrivals.process=trace replays them");
  }
}

}  // namespace kvcap
