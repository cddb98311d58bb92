#include "validate/runs/run_causes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text/format.h"

namespace kvcap {
namespace {

using Explained = std::optional<std::string>;

// The input of a condition in the table of causes: the evidence, and the group of figures to explain.
struct Question {
  const RunEvidence& e;
  const Outside& outside;
  FigureGroup group;

  const LatencyEvidence& latency() const { return group == FigureGroup::itl ? e.itl : e.ttft; }
};

constexpr double kOtherLoad = 0.1;       // relative difference from which rates, lengths and batches differ
constexpr double kOtherCapacity = 0.05;  // relative difference from which KV capacities differ
constexpr double kSomeHits = 0.02;       // share of the tokens

std::string two(const Both& both, const std::string& unit, double scale = 1) {
  const std::string behind = unit.empty() ? "" : " " + unit;
  return format_number(scale * both.measured) + behind + " measured, " +
         format_number(scale * both.simulated) + behind + " simulated";
}

bool is(const Question& q, FigureGroup group) { return q.group == group; }

// True iff the simulated and the measured mean number of waiting requests differ clearly.
bool queues_differ(const RunEvidence& e) {
  const double most = std::max(e.waiting.measured, e.waiting.simulated);
  return e.waiting.known() && most > 0.5 && std::abs(e.waiting.difference()) > 0.3 * most;
}

// True iff the simulated and the measured mean gap between tokens agree. The tails of the gaps may differ.
bool steps_agree(const RunEvidence& e) { return !e.itl.mean_ms.differs_by(kLatencyTolerance); }

// Multiplies the simulated quantiles by `factor`, adds `shift_ms`, and returns the sum of their relative
// distances from the measured buckets.
double misfit(const LatencyEvidence& latency, double shift_ms, double factor) {
  double total = 0;
  for (std::size_t i = 0; i < latency.simulated_ms.size(); ++i) {
    const double value = latency.simulated_ms[i] * factor + shift_ms;
    const QuantileRange& range = latency.measured_ms[i];
    if (value < range.low) total += 1 - value / range.low;
    if (value > range.high) total += value / range.high - 1;
  }
  return total;
}

struct Shape {
  double shift_ms = 0, factor = 1;
  bool is_shift = false, is_factor = false;
};

// Tells whether the measured latencies are about the simulated ones plus a constant, or the simulated ones
// times a factor.
Shape shape_of(const LatencyEvidence& latency) {
  constexpr double kFits = 0.15;
  if (!latency.is_measured || !latency.mean_ms.known() || !(latency.mean_ms.simulated > 0)) return {};
  Shape shape{.shift_ms = latency.mean_ms.difference(),
              .factor = latency.mean_ms.measured / latency.mean_ms.simulated};
  const double by_shift = misfit(latency, shape.shift_ms, 1), by_factor = misfit(latency, 0, shape.factor);
  shape.is_shift = by_shift <= kFits && by_shift <= by_factor;
  shape.is_factor = by_factor <= kFits && by_factor < by_shift;
  return shape;
}

// Returns advice on which host time to try. If only a negative host time would explain the difference, says
// that the kernels of the profile are too slow.
std::string try_time(const std::string& field, double simulated_s, double wanted_s) {
  if (wanted_s < 0 && simulated_s <= 0)
    return "The host time would have to be negative: kernels of the hardware profile are too slow.";
  return "Try --set " + field + "=" + format_number(std::max(0.0, wanted_s)) + ".";
}

Explained other_rate(const Question& q) {
  const double chance = 2 / std::sqrt(std::max(1.0, std::min(q.e.requests.measured, q.e.requests.simulated)));
  if (!q.e.arrivals_per_s.differs_by(std::max(kOtherLoad, chance))) return {};
  return "The load is not the same: " + two(q.e.arrivals_per_s, "arrivals/s") +
         ". Set workload.arrivals to the measured rate.";
}

Explained other_prompts(const Question& q) {
  if (!q.e.prompt_tokens.differs_by(kOtherLoad)) return {};
  return "Prompts differ in length: " + two(q.e.prompt_tokens, "tokens") + " on average.";
}

Explained other_answers(const Question& q) {
  if (is(q, FigureGroup::hit_rate) || !q.e.output_tokens.differs_by(kOtherLoad)) return {};
  return "Answers differ in length: " + two(q.e.output_tokens, "tokens") + " on average.";
}

Explained other_prefix_caching(const Question& q) {
  if (is(q, FigureGroup::itl) || !q.e.measured_prefix_caching ||
      *q.e.measured_prefix_caching == q.e.simulated_prefix_caching)
    return {};
  return std::string("The server runs with prefix caching ") + (*q.e.measured_prefix_caching ? "on" : "off") +
         ", the simulation with it " + (q.e.simulated_prefix_caching ? "on" : "off") + ".";
}

Explained tier_is_off(const Question& q) {
  const Both& lower = q.e.lower_hit_rate;
  const bool found_nothing = std::isnan(lower.measured) || lower.measured < kSomeHits / 10;
  if (is(q, FigureGroup::itl) || !(lower.simulated > kSomeHits) || !found_nothing) return {};
  return "The server has no hits below GPU memory, but " + format_percent(lower.simulated) +
         " of the simulated tokens come from lower tiers. The server's offload tier is off or still empty.";
}

Explained tier_is_missing(const Question& q) {
  const Both& lower = q.e.lower_hit_rate;
  if (is(q, FigureGroup::itl) || !(lower.measured > kSomeHits) || lower.simulated > kSomeHits / 10) return {};
  return "The server has hits on " + format_percent(lower.measured) +
         " of the tokens below GPU memory; the simulated policy has no such tier, or no hits in it.";
}

Explained other_capacity(const Question& q) {
  if (!q.e.kv_capacity_tokens.differs_by(kOtherCapacity)) return {};
  const bool matters = !is(q, FigureGroup::itl) || q.e.running.differs_by(kOtherLoad);
  if (!matters) return {};
  return "The KV capacity differs: " + two(q.e.kv_capacity_tokens, "tokens") +
         ". Try --set serving.kv_capacity_tokens=" +
         std::to_string(std::llround(q.e.kv_capacity_tokens.measured)) + ".";
}

Explained capacity_is_short(const Question& q) {
  const Both& preempted = q.e.preemptions_per_request;
  if (!is(q, FigureGroup::hit_rate) || !(q.e.token_hit_rate.difference() < 0) || !preempted.known() ||
      !(preempted.measured > 0) || !(preempted.measured > preempted.simulated)) {
    return {};
  }
  return "The server has a lower hit rate and preempts requests (" + two(preempted, "per request") +
         "): its KV capacity is smaller than simulated, or it does not cache answers "
         "(serving.cache_generated).";
}

Explained less_is_shared(const Question& q) {
  if (!is(q, FigureGroup::hit_rate) || !(q.e.token_hit_rate.difference() < 0)) return {};
  return "The server finds fewer tokens, and nothing else explains it: its prompts share less than those of "
         "the workload's source, or it does not cache answers (serving.cache_generated).";
}

Explained more_is_shared(const Question& q) {
  if (!is(q, FigureGroup::hit_rate) || !(q.e.token_hit_rate.difference() > 0)) return {};
  return "The server finds more tokens: its prompts share more than those of the workload's source (repeated "
         "prompts, a common system prompt), or its cache was warm when the log began.";
}

Explained hits_differ(const Question& q) {
  if (!is(q, FigureGroup::ttft) || !q.outside.hit_rate) return {};
  const bool is_slower = q.e.ttft.mean_ms.difference() > 0, finds_less = q.e.token_hit_rate.difference() < 0;
  if (is_slower != finds_less) return {};
  return "This follows from the hit rate: the server computes " + std::string(finds_less ? "more" : "less") +
         " of each prompt than simulated. See the cause of the hit rate.";
}

Explained queue_differs(const Question& q) {
  if (!queues_differ(q.e) || is(q, FigureGroup::hit_rate)) return {};
  const bool is_longer = q.e.waiting.difference() > 0;
  return std::string(is_longer ? "Requests queue at the server but hardly in the simulation"
                               : "Requests queue in the simulation but hardly at the server") +
         " (" + two(q.e.waiting, "waiting") + "): a different max_num_seqs, or arrivals that are " +
         (is_longer ? "burstier" : "smoother") + " than simulated.";
}

Explained batch_differs(const Question& q) {
  if (!is(q, FigureGroup::itl) || !q.e.running.differs_by(0.25) || q.outside.ttft) return {};
  if (std::max(q.e.running.measured, q.e.running.simulated) < 2) return {};
  const bool is_larger = q.e.running.difference() > 0, is_slower = q.e.itl.mean_ms.difference() > 0;
  // Slower steps alone explain larger batches, and faster steps smaller ones.
  if (is_larger == is_slower) return {};
  return "Batches differ in size: " + two(q.e.running, "running") + " on average.";
}

// True iff the simulated gap between tokens equals the host time per step, which then hides the GPU time.
bool host_binds(const RunEvidence& e) {
  const double host_ms = 1e3 * e.step_overhead_s;
  return e.async_scheduling && host_ms > 0 && std::abs(e.itl.simulated_ms[0] - host_ms) < 0.05 * host_ms;
}

Explained host_time_of_steps(const Question& q) {
  if (!is(q, FigureGroup::itl)) return {};
  if (host_binds(q.e) && q.e.itl.mean_ms.difference() < 0) {
    return "The simulated host time per step, " + format_number(1e3 * q.e.step_overhead_s) +
           " ms, is the whole gap between tokens, and the measured gaps are shorter (mean " +
           two(q.e.itl.mean_ms, "ms") + "). " +
           try_time("serving.step_overhead_s", q.e.step_overhead_s, 1e-3 * q.e.itl.mean_ms.measured);
  }
  const Shape shape = shape_of(q.e.itl);
  if (!shape.is_shift) return {};
  const double shift_s = 1e-3 * shape.shift_ms;
  // Asynchronous scheduling overlaps host time with GPU time, so host time is either the whole gap or no part
  // of it.
  const bool is_hidden = q.e.async_scheduling && q.e.step_overhead_s < 1e-3 * q.e.itl.mean_ms.simulated;
  const double wanted_s =
      is_hidden && shift_s > 0 ? 1e-3 * q.e.itl.mean_ms.measured : q.e.step_overhead_s + shift_s;
  return "Every gap between tokens is " + format_number(std::abs(shape.shift_ms)) + " ms " +
         (shift_s > 0 ? "longer" : "shorter") +
         " than simulated, whatever its length: the host time per step. " +
         try_time("serving.step_overhead_s", q.e.step_overhead_s, wanted_s);
}

Explained decode_kernels(const Question& q) {
  if (!is(q, FigureGroup::itl)) return {};
  const Shape shape = shape_of(q.e.itl);
  if (!shape.is_factor) return {};
  return "Gaps between tokens are " + format_number(shape.factor) +
         " times as long as simulated, short and long gaps alike: kernels or memory bandwidth of the "
         "hardware "
         "profile, or a different tensor_parallel_size.";
}

Explained steps_differ(const Question& q) {
  if (!is(q, FigureGroup::ttft) || steps_agree(q.e) || queues_differ(q.e)) return {};
  if ((q.e.ttft.mean_ms.difference() > 0) != (q.e.itl.mean_ms.difference() > 0)) return {};
  return "This follows from the length of steps: the first token waits for steps that take " +
         std::string(q.e.itl.mean_ms.difference() > 0 ? "longer" : "less time") +
         " than simulated. See the cause of ITL.";
}

Explained request_overhead(const Question& q) {
  if (!is(q, FigureGroup::ttft) || !steps_agree(q.e)) return {};
  const Shape shape = shape_of(q.e.ttft);
  if (!shape.is_shift) return {};
  return "The first token comes " + format_number(std::abs(shape.shift_ms)) + " ms " +
         (shape.shift_ms > 0 ? "later" : "earlier") +
         " than simulated, whatever the prompt, and gaps between tokens agree: the time of the API server "
         "and the tokenizer. " +
         try_time("serving.request_overhead_s", q.e.request_overhead_s,
                  q.e.request_overhead_s + 1e-3 * shape.shift_ms);
}

Explained prefill_kernels(const Question& q) {
  if (!is(q, FigureGroup::ttft) || !steps_agree(q.e)) return {};
  const Shape shape = shape_of(q.e.ttft);
  if (!shape.is_factor) return {};
  return "The first token takes " + format_number(shape.factor) +
         " times as long as simulated and gaps between tokens agree: GEMM or attention of prompts in the "
         "hardware "
         "profile.";
}

Explained long_gaps(const Question& q) {
  if (!is(q, FigureGroup::itl) || !steps_agree(q.e)) return {};
  const Both& preempted = q.e.preemptions_per_request;
  return "The mean gap between tokens agrees, the spread does not: steps that also compute prompts "
         "(max_num_batched_tokens), or preempted requests" +
         (preempted.known() ? " (" + two(preempted, "per request") + ")." : ".");
}

Explained other_spread(const Question& q) {
  if (!is(q, FigureGroup::ttft) || q.latency().mean_ms.differs_by(kLatencyTolerance)) return {};
  return "The mean TTFT agrees, the spread does not: a different mix of prompt lengths, or different bursts "
         "of arrivals.";
}

Explained unknown(const Question& q) {
  const Both& mean = q.group == FigureGroup::hit_rate ? q.e.token_hit_rate : q.latency().mean_ms;
  return "Nothing in the log explains it (" +
         (q.group == FigureGroup::hit_rate ? two(mean, "%", 100) : "mean " + two(mean, "ms")) +
         "). Of the settings that the metrics do not show, max_num_seqs, max_num_batched_tokens, "
         "tensor_parallel_size and the hardware profile's kernels matter most.";
}

struct CauseRow {
  std::string_view id, field;
  Explained (*explain)(const Question&);
};

constexpr CauseRow kCauses[] = {
    {"rate", "workload.arrivals", other_rate},
    {"prompt_length", "workload.source", other_prompts},
    {"answer_length", "workload.source", other_answers},
    {"prefix_caching", "serving.prefix_caching", other_prefix_caching},
    {"tier_off", "policy", tier_is_off},
    {"tier_missing", "policy", tier_is_missing},
    {"kv_capacity", "serving.kv_capacity_tokens", other_capacity},
    {"short_capacity", "serving.kv_capacity_tokens", capacity_is_short},
    {"less_shared", "workload.source", less_is_shared},
    {"more_shared", "workload.source", more_is_shared},
    {"hit_rate", "workload.source", hits_differ},
    {"queue", "serving.max_num_seqs", queue_differs},
    {"batch", "serving.max_num_seqs", batch_differs},
    {"step_overhead", "serving.step_overhead_s", host_time_of_steps},
    {"decode_kernels", "hardware", decode_kernels},
    {"steps", "serving.step_overhead_s", steps_differ},
    {"request_overhead", "serving.request_overhead_s", request_overhead},
    {"prefill_kernels", "hardware", prefill_kernels},
    {"long_gaps", "serving.max_num_batched_tokens", long_gaps},
    {"spread", "workload", other_spread},
    {"unknown", "", unknown},
};

}  // namespace

std::vector<std::string_view> cause_ids() {
  std::vector<std::string_view> ids;
  for (const CauseRow& row : kCauses) ids.push_back(row.id);
  return ids;
}

std::vector<Cause> likely_causes(const RunEvidence& evidence, const Outside& outside) {
  std::vector<Cause> causes;
  const auto explain = [&](FigureGroup group) {
    for (const CauseRow& row : kCauses) {
      const Explained text = row.explain({evidence, outside, group});
      if (!text) continue;
      const auto known = std::find_if(causes.begin(), causes.end(), [&](const Cause& one) {
        return one.id == row.id && one.text == *text;
      });
      if (known != causes.end()) {
        known->groups.push_back(group);
      } else {
        causes.push_back({std::string(row.id), {group}, std::string(row.field), *text});
      }
      return;
    }
  };
  if (outside.hit_rate) explain(FigureGroup::hit_rate);
  if (outside.ttft) explain(FigureGroup::ttft);
  if (outside.itl) explain(FigureGroup::itl);
  return causes;
}

}  // namespace kvcap
