// What theory says of queues, links, pipelines and caches: closed forms and the exact algorithms behind them,
// with their sources. Nothing here knows the simulator that it judges.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/sums.h"

namespace kvcap {

// ---- queues ----

// Mean wait in M/G/1, first come first served: W = lambda E[S^2] / (2 (1 - rho)), with E[S^2] =
// E[S]^2 (1 + c^2) (Pollaczek 1930, Khinchine 1932). `variation`: c^2, 0 for M/D/1 and 1 for M/M/1.
// REQUIRES: rate * service_s < 1.
double mg1_wait_s(double rate, double service_s, double variation);

// P(W > t) in M/D/1; t in services. P(W <= t) = (1 - rho) sum over k <= t of e^(rho (t - k))
// (-rho (t - k))^k / k! (Erlang 1909). Its terms alternate: good to about t = 20.
double md1_wait_exceeds(double load, double t_services);

// Erlang B: the share that M/G/c without a queue turns away, at `offered` = lambda E[S] (Erlang 1917).
double erlang_b(int servers, double offered);
// Erlang C: the probability to wait in M/M/c at `offered` = lambda E[S] < c (Erlang 1917).
double erlang_c(int servers, double offered);
// Of those who wait in M/M/c the wait is exponential with rate (c - offered) / E[S].
double mmc_wait_s(int servers, double offered, double service_s);
double mmc_wait_exceeds(int servers, double offered, double t_services);

// ---- pipelines ----

// When the last of jobs that all pass a first machine and then a second, in one order, is done: the longest
// way through, max over j of (a_1 + .. + a_j + b_j + .. + b_n) (Johnson 1954).
double flow_shop_makespan_s(std::span<const double> first_s, std::span<const double> second_s);

// ---- caches of unit items under independent references ----

// Probabilities of ranks 1 .. count, in proportion to rank^-alpha.
std::vector<double> zipf(std::size_t count, double alpha);

// LRU by Che's approximation: an item stays for a time T, counted in references, that solves
// sum (1 - exp(-p_i T)) = capacity; the hit rate is sum p_i (1 - exp(-p_i T)) (Che, Tung, Wang 2002;
// asymptotically exact: Fricker, Robert, Roberts 2012). REQUIRES: 0 < capacity < items of p > 0.
double lru_hit_rate(std::span<const double> popularity, double capacity);
// The same for FIFO, whose items stay for T whether they are used or not: sum p_i T / (1 + p_i T) = capacity
// (Martina, Garetto, Leonardi 2014; FIFO hits as often as RANDOM: Gelenbe 1973).
double fifo_hit_rate(std::span<const double> popularity, double capacity);
// Items that leave when unused for `ttl_s`, references a Poisson process of `rate`: exact.
double ttl_hit_rate(std::span<const double> popularity, double rate, double ttl_s);

// ---- stacks ----

// LRU at all capacities at once (Mattson, Gecsei, Slutz, Traiger 1970): the items in order of their last use.
// An item is found in every cache that holds at least its distance.
class LruStack {
 public:
  // `uses`: how often use() will be called, at most.
  explicit LruStack(std::size_t uses) : sizes_(uses) {}

  // The sizes of the item and of all those used since it was, each once; -1 for one that was never used.
  int64_t distance(uint64_t item) const;
  // Onto the top. REQUIRES: an item's size never changes.
  void use(uint64_t item, int64_t size = 1);

 private:
  struct Use {
    std::size_t at = 0;
    int64_t size = 0;
  };
  std::unordered_map<uint64_t, Use> last_;
  Sums sizes_;  // by last use
  std::size_t used_ = 0;
};

}  // namespace kvcap
