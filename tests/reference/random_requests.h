// Random requests and engines that serve them: bursts with one prefix, branches inside texts, chats whose
// later prompts contain earlier answers, pools under pressure, prompts beyond the token budget, answers of
// one token. Small enough for an engine that takes one step at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/literal_engine.h"

namespace kvcap::reference {

struct RandomCase {
  EngineOptions options;
  std::vector<Request> requests;  // in order of arrival, the first one at 0 s, with ids 0, 1, ...
};

// Number N is always the same case, on every machine. Half of the cases schedule asynchronously, most cache.
RandomCase random_case(uint64_t number);

// For messages.
std::string describe(const EngineOptions& options);

}  // namespace kvcap::reference
