// Options of a fleet in a scenario: its nodes, their roles and the routing of turns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/text/names.h"
#include "engine/handover/handover_options.h"
#include "fleet/routing.h"

namespace kvcap {

// How a router knows what the nodes store. exact: it reads their stores; events: nodes report changes, with a
// delay; approximate: it remembers the prompts that it has recently sent to each node.
enum class IndexKind : uint8_t { exact, events, approximate };
inline constexpr std::string_view kIndexNames[] = {"exact", "events", "approximate"};
constexpr Names names_of(IndexKind) { return kIndexNames; }

// How llm-d's queue score is computed. min_max: (longest - waiting) / (longest - shortest) of the nodes'
// queues, 1 if all are equal (queue-scorer); load_aware: half of 1 - waiting / 128 (load-aware-scorer).
enum class QueueScore : uint8_t { min_max, load_aware };
inline constexpr std::string_view kQueueScoreNames[] = {"min_max", "load_aware"};
constexpr Names names_of(QueueScore) { return kQueueScoreNames; }

// How llm-d picks a node by score. max_score: the node with the highest score; weighted_random: a random
// node, with a probability proportional to its score.
enum class Picker : uint8_t { max_score, weighted_random };
inline constexpr std::string_view kPickerNames[] = {"max_score", "weighted_random"};
constexpr Names names_of(Picker) { return kPickerNames; }

// Options and weights of the routers that model production routers (router.h). Defaults and sources:
//   dynamo       docs router-concepts.md@03037af, router-configuration.md@057096c; dynamo#11714 (no floor,
//                credits above 1), #10574 (decay)
//   weighted     llm-d-router, below pkg/epp: plugins/scheduling/scorer/queuedepth/queue.go@2342697,
//                scorer/nohitlru/no_hit_lru.go@0b59e4e, scorer/tokenload/token_load.go@1b30d10,
//                filter/prefixcacheaffinity/plugin.go@066c20e, picker/weightedrandom/picker.go@52c3948;
//                server/options.go@03fdf91 (metrics every 50 ms); config/loader/defaults.go@683100d (weights
//                queue 2, KV 2, prefix 3; llm-d's guide adds no-hit 2); tiers GPU 1.0, CPU 0.8 (@ebab687)
//   cache_aware  SGLang's router: cache_threshold 0.5, balance_abs 32, balance_rel 1.0001
struct RouterOptions {
  IndexKind index = IndexKind::exact;
  double event_delay_s = 0;                       // events: delay of a report
  std::optional<int64_t> index_tokens = 2000000;  // approximate: limit per node; 31,250 blocks of 64 (llm-d)
  std::optional<double> index_ttl_s;              // approximate: time to live; Dynamo: 120

  double prefix_weight = 3, kv_weight = 2, queue_weight = 2, no_hit_weight = 2, token_load_weight = 0;
  QueueScore queue_score = QueueScore::min_max;
  Picker picker = Picker::max_score;
  double metrics_period_s = 0.05;            // weighted: time between two scrapes; 0: current values
  double affinity_threshold = 0;             // weighted: share of the prompt; 0: no filter
  int64_t affinity_penalty_tokens = 286704;  // 18 s at 15,928 tokens/s; 0: no limit
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
