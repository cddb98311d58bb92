// ApiServer: holds requests from their arrival until they join the engine's queue. A request first passes the
// tokenizer, which processes one prompt at a time, and then the rest of the server, which processes requests
// concurrently.
#pragma once

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "engine/options.h"
#include "engine/request.h"

namespace kvcap {

class ApiServer {
 public:
  explicit ApiServer(const ServingOptions& serving) : serving_(serving) {}

  // Adds a request that arrives at `from_s`.
  void add(RequestPtr request, double from_s) {
    tokenized_s_ = std::max(tokenized_s_, from_s) +
                   serving_.request_overhead_s_per_token * static_cast<double>(request->prompt_tokens());
    request->joins_s = tokenized_s_ + serving_.request_overhead_s;
    request->record.api_s = static_cast<float>(request->joins_s - from_s);
    requests_.push_back(std::move(request));
  }
  // Returns the time at which the next request joins the queue; infinity if there is none.
  double next_s() const {
    return requests_.empty() ? std::numeric_limits<double>::infinity() : requests_.front()->joins_s;
  }
  // REQUIRES: next_s() is finite.
  RequestPtr pop() {
    RequestPtr request = std::move(requests_.front());
    requests_.pop_front();
    return request;
  }
  // Removes and returns the request; null if the API server does not have it.
  RequestPtr remove(const Request& request) {
    const auto found = std::find_if(requests_.begin(), requests_.end(),
                                    [&](const RequestPtr& one) { return one.get() == &request; });
    if (found == requests_.end()) return nullptr;
    RequestPtr removed = std::move(*found);
    requests_.erase(found);
    return removed;
  }
  const std::deque<RequestPtr>& requests() const { return requests_; }

 private:
  const ServingOptions& serving_;
  double tokenized_s_ = 0;  // time at which the tokenizer is done with all prompts so far
  std::deque<RequestPtr> requests_;
};

}  // namespace kvcap
