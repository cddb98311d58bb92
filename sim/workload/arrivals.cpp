#include "workload/arrivals.h"

#include "base/check.h"
#include "base/random.h"
#include "workload/draws.h"

namespace kvcap {
namespace {

// A gap with mean 1.
double gap(const ArrivalOptions& options, const RandomStream& stream, uint64_t session) {
  switch (options.process) {
    case ArrivalProcess::poisson:
      return stream.exponential(session);
    case ArrivalProcess::gamma:
      return stream.gamma(1 / (options.cv * options.cv), session);
    case ArrivalProcess::constant:
      return 1;
    case ArrivalProcess::trace:
      break;
  }
  KVCAP_BUG("arrivals of a trace are drawn");
  return 0;
}

}  // namespace

std::vector<double> draw_arrivals(const ArrivalOptions& options, std::size_t count, uint64_t seed) {
  KVCAP_CHECK(options.sessions_per_s > 0 && options.cv > 0);
  const RandomStream stream(seed, "arrivals");
  std::vector<double> arrivals(count, 0);
  for (std::size_t i = 1; i < count; ++i) {
    arrivals[i] = arrivals[i - 1] + gap(options, stream, i) / options.sessions_per_s;
  }
  return arrivals;
}

double draw_think_time_s(const ThinkTimeOptions& options, uint64_t seed, uint64_t session, uint64_t turn) {
  const RandomStream stream(seed, "think_time");
  switch (options.distribution) {
    case ThinkDistribution::constant:
      return options.mean_s;
    case ThinkDistribution::exponential:
      return options.mean_s * stream.exponential(session, turn);
    case ThinkDistribution::lognormal:
      return lognormal(options.mean_s, options.cv, stream.normal(session, turn));
  }
  KVCAP_BUG("a think time distribution is not handled");
}

}  // namespace kvcap
