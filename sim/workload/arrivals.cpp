#include "workload/arrivals.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "base/random.h"
#include "workload/generators/draws.h"

namespace kvcap {
namespace {

// Draws a gap between sessions with mean 1.
double gap(const ArrivalOptions& options, const RandomStream& stream, uint64_t session) {
  switch (options.process) {
    case ArrivalProcess::poisson:
      return stream.exponential(session);
    case ArrivalProcess::gamma:
      return stream.gamma(1 / (options.cv * options.cv), session);
    case ArrivalProcess::constant:
      return 1;
    case ArrivalProcess::even:
    case ArrivalProcess::trace:
    case ArrivalProcess::closed_loop:
      break;
  }
  KVCAP_BUG("a gap is drawn for a process without gaps");
  return 0;
}

}  // namespace

ArrivalCurve::ArrivalCurve(const ArrivalOptions& options, double turns_per_session) {
  const std::vector<ArrivalRate>& rates = options.rates;
  KVCAP_CHECK(!rates.empty());
  for (const ArrivalRate& one : rates) {
    const double rate = one.requests_per_s ? *one.requests_per_s / turns_per_session : *one.sessions_per_s;
    pieces_.push_back({.from_s = one.from_s, .rate = rate});
  }
  KVCAP_CHECK(pieces_.front().from_s == 0);
  // The end of a period is the beginning of the next one.
  if (options.period_s) pieces_.push_back({.from_s = *options.period_s, .rate = pieces_.front().rate});
  for (std::size_t i = 0; i + 1 < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    Piece& next = pieces_[i + 1];
    const double lasts_s = next.from_s - piece.from_s;
    KVCAP_CHECK(lasts_s > 0);
    if (rates[i].ramp) piece.slope = (next.rate - piece.rate) / lasts_s;
    const double mean_rate = rates[i].ramp ? (piece.rate + next.rate) / 2 : piece.rate;
    next.expected = piece.expected + mean_rate * lasts_s;
  }
  if (!options.period_s) {
    KVCAP_CHECK(pieces_.back().rate > 0);
    return;
  }
  period_s_ = *options.period_s;
  per_period_ = pieces_.back().expected;
  KVCAP_CHECK(per_period_ > 0);
  pieces_.pop_back();
}

std::vector<double> ArrivalCurve::sessions_before_rates() const {
  std::vector<double> sessions;
  for (const Piece& piece : pieces_) sessions.push_back(piece.expected);
  return sessions;
}

double ArrivalCurve::time_s(double sessions) const {
  if (period_s_ == 0) return in_period_s(sessions);
  double periods = std::floor(sessions / per_period_);
  double rest = sessions - periods * per_period_;
  if (rest >= per_period_) {  // by rounding
    ++periods;
    rest = 0;
  }
  return periods * period_s_ + in_period_s(std::max(0.0, rest));
}

double ArrivalCurve::in_period_s(double sessions) const {
  const auto after =
      std::upper_bound(pieces_.begin(), pieces_.end(), sessions,
                       [](double count, const Piece& piece) { return count < piece.expected; });
  const Piece& piece = *std::prev(after);
  const double within = sessions - piece.expected;
  if (piece.slope == 0) return piece.from_s + within / piece.rate;
  // Solves rate t + slope t^2 / 2 = within for t, in a form without cancellation.
  const double root = std::sqrt(std::max(0.0, piece.rate * piece.rate + 2 * piece.slope * within));
  const double sum = piece.rate + root;
  return piece.from_s + (sum > 0 ? 2 * within / sum : 0);
}

double constant_rate(const ArrivalOptions& options, double turns_per_session) {
  if (options.requests_per_s) return *options.requests_per_s / turns_per_session;
  return options.sessions_per_s.value_or(kDefaultSessions_per_s);
}

namespace {

// Places as many sessions as each rate implies at uniformly drawn positions within its piece; the last piece
// takes all remaining sessions.
std::vector<double> even_arrivals(const ArrivalOptions& options, double turns_per_session, std::size_t count,
                                  const RandomStream& stream) {
  ArrivalOptions given = options;
  if (given.rates.empty()) given.rates = {{.sessions_per_s = constant_rate(options, turns_per_session)}};
  const ArrivalCurve curve(given, turns_per_session);
  std::vector<double> begins = curve.sessions_before_rates();
  begins.push_back(std::max(static_cast<double>(count), begins.back()));
  std::vector<double> sessions;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    const std::size_t end = std::min(count, static_cast<std::size_t>(std::llround(begins[i + 1])));
    const std::size_t first = sessions.size();
    while (sessions.size() < end) {
      const double share = stream.uniform(sessions.size(), 0);
      sessions.push_back(begins[i] + share * (begins[i + 1] - begins[i]));
    }
    std::sort(sessions.begin() + static_cast<std::ptrdiff_t>(first), sessions.end());
  }
  for (double& one : sessions) one = curve.time_s(one);
  return sessions;
}

}  // namespace

std::vector<double> draw_arrivals(const ArrivalOptions& options, double turns_per_session, std::size_t count,
                                  uint64_t seed) {
  std::vector<double> arrivals(count, 0);
  if (options.process == ArrivalProcess::closed_loop) return arrivals;
  KVCAP_CHECK(options.cv > 0);
  const RandomStream stream(seed, "arrivals");
  if (options.process == ArrivalProcess::even)
    return even_arrivals(options, turns_per_session, count, stream);
  if (options.rates.empty()) {
    const double rate = constant_rate(options, turns_per_session);
    KVCAP_CHECK(rate > 0);
    for (std::size_t i = 1; i < count; ++i) {
      arrivals[i] = arrivals[i - 1] + gap(options, stream, i) / rate;
    }
    return arrivals;
  }
  const ArrivalCurve curve(options, turns_per_session);
  double sessions = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) sessions += gap(options, stream, i);
    arrivals[i] = curve.time_s(sessions);
  }
  return arrivals;
}

double draw_think_time_s(const ThinkTimeOptions& options, uint64_t seed, uint64_t session, uint64_t turn) {
  const RandomStream stream(seed, "think_time");
  switch (options.distribution) {
    case ThinkDistribution::automatic:
    case ThinkDistribution::recorded:  // the source has no think time here
    case ThinkDistribution::constant:
      return options.mean_s;
    case ThinkDistribution::exponential:
      return options.mean_s * stream.exponential(session, turn);
    case ThinkDistribution::lognormal:
      return lognormal(options.mean_s, options.cv, stream.normal(session, turn));
    case ThinkDistribution::timetable:
      break;
  }
  KVCAP_BUG("a think time distribution is not handled");
}

}  // namespace kvcap
