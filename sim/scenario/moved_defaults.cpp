#include "scenario/moved_defaults.h"

#include <algorithm>
#include <array>

#include "base/text/note.h"
#include "policy/table.h"
#include "scenario/load.h"
#include "spec/engine_version.h"

namespace kvcap {
namespace {

bool is_vllm(const Scenario& scenario) { return scenario.serving.engine == EngineKind::vllm; }

bool routes_as_llm_d(const Scenario& scenario) {
  return scenario.fleet.routing == Routing::weighted && scenario.fleet.replicas > 1;
}

bool stores_in_unsized_tier(const Scenario& scenario) {
  const PolicyOptions options = with_preset(scenario.policy);
  const std::vector<Tier> unsized = unsized_tiers(scenario);
  return *options.keep != Keep::none &&
         std::any_of(unsized.begin(), unsized.end(), [&](Tier tier) {
           return !options.tiers || std::any_of(options.tiers->begin(), options.tiers->end(),
                                                [tier](const TierOptions& one) { return one.kind == tier; });
         });
}

constexpr std::array kMoved = {
    MovedDefault{
        "0.2.0", "serving.host_times", "none", "engine",
        "TTFT rises by about 6 ms per request and 2.5 ms per 1,000 tokens of its prompt, steps of vLLM "
        "before 0.14 by 4.5 ms",
        [](const Scenario& s) { return s.serving.host_times == HostTimes::engine; }},
    MovedDefault{"0.2.0", "serving.sampling", R"({"temperature":0})", "the model's sampling",
                 "top_k and top_p filter logits: 0.05 to 0.8 ms per step at batches of 64",
                 [](const Scenario& s) {
                   const std::optional<Sampling>& sampling = s.serving.sampling;
                   return sampling && sampling->filters();
                 }},
    MovedDefault{"0.2.0", "serving.mixed_attention", "two_calls", "one_call",
                 "steps that combine prompts with long contexts change by a few per cent",
                 [](const Scenario& s) {
                   return is_vllm(s) && s.serving.mixed_attention == MixedAttention::one_call;
                 }},
    MovedDefault{
        "0.2.0", "serving.one_token_slices", "prefill", "decode",
        "prompts that hit completely start a few ms earlier",
        [](const Scenario& s) { return is_vllm(s) && s.serving.one_token_slices == OneTokenSlices::decode; }},
    MovedDefault{"0.2.0", "serving.engine_version", "0.19", "0.30",
                 "FlashInfer filters logits, in a quarter of the time of Triton's kernel", is_vllm},
    MovedDefault{"0.2.0", "serving.engine_version", "0.19", "1.0",
                 "steps of TensorRT-LLM take 2.3 ms plus 65 us per sequence longer, its kernels 11 %",
                 [](const Scenario& s) { return s.serving.engine == EngineKind::trtllm; }},
    MovedDefault{"0.2.0", "serving.kv_capacity_model", "simple", "static_share",
                 "SGLang's KV capacity is about 14 % smaller",
                 [](const Scenario& s) {
                   return s.serving.kv_capacity_model == KvCapacityModel::static_share &&
                          !s.serving.kv_capacity_tokens;
                 }},
    MovedDefault{"0.2.0", "policy.name", "hcache", "recompute",
                 "without a policy the engine has only its own prefix cache",
                 [](const Scenario& s) { return s.policy.name == "recompute"; }},
    MovedDefault{"0.2.0", "policy.polled_loads", "false", "true",
                 "a request whose context is loaded while other requests run starts one or two steps later",
                 [](const Scenario& s) { return with_preset(s.policy).polled_loads.value_or(false); }},
    MovedDefault{"0.2.0", "policy.prefetch_on_arrival", "none", "at_lookup",
                 "contexts below DRAM are moved to DRAM first, a step after the request has been looked up",
                 [](const Scenario& s) {
                   const PolicyOptions options = with_preset(s.policy);
                   return options.prefetch_on_arrival == PrefetchOnArrival::at_lookup && options.tiers &&
                          options.tiers->size() > 1;
                 }},
    MovedDefault{"0.2.0", "policy.prefetch_on_arrival", "best_effort", "timeout",
                 "requests wait for HiCache's prefetch to DRAM, and farther tiers have hits",
                 [](const Scenario& s) {
                   const PolicyOptions options = with_preset(s.policy);
                   return options.prefetch_on_arrival == PrefetchOnArrival::timeout && options.tiers &&
                          options.tiers->size() > 1;
                 }},
    MovedDefault{
        "0.2.0", "hardware.peer", "direct", "host",
        "collectives between GPUs without NVLink are slower, with an error of a factor of two",
        [](const Scenario& s) { return !s.hardware.nvlink && !s.hardware.peer && s.serving.gpus() > 1; }},
    MovedDefault{"0.2.0", "fleet.router.queue_score", "load_aware", "min_max",
                 "a node with a longer queue than others loses prompts whose prefix it holds",
                 routes_as_llm_d},
    MovedDefault{"0.2.0", "fleet.router.queue_weight", "1", "2", "queues weigh more", routes_as_llm_d},
    MovedDefault{"0.2.0", "fleet.router.kv_weight", "1", "2", "free KV blocks weigh more", routes_as_llm_d},
    MovedDefault{"0.2.0", "fleet.router.prefix_weight", "2", "3", "hits weigh more", routes_as_llm_d},
    MovedDefault{"0.2.0", "fleet.router.no_hit_weight", "0", "2", "prompts without hits are spread evenly",
                 routes_as_llm_d},
    MovedDefault{"0.2.0", "fleet.router.metrics_period_s", "0", "0.05",
                 "the router knows queues and KV usage as of the last multiple of 50 ms", routes_as_llm_d},
    MovedDefault{"0.2.0", "billing.storage", "provisioned", "filled",
                 "tiers without a given size are billed by what the run fills", stores_in_unsized_tier}};

bool is_given(const Json& given, std::string_view field) {
  const Json* node = &given;
  for (std::string_view rest = field; !rest.empty();) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const auto found = node->find(rest.substr(0, dot));
    if (!node->is_object() || found == node->end()) return false;
    node = &*found;
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  return !node->is_null();
}

// Puts a value that contains double quotes into single quotes for a shell.
std::string quoted(std::string_view value) {
  return value.find('"') == std::string_view::npos ? std::string(value) : "'" + std::string(value) + "'";
}

std::string note_of(const MovedDefault& row, const std::string& written_by) {
  const std::string field(row.field);
  return noted(NoteKind::moved_default, written_by) + ": " + field + " is " + std::string(row.to) + ", was " +
         std::string(row.from) + "; " + std::string(row.effect) + "; --set " + field + "=" +
         quoted(row.from) + " restores it";
}

}  // namespace

std::span<const MovedDefault> moved_defaults() { return kMoved; }

std::vector<std::string> notes_of_moved_defaults(const Scenario& scenario, const Json& given) {
  const std::optional<EngineVersion> written_by =
      scenario.kvcap_version ? parse_engine_version(*scenario.kvcap_version) : std::nullopt;
  std::vector<std::string> notes;
  if (!written_by) return notes;
  if (*written_by > parse_engine_version(KVCAP_VERSION)) {
    notes.push_back(noted(NoteKind::newer_scenario, *scenario.kvcap_version) +
                    ", this is " KVCAP_VERSION ": its defaults may be different");
  }
  for (const MovedDefault& row : kMoved) {
    if (*written_by >= parse_engine_version(row.version) || is_given(given, row.field)) continue;
    if (row.concerns(scenario)) notes.push_back(note_of(row, *scenario.kvcap_version));
  }
  return notes;
}

std::string moved_defaults_markdown() {
  std::string text = "| since | field | was | is | what it does |\n| --- | --- | --- | --- | --- |\n";
  for (const MovedDefault& row : kMoved) {
    for (const std::string& cell :
         {std::string(row.version), "`" + std::string(row.field) + "`", "`" + std::string(row.from) + "`",
          "`" + std::string(row.to) + "`", std::string(row.effect)}) {
      text += "| " + cell + " ";
    }
    text += "|\n";
  }
  return text;
}

}  // namespace kvcap
