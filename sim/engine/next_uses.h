// NextUses: times of the future uses of documents and pieces that sessions share; for bounds only.
#pragma once

#include <unordered_map>
#include <vector>

#include "policy/options.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

class NextUses {
 public:
  NextUses(const Workload& workload, Match match, int64_t chunk_tokens);

  // Returns the first arrival after `now_s` of a session that uses `key`; kNever if there is none.
  Order after(Key key, double now_s) const;

 private:
  std::unordered_map<Key, std::vector<double>> uses_s_;  // ascending
};

}  // namespace kvcap
