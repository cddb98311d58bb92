#include "fit/prompt_hits.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "drawn_scenario.h"
#include "idle_prefill.h"
#include "machine.h"
#include "metrics/format.h"

namespace kvcap {
namespace {

constexpr std::size_t kLeastAlone = 20, kMostAlone = 250;
constexpr int64_t kDraws = 16;
constexpr double kDeviations = 2;
// Of the engine's time a request: front ends differ. vLLM's in Rust takes 8 to 22 % of TTFT away at prompts
// of 1,000 to 8,000 tokens (InferenceX 1634), which is about half of what the one in Python needs.
constexpr double kLeastHost = 0.5;
// Of one prompt: a long one's blocks are taken together.
constexpr int64_t kMostPieces = 512;

struct AloneRequest {
  uint32_t input_tokens = 0;
  double ttft_s = 0;
  bool waits = false;  // others decode: half a step passes before it can join
};

// Those before whose first token no other request was computed; some decode meanwhile. Nothing where it is
// not known when requests arrived.
std::vector<AloneRequest> answered_alone(const Workload& workload,
                                         const std::vector<MeasuredTimes>& measured) {
  std::vector<AloneRequest> alone;
  const bool one_at_a_time = workload.concurrency == 1;
  if (!workload.absolute_times && !one_at_a_time) return {};
  double computed_until_s = -std::numeric_limits<double>::infinity(), busy_until_s = computed_until_s;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const Turn& turn = workload.turns[i];
    const double ttft_s = measured[i].ttft_s, first_s = turn.time_s + ttft_s;
    const bool is_next_later = i + 1 == measured.size() || workload.turns[i + 1].time_s >= first_s;
    const bool is_alone = one_at_a_time || (turn.time_s >= computed_until_s && is_next_later);
    const bool waits = !one_at_a_time && turn.time_s < busy_until_s;
    if (ttft_s > 0 && is_alone) alone.push_back({turn.input_tokens, ttft_s, waits});
    if (ttft_s > 0) computed_until_s = std::max(computed_until_s, first_s);
    if (measured[i].e2el_s > 0) busy_until_s = std::max(busy_until_s, turn.time_s + measured[i].e2el_s);
  }
  return alone;
}

// Mean time of a token after the first; 0 where no request says it.
double step_time_s(const Workload& workload, const std::vector<MeasuredTimes>& measured) {
  double sum_s = 0, tokens = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double rest_s = measured[i].e2el_s - measured[i].ttft_s;
    if (!std::isfinite(rest_s)) continue;
    sum_s += rest_s;
    tokens += workload.turns[i].output_tokens - 1.0;
  }
  return tokens > 0 ? sum_s / tokens : 0;
}

// As many as tell enough, evenly from the whole log.
std::vector<AloneRequest> thinned(const std::vector<AloneRequest>& all) {
  std::vector<AloneRequest> some;
  const std::size_t count = std::min(all.size(), kMostAlone);
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

// What the machine and a quick front end take for whole prompts, from arrival to the first token.
std::vector<double> computed_times_s(const Scenario& scenario, const std::vector<AloneRequest>& requests,
                                     double step_s) {
  const Machine machine(scenario, 1, 1);
  std::vector<double> times_s;
  for (const AloneRequest& one : requests) {
    times_s.push_back(idle_prefill_s(machine, scenario.serving, {one.input_tokens, 0}) +
                      kLeastHost * scenario.serving.request_overhead_s + (one.waits ? step_s / 2 : 0) +
                      scenario.serving.request_overhead_per_token_s * one.input_tokens);
  }
  return times_s;
}

struct Measured {
  double value = 0, sigma = 0;
};

// Measured over computed: growth with the prompt (least squares), and what the line through the measurements
// has at a prompt that takes no time, over the mean computed time.
struct TtftOverComputed {
  Measured growth, rest;
};

// Prompts of one length have no growth: all of their time is rest.
TtftOverComputed compare(const std::vector<AloneRequest>& requests, const std::vector<double>& computed_s) {
  const auto count = static_cast<double>(requests.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    mean_x += computed_s[i] / count;
    mean_y += requests[i].ttft_s / count;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const double x = computed_s[i] - mean_x, y = requests[i].ttft_s - mean_y;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  const bool has_lengths = xx > 1e-4 * count * mean_x * mean_x;
  const double slope = has_lengths ? xy / xx : 0;
  const double variance = std::max(0.0, yy - slope * xy) / (count - 2);
  const double slope_sigma = has_lengths ? std::sqrt(variance / xx) : 0;
  return {.growth = {slope, slope_sigma},
          .rest = {mean_y / mean_x - slope, std::hypot(std::sqrt(variance / count) / mean_x, slope_sigma)}};
}

Measured mean_and_deviation(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double one : values) {
    sum += one / count;
    squares += one * one / count;
  }
  return {sum, std::sqrt(std::max(0.0, squares - sum * sum))};
}

// Times of plausible machines over those of the profile.
TtftOverComputed of_plausible_machines(const Scenario& scenario, std::vector<AloneRequest> requests,
                                       const std::vector<double>& computed_s, double step_s) {
  std::vector<double> growths, rests;
  for (int64_t draw = 0; draw < kDraws; ++draw) {
    const std::vector<double> drawn_s = computed_times_s(drawn_scenario(scenario, draw), requests, step_s);
    for (std::size_t i = 0; i < requests.size(); ++i) requests[i].ttft_s = drawn_s[i];
    const TtftOverComputed over = compare(requests, computed_s);
    growths.push_back(over.growth.value);
    rests.push_back(over.rest.value);
  }
  return {mean_and_deviation(growths), mean_and_deviation(rests)};
}

double sigma_of(const Measured& ours, const Measured& machines) {
  return std::hypot(ours.sigma, machines.sigma);
}

bool is_too_small(const Measured& ours, const Measured& machines) {
  return ours.value < machines.value - kDeviations * sigma_of(ours, machines);
}

std::string evidence_of(SharedText shared, const TtftOverComputed& over, const TtftOverComputed& machines,
                        std::size_t requests, const std::string& machine) {
  const bool is_rest = shared == SharedText::first_tokens_of_all_prompts;
  const Measured &told = is_rest ? over.rest : over.growth,
                 &allowed = is_rest ? machines.rest : machines.growth;
  char text[400];
  std::snprintf(
      text, sizeof text,
      "TTFT of %zu requests that were answered alone %s %.2f +- %.2f of what %s and its engine take for "
      "whole prompts; without hits it would be %.2f +- %.2f",
      requests, is_rest ? "has a part that does not grow with the prompt, of" : "grows with the prompt by",
      told.value, told.sigma, machine.c_str(), allowed.value, allowed.sigma);
  if (shared != SharedText::nothing) return text;
  const double hidden = std::min(1.0, kDeviations * sigma_of(over.growth, machines.growth));
  return std::string(text) + "; a hit share of each prompt below " + format_percent(hidden) +
         " would not show, nor common first tokens that take less time than the engine's own for a request";
}

// Multiples of the blocks; the tokens that a prompt shares.
std::vector<int64_t> hit_tokens_of(const Workload& workload, SharedText shared, double hit_share,
                                   int64_t step_tokens) {
  double all_tokens = 0;
  for (const Turn& turn : workload.turns) all_tokens += turn.input_tokens;
  const double first_tokens = hit_share * all_tokens / static_cast<double>(workload.turns.size());
  std::vector<int64_t> hits;
  double rest = 0.5;  // the golden ratio's multiples fill [0, 1) evenly
  for (const Turn& turn : workload.turns) {
    rest = std::fmod(rest + 0.6180339887498949, 1.0);
    const double wanted =
        shared == SharedText::share_of_each_prompt ? hit_share * turn.input_tokens : first_tokens;
    const auto blocks = static_cast<int64_t>(wanted / static_cast<double>(step_tokens) + rest);
    hits.push_back(std::min(blocks, (turn.input_tokens - int64_t{1}) / step_tokens) * step_tokens);
  }
  return hits;
}

}  // namespace

bool says_shared_text(const Workload& workload) {
  return !workload.pieces.empty() ||
         std::any_of(workload.sessions.begin(), workload.sessions.end(),
                     [](const Session& one) { return one.turn_count > 1 || one.context_tokens > 0; });
}

PromptHits hits_in_ttft(const Scenario& scenario, const Workload& workload,
                        const std::vector<MeasuredTimes>& measured) {
  PromptHits hits{.are_unknown = true};
  const std::vector<AloneRequest> alone = thinned(answered_alone(workload, measured));
  if (alone.size() < kLeastAlone) {
    hits.evidence = format_count(std::ssize(alone), "request") +
                    " with a known TTFT that no other request delayed are too few to show hits";
    return hits;
  }
  const double step_s = step_time_s(workload, measured);
  const std::vector<double> computed_s = computed_times_s(scenario, alone, step_s);
  const TtftOverComputed over = compare(alone, computed_s);
  const TtftOverComputed machines = of_plausible_machines(scenario, alone, computed_s, step_s);
  if (is_too_small(over.growth, machines.growth)) {
    hits.shared = SharedText::share_of_each_prompt;
  } else if (is_too_small(over.rest, machines.rest)) {
    hits.shared = SharedText::first_tokens_of_all_prompts;
  }
  hits.evidence = evidence_of(hits.shared, over, machines, alone.size(), scenario.hardware.name);
  return hits;
}

Workload with_hits(const Workload& workload, SharedText shared, double hit_share, int64_t block_tokens) {
  int64_t longest = 0;
  for (const Turn& turn : workload.turns) longest = std::max<int64_t>(longest, turn.input_tokens);
  const int64_t step_tokens = block_tokens * std::max<int64_t>(1, longest / (kMostPieces * block_tokens));
  Workload sharing = workload;
  sharing.piece_keys = PieceKeys::prefix;
  sharing.piece_begin = {0};
  for (const int64_t tokens : hit_tokens_of(workload, shared, hit_share, step_tokens)) {
    for (int64_t first = 0; first < tokens; first += step_tokens) {
      sharing.pieces.push_back(
          {static_cast<uint64_t>(first / step_tokens) + 1, static_cast<uint32_t>(step_tokens)});
    }
    sharing.piece_begin.push_back(sharing.pieces.size());
  }
  return sharing;
}

}  // namespace kvcap
