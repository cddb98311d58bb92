// The fields of `fleet`: nodes, router, failures, disaggregation.
#include "scenario/fields/specs.h"

namespace kvcap {

using namespace field_specs;

static void describe(FieldVisitor& v, NodeFailure& o) {
  v.field("replica", o.replica,
          {.meaning = "index of the node, from 0", .min = 0, .max = kMaxReplicas - 1, .required = true});
  v.field("at_s", o.at_s,
          {.meaning = "time at which the node fails",
           .unit = "s",
           .min = 0,
           .max = kMaxYears_s,
           .required = true});
  v.field("down_s", o.down_s, positive("time until it is back, with empty tiers", "s"));
}

static void describe(FieldVisitor& v, RouterOptions& o) {
  const auto weight = [](std::string_view meaning) {
    return FieldSpec{.meaning = meaning, .min = 0, .max = 1e6};
  };
  v.field("index", o.index,
          {.meaning = "router's knowledge of the nodes' contents: the actual contents (exact), those "
                      "reported by events (events), or the prompts that it routed there (approximate)"});
  v.field("event_delay_s", o.event_delay_s,
          not_negative("events: delay until the router receives an event", "s"));
  v.field("index_tokens", o.index_tokens,
          {.meaning = "approximate: size of the index per node, with LRU eviction",
           .unit = "tokens",
           .min = 1,
           .max = 1e15,
           .absent = "2000000; null: unlimited"});
  v.field("index_ttl_s", o.index_ttl_s,
          positive_or_absent("approximate: time after the last use until an entry is dropped", "s", "never"));
  v.field("prefix_weight", o.prefix_weight, weight("weighted: weight of the prompt's hit rate on the node"));
  v.field("kv_weight", o.kv_weight, weight("weighted: weight of the share of free KV blocks"));
  v.field("queue_weight", o.queue_weight, weight("weighted: weight of the queue score"));
  v.field(
      "no_hit_weight", o.no_hit_weight,
      weight(
          "weighted: for prompts without a hit, weight of the time since the node last got such a prompt"));
  v.field("token_load_weight", o.token_load_weight,
          weight("weighted: weight of 1 - uncached prompt tokens in flight / 4,194,304"));
  v.field(
      "queue_score", o.queue_score,
      {.meaning = "weighted: queue score: the queue's place between the longest (0) and the shortest (1) of "
                  "the nodes (min_max), or (1 - waiting turns / 128) / 2 (load_aware)"});
  v.field(
      "picker", o.picker,
      {.meaning = "weighted: the node with the highest score (max_score), or a random one, in proportion to "
                  "the scores (weighted_random)"});
  v.field(
      "metrics_period_s", o.metrics_period_s,
      not_negative("weighted: period at which the router reads the nodes' queue and KV usage; 0: it knows "
                   "the current values",
                   "s"));
  v.field(
      "affinity_threshold", o.affinity_threshold,
      {.meaning = "weighted: only nodes that hold this share of the prompt are scored, if there are any; 0: "
                  "all nodes",
       .min = 0,
       .max = 1});
  v.field("affinity_penalty_tokens", o.affinity_penalty_tokens,
          {.meaning = "weighted: uncached prompt tokens in flight beyond those of other nodes, above which "
                      "affinity_threshold does not apply; 0: no limit",
           .unit = "tokens",
           .min = 0,
           .max = 1e12});
  v.field("gpu_tier_weight", o.gpu_tier_weight, weight("weighted: weight of a hit on the GPU"));
  v.field("dram_tier_weight", o.dram_tier_weight, weight("weighted: weight of a hit in DRAM"));
  v.field("far_tier_weight", o.far_tier_weight, weight("weighted: weight of a hit in a farther tier"));
  v.field("overlap_credit", o.overlap_credit,
          weight("dynamo: credit for tokens on the GPU, which need no prefill; 0: the router has no index"));
  v.field("dram_credit", o.dram_credit, weight("dynamo: credit for tokens in DRAM"));
  v.field("far_credit", o.far_credit, weight("dynamo: credit for tokens in a farther tier"));
  v.field(
      "overlap_decay", o.overlap_decay,
      weight("dynamo: overlap_credit is divided by 1 + this x the node's tokens to prefill beyond those of "
             "the node with the fewest / tokens of the prompt"));
  v.field("prefill_scale", o.prefill_scale,
          weight("dynamo: weight of tokens to prefill relative to those that decode"));
  v.field("temperature", o.temperature,
          weight("dynamo: 0 chooses the node with the lowest cost; larger values choose at random by cost"));
  v.field(
      "cache_threshold", o.cache_threshold,
      {.meaning = "cache_aware: hit rate of a prompt above which the router chooses the node with the hit",
       .min = 0,
       .max = 1});
  v.field("balance_abs", o.balance_abs,
          {.meaning = "cache_aware: difference of loads up to which the router prefers hits",
           .unit = "turns",
           .min = 0,
           .max = kMaxCount});
  v.field(
      "balance_rel", o.balance_rel,
      {.meaning = "cache_aware: ratio of loads up to which the router prefers hits", .min = 1, .max = 1e6});
}

static void describe(FieldVisitor& v, PoolOptions& o) {
  v.field(
      "tensor_parallel_size", o.tensor_parallel_size,
      {.meaning = "value for these nodes; a node of fewer GPUs than hardware.gpu.count is that part of the "
                  "machine, and is billed as such",
       .unit = "GPUs",
       .min = 1,
       .max = kMaxCount,
       .absent = "serving.tensor_parallel_size"});
  v.field("data_parallel_size", o.data_parallel_size,
          {.meaning = "value for these nodes",
           .unit = "ranks",
           .min = 1,
           .max = kMaxCount,
           .absent = "serving.data_parallel_size"});
  v.field("max_num_seqs", o.max_num_seqs,
          {.meaning = "value for these nodes",
           .unit = "requests",
           .min = 1,
           .max = kMaxCount,
           .absent = "serving.max_num_seqs"});
  v.field("max_num_batched_tokens", o.max_num_batched_tokens,
          {.meaning = "value for these nodes",
           .unit = "tokens",
           .min = 1,
           .max = 1e9,
           .absent = "serving.max_num_batched_tokens"});
}

static void describe(FieldVisitor& v, DisaggregationOptions& o) {
  v.field("prefill_replicas", o.prefill_replicas,
          {.meaning = "nodes that compute prompts (the first ones); the others decode",
           .unit = "nodes",
           .min = 1,
           .max = kMaxReplicas - 1,
           .required = true});
  v.field("transfer", o.transfer,
          {.meaning = "pull: the decode node requests a prompt's KV after its prefill; push: it reserves "
                      "blocks when the prefill begins and receives the KV"});
  v.field("granularity", o.granularity,
          {.meaning = "KV moves after the whole prefill (end), or with push layer by layer (layerwise)"});
  v.field("link", o.link, {.meaning = "link between nodes for KV: hardware.nic or hardware.nvlink"});
  v.field("lease_s", o.lease_s,
          {.meaning = "pull: time until KV that no decode node has begun to fetch is dropped; the decode "
                      "node then computes the prompt",
           .unit = "s",
           .min = 0,
           .max = kMaxYears_s,
           .absent = "until it is fetched"});
  v.field("prefill", o.prefill, {.meaning = "settings of the prefill nodes that differ from serving"});
  v.field("decode", o.decode, {.meaning = "settings of the decode nodes that differ from serving"});
}

void describe(FieldVisitor& v, FleetOptions& o) {
  v.field("replicas", o.replicas,
          {.meaning = "number of nodes, each with the whole profile and model",
           .unit = "nodes",
           .min = 1,
           .max = kMaxReplicas});
  v.field("routing", o.routing, {.meaning = "router: how a node is chosen for a turn"});
  v.field("router", o.router, {.meaning = "options of the router"});
  v.field("load_bound", o.load_bound,
          {.meaning = "prefix_aware: a node with a hit is preferred if it has at most this many turns more "
                      "than the least loaded node",
           .unit = "turns",
           .min = 0,
           .max = kMaxCount});
  v.field("shared_remote", o.shared_remote, {.meaning = "all nodes share one remote store and its link"});
  v.field("failures", o.failures, {.meaning = "node failures; a failed node loses its contents"});
  v.field("disaggregation", o.disaggregation,
          {.meaning = "disaggregated serving: separate nodes for prefill and decode",
           .absent = "every node does both"});
}

}  // namespace kvcap
