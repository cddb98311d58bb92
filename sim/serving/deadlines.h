// Deadlines: the requests of an engine in the order in which their clients will give them up.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "serving/request.h"

namespace kvcap {

class Deadlines {
 public:
  // Of a client that waits for ever nothing is kept.
  void add(Request& request) {
    if (!std::isinf(request.arrival.deadline_s)) requests_.emplace(key(request), &request);
  }
  // The request ends before.
  void remove(const Request& request) { requests_.erase(key(request)); }
  // The first, infinity where there is none.
  double next_s() const {
    return requests_.empty() ? std::numeric_limits<double>::infinity() : requests_.begin()->first.first;
  }
  // The first request that has been given up by now, which is removed; null: none has.
  Request* take(double now_s) {
    if (requests_.empty() || !requests_.begin()->second->arrival.is_given_up(now_s)) return nullptr;
    return requests_.extract(requests_.begin()).mapped();
  }

 private:
  using Key = std::pair<double, Order>;
  static Key key(const Request& request) { return {request.arrival.deadline_s, request.number}; }

  std::map<Key, Request*> requests_;
};

}  // namespace kvcap
