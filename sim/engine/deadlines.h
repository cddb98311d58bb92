// Deadlines: an engine's requests, ordered by the time at which their clients give up.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "engine/request.h"

namespace kvcap {

class Deadlines {
 public:
  // Adds the request, unless its client waits forever.
  void add(Request& request) {
    if (!std::isinf(request.arrival.deadline_s)) requests_.emplace(key(request), &request);
  }
  // Removes a request that ends before its deadline.
  void remove(const Request& request) { requests_.erase(key(request)); }
  // Returns the first deadline; infinity if there is none.
  double next_s() const {
    return requests_.empty() ? std::numeric_limits<double>::infinity() : requests_.begin()->first.first;
  }
  // Removes and returns the first request whose client has given up by `now_s`; nullptr if there is none.
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
