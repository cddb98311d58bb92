// Growth: sums how much a server's counters grow from scrape to scrape. Counters never fall while a server
// runs; a fall is reported and not summed. After a restart, a server counts from 0.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "observe/snapshot.h"

namespace kvcap {

class Growth {
 public:
  Growth();

  // Sets the first scrape, relative to which growth is counted.
  void begin(const Snapshot& first);
  // Adds everything that the server has counted since it started.
  void add_since_start(const Snapshot& only);
  // Adds the next scrape in order of time. Returns true iff the server has restarted since the previous one.
  bool add(const Snapshot& after);

  const std::array<double, std::size(kCounterNames)>& counters() const { return counters_; }
  const std::array<Buckets, std::size(kSpreadNames)>& spreads() const { return spreads_; }
  int64_t restarts() const { return restarts_; }
  // Return texts such as "vllm:prompt_tokens_total from 100 to 50" about counters that fell. first_restart():
  // one counter at the first restart. shrunk(): all counters that fell without a restart.
  const std::string& first_restart() const { return first_restart_; }
  const std::vector<std::string>& shrunk() const { return shrunk_; }

 private:
  // The last value of each metric; empty or NaN before its first value. Growth counts from 0 before the first
  // value, unless an impossible value of the metric was refused.
  struct Seen {
    std::array<double, std::size(kCounterNames)> counters{};
    std::array<Buckets, std::size(kSpreadNames)> spreads;
    std::array<bool, std::size(kCounterNames)> refused_counters{};
    std::array<bool, std::size(kSpreadNames)> refused_spreads{};
    std::optional<double> started_s;
  };

  void see(const Snapshot& snapshot);
  std::vector<std::string> falls(const Snapshot& after) const;
  bool has_restarted(const Snapshot& after, std::size_t falls) const;
  void add_counters(const Snapshot& after);
  void add_spreads(const Snapshot& after);

  Seen last_;
  std::array<double, std::size(kCounterNames)> counters_{};  // NaN: not exported
  std::array<Buckets, std::size(kSpreadNames)> spreads_;
  int64_t restarts_ = 0;
  std::string first_restart_;
  std::vector<std::string> shrunk_;
};

}  // namespace kvcap
