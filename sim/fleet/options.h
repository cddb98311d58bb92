// Options of a fleet in a scenario: its nodes, their roles and the routing of turns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/text/names.h"
#include "engine/handover_options.h"
#include "fleet/routing.h"

namespace kvcap {

// What a router knows of the nodes' contents. exact: what they store; events: what nodes have reported, with
// a delay; approximate: the prompts that it has sent to them recently.
enum class IndexKind : uint8_t { exact, events, approximate };
inline constexpr std::string_view kIndexNames[] = {"exact", "events", "approximate"};
constexpr Names names_of(IndexKind) { return kIndexNames; }

// Options of production routers and their weights (router.h). Defaults and sources:
//   dynamo       docs router-concepts.md@03037af, router-configuration.md@057096c; dynamo#11714 (a credit
//   above
//                1, no floor at 0), #10574 (decay)
//   weighted     llm-d-router@ebab687; weights prefix 2, KV 1, queue 1, tiers GPU 1.0, CPU 0.8
//   cache_aware  SGLang's router: cache_threshold 0.5, balance_abs 32, balance_rel 1.0001
struct RouterOptions {
  IndexKind index = IndexKind::exact;
  double event_delay_s = 0;                       // events: delay of a report
  std::optional<int64_t> index_tokens = 2000000;  // approximate: limit per node; 31,250 blocks of 64 (llm-d)
  std::optional<double> index_ttl_s;              // approximate: time to live; Dynamo: 120

  double prefix_weight = 2, kv_weight = 1, queue_weight = 1, no_hit_weight = 0;
  double gpu_tier_weight = 1, dram_tier_weight = 0.8, far_tier_weight = 0.8;

  double overlap_credit = 1, dram_credit = 0.75, far_credit = 0.25;
  double overlap_decay = 0;
  double prefill_scale = 1;
  double temperature = 0;  // dynamo; 0: the cheapest node

  double cache_threshold = 0.5;
  int64_t balance_abs = 32;
  double balance_rel = 1.0001;
};

// A failure of a node, which loses all its contents and recovers empty.
struct NodeFailure {
  int64_t replica = 0;  // index of the node, from 0
  double at_s = 0;
  double down_s = 0;
};

struct FleetOptions {
  int64_t replicas = 1;  // nodes with the profile's hardware, each with the whole model
  Routing routing = Routing::session_affinity;
  RouterOptions router;
  // prefix_aware: how many turns more than the least loaded node a chosen node may have
  int64_t load_bound = 8;
  // True: the remote tier of the profile is one store with one link for all nodes; false: each node has its
  // own.
  bool shared_remote = false;
  std::vector<NodeFailure> failures;
  std::optional<DisaggregationOptions> disaggregation;  // absent: every node both prefills and decodes
};

}  // namespace kvcap
