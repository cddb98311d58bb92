// Writes the launch line of a scenario.
#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/input_error.h"
#include "launch/launch_line.h"
#include "launch/line_parts.h"
#include "launch/named_model.h"
#include "launch/quantization.h"
#include "launch/state_formats.h"
#include "launch/values.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

using Words = std::vector<std::string>;

Stack stack_of(EngineKind engine) {
  switch (engine) {
    case EngineKind::vllm:
      return Stack::vllm;
    case EngineKind::sglang:
      return Stack::sglang;
    case EngineKind::trtllm:
      return Stack::trtllm;
  }
  KVCAP_BUG("an engine without a stack");
}

std::string program_of(EngineKind engine) {
  switch (engine) {
    case EngineKind::vllm:
      return "vllm serve ";
    case EngineKind::sglang:
      return "python3 -m sglang.launch_server --model-path ";
    case EngineKind::trtllm:
      return "trtllm-serve ";
  }
  KVCAP_BUG("an engine without a program");
}

bool has_line_for_ranks(const Scenario& scenario, Stack engine) {
  if (scenario.serving.data_parallel_size == 1 || engine != Stack::trtllm) return true;
  return divides_gpus(scenario, engine) && scenario.serving.tensor_parallel_size == 1;
}

// Returns the model that an engine loads by this name if no flag changes it; nullopt if the name is unknown.
std::optional<ModelSpec> model_without_flags(const std::string& served) {
  try {
    const NamedModel named = named_model(served);
    ModelSpec model = load_model(named.name);
    if (named.is_8bit) model.weight_bytes_per_element = 1;
    if (named.has_wide_kv) model.kv_bytes_per_element = 2;
    if (named.positions > 0) model.max_position_embeddings = named.positions;
    return model;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// Returns the row of a flag of this engine that sets the field.
const FlagRow* row_of(Stack engine, std::string_view field) {
  for (const FlagRow& row : flag_table()) {
    if (row.stack == engine && row.field == field && row.effect == FlagEffect::sets) return &row;
  }
  return nullptr;
}

// Adds the flags for the states of recurrent layers if their formats differ from those that the engine keeps
// by itself. Returns false if the engine has no flag for a format.
bool add_states(const ModelSpec& model, const ModelSpec& own, Stack engine, LineParts& parts) {
  const auto add = [&](std::string_view field, double bytes) {
    const FlagRow* row = row_of(engine, field);
    const std::optional<std::string_view> word = row ? word_for(*row, number_text(bytes)) : std::nullopt;
    if (word) parts.words.push_back(std::string(first_name(*row)) + " " + std::string(*word));
    return word.has_value();
  };
  for (std::size_t i = 0; i < std::min(model.layer_groups.size(), own.layer_groups.size()); ++i) {
    const std::optional<RecurrentState>& wanted = model.layer_groups[i].recurrent;
    if (!wanted || !own.layer_groups[i].recurrent) continue;
    const RecurrentState before = with_formats(*own.layer_groups[i].recurrent, own, engine);
    StateFlags flags;
    if (wanted->conv_bytes_per_element != before.conv_bytes_per_element)
      flags.conv = wanted->conv_bytes_per_element;
    const RecurrentState kept = with_formats(*own.layer_groups[i].recurrent, own, engine, flags);
    if (flags.conv && !add(kConvBytes, *flags.conv)) return false;
    const bool is_other = wanted->state_bytes_per_element != kept.state_bytes_per_element;
    if (is_other && !add(kStateBytes, wanted->state_bytes_per_element)) return false;
  }
  return true;
}

// Adds the flags for the formats and the context window if they differ from those that the engine reads from
// the checkpoint. Returns false if the engine has no flag for a format.
bool add_model(const Scenario& scenario, Stack engine, LineParts& parts) {
  const std::optional<ModelSpec> own = model_without_flags(served_name(scenario.model));
  const bool has_head_scales = scenario.model.kv_bytes_per_element == per_token_head_bytes(scenario.model);
  const auto add_format = [&](std::string_view field, double bytes, double own_bytes) {
    if (bytes == own_bytes) return true;
    const FlagRow* row = row_of(engine, field);
    const bool is_kv = field == "model.kv_bytes_per_element";
    const std::string value = is_kv && has_head_scales ? std::string(kPerTokenHead) : number_text(bytes);
    const std::optional<std::string_view> word = row ? word_for(*row, value) : std::nullopt;
    if (word) parts.words.push_back(std::string(first_name(*row)) + " " + std::string(*word));
    return word.has_value();
  };
  const ModelSpec& model = scenario.model;
  if (!own) {
    const double kv_bytes = model.kv_bytes_per_element;
    return kv_bytes != 1 || add_format("model.kv_bytes_per_element", kv_bytes, 0);
  }
  const FlagRow* window = row_of(engine, "model.max_position_embeddings");
  if (window && model.max_position_embeddings != own->max_position_embeddings) {
    parts.words.push_back(std::string(first_name(*window)) + " " +
                          std::to_string(model.max_position_embeddings));
  }
  return add_states(model, *own, engine, parts) &&
         add_format("model.weight_bytes_per_element", model.weight_bytes_per_element,
                    own->weight_bytes_per_element) &&
         add_format("model.kv_bytes_per_element", model.kv_bytes_per_element, own->kv_bytes_per_element);
}

// Adds NCCL_P2P_DISABLE=1 if the scenario's GPUs reach each other through host memory but those of its
// profile do not.
void add_peer(const Scenario& scenario, LineParts& parts) {
  if (scenario.hardware.peer != Peer::host) return;
  try {
    if (load_hardware(scenario.hardware.name).peer == Peer::host) return;
  } catch (const InputError&) {
    return;  // the user's own profile, whose file is unknown here
  }
  parts.variables.emplace_back("NCCL_P2P_DISABLE=1");
}

std::optional<LineParts> parts_of(const Scenario& scenario) {
  const Stack engine = stack_of(scenario.serving.engine);
  LineParts parts;
  if (!has_line_for_ranks(scenario, engine)) return std::nullopt;
  if (!add_storage(scenario, engine, parts)) return std::nullopt;
  add_serving(scenario, engine, parts);
  if (!add_model(scenario, engine, parts)) return std::nullopt;
  add_peer(scenario, parts);
  return parts;
}

}  // namespace

std::string served_name(const ModelSpec& model) {
  return model.hugging_face.empty() ? model.name : model.hugging_face.substr(0, model.hugging_face.find(' '));
}

std::string launch_line_of(const Scenario& scenario) {
  const std::optional<LineParts> parts = parts_of(scenario);
  if (!parts) return "";
  std::string line;
  for (const std::string& one : parts->variables) line += one + " ";
  line += program_of(scenario.serving.engine) + served_name(scenario.model);
  for (const std::string& one : parts->words) line += " " + one;
  return line;
}

std::string changed_flags(const Scenario& from, const Scenario& to) {
  const std::optional<LineParts> before = parts_of(from), after = parts_of(to);
  if (!before || !after) return "";
  std::string text;
  const auto add = [&text](const Words& some, const Words& others) {
    for (const std::string& one : some) {
      if (std::find(others.begin(), others.end(), one) != others.end()) continue;
      text += (text.empty() ? "" : " ") + one;
    }
  };
  add(after->variables, before->variables);
  add(after->words, before->words);
  std::string dropped;
  const auto flag_of = [](const std::string& word) { return word.substr(0, word.find_first_of(" =")); };
  const auto drop = [&](const Words& some, const Words& others) {
    for (const std::string& one : some) {
      const bool stays = std::any_of(others.begin(), others.end(), [&](const std::string& other) {
        return flag_of(other) == flag_of(one);
      });
      if (!stays) dropped += (dropped.empty() ? "" : " ") + flag_of(one);
    }
  };
  drop(before->variables, after->variables);
  drop(before->words, after->words);
  if (!dropped.empty()) text += (text.empty() ? "" : ", ") + ("without " + dropped);
  return text;
}

}  // namespace kvcap
