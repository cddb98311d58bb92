#include "commands/show/flags.h"

#include <algorithm>

#include "base/input_error.h"
#include "base/text/format.h"
#include "base/text/print.h"
#include "launch/flags/flags.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFlagColumns = 100;

std::string shown_default(const FlagRow& row) {
  const std::string text = default_text(row);
  return text.empty() ? "none" : text;
}

// Returns how the flag's value is converted to the field's value; "" if the field takes it unchanged.
std::string meaning(const FlagRow& row) {
  switch (row.form) {
    case FlagForm::bytes: {
      const std::string unit = row.unit == 1 ? "bytes" : row.unit > 1073741000 ? "GiB" : "GB";
      if (row.storage == "lmcache_mp") return unit + " of a node";
      return unit + (row.is_per_rank ? " of each GPU" : " of an engine");
    }
    case FlagForm::blocks:
      return "blocks of tokens";
    case FlagForm::words:
    case FlagForm::tier:
    case FlagForm::host_cache:
    case FlagForm::storage:
      return std::string(row.words);
    case FlagForm::ranks:
      return "each rank has its share of the tensor parallel GPUs";
    case FlagForm::present:
      return "the flag alone: " + std::string(row.words);
    case FlagForm::number:
      return row.unit == 1 ? "" : "times " + format_number(row.unit);
    case FlagForm::kv_bytes:
      return "bytes of each GPU, k to T and KiB to TiB";
    case FlagForm::host_blocks:
      return "KV blocks of an engine";
    case FlagForm::quantization:
      return std::string(row.words) + ", or as in the checkpoint";
    case FlagForm::batches:
      return "[[1,64,3],[65,512,0]]: 3 drafts per sequence for batches of 1 to 64, none for larger ones";
    case FlagForm::yaml_file:
      return "a YAML file; its keys are flags";
    case FlagForm::integer:
    case FlagForm::model:
    case FlagForm::text:
    case FlagForm::texts:
    case FlagForm::json:
      break;
  }
  return "";
}

std::vector<const FlagRow*> rows_of(Stack stack, FlagEffect effect) {
  std::vector<const FlagRow*> rows;
  for (const FlagRow& row : flag_table()) {
    const bool is_set = effect != FlagEffect::sets || !row.field.empty();
    if (row.stack == stack && row.effect == effect && is_set) rows.push_back(&row);
  }
  return rows;
}

void print_names(const char* title, Stack stack, FlagEffect effect) {
  std::string names;
  for (const FlagRow* row : rows_of(stack, effect)) names += std::string(row->names) + " ";
  if (names.empty()) return;
  print_format("\n%s:\n", title);
  for (const std::string& line : wrap(names, kFlagColumns - 2)) print_format("  %s\n", line.c_str());
}

void print_stack(Stack stack) {
  for (const FlagRow* row : rows_of(stack, FlagEffect::sets)) {
    print_format("%s\n    %s; default %s\n", std::string(row->names).c_str(), std::string(row->field).c_str(),
                 shown_default(*row).c_str());
    if (const std::string values = meaning(*row); !values.empty()) {
      for (const std::string& line : wrap(values, kFlagColumns - 4)) print_format("    %s\n", line.c_str());
    }
    print_format("    %s\n", std::string(source_text(row->source)).c_str());
  }
  print_names("Known, but not simulated: refused unless --ignore-flags names them", stack,
              FlagEffect::not_simulated);
  print_names("The same, but only for models with several kinds of layers", stack, FlagEffect::of_hybrids);
  print_names("The same, but only for lines that set no maximum sequence length", stack,
              FlagEffect::of_length);
  print_names(
      "Known; they select kernels, graphs or threads, but predicted times assume the engine's own choice",
      stack, FlagEffect::kernels);
  print_names("Known; they affect nothing that is simulated", stack, FlagEffect::none);
}

Json stack_json(Stack stack) {
  Json list = Json::array();
  for (const FlagRow& row : flag_table()) {
    if (row.stack != stack) continue;
    const std::string text = default_text(row);
    constexpr const char* kEffects[] = {"sets",       "none",      "not_simulated",
                                        "of_hybrids", "of_length", "kernels"};
    list.push_back({{"flags", row.names},
                    {"effect", kEffects[static_cast<std::size_t>(row.effect)]},
                    {"field", row.field.empty() ? Json() : Json(row.field)},
                    {"values", meaning(row).empty() ? Json() : Json(meaning(row))},
                    {"default", text.empty() ? Json() : Json(text)},
                    {"source", source_text(row.source)}});
  }
  return list;
}

}  // namespace

void show_flags(const std::string& stack, bool json) {
  const auto* found = std::find(std::begin(kStackNames), std::end(kStackNames), stack);
  if (!stack.empty() && found == std::end(kStackNames)) {
    throw InputError("show flags: found \"" + stack + "\", allowed: vllm, sglang, trtllm, lmcache, dynamo" +
                     suggestion(stack, kStackNames));
  }
  if (!stack.empty()) {
    const auto which = static_cast<Stack>(found - std::begin(kStackNames));
    if (json) {
      print_format("%s\n", stack_json(which).dump(2).c_str());
    } else {
      print_stack(which);
    }
    return;
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < std::size(kStackNames); ++i) {
    const std::size_t count = rows_of(static_cast<Stack>(i), FlagEffect::sets).size();
    list.push_back({{"name", kStackNames[i]}, {"flags_that_set_a_field", count}});
    if (!json) print_format("%-10s %zu flags set a field\n", std::string(kStackNames[i]).c_str(), count);
  }
  if (json) print_format("%s\n", list.dump(2).c_str());
}

std::vector<std::string> policy_flag_lines(std::string_view policy) {
  std::vector<std::string> lines;
  for (const FlagRow* row : flags_of_policy(policy)) {
    lines.push_back(std::string(first_name(*row)) + ": " + std::string(row->field) + "; default " +
                    shown_default(*row) + "; " + std::string(source_text(row->source)));
  }
  return lines;
}

}  // namespace kvcap
