// Writes the launch line of a scenario.
#include <algorithm>
#include <optional>

#include "base/check.h"
#include "launch/launch_line.h"
#include "launch/line_parts.h"

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

// Adds the flag for 8-bit keys and values.
void add_kv_dtype(const Scenario& scenario, Stack engine, LineParts& parts) {
  if (scenario.model.kv_bytes_per_element != 1) return;
  for (const FlagRow& row : flag_table()) {
    if (row.stack != engine || row.field != "model.kv_bytes_per_element") continue;
    parts.words.push_back(std::string(first_name(row)) + " fp8");
    return;
  }
}

std::optional<LineParts> parts_of(const Scenario& scenario) {
  const Stack engine = stack_of(scenario.serving.engine);
  LineParts parts;
  if (!has_line_for_ranks(scenario, engine)) return std::nullopt;
  if (!add_storage(scenario, engine, parts)) return std::nullopt;
  add_serving(scenario, engine, parts);
  add_kv_dtype(scenario, engine, parts);
  return parts;
}

}  // namespace

// Returns the model's first name on Hugging Face, which engines accept.
static std::string served_name(const ModelSpec& model) {
  return model.hugging_face.empty() ? model.name : model.hugging_face.substr(0, model.hugging_face.find(' '));
}

std::string launch_line_of(const Scenario& scenario, const std::string& model) {
  const std::optional<LineParts> parts = parts_of(scenario);
  if (!parts) return "";
  std::string line;
  for (const std::string& one : parts->variables) line += one + " ";
  line += program_of(scenario.serving.engine) + (model.empty() ? served_name(scenario.model) : model);
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
