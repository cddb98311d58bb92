#include "workload/workload.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"
#include "base/input_error.h"
#include "base/key_map.h"
#include "base/random.h"
#include "workload/arrivals.h"
#include "workload/source.h"

namespace kvcap {
namespace {

constexpr int64_t kDefaultGenerated = 1000;

bool history_grows(History history, const Session& session) {
  if (history == History::automatic) return session.context_tokens == 0;
  return history == History::grow;
}

// The lines once, in order; beyond them, lines drawn at random.
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
  session.history_grows = history_grows(history, session);
  workload.turns.insert(workload.turns.end(), first, first + session.turn_count);
  if (!source.piece_begin.empty()) {
    const std::size_t turn = source.sessions[line].first_turn;
    workload.pieces.insert(workload.pieces.end(), source.pieces.data() + source.piece_begin[turn],
                           source.pieces.data() + source.piece_begin[turn + 1]);
    workload.piece_begin.push_back(workload.pieces.size());
  }
  workload.sessions.push_back(session);
}

// Absolute times of the trace, counted from its first arrival.
void order_by_trace(Workload& workload) {
  const auto arrival_s = [&workload](const Session& one) { return workload.turns[one.first_turn].time_s; };
  std::stable_sort(workload.sessions.begin(), workload.sessions.end(),
                   [&](const Session& a, const Session& b) { return arrival_s(a) < arrival_s(b); });
  const double start_s = arrival_s(workload.sessions.front());
  for (Turn& turn : workload.turns) turn.time_s -= start_s;
}

void draw_times(const WorkloadOptions& options, uint64_t seed, Workload& workload) {
  const std::vector<double> arrivals = draw_arrivals(options.arrivals, workload.sessions.size(), seed);
  for (std::size_t i = 0; i < workload.sessions.size(); ++i) {
    const Session& session = workload.sessions[i];
    Turn* turns = workload.turns.data() + session.first_turn;
    turns[0].time_s = arrivals[i];
    for (uint32_t j = 1; j < session.turn_count; ++j) {
      turns[j].time_s = draw_think_time_s(options.think_time, seed, i, j);
    }
  }
}

// Calls `found` with every turn that has pieces and how many of its prompt's tokens earlier turns have left:
// those of chunks wherever they stand, those of blocks up to the first that nobody has left; in a warm start
// all of them.
// Returns the tokens of all distinct pieces.
int64_t follow_pieces(const Workload& workload, const std::function<void(int64_t)>& found) {
  KeySet seen;
  int64_t distinct_tokens = 0;
  for (const Session& session : workload.sessions) {
    int64_t found_tokens = 0;
    for (const Piece& piece : workload.prompt_pieces_of(session.first_turn)) {
      if (workload.warm_start || seen.contains(piece.key)) {
        found_tokens += piece.tokens;
      } else if (workload.piece_keys == PieceKeys::prefix) {
        break;
      }
    }
    found(found_tokens);
    for (const Piece& piece : workload.pieces_of(session.first_turn)) {
      if (seen.insert(piece.key)) distinct_tokens += piece.tokens;
    }
  }
  return distinct_tokens;
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

double Workload::mean_history_tokens() const {
  double sum = 0;
  if (!piece_begin.empty()) {
    follow_pieces(*this, [&sum](int64_t tokens) { sum += static_cast<double>(tokens); });
    return turns.empty() ? 0 : sum / static_cast<double>(turns.size());
  }
  for (const Session& session : sessions) {
    double history = session.context_tokens;
    for (const Turn& turn : turns_of(session)) {
      sum += history;
      if (session.history_grows) history += static_cast<double>(turn.input_tokens) + turn.output_tokens;
    }
  }
  return turns.empty() ? 0 : sum / static_cast<double>(turns.size());
}

int64_t Workload::context_tokens() const {
  if (!piece_begin.empty()) return follow_pieces(*this, [](int64_t) {});
  int64_t sum = 0;
  std::vector<bool> counted;  // by document
  for (const Session& session : sessions) {
    if (session.document != kOwnContext) {
      if (session.document >= counted.size()) counted.resize(session.document + 1);
      if (counted[session.document]) continue;
      counted[session.document] = true;
    }
    sum += session.context_tokens;
    if (!session.history_grows) continue;
    for (const Turn& turn : turns_of(session)) sum += int64_t{turn.input_tokens} + turn.output_tokens;
  }
  return sum;
}

Source open_source(const WorkloadOptions& options, uint64_t seed) {
  const SourceOptions& source = options.source;
  const int64_t generated = options.sessions.value_or(kDefaultGenerated);
  switch (source.kind) {
    case SourceKind::sessions:
      return read_sessions(source, options.sessions, options.arrivals.process == ArrivalProcess::trace);
    case SourceKind::chat:
      return generate_chats(generated, seed);
    case SourceKind::sharegpt:
      return read_sharegpt(source, options.sessions);
    case SourceKind::leval:
      return read_leval(source, options.sessions);
    case SourceKind::long_context:
      return generate_long_context(source, generated, seed);
    case SourceKind::mooncake:
      return read_mooncake(source, options.sessions);
    case SourceKind::vllm:
      return read_vllm(source, options.sessions);
    case SourceKind::azure:
      return read_azure(source, options.sessions);
    case SourceKind::burstgpt:
      return read_burstgpt(source, options.sessions);
    case SourceKind::csv:
      return read_csv(source, options.sessions);
    case SourceKind::few_shot:
      return generate_few_shot(source, generated, seed);
    case SourceKind::rag:
      return generate_rag(source, options.sessions, seed);
  }
  KVCAP_BUG("a source kind is not handled");
}

Workload arrange(const Source& source, const WorkloadOptions& options, uint64_t seed) {
  const bool timed = options.arrivals.process == ArrivalProcess::trace;
  const std::size_t lines = source.sessions.size();
  const auto wanted = static_cast<std::size_t>(options.sessions.value_or(static_cast<int64_t>(lines)));
  if (timed && wanted > lines) {
    throw InputError(options.source.path + ": workload.sessions: found " + std::to_string(wanted) +
                     ", allowed: at most " + std::to_string(lines) +
                     " (sessions of the file; a trace's arrivals cannot be resampled)");
  }

  if (!source.documents.empty() && options.source.history == History::grow) {
    throw InputError((options.source.path.empty() ? "" : options.source.path + ": ") +
                     "workload.source.history: found \"grow\", allowed: automatic, context (the sessions "
                     "share documents)");
  }

  Workload workload;
  workload.absolute_times = timed;
  workload.warm_start = options.warm_start;
  workload.warmup_turns = options.warmup_turns;
  workload.sessions_per_s = timed ? 0 : options.arrivals.sessions_per_s;
  workload.bad_rows_skipped = source.bad_rows_skipped;
  workload.notes = source.notes;
  workload.piece_keys = source.piece_keys;
  if (!source.piece_begin.empty()) workload.piece_begin.push_back(0);
  for (std::size_t line : choose_lines(lines, wanted, seed)) {
    append_session(source, line, options.source.history, workload);
  }
  if (wanted > lines) {
    workload.notes.push_back("the source has " + std::to_string(lines) + " sessions; " +
                             std::to_string(wanted - lines) + " more are drawn from it at random" +
                             (source.pieces.empty() ? "" : " and find the pieces of those they repeat"));
  }
  const auto has_arrival = [](const Turn& turn) { return !std::isnan(turn.time_s); };
  if (!timed && std::any_of(source.turns.begin(), source.turns.end(), has_arrival)) {
    workload.notes.push_back(
        "arrival_s of the source is not used: workload.arrivals.process is not \"trace\"");
  }
  if (timed) {
    order_by_trace(workload);
  } else {
    draw_times(options, seed, workload);
  }
  return workload;
}

Workload make_workload(const WorkloadOptions& options, uint64_t seed) {
  return arrange(open_source(options, seed), options, seed);
}

}  // namespace kvcap
