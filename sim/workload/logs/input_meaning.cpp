#include "workload/logs/input_meaning.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/input_error.h"
#include "workload/logs/rows.h"

namespace kvcap {
namespace {

// Inputs look like whole prompts if at least this share of later turns has an input at least as long as the
// history. Otherwise they look like new tokens.
constexpr double kGrowingShare = 0.8;
constexpr int64_t kFewestTurns = 2;  // later turns; fewer prove nothing
// New tokens that are drawn independently exceed the previous input in every second turn, so this evidence
// needs more turns.
constexpr int64_t kFewestLonger = 5;

// If lengths of new tokens are drawn independently, they ascend in all n turns of a session with a
// probability of at most 1/n!. Inputs are proven to be whole prompts if all are at least as long as the
// history and this probability, over all sessions, is below kProvenBelow.
constexpr double kProvenBelow = 0.05;

constexpr std::string_view kHowToChange = "set --input-is or workload.source.input_is to";

// Counts of turns that build on another one, and the longest context under each reading.
struct Growth {
  int64_t later_turns = 0;
  int64_t growing = 0;  // input at least as long as the previous input and answer together
  int64_t longer = 0;   // input longer than the previous input
  int64_t longest_as_new = 0, longest_as_whole = 0;
  double log_chance = 0;  // log of the probability that independent new tokens ascend in every session

  bool proves_whole_prompts() const {
    return later_turns > 0 && growing == later_turns && log_chance < std::log(kProvenBelow);
  }
};

bool grows(const Source& source, History history, std::size_t session) {
  const History own = source.histories.empty() ? History::automatic : source.histories[session];
  return history_grows(history, own, source.sessions[session].context_tokens);
}

int32_t parent_of(const Source& source, const Session& session, uint32_t turn) {
  return source.parents.empty() ? static_cast<int32_t>(turn) - 1 : source.parents[session.first_turn + turn];
}

Growth growth_of(const Source& source, History history) {
  Growth growth;
  for (std::size_t i = 0; i < source.sessions.size(); ++i) {
    const Session& session = source.sessions[i];
    if (!grows(source, history, i)) continue;
    std::vector<int64_t> contexts(session.turn_count);
    growth.log_chance -= std::lgamma(session.turn_count + 1.0);
    for (uint32_t turn = 0; turn < session.turn_count; ++turn) {
      const Turn& one = source.turns[session.first_turn + turn];
      const int32_t parent = parent_of(source, session, turn);
      const int64_t own = int64_t{one.input_tokens} + one.output_tokens;
      contexts[turn] = own + (parent == kNoParent ? session.context_tokens : contexts[parent]);
      growth.longest_as_new = std::max(growth.longest_as_new, contexts[turn]);
      growth.longest_as_whole = std::max(growth.longest_as_whole, own);
      if (parent == kNoParent) continue;
      const Turn& before = source.turns[session.first_turn + static_cast<uint32_t>(parent)];
      ++growth.later_turns;
      growth.growing += one.input_tokens >= int64_t{before.input_tokens} + before.output_tokens;
      growth.longer += one.input_tokens > before.input_tokens;
    }
  }
  return growth;
}

std::string readings(const Growth& growth) {
  return "the longest context has " + std::to_string(growth.longest_as_whole) +
         " tokens if inputs are whole prompts, " + std::to_string(growth.longest_as_new) +
         " if they are new tokens";
}

// Returns how many tokens of a turn's whole prompt are not history. The prompt of a first turn includes the
// session's context, which Session::context_tokens keeps.
int64_t new_tokens(const Source& source, const Session& session, int32_t parent, const Turn& turn) {
  if (parent == kNoParent) return int64_t{turn.input_tokens} - session.context_tokens;
  const Turn& before = source.turns[session.first_turn + static_cast<uint32_t>(parent)];
  return int64_t{turn.input_tokens} - before.input_tokens - before.output_tokens;
}

// Counts of unusual turns that the subtraction of histories from whole prompts finds.
struct TakenOut {
  int64_t started = 0;          // later turns that start a context of their own
  int64_t lack_answer = 0;      // of these, turns whose prompt may lack only a part of the previous answer
  int64_t without_context = 0;  // turns without a parent whose prompt is not longer than the context
};

TakenOut take_histories_out(History history, Source& source) {
  TakenOut taken;
  for (std::size_t i = 0; i < source.sessions.size(); ++i) {
    const Session& session = source.sessions[i];
    if (!grows(source, history, i)) continue;
    // in reverse, while parents still have whole prompts
    for (uint32_t turn = session.turn_count; turn-- > 0;) {
      const int32_t parent = parent_of(source, session, turn);
      Turn& one = source.turns[session.first_turn + turn];
      const int64_t added = new_tokens(source, session, parent, one);
      if (added >= 1) {
        one.input_tokens = static_cast<uint32_t>(added);
      } else if (parent != kNoParent) {
        source.start_anew(session.first_turn + turn);
        ++taken.started;
        const Turn& before = source.turns[session.first_turn + static_cast<uint32_t>(parent)];
        taken.lack_answer += one.input_tokens > before.input_tokens && added < 0;
      } else {
        ++taken.without_context;
      }
    }
  }
  return taken;
}

// True iff a later turn of a growing history has pieces. Pieces of a first turn are at the beginning of its
// prompt under both readings.
bool has_pieces_in_later_turns(const Source& source, History history) {
  if (source.pieces.empty()) return false;
  for (std::size_t i = 0; i < source.sessions.size(); ++i) {
    const Session& session = source.sessions[i];
    if (!grows(source, history, i)) continue;
    const std::size_t second = session.first_turn + 1, end = session.first_turn + session.turn_count;
    if (source.piece_begin[second] != source.piece_begin[end]) return true;
  }
  return false;
}

bool is_most(int64_t turns, const Growth& growth) {
  return growth.later_turns >= kFewestTurns &&
         static_cast<double>(turns) >= kGrowingShare * static_cast<double>(growth.later_turns);
}

std::string note_on_growth(const Growth& growth) {
  return "inputs are read as new tokens, but they look like whole prompts: in " +
         std::to_string(growth.growing) + " of " + std::to_string(growth.later_turns) +
         " later turns the input is at least as long as the previous input and answer together; then history "
         "counts twice; " +
         readings(growth) + "; " + std::string(kHowToChange) + " whole_prompt to subtract the history";
}

// Explains prompts that contain the previous prompt but not all of its answer.
constexpr std::string_view kReasoning = "the answers' reasoning is not kept in the next prompt";

bool grows_without_answers(const Growth& growth) {
  return growth.later_turns >= kFewestLonger && is_most(growth.longer, growth);
}

std::string note_on_growth_without_answers(const Growth& growth) {
  return "inputs are read as new tokens, but they may be whole prompts: in " + std::to_string(growth.longer) +
         " of " + std::to_string(growth.later_turns) +
         " later turns the input is longer than the previous input, as it is where " +
         std::string(kReasoning) + "; then history counts twice; " + readings(growth) + "; " +
         std::string(kHowToChange) +
         " whole_prompt to subtract the history; a turn whose prompt lacks a part of the previous answer "
         "then starts a context of its own";
}

// Lists possible reasons why turns start a context of their own.
std::string causes_of(const Growth& growth, const TakenOut& taken) {
  std::string causes = "history cut or edited";
  if (taken.lack_answer > 0) {
    causes += ", or in " + std::to_string(taken.lack_answer) + " of them " + std::string(kReasoning);
  }
  const bool is_explained =
      static_cast<double>(taken.lack_answer) >= kGrowingShare * static_cast<double>(taken.started);
  if (is_most(taken.started, growth) && !is_explained) causes += ", or the inputs are new tokens";
  return causes;
}

std::string note_on_whole_prompts(const Growth& growth, const TakenOut& taken) {
  return "inputs are read as whole prompts: a turn's new tokens are its prompt minus the previous prompt and "
         "answer; in " +
         std::to_string(taken.started) + " of " + std::to_string(growth.later_turns) +
         " later turns nothing is left (" + causes_of(growth, taken) +
         "), and the turn starts a context of its own; " + readings(growth) + "; " +
         std::string(kHowToChange) + " new_tokens to change that";
}

std::string note_on_proven_prompts(const Growth& growth) {
  return "inputs are read as whole prompts: in all " + std::to_string(growth.later_turns) +
         " later turns the input is at least as long as the previous input and answer together; " +
         readings(growth) + "; " + std::string(kHowToChange) + " new_tokens to change that";
}

std::string note_on_short_prompts(int64_t turns) {
  return "in " + count_of(turns, "turn") +
         " at the beginning of a session the prompt is no longer than context_tokens, which it should "
         "contain: all of it is read as new tokens";
}

void say(const std::string& note, bool is_warning, Source& source) {
  source.notes.push_back(note);
  if (is_warning) source.warnings.push_back(note);
}

}  // namespace

void settle_inputs(InputIs asked, InputIs format, History history, Source& source) {
  const Growth growth = growth_of(source, history);
  if (growth.later_turns == 0) return;
  const InputIs meaning = asked == InputIs::automatic ? format : asked;
  if (meaning == InputIs::automatic && growth.proves_whole_prompts()) {
    const TakenOut taken = take_histories_out(history, source);
    const bool is_usual = taken.started == 0;  // false: some prompt has no tokens beyond its history
    say(is_usual ? note_on_proven_prompts(growth) : note_on_whole_prompts(growth, taken), true, source);
    return;
  }
  if (meaning != InputIs::whole_prompt) {
    if (is_most(growth.growing, growth)) {
      say(note_on_growth(growth), true, source);
    } else if (grows_without_answers(growth)) {
      say(note_on_growth_without_answers(growth), true, source);
    }
    return;
  }
  if (has_pieces_in_later_turns(source, history)) {
    throw InputError(
        "workload.source.input_is: found whole_prompt, allowed: new_tokens where later turns of sessions "
        "have "
        "pieces, which name their first new tokens");
  }
  const TakenOut taken = take_histories_out(history, source);
  say(note_on_whole_prompts(growth, taken), is_most(taken.started, growth), source);
  if (taken.without_context > 0) say(note_on_short_prompts(taken.without_context), true, source);
}

}  // namespace kvcap
