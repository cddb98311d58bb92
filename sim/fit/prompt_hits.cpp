#include "fit/prompt_hits.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/text/format.h"
#include "metrics/statistics/quantiles.h"
#include "plan/values_in_workers.h"
#include "run/drawn_scenario.h"
#include "run/machine.h"
#include "run/simulate.h"

namespace kvcap {
namespace {

constexpr std::size_t kLeastAlone = 20, kMostAlone = 250;
constexpr int64_t kDraws = 16;
constexpr double kDeviations = 2;
constexpr double kAllCached = 0.999;
// A server may need as little as this share of the profile's host time per request, because front ends
// differ. vLLM's Rust front end lowers TTFT by 8 to 22 % at prompts of 1,000 to 8,000 tokens (InferenceX
// 1634), about half of the Python front end's time.
constexpr double kLeastHost = 0.5;
// Largest number of shared pieces of text per prompt. In longer prompts, a piece covers several blocks.
constexpr int64_t kMostPieces = 512;

// Returns the turns during whose TTFT no other request was prefilled (others may have decoded). Returns none
// if arrival times are unknown.
std::vector<std::size_t> answered_alone(const Workload& workload,
                                        const std::vector<MeasuredTimes>& measured) {
  std::vector<std::size_t> alone;
  const bool one_at_a_time = workload.concurrency == 1;
  if (!workload.absolute_times && !one_at_a_time) return {};
  double computed_until_s = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double arrival_s = workload.turns[i].time_s, first_s = arrival_s + measured[i].ttft_s;
    if (!(measured[i].ttft_s > 0)) continue;
    const bool is_next_later = i + 1 == measured.size() || workload.turns[i + 1].time_s >= first_s;
    if (one_at_a_time || (arrival_s >= computed_until_s && is_next_later)) alone.push_back(i);
    computed_until_s = std::max(computed_until_s, first_s);
  }
  return alone;
}

// Returns at most kMostAlone of the turns, spread evenly over the log.
std::vector<std::size_t> thinned(const std::vector<std::size_t>& all) {
  std::vector<std::size_t> some;
  const std::size_t count = std::min(all.size(), kMostAlone);
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

// Returns the TTFT of a request with a cached prompt, without the prefill of its last tokens: the host time
// and the wait for other requests' steps. Uses the median, because queued requests wait longer.
double wait_s(const Scenario& scenario, const Workload& workload, const std::vector<std::size_t>& turns) {
  const Workload cached =
      with_hits(workload, SharedText::share_of_each_prompt, kAllCached, scenario.serving.block_size);
  const auto job = [&](std::size_t, std::atomic<int64_t>&) {
    std::vector<double> all_s(cached.turns.size(), 0);
    for (const TurnRecord& one : simulate(scenario, cached).turns)
      all_s[cached.sessions[one.session].first_turn + one.turn] = one.ttft_s;
    return all_s;
  };
  const std::vector<double> ttfts_s = values_in_workers<double>(1, job).front();
  std::vector<double> waits_s;
  const Machine machine(scenario, 1, 1);
  const StepTime step_time = machine.step_time(scenario.serving);
  for (const std::size_t turn : turns) {
    int64_t hits = 0;
    for (const Piece& piece : cached.pieces_of(turn)) hits += piece.tokens;
    waits_s.push_back(ttfts_s[turn] -
                      step_time.idle_prefill_s({workload.turns[turn].input_tokens - hits, hits}));
  }
  std::sort(waits_s.begin(), waits_s.end());
  return quantile_of_sorted(waits_s, 0.5);
}

// Returns the TTFTs of lone requests without cached tokens on the scenario's machine, each after a wait of
// `wait_s`.
std::vector<double> ttfts_without_hits(const Scenario& scenario, const Workload& workload,
                                       const std::vector<std::size_t>& turns, double wait_s) {
  const Machine machine(scenario, 1, 1);
  const StepTime step_time = machine.step_time(scenario.serving);
  std::vector<double> ttfts_s;
  for (const std::size_t turn : turns) {
    ttfts_s.push_back(step_time.idle_prefill_s({workload.turns[turn].input_tokens, 0}) + wait_s);
  }
  return ttfts_s;
}

struct Measured {
  double value = 0, sigma = 0;
};

// Compares measured times with those of the profile's machine without hits, by a least-squares line: its
// slope, and its intercept divided by the mean. For prompts of equal length there is no slope, and the
// intercept is the whole ratio.
struct TimesOverProfile {
  bool has_growth = false;
  Measured growth, rest;
};

TimesOverProfile compare(const std::vector<double>& times_s, const std::vector<double>& profile_s) {
  const auto count = static_cast<double>(times_s.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < times_s.size(); ++i) {
    mean_x += profile_s[i] / count;
    mean_y += times_s[i] / count;
  }
  for (std::size_t i = 0; i < times_s.size(); ++i) {
    const double x = profile_s[i] - mean_x, y = times_s[i] - mean_y;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  const bool has_growth = xx > 0.01 * count * mean_x * mean_x;
  const double slope = has_growth ? xy / xx : 0;
  const double variance = std::max(0.0, yy - slope * xy) / (count - 2);
  const double slope_sigma = has_growth ? std::sqrt(variance / xx) : 0;
  return {.has_growth = has_growth,
          .growth = {slope, slope_sigma},
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

TimesOverProfile over_profile(const std::vector<std::vector<double>>& of_machines_s,
                              const std::vector<double>& profile_s) {
  std::vector<double> growths, rests;
  for (const std::vector<double>& one : of_machines_s) {
    const TimesOverProfile over = compare(one, profile_s);
    growths.push_back(over.growth.value);
    rests.push_back(over.rest.value);
  }
  return {.growth = mean_and_deviation(growths), .rest = mean_and_deviation(rests)};
}

double sigma_of(const Measured& ours, const Measured& machines) {
  return std::hypot(ours.sigma, machines.sigma);
}

bool is_too_small(const Measured& ours, const Measured& machines) {
  return ours.value < machines.value - kDeviations * sigma_of(ours, machines);
}

std::string evidence_of(SharedText shared, const TimesOverProfile& over, const TimesOverProfile& machines,
                        std::size_t requests, const std::string& machine) {
  const bool is_rest = shared == SharedText::first_tokens_of_all_prompts || !over.has_growth;
  const Measured &told = is_rest ? over.rest : over.growth,
                 &allowed = is_rest ? machines.rest : machines.growth;
  const char* what = !over.has_growth ? "is"
                     : is_rest        ? "apart from its growth with the prompt is"
                                      : "grows with the prompt by";
  char text[400];
  std::snprintf(
      text, sizeof text,
      "TTFT of %zu requests that were answered alone %s %.2f +- %.2f of the time that %s and its engine take "
      "without hits; expected without hits: %.2f +- %.2f",
      requests, what, told.value, told.sigma, machine.c_str(), allowed.value, allowed.sigma);
  if (shared != SharedText::nothing) return text;
  const double hidden = std::min(1.0, kDeviations * sigma_of(told, allowed));
  return std::string(text) + ". Hits of less than " + format_percent(hidden) +
         " of each prompt would not show, nor would common first tokens whose prefill is shorter than the "
         "engine's time per request";
}

// Returns the number of shared tokens of each prompt, a multiple of `step_tokens`.
std::vector<int64_t> hit_tokens_of(const Workload& workload, SharedText shared, double hit_share,
                                   int64_t step_tokens) {
  double all_tokens = 0;
  for (const Turn& turn : workload.turns) all_tokens += turn.input_tokens;
  const double first_tokens = hit_share * all_tokens / static_cast<double>(workload.turns.size());
  std::vector<int64_t> hits;
  double rest = 0.5;  // multiples of the golden ratio fill [0, 1) evenly
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
  const std::vector<std::size_t> alone = thinned(answered_alone(workload, measured));
  if (alone.size() < kLeastAlone) {
    hits.evidence = format_count(std::ssize(alone), "request") +
                    " with a known TTFT and no delay by other requests are too few to show hits";
    return hits;
  }
  std::vector<double> ttfts_s;
  for (const std::size_t turn : alone) ttfts_s.push_back(measured[turn].ttft_s);
  Scenario quick = scenario;
  quick.serving.request_overhead_s *= kLeastHost;
  const double waited_s = wait_s(quick, workload, alone);
  const std::vector<double> profile_s = ttfts_without_hits(quick, workload, alone, waited_s);
  std::vector<std::vector<double>> of_machines_s;
  for (int64_t draw = 0; draw < kDraws; ++draw)
    of_machines_s.push_back(ttfts_without_hits(drawn_scenario(quick, draw), workload, alone, waited_s));
  const TimesOverProfile over = compare(ttfts_s, profile_s),
                         machines = over_profile(of_machines_s, profile_s);
  if (over.has_growth && is_too_small(over.growth, machines.growth)) {
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
