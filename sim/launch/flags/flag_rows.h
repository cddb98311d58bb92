// The parts of the flag table. Each is in a file of its own; flag_table.cpp joins them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "launch/flags/flags.h"

namespace kvcap {

std::span<const FlagRow> vllm_flags();
std::span<const FlagRow> kv_store_flags();  // flags of LMCache and Dynamo
std::span<const FlagRow> sglang_flags();
std::span<const FlagRow> trtllm_flags();
// Returns the rows of flags that set no field: either nothing simulated depends on them, or their effect is
// not simulated.
std::vector<FlagRow> known_flags();

// For a flag whose default is the value that server_options() gives to its field.
constexpr FlagDefault of_server(std::string_view words = {}) {
  return {.words = words, .is_of_server = true};
}

// Fields, units and words that the rows of several stacks share.
inline constexpr double kGibBytes = 1073741824, kGbBytes = 1e9;
inline constexpr std::string_view kDramBytes = "policy.tiers.dram.capacity_bytes";
inline constexpr std::string_view kDramOverGpu = "policy.tiers.dram.capacity_over_gpu";
inline constexpr std::string_view kSsdBytes = "policy.tiers.ssd.capacity_bytes";
inline constexpr std::string_view kKvDtypes =
    "auto= bfloat16=2 bf16=2 float16=2 fp8=1 fp8_e4m3=1 fp8_e5m2=1 fp8_ds_mla=";
// Prefix of the flags of `lmcache server`. kvcap reads these flags from that command, or from
// lmcache.mp.autostart.server_args.
inline constexpr std::string_view kLmcacheServer = "--lmcache-server.";
// Prefix of the keys that vLLM's connectors read.
inline constexpr std::string_view kConnectorExtra = "--kv-transfer-config.kv_connector_extra_config.";
inline constexpr std::string_view kYesNo = "true=true false=false";

}  // namespace kvcap
