// The top-level fields of a scenario, its latency targets and its billing.
#include "scenario/fields/specs.h"

namespace kvcap {

using namespace field_specs;

static void describe(FieldVisitor& v, SloOptions& o) {
  v.field("ttft_ms", o.ttft_ms, positive_or_absent("time to first token", "ms", "not judged"));
  v.field("tpot_ms", o.tpot_ms, positive_or_absent("time per output token", "ms", "not judged"));
}

static void describe(FieldVisitor& v, BillingOptions& o) {
  v.field("storage", o.storage,
          {.meaning = "billed size of tiers without a given size: the profile's capacity (provisioned), or "
                      "the size that the run fills (filled)"});
  v.field("unsized_tiers", o.unsized_tiers,
          {.meaning = "tiers whose hardware has the profile's size, as a result's scenario states them: dram,ssd",
           .absent = "those whose size is the profile's"});
  v.field("whole_servers", o.whole_servers,
          {.meaning = "whole servers of hardware.gpu.per_server GPUs are billed"});
  v.field("prices", o.prices,
          {.meaning = "file with prices that replace the profile's (kvcap.prices/1); empty: none"});
}

void describe(FieldVisitor& v, Scenario& o) {
  v.schema(kScenarioSchema, true);
  v.field("name", o.name, {.meaning = "name in results"});
  v.field("kvcap_version", o.kvcap_version,
          {.meaning = "version of kvcap that wrote the file; the result lists defaults that changed since",
           .absent = "this version"});
  v.field("model", o.model, {.required = true, .reference = "model"});
  v.field("hardware", o.hardware, {.required = true, .reference = "hardware profile"});
  v.field("serving", o.serving, {.meaning = "serving engine; names as in vLLM"});
  v.field("fleet", o.fleet, {.meaning = "nodes and routing"});
  v.field("workload", o.workload, {.meaning = "sessions and their arrivals", .required = true});
  v.field("policy", o.policy, {.reference = "policy"});
  v.field("slo", o.slo, {.meaning = "latency targets, which define goodput"});
  v.field("billing", o.billing, {.meaning = "billed capacity and prices"});
  v.field(
      "fidelity", o.fidelity,
      {.meaning = "request: one transfer per tier; layer: every layer is simulated, as always for policies "
                  "whose read buffer (policy.read_buffer_layers) has fewer layers than the model"});
  v.field("replications", o.replications,
          {.meaning = "number of runs, with seeds seed, seed + 1, ...", .min = 1, .max = 10000});
  v.field("seed", o.seed, {.meaning = "seed of all random streams", .min = 0, .max = kMaxInteger});
}

}  // namespace kvcap
