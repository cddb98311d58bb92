// Joins the parts of the flag table, and lists the source files of its rows.
#include <array>
#include <vector>

#include "engine/versions/engines.h"
#include "launch/flags/flag_rows.h"
#include "launch/line_parts.h"
#include "launch/stack_tiers.h"
#include "launch/values.h"
#include "policy/table.h"

namespace kvcap {
namespace {

struct Source {
  std::string_view key, text;
};
constexpr Source kSources[] = {
    {"v-args", "vllm/engine/arg_utils.py (vllm#17885)"},
    {"t-evict", "TensorRT-LLM cpp/tensorrt_llm/batch_manager/evictionPolicy.cpp@05a9191"},
    {"v-cadence", "vllm/config/scheduler.py (vllm#44558)"},
    {"v-dsd", "vllm docs/features/speculative_decoding/dynamic_speculative_decoding.md@015a47e"},
    {"v-kv",
     "vllm/config/cache.py@002f10e, v1/kv_cache_interface.py@001cabc; fp8_inc since 0.10, per token and head "
     "since 0.20 (vllm#38378), nvfp4 since 0.21 (vllm#40177)"},
    {"v-backend",
     "vllm/config/vllm.py; lmcache means LMCacheMPConnector since 0.23 (vllm#42865), LMCacheConnectorV1 "
     "before"},
    {"v-apc", "vllm docs/design/prefix_caching.md@01ff8bf"},
    {"v-schedcfg", "vllm/config/scheduler.py@1f8758d"},
    {"v-queue", "vllm/v1/engine/async_llm.py (vllm#49445, since vllm 0.29)"},
    {"v-states", "vllm/model_executor/layers/mamba/mamba_utils.py@02d7108"},
    {"v-hyb", "vllm docs/design/hybrid_kv_cache_manager.md@1153c0c"},
    {"v-off", "vllm docs/features/kv_offloading_usage.md@0078e9d; GiB: vllm/config/vllm.py"},
    {"v-offcode", "vllm/v1/kv_offload/cpu/manager.py@0358cbb, offloading/scheduler.py@0072b0b"},
    {"v-offspec", "vllm/v1/kv_offload/cpu.py (vllm 0.11)"},
    {"v-simple", "vllm/v1/simple_kv_offload/manager.py@0268d82, simple_cpu_offload_connector.py@040c343"},
    {"v-mc", "vllm docs/features/mooncake_store_connector_usage.md@01529cf"},
    {"l-cfg", "LMCache docs/source/api_reference/configurations.rst@0223da8"},
    {"l-async", "LMCache async_loading.rst@19e9790"},
    {"l-mp", "LMCache docs/source/mp/configuration.rst@0039822; GiB: lmcache/v1/distributed/config.py"},
    {"l-adapter", "LMCache vllm_v1_adapter.py@0043281"},
    {"d-guide", "dynamo docs/components/kvbm/kvbm-guide.md@04521f4"},
    {"d-args", "dynamo components/src/dynamo/*/backend_args.py@0a6a115"},
    {"d-off", "dynamo lib/llm/src/block_manager/offload.rs@003b9e2"},
    {"s-args", "sglang docs/advanced_features/server_arguments.md@004813e"},
    {"s-states", "sglang/srt/configs/mamba_utils.py"},
    {"s-hrc", "sglang hiradix_cache.py@263bc85"},
    {"nccl-env", "NCCL user guide, Environment Variables (NCCL 2.27)"},
    {"t-kv", "TensorRT-LLM docs/source/features/kvcache.md@0076e93"},
    {"t-ifb", "TensorRT-LLM paged-attention-ifb-scheduler.md@0c6a62a"},
    {"t-serve", "TensorRT-LLM tensorrt_llm/commands/serve.py, llmapi/llm_args.py"},
};

std::vector<FlagRow> all_rows() {
  std::vector<FlagRow> rows;
  for (const std::span<const FlagRow> part :
       {vllm_flags(), kv_store_flags(), sglang_flags(), trtllm_flags()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  for (const FlagRow& row : known_flags()) rows.push_back(row);
  return rows;
}

// Returns the `serving` object of a scenario that has the default options of an engine's server.
Json server_json(Stack engine, const Gpu& gpu) {
  Scenario scenario;
  scenario.serving = server_options(static_cast<EngineKind>(engine), gpu);
  return write_scenario(scenario).at("serving");
}

// Returns the server's default on a large GPU, or on a small one.
DefaultValue server_value(const FlagRow& row, bool is_large) {
  static const std::vector<std::array<Json, 2>> servers = [] {
    std::vector<std::array<Json, 2>> all;
    for (Stack engine : {Stack::vllm, Stack::sglang, Stack::trtllm}) {
      all.push_back({server_json(engine, {.memory_bytes = 0}),
                     server_json(engine, {.memory_bytes = kVllmLargeGpu_gib * kGibBytes})});
    }
    return all;
  }();
  const Json& server = servers.at(static_cast<std::size_t>(row.stack)).at(is_large ? 1 : 0);
  const Json& value = server.at(std::string(row.field.substr(row.field.find('.') + 1)));
  if (row.form == FlagForm::present) return plain_text(value) == row.words;
  if (row.form == FlagForm::words) return word_for(row, plain_text(value)).value();
  if (row.unit == 1 && value.is_number_integer()) return value.get<int64_t>();
  return value.get<double>() / row.unit;
}

std::string value_text(const DefaultValue& value) {
  struct Text {
    std::string operator()(std::monostate) { return ""; }
    std::string operator()(bool on) { return on ? "on" : "off"; }
    std::string operator()(int64_t integer) { return std::to_string(integer); }
    std::string operator()(double number) { return number_json(number); }
    std::string operator()(std::string_view word) { return std::string(word); }
  };
  return std::visit(Text(), value);
}

// Returns the default of the row's field under the row's policy.
std::string stock_text(const FlagRow& row) {
  if (row.field == kDramBytes) {
    return integer_json(stack_tier(row.storage, "dram")->capacity_per_gpu_bytes.value() / row.unit);
  }
  if (row.field == kDramOverGpu) {
    return number_json(stack_tier(row.storage, "dram")->capacity_over_gpu.value());
  }
  Scenario scenario;
  scenario.policy = with_preset({.name = std::string(row.storage)});
  const std::string_view key = row.field.substr(row.field.find('.') + 1);
  const std::string value = plain_text(write_scenario(scenario).at("policy").at(std::string(key)));
  return row.form == FlagForm::words ? std::string(word_for(row, value).value()) : value;
}

}  // namespace

std::span<const FlagRow> flag_table() {
  static const std::vector<FlagRow> rows = all_rows();
  return rows;
}

DefaultValue default_value(const FlagRow& row) {
  return row.engine_default.is_of_server ? server_value(row, true) : row.engine_default.value;
}

std::string default_text(const FlagRow& row) {
  const DefaultValue value = default_value(row);
  std::string text = value_text(value) + std::string(row.engine_default.words);
  if (row.engine_default.is_of_server && server_value(row, false) != value) {
    text += "; " + value_text(server_value(row, false)) + " below " + number_text(kVllmLargeGpu_gib) +
            " GiB and on A100";
  }
  const bool is_policys = !row.storage.empty() && row.field.starts_with("policy.");
  return text.empty() && is_policys ? stock_text(row) : text;
}

std::string_view source_text(std::string_view key) {
  for (const Source& one : kSources) {
    if (one.key == key) return one.text;
  }
  return "";
}

}  // namespace kvcap
