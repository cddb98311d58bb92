// Writes the flags that set the policy and its tiers.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>

#include "base/float_values.h"
#include "launch/flags/flag_rows.h"
#include "launch/line_parts.h"
#include "launch/stack_tiers.h"
#include "launch/values.h"
#include "policy/table.h"
#include "scenario/load.h"
#include "spec/tiers.h"

namespace kvcap {
namespace {

using Words = std::vector<std::string>;

constexpr double kGib = 1073741824, kGb = 1e9;

// Returns a size in units, e.g. "100" for 100 GiB; a placeholder for a size that the user must choose. A size
// with many digits is rounded down, so that no tier exceeds the hardware's size.
std::string size_text(double bytes, double unit_bytes) {
  if (std::isnan(bytes)) return unit_bytes == kGib ? "SIZE_GIB" : "SIZE_GB";
  const double units = bytes / unit_bytes;
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", units);
  if (std::abs(std::strtod(text, nullptr) - units) <= 1e-12 * units) return text;
  return number_json(units < 1 ? units : std::floor(100 * units) / 100);
}

// Returns a size in whole bytes; a placeholder for a size that the user must choose.
Json whole_bytes(double bytes) { return std::isnan(bytes) ? Json("SIZE_BYTES") : Json(std::llround(bytes)); }

using TierBytes = std::map<std::string_view, double>;  // key: kind of the tier; NaN: no size is given

// Returns the sizes of the scenario's tiers; nullopt if the stack has no flag for one of the tiers or for its
// size.
std::optional<TierBytes> tier_bytes(const Scenario& scenario) {
  TierBytes bytes;
  for (const TierOptions& tier : scenario.policy.tiers.value_or(std::vector<TierOptions>())) {
    const std::string_view kind = kind_name(tier);
    const TierOptions* stack = stack_tier(scenario.policy.name, kind);
    const std::optional<TierFacts> facts = tier_facts(scenario.hardware, tier.kind);
    if (!stack || !facts || (tier.capacity_over_gpu && !stack->capacity_over_gpu)) return std::nullopt;
    const bool has_flag = has_size_flag(scenario.policy.name, kind);
    const double size = tier.capacity_bytes.value_or(facts->capacity_bytes);
    if (!has_flag && size != facts->capacity_bytes) return std::nullopt;
    const std::vector<Tier> unsized = unsized_tiers(scenario);
    const bool is_open = has_flag && std::find(unsized.begin(), unsized.end(), tier.kind) != unsized.end();
    bytes[kind] = is_open ? kNaN : size;
  }
  return bytes;
}

// Clears a tier's eviction order if it equals the policy's order.
void drop_eviction_of_policy(TierOptions& tier, const PolicyOptions& policy) {
  if (tier.eviction == policy.eviction.value_or(EvictionKind::lru)) tier.eviction.reset();
}

// Returns the policy with its stack's default options and the scenario's tier sizes.
Json stock_policy(Scenario scenario) {
  PolicyOptions& policy = scenario.policy;
  std::optional<std::vector<TierOptions>> tiers = policy.tiers;
  if (tiers) {
    for (TierOptions& tier : *tiers) {
      const TierOptions* stack = stack_tier(policy.name, kind_name(tier));
      if (!stack) continue;
      TierOptions own = *stack;
      own.kind = tier.kind;
      own.capacity_bytes = tier.capacity_bytes;
      own.capacity_per_gpu_bytes = tier.capacity_per_gpu_bytes;
      own.capacity_over_gpu = tier.capacity_over_gpu;
      drop_eviction_of_policy(own, policy);
      tier = own;
    }
  }
  policy = with_preset({.name = policy.name});
  policy.tiers = std::move(tiers);
  return write_scenario(scenario).at("policy");
}

Json given_policy(Scenario scenario) {
  if (scenario.policy.tiers) {
    for (TierOptions& tier : *scenario.policy.tiers) drop_eviction_of_policy(tier, scenario.policy);
  }
  return write_scenario(scenario).at("policy");
}

// Adds the scenario's options that differ from the stack's defaults; `extra` receives the options that vLLM's
// connector reads; `server` receives the flags of `lmcache server`. Returns false if the stack has no flag
// for one of the options.
bool add_options(const Scenario& scenario, LineParts& parts, Json& extra, std::string& server) {
  const Json stock = stock_policy(scenario), given = given_policy(scenario);
  const std::vector<const FlagRow*> rows = flags_of_policy(scenario.policy.name);
  for (const auto& [key, value] : given.items()) {
    if (key == "name" || value.is_null() || value == stock.at(key)) continue;
    const std::string field = "policy." + key;
    std::optional<std::string> word;
    for (const FlagRow* row : rows) {
      if (row->field != field) continue;
      const bool is_number = row->form == FlagForm::integer || row->form == FlagForm::number;
      if (is_number) word = plain_text(value);
      if (row->form == FlagForm::words) word = word_for(*row, plain_text(value));
      if (!word) continue;
      const std::string_view flag = first_name(*row);
      if (flag.starts_with(kConnectorExtra)) {
        const Json read = Json::parse(*word, nullptr, false);
        extra[std::string(flag.substr(kConnectorExtra.size()))] = read.is_discarded() ? Json(*word) : read;
      } else if (flag.starts_with(kLmcacheServer)) {
        server += " --" + std::string(flag.substr(kLmcacheServer.size())) + " " + *word;
      } else if (flag.starts_with("--")) {
        parts.words.push_back(std::string(flag) + " " + *word);
      } else {
        parts.variables.push_back(std::string(flag) + "=" + *word);
      }
      break;
    }
    if (!word) return false;
  }
  return true;
}

// `module`: the Python module from which vLLM imports an external connector.
std::string transfer_config(const char* connector, const Json& extra, const char* module = nullptr) {
  Json config = {{"kv_connector", connector}, {"kv_role", "kv_both"}};
  if (module) config["kv_connector_module_path"] = module;
  if (!extra.empty()) config["kv_connector_extra_config"] = extra;
  return "--kv-transfer-config '" + config.dump() + "'";
}

// Each function below adds the flags of one stack. It returns false if the stack cannot express the
// scenario's policy. The sizes in `tiers` are sums over all data parallel ranks.

bool add_vllm_offload(const TierBytes& tiers, double engines, Json extra, Words& words) {
  if (tiers.contains("mooncake_store")) {
    if (tiers.size() > 1 || !extra.empty()) return false;
    words.push_back(transfer_config("MooncakeStoreConnector", {}));
    return true;
  }
  if (!tiers.contains("dram")) return false;
  const double bytes = tiers.at("dram") / engines;
  if (tiers.contains("ssd")) extra["secondary_tiers"].push_back({{"type", "fs"}});
  if (tiers.contains("remote")) extra["secondary_tiers"].push_back({{"type", "obj"}});
  if (extra.contains("lazy_offload")) {
    extra.erase("offload_prompt_only");  // SimpleCPUOffloadConnector saves answers, too
    if (extra.size() > 1) return false;
    extra["cpu_bytes_to_use"] = whole_bytes(bytes);
    words.push_back(transfer_config("SimpleCPUOffloadConnector", extra));
  } else if (extra.empty()) {
    words.push_back("--kv-offloading-size " + size_text(bytes, kGib));
  } else {
    extra["cpu_bytes_to_use"] = whole_bytes(bytes);
    words.push_back(transfer_config("OffloadingConnector", extra));
  }
  return true;
}

bool add_lmcache(const TierBytes& tiers, double gpus, Stack engine, LineParts& parts) {
  if (tiers.empty()) return false;
  Words& variables = parts.variables;
  if (tiers.contains("dram")) {
    variables.push_back("LMCACHE_MAX_LOCAL_CPU_SIZE=" + size_text(tiers.at("dram") / gpus, kGib));
  } else {
    variables.push_back("LMCACHE_LOCAL_CPU=False");
  }
  if (tiers.contains("ssd")) {
    variables.push_back("LMCACHE_LOCAL_DISK=file:///mnt/kv");
    variables.push_back("LMCACHE_MAX_LOCAL_DISK_SIZE=" + size_text(tiers.at("ssd") / gpus, kGib));
  }
  if (tiers.contains("remote")) variables.push_back("LMCACHE_REMOTE_URL=lm://HOST:65432");
  if (tiers.contains("mooncake_store")) variables.push_back("LMCACHE_REMOTE_URL=mooncakestore://HOST:50051");
  parts.words.push_back(engine == Stack::vllm ? transfer_config("LMCacheConnectorV1", {})
                                              : "--enable-lmcache");
  return true;
}

// The connector starts the server, so that one line has the flags of both.
bool add_lmcache_mp(const TierBytes& tiers, const std::string& options, Json extra, Words& words) {
  if (!tiers.contains("dram")) return false;
  std::string server = "--l1-size-gb " + size_text(tiers.at("dram"), kGib);
  if (options.find("--eviction-policy") == std::string::npos) server += " --eviction-policy LRU";
  server += options;
  const FlagRow& adapter = *find_flags(Stack::lmcache, "--lmcache-server.l2-adapter.type").front();
  for (const auto& [kind, bytes] : tiers) {
    if (kind == "dram") continue;
    server += " --l2-adapter " + Json(Json{{"type", word_for(adapter, kind).value()}}.dump()).dump();
  }
  extra["lmcache.mp.autostart"] = true;
  extra["lmcache.mp.autostart.server_args"] = server;
  words.push_back(transfer_config("LMCacheMPConnector", extra));
  return true;
}

bool add_kvbm(const TierBytes& tiers, double engines, LineParts& parts) {
  if (!tiers.contains("dram")) return false;
  parts.variables.push_back("DYN_KVBM_CPU_CACHE_GB=" + size_text(tiers.at("dram") / engines, kGb));
  if (tiers.contains("ssd")) {
    parts.variables.push_back("DYN_KVBM_DISK_CACHE_GB=" + size_text(tiers.at("ssd") / engines, kGb));
  }
  parts.words.push_back(transfer_config("DynamoConnector", {}, "kvbm.vllm_integration.connector"));
  return true;
}

bool add_hicache(const Scenario& scenario, const TierBytes& tiers, double gpus, Words& words) {
  // HiCache has at most one storage backend below the host cache.
  if (!tiers.contains("dram") || tiers.size() > 2) return false;
  words.push_back("--enable-hierarchical-cache");
  const std::optional<double> ratio = scenario.policy.tiers->front().capacity_over_gpu;
  if (!ratio) {
    words.push_back("--hicache-size " + size_text(tiers.at("dram") / gpus, kGb));
  } else if (*ratio != stack_tier("hicache", "dram")->capacity_over_gpu) {
    words.push_back("--hicache-ratio " + number_json(*ratio));
  }
  const FlagRow& backend = *find_flags(Stack::sglang, "--hicache-storage-backend").front();
  for (const auto& [kind, bytes] : tiers) {
    if (kind != "dram")
      words.push_back("--hicache-storage-backend " + std::string(word_for(backend, kind).value()));
  }
  return true;
}

bool add_trtllm_offload(const TierBytes& tiers, double gpus, Words& words) {
  if (!tiers.contains("dram")) return false;
  words.push_back("--extra_llm_api_options.kv_cache_config.host_cache_size " +
                  plain_text(whole_bytes(tiers.at("dram") / gpus)));
  return true;
}

}  // namespace

bool add_storage(const Scenario& scenario, Stack engine, LineParts& parts) {
  Json extra = Json::object();
  LineParts options;
  std::string server;
  if (!add_options(scenario, options, extra, server)) return false;
  parts.variables = std::move(options.variables);
  const std::string& policy = scenario.policy.name;
  if (policy == "recompute") return true;
  const std::optional<TierBytes> tiers = tier_bytes(scenario);
  if (!tiers) return false;
  const auto engines = static_cast<double>(scenario.serving.data_parallel_size);
  const double gpus = engines * static_cast<double>(scenario.serving.tensor_parallel_size);
  bool is_done = false;
  if (policy == "vllm_offload" && engine == Stack::vllm) {
    is_done = add_vllm_offload(*tiers, engines, extra, parts.words);
  } else if (policy == "lmcache" && engine != Stack::trtllm) {
    is_done = add_lmcache(*tiers, gpus, engine, parts);
  } else if (policy == "lmcache_mp" && engine == Stack::vllm) {
    is_done = add_lmcache_mp(*tiers, server, extra, parts.words);
  } else if (policy == "kvbm" && engine == Stack::vllm) {
    is_done = add_kvbm(*tiers, engines, parts);
  } else if (policy == "hicache" && engine == Stack::sglang) {
    is_done = add_hicache(scenario, *tiers, gpus, parts.words);
  } else if (policy == "trtllm_offload" && engine == Stack::trtllm) {
    is_done = add_trtllm_offload(*tiers, gpus, parts.words);
  }
  parts.words.insert(parts.words.end(), options.words.begin(), options.words.end());
  return is_done;
}

}  // namespace kvcap
