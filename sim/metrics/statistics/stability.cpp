#include "metrics/statistics/stability.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/text/format.h"
#include "metrics/turn_means.h"

namespace kvcap {
namespace {

constexpr int kRunParts = 16;
constexpr int kTwentieths = 20;
constexpr double kStable = 0.11;    // times S; a random walk rarely has a smaller standard deviation
constexpr double kSaturated = 2.8;  // times S; a random walk rarely grows by more
// Lower limit for c_a^2 + c_w^2. If gaps and work hardly varied, S would be near 0 and every deviation
// significant.
constexpr double kLeastVariation = 0.25;
constexpr double kTransient = 0.95;  // share of turns that end within the window's start-up time
constexpr int64_t kFewestSessions = 16, kFewestOfUnfilled = 50;

struct SessionSeen {
  double began_s = -1;
  double served_s = 0;
  double inside_s = 0;   // sum over turns
  double covered_s = 0;  // time with at least one turn in the system
  double until_s = 0;
  bool answered = true;  // all of its turns were answered
};

std::vector<SessionSeen> sessions_of(std::span<const TurnRecord> turns) {
  std::vector<SessionSeen> sessions;
  for (const TurnRecord& turn : turns) {
    if (turn.session >= sessions.size()) sessions.resize(turn.session + 1);
    SessionSeen& session = sessions[turn.session];
    if (session.began_s < 0) session.began_s = session.until_s = turn.arrival_s;
    session.answered = session.answered && turn.answered();
    if (!turn.answered()) continue;
    const double ended_s = turn.arrival_s + turn.e2el_s;
    session.served_s += turn.e2el_s - before_service_s(turn);
    session.inside_s += turn.e2el_s;
    session.covered_s += std::max(0.0, ended_s - std::max(session.until_s, turn.arrival_s));
    session.until_s = std::max(session.until_s, ended_s);
  }
  return sessions;
}

// Returns the squared coefficient of variation; 0 for fewer than two values.
double squared_variation(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  if (values.size() < 2) return 0;
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (!(mean > 0)) return 0;
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  return squares / (count - 1) / (mean * mean);
}

// Returns the mean number of requests in the system in each part of a time span. Counts waiting requests and,
// if the window is filled, running requests.
std::vector<double> inside_per_part(const TimeSeries& waiting, const TimeSeries& running, bool is_filled,
                                    int parts, double from_s, double to_s) {
  std::vector<double> inside = waiting.means(parts, from_s, to_s);
  if (!is_filled) return inside;
  const std::vector<double> run = running.means(parts, from_s, to_s);
  for (std::size_t part = 0; part < inside.size(); ++part) inside[part] += run[part];
  return inside;
}

double standard_deviation(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (double one : values) squares += (one - mean) * (one - mean);
  return std::sqrt(squares / (count - 1));
}

// True iff the number of requests in the system grows, in the second half of the time in which sessions
// begin, less than half as fast as in the quarter before. Such growth may still stop, because filling caches
// and ageing sessions reduce the work. `inside`: means over twentieths of that time.
bool slows_down(const std::vector<double>& inside) {
  // Compares means around 0.25, 0.5 and 0.95 of the time; steady growth from 0.5 to 0.95 is 1.8 times as
  // large as from 0.25 to 0.5.
  const auto around = [&](std::size_t part) { return (inside[part - 1] + inside[part]) / 2; };
  const double before = around(10) - around(5), after = around(19) - around(10);
  return after < 0.9 * before;
}

}  // namespace

Window steady_window(std::span<const TurnRecord> turns) {
  Window window;
  const std::vector<SessionSeen> sessions = sessions_of(turns);
  for (const SessionSeen& one : sessions) window.to_s = std::max(window.to_s, one.began_s);
  std::vector<double> ages_s, unqueued_s, queued_s(sessions.size());
  ages_s.reserve(turns.size());
  unqueued_s.reserve(turns.size());
  for (const TurnRecord& turn : turns) {
    if (!turn.answered()) continue;
    ages_s.push_back(turn.arrival_s + turn.e2el_s - sessions[turn.session].began_s);
    queued_s[turn.session] += before_service_s(turn);
    unqueued_s.push_back(ages_s.back() - queued_s[turn.session]);
  }
  if (ages_s.empty() || !(window.to_s > 0)) return window;
  const auto at =
      ages_s.begin() + static_cast<std::ptrdiff_t>(kTransient * static_cast<double>(ages_s.size() - 1));
  std::nth_element(ages_s.begin(), at, ages_s.end());
  window.is_steady = *at <= window.to_s / 2;
  const auto place = at - ages_s.begin();
  std::nth_element(unqueued_s.begin(), unqueued_s.begin() + place, unqueued_s.end());
  window.is_filled = unqueued_s[static_cast<std::size_t>(place)] <= window.to_s / 2;
  window.from_s = std::min(*at, window.to_s / 2);
  return window;
}

double Chance::scale() const {
  const double variation = std::max(kLeastVariation, gap_variation + work_variation);
  return turns_at_once * std::sqrt(static_cast<double>(sessions) * variation);
}

Chance chance_of(std::span<const TurnRecord> turns, const Window& window, bool rate_varies) {
  Chance chance;
  std::vector<double> counts(kRunParts);
  if (!(window.length_s() > 0)) return chance;
  std::vector<double> gaps_s, served_s;
  double before_s = -1, inside_s = 0, covered_s = 0;
  std::vector<SessionSeen> sessions = sessions_of(turns);
  std::sort(sessions.begin(), sessions.end(),
            [](const SessionSeen& a, const SessionSeen& b) { return a.began_s < b.began_s; });
  for (const SessionSeen& one : sessions) {
    if (one.began_s < 0 || !window.has(one.began_s)) continue;
    ++chance.sessions;
    if (before_s >= 0) gaps_s.push_back(one.began_s - before_s);
    before_s = one.began_s;
    const double part = kRunParts * (one.began_s - window.from_s) / window.length_s();
    counts[std::min<std::size_t>(static_cast<std::size_t>(part), kRunParts - 1)] += 1;
    inside_s += one.inside_s;
    covered_s += one.covered_s;
    if (one.answered) served_s.push_back(one.served_s);
  }
  chance.gap_variation = squared_variation(gaps_s);
  // Uses the index of dispersion of counts, which is 1 if sessions begin independently.
  const double mean_count = static_cast<double>(chance.sessions) / kRunParts;
  if (rate_varies)
    chance.gap_variation = std::max(chance.gap_variation, squared_variation(counts) * mean_count);
  chance.work_variation = squared_variation(served_s);
  if (covered_s > 0) chance.turns_at_once = inside_s / covered_s;
  return chance;
}

Stability judge_stability(const TimeSeries& waiting, const TimeSeries& running, const Window& window,
                          const Chance& chance) {
  if (chance.sessions < kFewestSessions) {
    return {Verdict::undecided, "only " + std::to_string(chance.sessions) +
                                    " sessions begin after the first ones have ended: run longer"};
  }
  const auto per_part = [&](int parts, double from_s) {
    return inside_per_part(waiting, running, window.is_filled, parts, from_s, window.to_s);
  };
  const std::vector<double> inside = per_part(kRunParts, window.from_s);
  const double grew = inside.back() - inside.front();
  const bool is_told = window.is_filled || chance.sessions >= kFewestOfUnfilled;
  const bool rising =
      inside[kRunParts - 4] + inside[kRunParts - 3] < inside[kRunParts - 2] + inside[kRunParts - 1];
  const double scale = chance.scale();
  const std::string who = window.is_filled ? "requests in the system" : "waiting requests";
  const std::string from_to =
      " from " + format_number(inside.front()) + " to " + format_number(inside.back());
  if (is_told && grew > kSaturated * scale && rising) {
    if (slows_down(per_part(kTwentieths, 0))) {
      return {Verdict::undecided,
              who + " grow" + from_to + ", but less than half as fast as before: run longer"};
    }
    return {Verdict::saturated, who + " grow" + from_to +
                                    " while sessions begin; by chance they would grow by at most " +
                                    format_number(kSaturated * scale)};
  }
  if (!window.is_filled) {
    return {Verdict::undecided, "sessions last longer than half of the time in which they begin: run longer"};
  }
  const double strays = standard_deviation(inside);
  if (strays < kStable * scale) {
    return {Verdict::stable, "the number of requests in the system varies by " + format_number(strays) +
                                 "; at the machine's limit it would vary by " +
                                 format_number(kStable * scale) + " or more"};
  }
  return {Verdict::undecided, "requests in the system go" + from_to +
                                  ", which may be chance near the machine's limit: run longer"};
}

}  // namespace kvcap
