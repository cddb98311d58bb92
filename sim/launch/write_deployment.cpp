// Writes Helm values and Dynamo graphs: puts the words of the scenario's launch line into the fields of the
// charts and the graph.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/input_error.h"
#include "launch/deployment.h"
#include "launch/launch_line.h"
#include "launch/line_words.h"
#include "launch/values.h"
#include "scenario/json.h"

namespace kvcap {
namespace {

using Words = std::vector<std::string>;

// The version of Dynamo's images, whose tags do not name the engine's version.
constexpr const char* kDynamoVersion = "1.3.1";

std::string form_name(DeploymentForm form) {
  return "--emit " + std::string(kDeploymentForms[static_cast<std::size_t>(form)]);
}

// The words of a launch line: variables, the model, and flags with their values.
struct ServerWords {
  std::vector<std::pair<std::string, std::string>> variables;
  std::string model;
  std::vector<std::pair<std::string, std::optional<std::string>>> flags;
};

ServerWords server_words(const Scenario& scenario, DeploymentForm form) {
  const std::vector<LineWord> words = line_words(launch_line_of(scenario));
  const std::optional<EngineWords> engine = find_engine(words);
  if (!engine) {
    throw InputError(form_name(form) + ": no flags of " +
                     std::string(kEngineNames[static_cast<std::size_t>(scenario.serving.engine)]) +
                     " express the policy " + scenario.policy.name +
                     " with its tiers, or the formats of the model's weights and KV");
  }
  ServerWords server;
  std::size_t i = 0;
  for (; is_variable(words[i].text); ++i) {
    const std::string& word = words[i].text;
    server.variables.emplace_back(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
  }
  i = engine->first_flag;
  if (is_flag(words[i].text)) ++i;
  server.model = words[i++].text;
  while (i < words.size()) {
    auto& flag = server.flags.emplace_back(words[i++].text, std::nullopt);
    if (i < words.size() && !is_flag(words[i].text)) flag.second = words[i++].text;
  }
  return server;
}

// ---- YAML ----

// True for words such as --max-num-seqs and Qwen/Qwen3-8B, which YAML reads as texts without quotes.
bool is_plain(const std::string& text) {
  constexpr std::string_view kOthers[] = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
  constexpr std::string_view kSigns = "/._-";
  const std::string word = text.starts_with("--") ? text.substr(2) : text;
  if (word.empty() || (word[0] != '/' && std::isalpha(static_cast<unsigned char>(word[0])) == 0))
    return false;
  const bool has_plain_letters = std::all_of(word.begin(), word.end(), [&](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           kSigns.find(letter) != std::string_view::npos;
  });
  const bool is_other =
      std::find(std::begin(kOthers), std::end(kOthers), lower_case(text)) != std::end(kOthers);
  return has_plain_letters && !is_other;
}

void write(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, member] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      write(out, member);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::BeginSeq;
    for (const Json& element : value) write(out, element);
    out << YAML::EndSeq;
  } else if (!value.is_string()) {
    out << value.dump();
  } else {
    const std::string text = value.get<std::string>();
    if (text.find('\n') != std::string::npos) {
      out << YAML::Literal << text;
    } else if (is_plain(text)) {
      out << text;
    } else {
      out << YAML::SingleQuoted << text;
    }
  }
}

std::string yaml(const Json& value) {
  YAML::Emitter out;
  write(out, value);
  return std::string(out.c_str()) + "\n";
}

// Returns the value of a flag as a YAML value: a number, a Boolean, an object or a text.
Json yaml_value(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json(text) : json;
}

// ---- all forms ----

// Returns a name for objects of Kubernetes.
std::string object_name(const Scenario& scenario) {
  std::string name = lower_case(scenario.model.name);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char letter) { return std::isalnum(letter) == 0; }, '-');
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.substr(std::min(name.find_first_not_of('-'), name.size()), 40);
}

int64_t gpus_of(const Scenario& scenario) {
  return scenario.serving.gpus() * scenario.serving.data_parallel_size;
}

// Throws InputError unless the engine is vLLM, which both charts start.
void require_vllm(const Scenario& scenario, DeploymentForm form, const std::string& chart) {
  if (scenario.serving.engine == EngineKind::vllm) return;
  throw InputError(form_name(form) + ": found " +
                   std::string(kEngineNames[static_cast<std::size_t>(scenario.serving.engine)]) +
                   ", allowed: vllm, which " + chart + " starts");
}

Json variable_list(const std::vector<std::pair<std::string, std::string>>& variables) {
  Json list = Json::array();
  for (const auto& [name, value] : variables) list.push_back({{"name", name}, {"value", value}});
  return list;
}

// ---- vLLM's image, and what a pod requests ----

constexpr int64_t kCpusOfGpu = 8;

// Returns "v0.19.0" for the version 0.19.
std::string image_tag(std::string version) {
  const auto dots = std::count(version.begin(), version.end(), '.');
  return "v" + version + (dots < 2 ? ".0" : "");
}

using Flag = std::pair<std::string, std::optional<std::string>>;

bool is_lmcache(const Flag& flag) {
  const Json connector = {{"kv_connector", "LMCacheConnectorV1"}, {"kv_role", "kv_both"}};
  return flag.first == "--kv-transfer-config" && flag.second && yaml_value(*flag.second) == connector;
}

// Repository and tag.
std::pair<std::string, std::string> image_of(const Scenario& scenario, bool has_lmcache) {
  if (has_lmcache) return {"lmcache/vllm-openai", "latest"};
  return {"vllm/vllm-openai", image_tag(scenario.serving.engine_version)};
}

// Returns the memory to request for a pod: that of the host cache, and an assumed amount for the engine.
std::string requested_memory(const Scenario& scenario) {
  constexpr double kGib = 1073741824, kEngine_gib = 32;
  double bytes = 0;
  for (const TierOptions& tier : scenario.policy.tiers.value_or(std::vector<TierOptions>())) {
    if (tier.kind == Tier::dram) bytes += tier.capacity_bytes.value_or(0);
  }
  return std::to_string(std::llround(std::ceil(kEngine_gib + bytes / kGib))) + "Gi";
}

// ---- vLLM's production stack ----

// Moves the flags for which the chart has values to `config`. Helm writes numbers of 7 digits as 1e+06.
void take_values(ServerWords& server, Json& config) {
  constexpr std::pair<const char*, const char*> kValues[] = {
      {"--max-model-len", "maxModelLen"},
      {"--tensor-parallel-size", "tensorParallelSize"},
      {"--max-num-seqs", "maxNumSeqs"},
      {"--gpu-memory-utilization", "gpuMemoryUtilization"}};
  constexpr std::size_t kMostDigits = 6;
  config["enablePrefixCaching"] = true;
  std::erase_if(server.flags, [&](const auto& flag) {
    if (flag.first == "--no-enable-prefix-caching") {
      config["enablePrefixCaching"] = false;
      return true;
    }
    for (const auto& [name, key] : kValues) {
      if (flag.first != name || !flag.second || flag.second->size() > kMostDigits) continue;
      config[key] = yaml_value(*flag.second);
      return true;
    }
    return false;
  });
}

// Moves LMCache's connector and the size of its host cache to the chart's values; null without LMCache.
Json take_lmcache(ServerWords& server) {
  if (std::erase_if(server.flags, is_lmcache) == 0) return nullptr;
  Json config = {{"enabled", true}};
  std::erase_if(server.variables, [&](const auto& variable) {
    const std::string& size = variable.second;
    const bool is_whole = size.find_first_not_of("0123456789") == std::string::npos;
    if (variable.first != "LMCACHE_MAX_LOCAL_CPU_SIZE" || !is_whole) return false;
    config["cpuOffloadingBufferSize"] = size;
    return true;
  });
  return config;
}

std::string helm_values(const Scenario& scenario) {
  require_vllm(scenario, DeploymentForm::helm, "vLLM's production stack");
  ServerWords server = server_words(scenario, DeploymentForm::helm);
  Json config = Json::object(), model;
  take_values(server, config);
  const Json lmcache = take_lmcache(server);
  Json& more = config["extraArgs"] = Json::array();
  for (const auto& [flag, value] : server.flags) {
    more.push_back(flag);
    if (value) more.push_back(*value);
  }
  if (more.empty()) config.erase("extraArgs");
  const int64_t gpus = gpus_of(scenario);
  const auto [repository, tag] = image_of(scenario, !lmcache.is_null());
  model = {{"name", object_name(scenario)},
           {"repository", repository},
           {"tag", tag},
           {"modelURL", server.model},
           {"replicaCount", scenario.fleet.replicas},
           {"requestCPU", kCpusOfGpu * gpus},
           {"requestMemory", requested_memory(scenario)},
           {"requestGPU", gpus},
           {"vllmConfig", config}};
  if (!lmcache.is_null()) model["lmcacheConfig"] = lmcache;
  if (!server.variables.empty()) model["env"] = variable_list(server.variables);
  return "# Values of vLLM's production stack. kvcap assumed requestCPU, and 32 GiB of requestMemory.\n" +
         yaml({{"servingEngineSpec", {{"modelSpec", Json::array({model})}}}});
}

// ---- llm-d ----

// Keys as in the chart's v0.4.0 (llm-d-incubation/llm-d-modelservice 024c0f2,
// charts/llm-d-modelservice/values.yaml). The chart adds the flags of `parallelism` itself.
Json modelservice_container(const Scenario& scenario, const ServerWords& server) {
  const bool has_lmcache = std::any_of(server.flags.begin(), server.flags.end(), is_lmcache);
  const auto [repository, tag] = image_of(scenario, has_lmcache);
  Json arguments = Json::array();
  for (const auto& [flag, value] : server.flags) {
    if (flag == "--tensor-parallel-size" || flag == "--data-parallel-size") continue;
    arguments.push_back(flag);
    if (value) arguments.push_back(*value);
  }
  const int64_t gpus = gpus_of(scenario);
  const Json requests = {{"cpu", std::to_string(kCpusOfGpu * gpus)}, {"memory", requested_memory(scenario)}};
  Json container = {
      {"name", "vllm"},
      {"image", repository + ":" + tag},
      {"modelCommand", "vllmServe"},
      {"args", arguments},
      {"resources", {{"requests", requests}, {"limits", {{"nvidia.com/gpu", std::to_string(gpus)}}}}},
      {"mountModelVolume", true}};
  if (!server.variables.empty()) container["env"] = variable_list(server.variables);
  return container;
}

std::string modelservice_values(const Scenario& scenario) {
  require_vllm(scenario, DeploymentForm::llm_d, "llm-d's modelservice");
  const ServerWords server = server_words(scenario, DeploymentForm::llm_d);
  constexpr double kGib = 1073741824, kRoom = 1.2;
  const int64_t size_gib = std::llround(std::ceil(kRoom * scenario.model.weight_bytes() / kGib));
  const int64_t ranks = scenario.serving.data_parallel_size;
  const Json values = {
      {"modelArtifacts",
       {{"name", server.model},
        {"uri", "hf://" + server.model},
        {"size", std::to_string(size_gib) + "Gi"},
        {"labels", {{"llm-d.ai/inferenceServing", "true"}, {"llm-d.ai/model", object_name(scenario)}}}}},
      {"routing", {{"proxy", {{"enabled", false}}}}},
      {"decode",
       {{"replicas", scenario.fleet.replicas},
        {"parallelism",
         {{"tensor", scenario.serving.tensor_parallel_size}, {"data", ranks}, {"dataLocal", ranks}}},
        {"containers", Json::array({modelservice_container(scenario, server)})}}},
      {"prefill", {{"create", false}}}};
  return "# Values of llm-d's modelservice. kvcap assumed cpu, size, and 32 GiB of memory.\n" + yaml(values);
}

// ---- Dynamo ----

// Sets the member "kv_cache_config.dtype" of an object.
void set_member(Json& object, const std::string& path, Json value) {
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) {
    object[path] = std::move(value);
  } else {
    set_member(object[path.substr(0, dot)], path.substr(dot + 1), std::move(value));
  }
}

constexpr std::string_view kKey = "--extra_llm_api_options.";

// Returns the key of TensorRT-LLM's file for a flag's field, and its value.
std::pair<std::string, Json> trtllm_key(const std::string& flag, const std::optional<std::string>& value) {
  if (flag.starts_with(kKey)) return {flag.substr(kKey.size()), yaml_value(value.value())};
  const FlagRow& own = *find_flags(Stack::trtllm, flag).front();
  for (const FlagRow& row : flag_table()) {
    if (row.stack != Stack::trtllm || row.field != own.field) continue;
    for (const Word& one : words_of(row.names)) {
      if (!one.word.starts_with(kKey)) continue;
      const std::string key(one.word.substr(kKey.size()));
      if (own.form != FlagForm::present) return {key, yaml_value(value.value())};
      return {key, yaml_value(std::string(word_for(row, own.words).value()))};
    }
  }
  throw InputError("--emit dynamo: " + flag + " has no key in TensorRT-LLM's file");
}

// Returns the arguments of a worker. `file` receives the options that TensorRT-LLM reads from a file.
Json worker_arguments(const ServerWords& server, EngineKind engine, Json& file) {
  Json arguments = {engine == EngineKind::sglang ? "--model-path" : "--model", server.model};
  for (const auto& [flag, value] : server.flags) {
    if (engine == EngineKind::trtllm) {
      const auto [key, member] = trtllm_key(flag, value);
      set_member(file, key, member);
      continue;
    }
    arguments.push_back(flag);
    if (value) arguments.push_back(*value);
  }
  return arguments;
}

constexpr const char* kFileName = "engine.yaml";

// Returns the ConfigMap that contains TensorRT-LLM's file.
std::string config_map(const std::string& name, const Json& file) {
  std::string text = yaml(file);
  text.pop_back();
  const Json map = {{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", {{"name", name}}},
                    {"data", {{kFileName, text}}}};
  return yaml(map) + "---\n";
}

std::string dynamo_graph(const Scenario& scenario) {
  constexpr const char* kImages[] = {"vllm-runtime", "sglang-runtime", "tensorrtllm-runtime"};
  const auto engine = static_cast<std::size_t>(scenario.serving.engine);
  const ServerWords server = server_words(scenario, DeploymentForm::dynamo);
  const std::string name = object_name(scenario), settings = name + "-engine", program(kEngineNames[engine]);
  const std::string image = "nvcr.io/nvidia/ai-dynamo/" + std::string(kImages[engine]) + ":" + kDynamoVersion;
  Json file = Json::object(), pod = Json::object();
  Json container = {{"image", image},
                    {"command", {"python3", "-m", "dynamo." + program}},
                    {"args", worker_arguments(server, scenario.serving.engine, file)}};
  if (!file.empty()) {
    container["args"].push_back("--extra-engine-args");
    container["args"].push_back(std::string("/config/") + kFileName);
    container["volumeMounts"] = Json::array({{{"name", settings}, {"mountPath", "/config"}}});
    pod["volumes"] = Json::array({{{"name", settings}, {"configMap", {{"name", settings}}}}});
  }
  pod["mainContainer"] = container;
  Json worker = {{"componentType", "worker"},
                 {"replicas", scenario.fleet.replicas},
                 {"resources", {{"limits", {{"gpu", std::to_string(gpus_of(scenario))}}}}}};
  if (!server.variables.empty()) worker["envs"] = variable_list(server.variables);
  worker["extraPodSpec"] = pod;
  const Json frontend = {{"componentType", "frontend"},
                         {"replicas", 1},
                         {"extraPodSpec", {{"mainContainer", {{"image", image}}}}}};
  const Json graph = {{"apiVersion", "nvidia.com/v1alpha1"},
                      {"kind", "DynamoGraphDeployment"},
                      {"metadata", {{"name", name}}},
                      {"spec", {{"services", {{"Frontend", frontend}, {"Worker", worker}}}}}};
  return "# Choose the images' version: kvcap simulated " + program + " " + scenario.serving.engine_version +
         ".\n" + (file.empty() ? "" : config_map(settings, file)) + yaml(graph);
}

}  // namespace

DeploymentForm deployment_form(std::string_view name) {
  const auto* form = std::find(std::begin(kDeploymentForms), std::end(kDeploymentForms), name);
  KVCAP_CHECK(form != std::end(kDeploymentForms));
  return static_cast<DeploymentForm>(form - std::begin(kDeploymentForms));
}

std::string deployment_of(const Scenario& scenario, DeploymentForm form) {
  if (scenario.fleet.disaggregation) {
    throw InputError(form_name(form) +
                     ": found fleet.disaggregation, allowed: servers that both prefill and decode");
  }
  if (form == DeploymentForm::helm) return helm_values(scenario);
  if (form == DeploymentForm::llm_d) return modelservice_values(scenario);
  if (form == DeploymentForm::dynamo) return dynamo_graph(scenario);
  server_words(scenario, form);
  const int64_t servers = scenario.fleet.replicas;
  const std::string each =
      servers > 1 ? "# " + std::to_string(servers) + " servers, each with this line:\n" : "";
  return each + launch_line_of(scenario) + "\n";
}

}  // namespace kvcap
