#include "metrics/recorder.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/check.h"
#include "metrics/recorded.h"
#include "metrics/statistics/stability.h"
#include "metrics/trace_events.h"

namespace kvcap {

std::string level_name(std::size_t level) {
  constexpr std::array<std::string_view, kRequestLevels> kNames = {"waiting", "running", "kv_tokens"};
  if (level < kRequestLevels) return std::string(kNames[level]);
  return "stored_bytes_" + std::string(name(kTiers[level - kRequestLevels]));
}

struct Recorder::State : Recorded {};

Recorder::Recorder(int64_t expected_turns, TraceEvents* trace, std::size_t prefill_nodes)
    : state_(std::make_unique<State>()), trace_(trace), prefill_nodes_(prefill_nodes) {
  state_->turns.reserve(static_cast<std::size_t>(std::max<int64_t>(expected_turns, 0)));
}

Recorder::~Recorder() = default;

void Recorder::turn(const TurnRecord& record) { state_->turns.push_back(record); }

void Recorder::inter_token(double gap_s, int64_t count) { state_->gaps.add(gap_s, count); }

void Recorder::inter_token_run(double first_s, double growth_s, int64_t steps, int64_t sequences) {
  state_->gaps.add_ramp(first_s, growth_s, steps, sequences);
}

void Recorder::level(Level which, double value, double now_s, std::size_t node) {
  RecordedLevel& level = (*state_)[which];
  KVCAP_CHECK(now_s >= level.since_s);
  if (trace_) trace_->level(which, value, now_s, node);
  level.series.add(level.value, level.since_s, now_s);
  level.value = level.sum_with(node, value);
  level.since_s = now_s;
  level.peak = std::max(level.peak, level.value);
}

void Recorder::busy(Resource which, double busy_s, double from_s, double to_s, std::size_t node) {
  KVCAP_CHECK(busy_s >= 0 && from_s >= 0 && to_s >= from_s);
  if (busy_s == 0) return;
  if (trace_) trace_->busy(which, busy_s, from_s, to_s, node);
  if (which == Resource::gpu) {
    if (node >= state_->gpu_busy_s.size()) state_->gpu_busy_s.resize(node + 1);
    state_->gpu_busy_s[node] += busy_s;
  }
  const auto add_to = [&](TimeSeries& series) {
    if (to_s > from_s) {
      series.add(busy_s / (to_s - from_s), from_s, to_s);
    } else {
      series.add_at(busy_s, from_s);
    }
  };
  add_to(state_->busy[index(which)]);
  if (which == Resource::gpu && node < prefill_nodes_) add_to(state_->prefill_gpu_busy);
}

void Recorder::read(Tier tier, double bytes, double requests, double now_s) {
  state_->read_bytes[index(tier)] += bytes;
  state_->asked(tier, requests, now_s);
}

void Recorder::wrote(Tier tier, double bytes, double requests, double now_s) {
  state_->written_bytes[index(tier)] += bytes;
  if (tier == Tier::ssd) state_->written_to_ssds.add_at(bytes, now_s);
  state_->asked(tier, requests, now_s);
}

void Recorder::believed(int64_t tokens, int64_t there_tokens) {
  state_->believed_tokens += tokens;
  state_->there_tokens += there_tokens;
}

void Recorder::preempted() { ++state_->preemptions; }

void Recorder::drafted(int64_t draft_tokens, int64_t accepted) {
  ++state_->drafts;
  state_->draft_tokens += draft_tokens;
  state_->accepted_tokens += accepted;
}

void Recorder::reloaded(Tier tier, int64_t tokens, double bytes, double requests, double now_s) {
  state_->reloaded_tokens += tokens;
  state_->reloaded_bytes += bytes;
  state_->asked(tier, requests, now_s);
}

void Recorder::reused(double prefill_s, double restore_s, bool in_prefill) {
  state_->reused_prefill_s += prefill_s;
  state_->restore_compute_s += restore_s;
  if (in_prefill) state_->restored_in_prefills_s += restore_s;
}

void Recorder::retried() { ++state_->retried; }
void Recorder::abandoned() { ++state_->abandoned; }
void Recorder::dropped(double inside_s) { state_->dropped_s += inside_s; }
void Recorder::wasted(int64_t prompt_tokens, int64_t output_tokens) {
  state_->wasted_prompt_tokens += prompt_tokens;
  state_->wasted_output_tokens += output_tokens;
}
void Recorder::refused_save() { ++state_->saves_refused; }
void Recorder::waiting_saves(double bytes) {
  state_->waiting_save_bytes += bytes;
  state_->peak_waiting_save_bytes = std::max(state_->peak_waiting_save_bytes, state_->waiting_save_bytes);
}

void Recorder::handed_over(double bytes, double seconds) {
  ++state_->handovers;
  state_->handover_bytes += bytes;
  state_->handover_s += seconds;
}

void Recorder::gave_up_handover() { ++state_->handovers_given_up; }

void Recorder::copied(double bytes, double seconds) {
  state_->copied_bytes += bytes;
  state_->copied_s += seconds;
}

RunResult Recorder::finish(const RunFacts& facts) {
  for (RecordedLevel& level : state_->levels)
    level.series.add(level.value, level.since_s, std::max(facts.duration_s, level.since_s));
  if (!facts.calls.empty()) state_->turns = merged_calls(state_->turns, facts.calls);
  return summarise(std::move(static_cast<Recorded&>(*state_)), facts);
}

double RunResult::number(std::string_view metric) const {
  for (const Metric& candidate : metrics) {
    if (candidate.name != metric) continue;
    if (const auto* real = std::get_if<double>(&candidate.value)) return *real;
    if (const auto* integer = std::get_if<int64_t>(&candidate.value)) return static_cast<double>(*integer);
    if (const auto* yes = std::get_if<bool>(&candidate.value)) return *yes ? 1 : 0;
    break;
  }
  if (metric == "stable") {
    const std::string_view verdict = text("stable.verdict");
    if (verdict == name(Verdict::stable)) return 1;
    if (verdict == name(Verdict::saturated)) return 0;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string_view RunResult::text(std::string_view metric) const {
  for (const Metric& candidate : metrics) {
    if (candidate.name != metric) continue;
    if (const auto* text = std::get_if<std::string>(&candidate.value)) return *text;
    break;
  }
  return {};
}

RunResult without_curves(RunResult result) {
  result.turns.clear();
  result.series.clear();
  result.distributions.clear();
  return result;
}

}  // namespace kvcap
