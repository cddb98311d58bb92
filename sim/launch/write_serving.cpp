// Writes the flags for the fields of `serving`.
#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <variant>

#include "launch/line_parts.h"
#include "launch/values.h"

namespace kvcap {
namespace {

// Returns nullptr if the path does not exist or is null.
const Json* at(const Json& json, std::string_view path) {
  const Json* node = &json;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const auto found = node->is_object() ? node->find(std::string(path.substr(0, dot))) : node->end();
    if (!node->is_object() || found == node->end() || found->is_null()) return nullptr;
    node = &*found;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

bool is_default(const FlagRow& row, double number) {
  const DefaultValue value = default_value(row);
  const auto* integer = std::get_if<int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  return (integer && static_cast<double>(*integer) == number) || (real && *real == number);
}
bool is_default(const FlagRow& row, std::string_view word) {
  return default_value(row) == DefaultValue(word);
}

// Returns the flag, with its value, for a field of `serving`; nullopt if the value is the engine's default.
std::optional<std::string> serving_flag(const FlagRow& row, const Json& serving_of_line,
                                        const Scenario& scenario) {
  const Json& value = *at(serving_of_line, row.field);
  const std::string flag(first_name(row)), text = plain_text(value);
  switch (row.form) {
    case FlagForm::present:
      if (std::get<bool>(default_value(row))) {
        return text == row.words ? std::nullopt : std::optional("--no-" + flag.substr(2));
      }
      return text == row.words ? std::optional(flag) : std::nullopt;
    case FlagForm::words: {
      const std::optional<std::string_view> word = word_for(row, text);
      if (!word || is_default(row, *word)) return std::nullopt;
      // The word "*" is written as the number of the line's GPUs.
      return flag + " " +
             (*word == "*" ? plain_text(*at(serving_of_line, "serving.tensor_parallel_size"))
                           : std::string(*word));
    }
    case FlagForm::blocks:
      return flag + " " + std::to_string(value.get<int64_t>() / scenario.serving.block_size);
    case FlagForm::integer:
    case FlagForm::number:
      if (is_default(row, value.get<double>() / row.unit)) return std::nullopt;
      if (row.unit != 1) return flag + " " + number_json(value.get<double>() / row.unit);
      if (row.field == "serving.max_model_len" && value == scenario.model.max_position_embeddings) {
        return std::nullopt;
      }
      return flag + " " + text;
    default:
      return std::nullopt;
  }
}

// Returns the flag that sets the sampling if it differs from the model's generation_config.json.
std::optional<std::string> sampling_flag(const Scenario& scenario, Stack engine) {
  const Sampling own = scenario.model.sampling.value_or(Sampling{});
  Sampling ours = scenario.serving.sampling.value_or(own);
  ours.method = own.method;  // the engine chooses the method
  if (ours == own || engine == Stack::trtllm) return std::nullopt;
  if (!ours.filters())
    return engine == Stack::vllm ? "--generation-config vllm" : "--sampling-defaults openai";
  if (engine != Stack::vllm) return std::nullopt;
  const Json json = {{"temperature", ours.temperature}, {"top_k", ours.top_k}, {"top_p", ours.top_p}};
  return "--override-generation-config '" + json.dump() + "'";
}

// Returns the engine's word for the draft method. MTP layers of the model's own checkpoint and draft heads of
// another checkpoint are simulated alike, but engines name them differently.
std::string_view method_word(const FlagRow& row, const SpeculativeOptions& options) {
  const bool is_own = !options.draft_layers;
  for (const Word& one : words_of(row.words)) {
    const bool is_mtp = lower_case(one.word) == "mtp" || lower_case(one.word) == "nextn";
    if (options.method == DraftMethod::layers && is_own && is_mtp) return one.word;
  }
  return word_for(row, kDraftMethodNames[static_cast<std::size_t>(options.method)]).value();
}

// Returns the name of the drafter's checkpoint for its flag; nullopt if the model drafts with its own layers.
// The result for draft heads is a placeholder, because no catalogue lists their names.
std::optional<std::string> drafter_name(const SpeculativeOptions& options) {
  if (options.draft_model) return served_name(*options.draft_model);
  return options.draft_layers ? std::optional<std::string>("DRAFT_HEAD") : std::nullopt;
}

std::optional<std::string> batches_flag(const std::string& flag, const Scenario& scenario) {
  const std::vector<DraftsOfBatch>& rows = scenario.serving.speculative->drafts_by_batch;
  if (rows.empty()) return std::nullopt;
  Json json = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int64_t first = rows[i].from_sequences;
    const int64_t last =
        i + 1 < rows.size() ? rows[i + 1].from_sequences - 1 : std::max(first, scenario.serving.max_num_seqs);
    json.push_back({first, last, std::min(rows[i].draft_tokens, scenario.serving.speculative->draft_tokens)});
  }
  return flag + " '" + json.dump() + "'";
}

std::optional<std::string> speculative_flag(const FlagRow& row, const Json& json, const Scenario& scenario) {
  if (!scenario.serving.speculative) return std::nullopt;
  const std::string flag(first_name(row));
  if (row.field.ends_with(".method"))
    return flag + " " + std::string(method_word(row, *scenario.serving.speculative));
  if (row.form == FlagForm::batches) return batches_flag(flag, scenario);
  if (!row.field.ends_with(".draft_model")) return serving_flag(row, json, scenario);
  const std::optional<std::string> name = drafter_name(*scenario.serving.speculative);
  return name ? std::optional(flag + " " + *name) : std::nullopt;
}

}  // namespace

bool divides_gpus(const Scenario& scenario, Stack engine) {
  const bool shares_experts = scenario.serving.data_parallel_size > 1 && scenario.model.experts.has_value();
  return shares_experts && engine != Stack::vllm;
}
std::string plain_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void add_serving(const Scenario& scenario, Stack engine, LineParts& parts) {
  Json json = Json::parse(scenario.resolved_json);
  const int64_t ranks = divides_gpus(scenario, engine) ? scenario.serving.data_parallel_size : 1;
  constexpr int64_t kWholePrompts = -1;  // of --chunked-prefill-size
  if (engine == Stack::sglang && !scenario.serving.chunked_prefill) {
    json["serving"]["max_num_batched_tokens"] = kWholePrompts;
  }
  if (ranks > 1) {
    Json& serving = json["serving"];
    serving["tensor_parallel_size"] = ranks * scenario.serving.tensor_parallel_size;
    if (engine == Stack::sglang && scenario.serving.chunked_prefill) {
      serving["max_num_batched_tokens"] = ranks * scenario.serving.max_num_batched_tokens;
    }
  }
  std::set<std::string_view> written;  // fields whose flag is written, as several flags may set one field
  for (const FlagRow& row : flag_table()) {
    const bool is_plain = row.stack == engine && row.effect == FlagEffect::sets &&
                          row.field.starts_with("serving.") && row.names.starts_with("--") &&
                          !row.field.starts_with("serving.sampling");
    if (!is_plain) continue;
    if (row.field.starts_with("serving.speculative.")) {
      if (const auto flag = speculative_flag(row, json, scenario)) parts.words.push_back(*flag);
      continue;
    }
    if (!at(json, row.field)) continue;
    if (row.form == FlagForm::ranks) {
      if (ranks > 1) parts.words.push_back(std::string(first_name(row)) + (row.words.empty() ? "" : " true"));
    } else if (const std::optional<std::string> flag = serving_flag(row, json, scenario)) {
      if (written.insert(row.field).second) parts.words.push_back(*flag);
    }
  }
  if (const std::optional<std::string> flag = sampling_flag(scenario, engine)) parts.words.push_back(*flag);
}

}  // namespace kvcap
