// ServerView: the load of one server as a router sees it: metrics at the last scrape, and the prompt tokens
// of turns that the router sent to the server.
//
// A server updates its metrics at the end of a step (vLLM: update_from_output calls make_stats): the turns
// that the step's plan left in the queue, and the KV blocks in use. Turns that arrive during a step are not
// counted before the end of the next step. All servers are scraped at the multiples of a period.
#pragma once

#include <cmath>
#include <cstdint>
#include <unordered_map>

namespace kvcap {

struct ServerMetrics {
  int64_t waiting = 0;
  double held_share = 0;
};

class ServerView {
 public:
  // Returns the last multiple of the period that is not after now_s.
  static double scrape_s(double now_s, double period_s) { return std::floor(now_s / period_s) * period_s; }

  // Notes the server's new metrics. REQUIRES: times do not decrease.
  void report(const ServerMetrics& metrics, double now_s, double period_s) {
    scraped(now_s, period_s);
    reported_ = metrics;
    reported_s_ = now_s;
  }
  double reported_s() const { return reported_s_; }
  // Returns the metrics at the last scrape. A scrape sees a report of the same time.
  const ServerMetrics& scraped(double now_s, double period_s) {
    if (scrape_s(now_s, period_s) >= reported_s_) seen_ = reported_;
    return seen_;
  }

  void sent(int64_t turn, int64_t tokens) {
    in_flight_[turn] = tokens;
    tokens_in_flight_ += tokens;
  }
  // Called when the turn has its first token, or will never get one.
  void answered(int64_t turn) {
    const auto found = in_flight_.find(turn);
    if (found == in_flight_.end()) return;
    tokens_in_flight_ -= found->second;
    in_flight_.erase(found);
  }
  int64_t tokens_in_flight() const { return tokens_in_flight_; }

 private:
  ServerMetrics seen_, reported_;
  double reported_s_ = -1;
  std::unordered_map<int64_t, int64_t> in_flight_;  // prompt tokens by the turn's number
  int64_t tokens_in_flight_ = 0;
};

}  // namespace kvcap
