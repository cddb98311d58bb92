#include "validate/theory/theory.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/check.h"

namespace kvcap {
namespace {

// Where an increasing function of t > 0 reaches `level`.
double solve(double level, const std::function<double(double)>& of) {
  double low = 0, high = 1;
  while (of(high) < level) high *= 2;
  while (true) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) return middle;
    (of(middle) < level ? low : high) = middle;
  }
}

// The hit rate of a cache that holds item i with probability stored(p_i T), T such that it holds `capacity`.
double characteristic_hit_rate(std::span<const double> popularity, double capacity,
                               double (*stored)(double)) {
  KVCAP_CHECK(capacity > 0 && capacity < static_cast<double>(popularity.size()));
  const auto sum = [&](double t, auto weight) {
    return std::accumulate(popularity.begin(), popularity.end(), 0.0,
                           [&](double so_far, double p) { return so_far + weight(p) * stored(p * t); });
  };
  const double t = solve(capacity, [&](double at) { return sum(at, [](double) { return 1.0; }); });
  return sum(t, [](double p) { return p; });
}

}  // namespace

// ---- queues ----

double mg1_wait_s(double rate, double service_s, double variation) {
  const double load = rate * service_s;
  KVCAP_CHECK(load < 1);
  return load * service_s * (1 + variation) / (2 * (1 - load));
}

double md1_wait_exceeds(double load, double t_services) {
  double sum = 0, factorial = 1;
  for (int k = 0; k <= t_services; ++k) {
    if (k > 0) factorial *= k;
    const double left = load * (t_services - k);
    sum += std::exp(left) * std::pow(-left, k) / factorial;
  }
  return 1 - (1 - load) * sum;
}

double erlang_b(int servers, double offered) {
  // One server after the other.
  double blocked = 1;
  for (int n = 1; n <= servers; ++n) blocked = offered * blocked / (n + offered * blocked);
  return blocked;
}

double erlang_c(int servers, double offered) {
  KVCAP_CHECK(offered < servers);
  const double blocked = erlang_b(servers, offered);
  return blocked / (1 - offered / servers * (1 - blocked));
}

double mmc_wait_s(int servers, double offered, double service_s) {
  return erlang_c(servers, offered) * service_s / (servers - offered);
}

double mmc_wait_exceeds(int servers, double offered, double t_services) {
  return erlang_c(servers, offered) * std::exp(-(servers - offered) * t_services);
}

// ---- pipelines ----

double flow_shop_makespan_s(std::span<const double> first_s, std::span<const double> second_s) {
  KVCAP_CHECK(first_s.size() == second_s.size());
  double longest_s = 0;
  for (std::size_t j = 0; j < first_s.size(); ++j) {
    const double way_s =
        std::accumulate(first_s.begin(), first_s.begin() + static_cast<std::ptrdiff_t>(j) + 1, 0.0) +
        std::accumulate(second_s.begin() + static_cast<std::ptrdiff_t>(j), second_s.end(), 0.0);
    longest_s = std::max(longest_s, way_s);
  }
  return longest_s;
}

// ---- caches ----

std::vector<double> zipf(std::size_t count, double alpha) {
  std::vector<double> popularity(count);
  for (std::size_t i = 0; i < count; ++i) popularity[i] = std::pow(static_cast<double>(i + 1), -alpha);
  const double sum = std::accumulate(popularity.begin(), popularity.end(), 0.0);
  for (double& p : popularity) p /= sum;
  return popularity;
}

double lru_hit_rate(std::span<const double> popularity, double capacity) {
  return characteristic_hit_rate(popularity, capacity, [](double pt) { return -std::expm1(-pt); });
}

double fifo_hit_rate(std::span<const double> popularity, double capacity) {
  return characteristic_hit_rate(popularity, capacity, [](double pt) { return pt / (1 + pt); });
}

double ttl_hit_rate(std::span<const double> popularity, double rate, double ttl_s) {
  return std::accumulate(popularity.begin(), popularity.end(), 0.0,
                         [&](double so_far, double p) { return so_far - p * std::expm1(-p * rate * ttl_s); });
}

// ---- stacks ----

int64_t LruStack::distance(uint64_t item) const {
  const auto last = last_.find(item);
  if (last == last_.end()) return -1;
  return sizes_.first(used_) - sizes_.first(last->second.at);
}

void LruStack::use(uint64_t item, int64_t size) {
  Use& last = last_[item];
  sizes_.add(last.at, -last.size);
  last = {used_++, size};
  sizes_.add(last.at, size);
}

}  // namespace kvcap
