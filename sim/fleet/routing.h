// The table of routers. To add a router, write its function in a file of its own, and add an enumerator, the
// function and a row here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/names.h"

namespace kvcap {

enum class Routing : uint8_t {
  round_robin,
  least_loaded,
  session_affinity,
  prefix_aware,
  random,
  cache_aware,
  dynamo,
  weighted
};

struct RouterCall;  // router.h

// Returns the node that gets a turn; nullopt if no node is up.
using ChooseNode = std::optional<std::size_t>(RouterCall& call);
ChooseNode choose_round_robin, choose_least_loaded, choose_session_affinity, choose_prefix_aware,
    choose_random, choose_cache_aware, choose_dynamo, choose_weighted;

struct RoutingRow {
  Routing routing;
  std::string_view name;
  ChooseNode* choose;
  bool needs_beliefs = false;  // the router uses the index of the nodes' contents
};

// In the order of the enumeration.
inline constexpr std::array kRoutings = {
    RoutingRow{Routing::round_robin, "round_robin", choose_round_robin},
    RoutingRow{Routing::least_loaded, "least_loaded", choose_least_loaded},
    RoutingRow{Routing::session_affinity, "session_affinity", choose_session_affinity},
    RoutingRow{Routing::prefix_aware, "prefix_aware", choose_prefix_aware, true},
    RoutingRow{Routing::random, "random", choose_random},
    RoutingRow{Routing::cache_aware, "cache_aware", choose_cache_aware, true},
    RoutingRow{Routing::dynamo, "dynamo", choose_dynamo, true},
    RoutingRow{Routing::weighted, "weighted", choose_weighted, true},
};
inline constexpr auto kRoutingNames = [] {
  std::array<std::string_view, kRoutings.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kRoutings[i].name;
  return names;
}();
constexpr Names names_of(Routing) { return kRoutingNames; }

constexpr const RoutingRow& routing_row(Routing routing) {
  return kRoutings[static_cast<std::size_t>(routing)];
}
static_assert([] {
  for (std::size_t i = 0; i < kRoutings.size(); ++i) {
    if (kRoutings[i].routing != static_cast<Routing>(i)) return false;
  }
  return true;
}());

}  // namespace kvcap
