// The fields of a scenario that belong to no section, and its sections.
#include "scenario/fields/specs.h"

namespace kvcap {

using namespace field_specs;

static void describe(FieldVisitor& v, SloOptions& o) {
  v.field("ttft_ms", o.ttft_ms, positive_or_absent("time to first token", "ms", "not judged"));
  v.field("tpot_ms", o.tpot_ms, positive_or_absent("time per output token", "ms", "not judged"));
}

static void describe(FieldVisitor& v, BillingOptions& o) {
  v.field("storage", o.storage,
          {.meaning = "of tiers whose size nobody chose: all that the profile has, or what the run fills"});
  v.field("whole_servers", o.whole_servers,
          {.meaning = "GPUs are bought in servers of hardware.gpu.per_server"});
  v.field("prices", o.prices,
          {.meaning = "file of prices that take the place of the profile's (kvcap.prices/1); empty: none"});
}

void describe(FieldVisitor& v, Scenario& o) {
  v.schema(kScenarioSchema, true);
  v.field("name", o.name, {.meaning = "how results call the scenario"});
  v.field("kvcap_version", o.kvcap_version,
          {.meaning = "the kvcap that wrote the file; the answer lists defaults that have moved since",
           .absent = "this one"});
  v.field("model", o.model, {.required = true, .reference = "model"});
  v.field("hardware", o.hardware, {.required = true, .reference = "hardware profile"});
  v.field("serving", o.serving, {.meaning = "the engine; names as in vLLM"});
  v.field("fleet", o.fleet, {.meaning = "how many nodes there are, and which serves a turn"});
  v.field("workload", o.workload, {.meaning = "what is asked of it", .required = true});
  v.field("policy", o.policy, {.reference = "policy"});
  v.field("slo", o.slo, {.meaning = "targets that define goodput"});
  v.field("billing", o.billing, {.meaning = "what is paid for, and at whose prices"});
  v.field("fidelity", o.fidelity, {.meaning = "one transfer per tier, or every layer simulated"});
  v.field("replications", o.replications,
          {.meaning = "runs with seeds seed, seed + 1, ...", .min = 1, .max = 10000});
  v.field("seed", o.seed, {.meaning = "of all random streams", .min = 0, .max = kMaxInteger});
}

}  // namespace kvcap
