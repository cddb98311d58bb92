// Finds the engines in Helm values, as the templates of the charts render them.
#include <algorithm>

#include "base/input_error.h"
#include "base/text/plain_text.h"
#include "launch/manifest/parts.h"

namespace kvcap {
namespace {

// Words of a launch line, each with the place in the file of the chart value that it comes from.
class ChartWords {
 public:
  void add(const std::string& word, const ManifestItem& from) { words.push_back({word, from.place()}); }
  // Adds the flag and its value if the chart's value exists.
  void add_value(const std::string& flag, const ManifestItem& from) {
    if (!from.exists()) return;
    add(flag, from);
    add(from.text(true), from);
  }
  // Adds a flag without a value: "--FLAG" if the chart's value is on, else "--no-FLAG".
  void add_switch(const std::string& flag, const ManifestItem& from) {
    add((from.is_on() ? "--" : "--no-") + flag, from);
  }

  std::vector<LineWord> words;
};

// ---- vLLM's production stack: helm/templates/deployment-vllm-multi.yaml ----

constexpr std::string_view kVllmKeys[] = {"v0",
                                          "enablePrefixCaching",
                                          "enableChunkedPrefill",
                                          "maxModelLen",
                                          "dtype",
                                          "tensorParallelSize",
                                          "runner",
                                          "pipelineParallelSize",
                                          "gpuMemoryUtilization",
                                          "maxNumSeqs",
                                          "maxLoras",
                                          "prometheusMultiprocDir",
                                          "convert",
                                          "extraArgs"};

void add_vllm_config(const ManifestItem& config, ChartWords& chart) {
  for (const auto& [key, value] : config.members()) {
    if (key == "<<" || std::find(std::begin(kVllmKeys), std::end(kVllmKeys), key) != std::end(kVllmKeys))
      continue;
    throw InputError("--from: " + value.place() + ": not a value of the chart" + suggestion(key, kVllmKeys));
  }
  if (config["enableChunkedPrefill"].exists()) {
    chart.add_switch("enable-chunked-prefill", config["enableChunkedPrefill"]);
  }
  if (config.exists()) chart.add_switch("enable-prefix-caching", config["enablePrefixCaching"]);
  constexpr std::pair<const char*, const char*> kValues[] = {
      {"maxModelLen", "--max-model-len"},
      {"dtype", "--dtype"},
      {"tensorParallelSize", "--tensor-parallel-size"},
      {"pipelineParallelSize", "--pipeline-parallel-size"},
      {"maxNumSeqs", "--max-num-seqs"},
      {"gpuMemoryUtilization", "--gpu-memory-utilization"},
      {"runner", "--runner"},
      {"convert", "--convert"},
      {"maxLoras", "--max-loras"}};
  for (const auto& [key, flag] : kValues) chart.add_value(flag, config[key]);
  for (const ManifestItem& one : config["extraArgs"].elements()) chart.add(one.text(true), one);
}

// Adds the variables that the chart sets for LMCache.
void add_lmcache_variables(const ManifestItem& values, const ManifestItem& config, ChartWords& chart) {
  if (!config.exists()) return;
  if (config["enablePD"].is_on()) {
    config["enablePD"].refuse("true",
                              "false: servers for prefill and decode are read from llm-d and Dynamo only");
  }
  const auto add_size = [&](const char* key, const std::string& variable) {
    const std::string text = config[key].text();
    if (!text.empty() && text != "0") chart.add(variable + "=" + text, config[key]);
  };
  add_size("cpuOffloadingBufferSize", "LMCACHE_MAX_LOCAL_CPU_SIZE");
  add_size("diskOffloadingBufferSize", "LMCACHE_MAX_LOCAL_DISK_SIZE");
  const ManifestItem server = values["cacheserverSpec"];
  const bool is_off = server["enabled"].exists() && !server["enabled"].is_on();
  if (server.exists() && !is_off) chart.add("LMCACHE_REMOTE_URL=lm://cache-server", server);
}

std::optional<ManifestEngine> stack_engine(const ManifestItem& values, const ManifestItem& model) {
  const ManifestItem lmcache = model["lmcacheConfig"], config = model["vllmConfig"],
                     lora = model["enableLoRA"];
  ChartWords chart;
  add_lmcache_variables(values, lmcache, chart);
  if (config["v0"].exists()) {
    chart.add(config["v0"].text() == "1" ? "VLLM_USE_V1=0" : "VLLM_USE_V1=1", config["v0"]);
  }
  const ManifestItem tag = model["tag"];
  chart.add(model["repository"].text() + (tag.exists() ? ":" + tag.text() : ""), tag);
  const ManifestItem served = model["modelURL"];
  if (!served.exists()) served.refuse("no value", "the name of a model");
  chart.add("vllm", served);
  chart.add("serve", served);
  chart.add(served.text(), served);
  if (lora.is_on()) chart.add("--enable-lora", lora);
  add_vllm_config(config, chart);
  if (lmcache["enabled"].is_on()) {
    const std::string role = lmcache["kvRole"].text();
    chart.add("--kv-transfer-config", lmcache["enabled"]);
    chart.add(
        "{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"" + (role.empty() ? "kv_both" : role) + "\"}",
        lmcache["enabled"]);
  }
  const ManifestItem count = model["replicaCount"], gpus = model["requestGPU"],
                     type = model["requestGPUType"];
  if (type.exists() && type.text().find("mig") != std::string::npos) {
    type.refuse("a part of a GPU (" + type.text() + ")", "whole GPUs");
  }
  const ContainerFrame frame{.name = model["name"].text(),
                             .instances = {.count = count.count(1), .place = count.place()}};
  std::optional<ManifestEngine> engine = engine_of(model, frame, {}, chart.words);
  if (!engine) return std::nullopt;
  if (!engine->gpus && gpus.exists()) engine->gpus = {.count = gpus.count(0), .place = gpus.place()};
  if (config.exists() && !config["enablePrefixCaching"].exists()) {
    engine->notes.push_back(
        config.place() +
        ": without enablePrefixCaching the chart starts vLLM with --no-enable-prefix-caching");
  }
  return engine;
}

// ---- llm-d's modelservice: charts/llm-d-modelservice/templates/_helpers.tpl ----

// Returns the item's text with {{ .Values.a.b }} replaced by the value.
std::string rendered(const ManifestItem& values, const ManifestItem& item) {
  std::string text = item.text(true);
  constexpr std::string_view kValues = ".Values.";
  for (std::size_t begin = text.find("{{"); begin != std::string::npos; begin = text.find("{{")) {
    const std::size_t end = text.find("}}", begin), name = text.find_first_not_of(' ', begin + 2);
    if (end == std::string::npos || text.compare(name, kValues.size(), kValues) != 0) {
      item.refuse("\"" + text + "\"", "placeholders {{ .Values.NAME }}");
    }
    std::string path = text.substr(name + kValues.size(), end - name - kValues.size());
    path.erase(path.find_last_not_of(' ') + 1);
    text.replace(begin, end + 2 - begin, values.at(path).text());
  }
  return text;
}

// Returns the model of "hf://ORG/MODEL", "pvc+hf://CLAIM/PATH/ORG/MODEL" and "pvc://CLAIM/PATH".
std::string model_of_uri(const std::string& uri) {
  const std::size_t scheme = uri.find("://");
  if (scheme == std::string::npos) return uri;
  const std::string path = uri.substr(scheme + 3);
  const std::size_t last = path.rfind('/');
  if (uri.starts_with("pvc+hf") && last != std::string::npos && last > 0) {
    const std::size_t organisation = path.rfind('/', last - 1);
    return path.substr(organisation == std::string::npos ? 0 : organisation + 1);
  }
  return uri.starts_with("pvc") ? path.substr(last == std::string::npos ? 0 : last + 1) : path;
}

// Returns the words that the chart writes before a container's args; none if the container has a command of
// its own.
std::vector<LineWord> chart_program(const ManifestItem& values, const ManifestItem& part,
                                    const ManifestItem& container) {
  const std::string command = container["modelCommand"].text();
  if (command != "vllmServe" && command != "imageDefault") return {};
  const ManifestItem artifacts = values["modelArtifacts"], uri = artifacts["uri"],
                     sizes = part["parallelism"];
  const ManifestItem model = uri.exists() ? uri : artifacts["name"];
  ChartWords chart;
  chart.add("vllm", container["modelCommand"]);
  chart.add("serve", container["modelCommand"]);
  chart.add(model_of_uri(rendered(values, model)), model);
  chart.add_value("--tensor-parallel-size", sizes["tensor"]);
  const ManifestItem ranks = sizes["data"].exists() ? sizes["data"] : sizes["dataLocal"];
  chart.add_value("--data-parallel-size", ranks);
  return chart.words;
}

}  // namespace

bool add_production_stack(const ManifestItem& values, Manifest& manifest) {
  const ManifestItem spec = values["servingEngineSpec"];
  if (!spec.exists()) return false;
  const ManifestItem all = spec["enableEngine"];
  if (all.exists() && !all.is_on()) return true;
  for (const ManifestItem& model : spec["modelSpec"].elements()) {
    const bool is_off = model["enabled"].exists() && !model["enabled"].is_on();
    if (is_off) continue;
    if (const ManifestItem count = model["replicaCount"]; count.count(1) == 0) {
      manifest.stopped.push_back({model["name"].text(), count.place()});
      continue;
    }
    if (auto engine = stack_engine(values, model)) manifest.engines.push_back(std::move(*engine));
  }
  return true;
}

bool add_modelservice(const ManifestItem& values, Manifest& manifest) {
  if (!values["modelArtifacts"].exists()) return false;
  for (const char* name : {"decode", "prefill"}) {
    const ManifestItem part = values[name], create = part["create"], replicas = part["replicas"];
    const ManifestItem sizes = part["parallelism"], workers = sizes["workers"];
    // By default, the chart starts one decode server and no prefill server.
    const int64_t count = replicas.count(role_of(name) == ServerRole::decode ? 1 : 0);
    if (!part.exists() || (create.exists() && !create.is_on())) continue;
    if (count == 0) {
      if (replicas.exists()) manifest.stopped.push_back({name, replicas.place()});
      continue;
    }
    ContainerFrame frame{.name = name,
                         .instances = {.count = count, .place = replicas.place()},
                         .nodes = {.count = workers.count(1), .place = workers.place()},
                         .role = role_of(name)};
    if (sizes["tensor"].exists()) frame.values.emplace_back("TP_SIZE", sizes["tensor"]);
    if (sizes["data"].exists()) frame.values.emplace_back("DP_SIZE", sizes["data"]);
    for (const ManifestItem& container : part["containers"].elements()) {
      const std::vector<LineWord> program = chart_program(values, part, container);
      if (auto engine = engine_of(container, frame, {}, program))
        manifest.engines.push_back(std::move(*engine));
    }
  }
  return true;
}

}  // namespace kvcap
