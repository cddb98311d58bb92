// The fields of `fleet`: nodes, router, failures, disaggregation.
#include "scenario/fields/specs.h"

namespace kvcap {

using namespace field_specs;

static void describe(FieldVisitor& v, NodeFailure& o) {
  v.field("replica", o.replica,
          {.meaning = "which node; the first is 0", .min = 0, .max = kMaxReplicas - 1, .required = true});
  v.field("at_s", o.at_s,
          {.meaning = "when it is lost", .unit = "s", .min = 0, .max = kMaxYears_s, .required = true});
  v.field("down_s", o.down_s, positive("until it is back, empty", "s"));
}

static void describe(FieldVisitor& v, RouterOptions& o) {
  const auto weight = [](std::string_view meaning) {
    return FieldSpec{.meaning = meaning, .min = 0, .max = 1e6};
  };
  v.field(
      "index", o.index,
      {.meaning = "what the router believes of the nodes: what lies there, what they have reported, or what "
                  "it has sent there"});
  v.field("event_delay_s", o.event_delay_s, not_negative("events: until a report is heard", "s"));
  v.field("index_tokens", o.index_tokens,
          {.meaning = "approximate: remembered of one node, the least recently used leaving first",
           .unit = "tokens",
           .min = 1,
           .max = 1e15,
           .absent = "any number"});
  v.field("index_ttl_s", o.index_ttl_s,
          positive_or_absent("approximate: until what was not sent again is forgotten", "s", "never"));
  v.field("prefix_weight", o.prefix_weight, weight("weighted: of the share of the prompt that lies there"));
  v.field("kv_weight", o.kv_weight, weight("weighted: of the share of KV blocks that nobody holds"));
  v.field("queue_weight", o.queue_weight, weight("weighted: of half of 1 - waiting turns / 128"));
  v.field("no_hit_weight", o.no_hit_weight,
          weight("weighted: of prompts that nobody has going where none went for longest"));
  v.field("gpu_tier_weight", o.gpu_tier_weight, weight("weighted: of what lies on the GPU"));
  v.field("dram_tier_weight", o.dram_tier_weight, weight("weighted: of what lies in DRAM"));
  v.field("far_tier_weight", o.far_tier_weight, weight("weighted: of what lies farther"));
  v.field("overlap_credit", o.overlap_credit, weight("dynamo: of what needs no prefill"));
  v.field("dram_credit", o.dram_credit, weight("dynamo: of that, what lies in DRAM"));
  v.field("far_credit", o.far_credit, weight("dynamo: of that, what lies farther"));
  v.field("prefill_scale", o.prefill_scale,
          weight("dynamo: of tokens to prefill, against those that decode"));
  v.field("temperature", o.temperature, weight("dynamo: 0 takes the cheapest node, more draws one"));
  v.field("cache_threshold", o.cache_threshold,
          {.meaning = "cache_aware: cached share of a prompt above which the router follows the cache",
           .min = 0,
           .max = 1});
  v.field("balance_abs", o.balance_abs,
          {.meaning = "cache_aware: difference of loads up to which the router follows the cache",
           .unit = "turns",
           .min = 0,
           .max = kMaxCount});
  v.field("balance_rel", o.balance_rel,
          {.meaning = "cache_aware: ratio of loads up to which the router follows the cache",
           .min = 1,
           .max = 1e6});
}

static void describe(FieldVisitor& v, PoolOptions& o) {
  v.field("max_num_seqs", o.max_num_seqs,
          {.meaning = "of these nodes",
           .unit = "requests",
           .min = 1,
           .max = kMaxCount,
           .absent = "serving.max_num_seqs"});
  v.field("max_num_batched_tokens", o.max_num_batched_tokens,
          {.meaning = "of these nodes",
           .unit = "tokens",
           .min = 1,
           .max = 1e9,
           .absent = "serving.max_num_batched_tokens"});
}

static void describe(FieldVisitor& v, DisaggregationOptions& o) {
  v.field("prefill_replicas", o.prefill_replicas,
          {.meaning = "nodes that compute prompts, the first ones; the others decode",
           .unit = "nodes",
           .min = 1,
           .max = kMaxReplicas - 1,
           .required = true});
  v.field("transfer", o.transfer,
          {.meaning = "the decode node asks for a prompt's KV once it is computed, or reserves blocks when "
                      "its computation begins and is sent it"});
  v.field("granularity", o.granularity,
          {.meaning = "KV moves when the whole prompt is computed, or (push) each layer as soon as it is"});
  v.field("link", o.link, {.meaning = "what carries KV between nodes: hardware.nic or hardware.nvlink"});
  v.field("lease_s", o.lease_s,
          {.meaning = "pull: KV that nobody has begun to fetch for so long is given up, and the decode node "
                      "computes the prompt itself",
           .unit = "s",
           .min = 0,
           .max = kMaxYears_s,
           .absent = "kept until it is fetched"});
  v.field("prefill", o.prefill,
          {.meaning = "what the nodes that compute prompts set otherwise than serving"});
  v.field("decode", o.decode, {.meaning = "what the nodes that decode set otherwise than serving"});
}

void describe(FieldVisitor& v, FleetOptions& o) {
  v.field(
      "replicas", o.replicas,
      {.meaning = "nodes, each the whole profile and model", .unit = "nodes", .min = 1, .max = kMaxReplicas});
  v.field("routing", o.routing, {.meaning = "which node serves a turn"});
  v.field("router", o.router, {.meaning = "what the router believes and weighs"});
  v.field(
      "load_bound", o.load_bound,
      {.meaning = "prefix_aware: lead over the least loaded node at which what is stored no longer counts",
       .unit = "turns",
       .min = 0,
       .max = kMaxCount});
  v.field("shared_remote", o.shared_remote,
          {.meaning = "the remote tier is one store behind one link for all nodes"});
  v.field("failures", o.failures, {.meaning = "nodes that are lost with what they hold"});
  v.field(
      "disaggregation", o.disaggregation,
      {.meaning = "nodes that compute prompts, and others that decode", .absent = "every node does both"});
}

}  // namespace kvcap
