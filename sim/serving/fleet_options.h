// How many nodes serve, and who serves what; as a scenario describes it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/text/names.h"
#include "serving/routing.h"

namespace kvcap {

// What a router believes of the nodes' contents. exact: what lies there; events: what nodes have reported, a
// delay ago; approximate: what it has sent there, as long as it remembers.
enum class IndexKind : uint8_t { exact, events, approximate };
inline constexpr std::string_view kIndexNames[] = {"exact", "events", "approximate"};
constexpr Names names_of(IndexKind) { return kIndexNames; }

// What routers of production weigh, and with which numbers (router.h). Defaults and sources:
//   dynamo       docs router-concepts.md@03037af, router-configuration.md@057096c
//   weighted     llm-d-router@ebab687; weights prefix 2, KV 1, queue 1, tiers GPU 1.0, CPU 0.8
//   cache_aware  SGLang's router: cache_threshold 0.5, balance_abs 32, balance_rel 1.0001
struct RouterOptions {
  IndexKind index = IndexKind::exact;
  double event_delay_s = 0;                       // events
  std::optional<int64_t> index_tokens = 2000000;  // approximate: of one node; 31,250 blocks of 64 (llm-d)
  std::optional<double> index_ttl_s;              // approximate: Dynamo 120

  double prefix_weight = 2, kv_weight = 1, queue_weight = 1, no_hit_weight = 0;
  double gpu_tier_weight = 1, dram_tier_weight = 0.8, far_tier_weight = 0.8;

  double overlap_credit = 1, dram_credit = 0.75, far_credit = 0.25;
  double prefill_scale = 1;
  double temperature = 0;  // 0: the cheapest node

  double cache_threshold = 0.5;
  int64_t balance_abs = 32;
  double balance_rel = 1.0001;
};

// A node that is lost with all that lies on it, and comes back empty.
struct NodeFailure {
  int64_t replica = 0;  // from 0
  double at_s = 0;
  double down_s = 0;
};

// Who asks for a prompt's KV. pull: the decode node, once the prompt is computed (vLLM's NixlConnector).
// push: the decode node reserves blocks when the prefill node begins, which then sends.
enum class KvTransfer : uint8_t { pull, push };
inline constexpr std::string_view kKvTransferNames[] = {"pull", "push"};
constexpr Names names_of(KvTransfer) { return kKvTransferNames; }
// When KV may move: when the whole prompt is computed, or each layer as soon as it is.
enum class TransferGranularity : uint8_t { end, layerwise };
inline constexpr std::string_view kTransferGranularityNames[] = {"end", "layerwise"};
constexpr Names names_of(TransferGranularity) { return kTransferGranularityNames; }
// What carries it between nodes: the NICs of both, or the NVLink of their GPUs.
enum class TransferLink : uint8_t { nic, nvlink };
inline constexpr std::string_view kTransferLinkNames[] = {"nic", "nvlink"};
constexpr Names names_of(TransferLink) { return kTransferLinkNames; }

// What the nodes of one pool set otherwise than `serving`. Absent: as there.
struct PoolOptions {
  std::optional<int64_t> max_num_seqs;
  std::optional<int64_t> max_num_batched_tokens;
};

// Prefill-decode disaggregation: some nodes compute prompts, the others decode (serving/handover.h).
struct DisaggregationOptions {
  int64_t prefill_replicas = 1;  // the first nodes; the others decode
  KvTransfer transfer = KvTransfer::pull;
  TransferGranularity granularity = TransferGranularity::end;
  TransferLink link = TransferLink::nic;
  // pull: a prompt's KV that nobody has begun to fetch for so long is given up, and the decode node computes
  // the prompt itself. Absent: the decode node renews the lease as long as it waits.
  std::optional<double> lease_s;
  PoolOptions prefill, decode;
};

struct FleetOptions {
  int64_t replicas = 1;  // nodes of the hardware profile, each with the whole model
  Routing routing = Routing::session_affinity;
  RouterOptions router;
  int64_t load_bound = 8;  // prefix_aware: turns that a node may have beyond the least loaded one
  // The remote tier of the profile is one store behind one link for all nodes; else each node has its own.
  bool shared_remote = false;
  std::vector<NodeFailure> failures;
  std::optional<DisaggregationOptions> disaggregation;  // absent: every node does both
};

}  // namespace kvcap
