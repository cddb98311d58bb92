#include "whatif/whatif.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "base/input_error.h"
#include "policy/group_rules.h"
#include "policy/table.h"
#include "run/engine_memory.h"
#include "run/machine.h"
#include "scenario/load.h"
#include "spec/tiers.h"
#include "whatif/installed_engine.h"
#include "whatif/lone_context.h"
#include "whatif/memory_use.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostTokens = 100'000'000;
constexpr int64_t kMostGpus = 1024;
constexpr std::size_t kMostValues = 64;

[[noreturn]] void refuse(const std::string& member, const Json& found, const std::string& allowed) {
  // Lists and objects are not printed, because they may be of any size and depth.
  const std::string text = found.is_structured() ? "an " + std::string(found.type_name())
                                                 : found.dump(-1, ' ', false, Json::error_handler_t::replace);
  throw InputError(member + ": found " + text + ", allowed: " + allowed);
}

std::string text_member(const Json& question, const char* member, const char* usual = nullptr) {
  const auto found = question.find(member);
  if (found != question.end() && found->is_string()) return found->get<std::string>();
  if (found == question.end() && usual) return usual;
  refuse(member, found == question.end() ? Json("nothing") : *found, "a text");
}

std::optional<int64_t> count_member(const Json& question, const char* member, int64_t most) {
  const auto found = question.find(member);
  if (found == question.end() || found->is_null()) return std::nullopt;
  const bool is_count = found->is_number() && found->get<double>() >= 1 &&
                        found->get<double>() <= static_cast<double>(most) &&
                        found->get<double>() == static_cast<double>(found->get<int64_t>());
  if (!is_count) refuse(member, *found, "1 to " + std::to_string(most));
  return found->get<int64_t>();
}

std::vector<std::string> texts_member(const Json& question, const char* member) {
  const auto found = question.find(member);
  if (found == question.end()) return {};
  const auto is_text = [](const Json& one) { return one.is_string(); };
  if (!found->is_array() || !std::all_of(found->begin(), found->end(), is_text)) {
    refuse(member, *found, "a list of texts");
  }
  return found->get<std::vector<std::string>>();
}

// The bandwidth that limits loads from a tier: its field and the profile's value.
struct TierLink {
  const char* path;
  double bytes_per_s;
};

TierLink tier_link(const HardwareProfile& profile, Tier tier) {
  if (tier == Tier::ssd) {
    return {"hardware.ssd.read_bandwidth_bytes_per_s", profile.ssd->read_bandwidth_bytes_per_s};
  }
  if (tier == Tier::remote) {
    return {"hardware.remote.bandwidth_bytes_per_s", profile.remote->bandwidth_bytes_per_s};
  }
  if (tier == Tier::cxl) {
    return {"hardware.cxl.read_bandwidth_bytes_per_s",
            profile.devices[index(tier)]->read_bandwidth_bytes_per_s};
  }
  return {"hardware.pcie.h2d_bandwidth_bytes_per_s", profile.pcie.h2d_bandwidth_bytes_per_s};
}

Json tiers_json(const HardwareProfile& profile) {
  Json tiers = Json::array();
  for (Tier tier : kHostTiers) {
    if (!has_tier(profile, tier)) continue;
    const TierLink link = tier_link(profile, tier);
    tiers.push_back(
        {{"name", name(tier)}, {"bandwidth_path", link.path}, {"bandwidth_bytes_per_s", link.bytes_per_s}});
  }
  return tiers;
}

Json catalogue_answer() {
  Json models = Json::array(), hardware = Json::array(), policies = Json::array();
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) models.push_back(entry.name);
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) {
    const HardwareProfile profile = load_hardware(std::string(entry.name));
    hardware.push_back({{"name", entry.name},
                        {"gpu", profile.gpu.name},
                        {"gpus", profile.gpu.count},
                        {"tiers", tiers_json(profile)}});
  }
  for (const PolicyRow& row : policy_table()) {
    policies.push_back({{"name", row.name}, {"summary", row.summary}});
  }
  return {{"kvcap_version", KVCAP_VERSION},
          {"models", models},
          {"hardware", hardware},
          {"engines", kEngineNames},
          {"policies", policies}};
}

// Returns the sizes of the model, with the keys that kvcap show models uses.
Json sizes_json(const ModelSpec& model, int64_t tokens) {
  return {{"weight_bytes", model.weight_bytes()},
          {"kv_bytes_per_token", model.kv_bytes_per_token()},
          {"window_bytes", model.window_bytes(tokens)},
          {"recurrent_state_bytes", model.recurrent_state_bytes()},
          {"max_position_embeddings", model.max_position_embeddings}};
}

// Returns how many sequences of `tokens` tokens fit one engine at once.
double contexts_at_once(const Scenario& scenario, int64_t tokens, const GpuMemory& memory) {
  const ServingOptions& serving = scenario.serving;
  const int64_t held =
      kv_layout(scenario).most_blocks(tokens, serving.max_num_batched_tokens, serving.recurrent_checkpoints);
  return static_cast<double>(memory.blocks) / static_cast<double>(std::max<int64_t>(1, held));
}

Json memory_answer(const Json& question) {
  const Scenario scenario = installed_scenario({.model = text_member(question, "model"),
                                                .hardware = text_member(question, "hardware"),
                                                .engine = text_member(question, "engine", "vllm"),
                                                .gpus = count_member(question, "gpus", kMostGpus)});
  const int64_t tokens = count_member(question, "tokens", kMostTokens).value_or(4096);
  const MemoryUse use = memory_use(scenario);
  return {{"memory", Json::parse(memory_json(use))},
          {"max_model_len", scenario.serving.max_model_len.value_or(0)},
          {"contexts", contexts_at_once(scenario, tokens, use.memory)},
          {"sizes", sizes_json(scenario.model, tokens)}};
}

LoneContext context_of(const Json& question) {
  return {.model = text_member(question, "model"),
          .hardware = text_member(question, "hardware"),
          .gpus = count_member(question, "gpus", kMostGpus),
          .tokens = count_member(question, "tokens", kMostTokens).value_or(4096),
          .new_tokens = count_member(question, "new_tokens", kMostTokens).value_or(64),
          .tier = text_member(question, "tier", ""),
          .overrides = texts_member(question, "set")};
}

std::vector<std::string> policies_of_question(const Json& question) {
  const std::span<const std::string_view> names = policy_names();
  std::vector<std::string> policies = texts_member(question, "policies");
  if (policies.empty()) policies.assign(names.begin(), names.end());
  for (const std::string& one : policies) {
    if (std::find(names.begin(), names.end(), one) != names.end()) continue;
    throw InputError("policies: found \"" + one + "\", allowed: a policy" + suggestion(one, names));
  }
  return policies;
}

// Returns the closed form of one policy, or the reason why the policy cannot restore this context.
Json policy_answer(const LoneContext& asked, const std::string& policy) {
  try {
    const Scenario scenario = lone_scenario(asked, policy);
    const Machine machine(scenario, asked.tokens, asked.tokens);
    require_room(asked, machine, policy);
    return closed_form_entry(asked, machine, scenario);
  } catch (const InputError& error) {
    return {{"policy", policy}, {"refusal", error.what()}};
  }
}

Json restore_answer(const Json& question) {
  const LoneContext asked = context_of(question);
  // Loading this scenario throws InputError for bad names and values in the question. Later errors concern
  // single policies, and their entries state them.
  const Scenario scenario = lone_scenario(asked, "ideal");
  Json policies = Json::array();
  for (const std::string& one : policies_of_question(question)) policies.push_back(policy_answer(asked, one));
  return {{"model", scenario.model.name},
          {"hardware", scenario.hardware.name},
          {"tokens", asked.tokens},
          {"new_tokens", asked.new_tokens},
          {"tier", name(scenario.policy.tiers->front().kind)},
          {"policies", policies}};
}

struct WhatifAxis {
  std::string path;
  std::vector<double> values;
};

WhatifAxis axis_of(const Json& question, const char* member) {
  const auto found = question.find(member);
  if (found == question.end() || !found->is_object()) refuse(member, "nothing", "{\"path\", \"values\"}");
  WhatifAxis axis{.path = text_member(*found, "path"), .values = {}};
  const auto values = found->find("values");
  const auto is_number = [](const Json& one) { return one.is_number(); };
  if (values == found->end() || !values->is_array() || values->size() > kMostValues ||
      !std::all_of(values->begin(), values->end(), is_number)) {
    refuse(member, *found, "at most " + std::to_string(kMostValues) + " numbers as \"values\"");
  }
  axis.values = values->get<std::vector<double>>();
  return axis;
}

// Returns the context with the field or length that `axis` names set to the axis's i-th value.
LoneContext moved(LoneContext asked, const WhatifAxis& axis, std::size_t i) {
  const bool is_length = axis.path == "tokens" || axis.path == "new_tokens";
  if (is_length && !(axis.values[i] >= 1 && axis.values[i] <= static_cast<double>(kMostTokens))) {
    refuse(axis.path, axis.values[i], "1 to " + std::to_string(kMostTokens));
  }
  const auto tokens = static_cast<int64_t>(axis.values[i]);
  if (axis.path == "tokens") {
    asked.tokens = tokens;
  } else if (axis.path == "new_tokens") {
    asked.new_tokens = tokens;
  } else {
    asked.overrides.push_back(axis.path + "=" + Json(axis.values[i]).dump());
  }
  return asked;
}

// Returns the closed-form TTFT of each policy; null for a policy that cannot restore the context.
Json cell_json(const LoneContext& asked, const std::vector<std::string>& policies) {
  Json times = Json::array();
  for (const std::string& one : policies) {
    const Json entry = policy_answer(asked, one);
    times.push_back(entry.contains("refusal") ? Json()
                                              : Json(entry["closed_form_restore_s"].get<double>() +
                                                     entry["prefill_s"].get<double>()));
  }
  return times;
}

Json break_even_answer(const Json& question) {
  const LoneContext asked = context_of(question);
  const std::vector<std::string> policies = policies_of_question(question);
  const WhatifAxis across = axis_of(question, "across"), down = axis_of(question, "down");
  lone_scenario(asked, "ideal");
  Json rows = Json::array();
  for (std::size_t r = 0; r < down.values.size(); ++r) {
    Json row = Json::array();
    for (std::size_t c = 0; c < across.values.size(); ++c) {
      row.push_back(cell_json(moved(moved(asked, down, r), across, c), policies));
    }
    rows.push_back(row);
  }
  return {{"policies", policies}, {"rows", rows}};
}

Json answer(std::string_view text) {
  constexpr int kDeepest = 8;
  const auto is_flat = [](int depth, Json::parse_event_t, const Json&) {
    if (depth > kDeepest) throw InputError("question: found more than 8 levels, allowed: a question");
    return true;
  };
  const Json question = Json::parse(text, is_flat, false);
  if (!question.is_object()) throw InputError("question: found no JSON object, allowed: {\"ask\": ...}");
  const std::string ask = text_member(question, "ask");
  if (ask == "catalogue") return catalogue_answer();
  if (ask == "memory") return memory_answer(question);
  if (ask == "restore") return restore_answer(question);
  if (ask == "break_even") return break_even_answer(question);
  refuse("ask", ask, "catalogue, memory, restore, break_even");
}

std::string one_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string whatif_answer(std::string_view question) {
  try {
    return one_line(answer(question));
  } catch (const InputError& error) {
    return one_line({{"error", error.what()}});
  }
}

}  // namespace kvcap
