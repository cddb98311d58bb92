// Reads the value of --from: a launch line or a file. In a manifest, chooses the engine and adds settings
// that its launch line does not contain: the number of instances, the GPUs, and the pair of prefill and
// decode servers.
#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/plain_text.h"
#include "launch/launch_line.h"
#include "launch/manifest/manifest.h"
#include "launch/values.h"

namespace kvcap {
namespace {

using Texts = std::vector<std::string>;

struct FileName {
  std::string path, engine;  // engine: empty if not named
};

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_directory(path, ignored);
}

// Returns the file that the value of --from names; nullopt if the value is a launch line.
std::optional<FileName> file_of(const std::string& text) {
  if (is_file(text)) return FileName{text, ""};
  const std::size_t hash = text.rfind('#');
  const FileName named{text.substr(0, hash), hash == std::string::npos ? "" : text.substr(hash + 1)};
  const bool is_one_word = text.find_first_of(" \t\n") == std::string::npos;
  const auto ends_with = [&](const char* ending) { return named.path.ends_with(ending); };
  const bool is_missing = is_one_word && (ends_with(".yaml") || ends_with(".yml") || ends_with(".json"));
  if (is_missing || (hash != std::string::npos && is_file(named.path))) return named;
  return std::nullopt;
}

std::string names_of(const std::vector<ManifestEngine>& engines) {
  Texts names;
  for (const ManifestEngine& one : engines) names.push_back(one.name);
  return first_few(names, 10);
}

[[noreturn]] void refuse_without_engine(const Manifest& manifest, const std::string& path) {
  const std::string found = manifest.others.empty() ? "" : " (" + first_few(manifest.others, 5) + ")";
  throw InputError(
      "--from: " + path + ": found no engine" + found +
      ", allowed: a container of a Pod, Deployment, StatefulSet, LeaderWorkerSet or "
      "DynamoGraphDeployment that runs an engine, or values of vLLM's production stack or of llm-d");
}

// Throws InputError if the manifest runs no engine, or not the engine that `file` names, because a server has
// 0 replicas.
void refuse_stopped(const Manifest& manifest, const FileName& file) {
  const auto is_meant = [&](const auto& one) { return file.engine.empty() || one.name == file.engine; };
  if (std::any_of(manifest.engines.begin(), manifest.engines.end(), is_meant)) return;
  for (const StoppedServer& one : manifest.stopped) {
    if (!is_meant(one)) continue;
    throw InputError("--from: " + one.place + ": found 0 replicas of " + one.name +
                     ", so no engine runs; allowed: at least 1");
  }
}

// Returns the engine that `file` names, or the manifest's only engine.
const ManifestEngine& chosen(const Manifest& manifest, const FileName& file) {
  const std::vector<ManifestEngine>& engines = manifest.engines;
  refuse_stopped(manifest, file);
  if (engines.empty()) refuse_without_engine(manifest, file.path);
  const ManifestEngine* found = nullptr;
  for (const ManifestEngine& one : engines) {
    if (!file.engine.empty() && one.name != file.engine) continue;
    if (found && !file.engine.empty()) {
      throw InputError("--from: " + file.path + ": found two engines " + one.name +
                       ", allowed: engines with different names");
    }
    found = &one;
  }
  if (found && (engines.size() == 1 || !file.engine.empty())) return *found;
  const std::string what =
      file.engine.empty() ? std::to_string(engines.size()) + " engines" : "no engine \"" + file.engine + "\"";
  throw InputError("--from: " + file.path + ": found " + what + ", allowed: one of " + names_of(engines) +
                   ", as in --from " + file.path + "#" + engines.front().name);
}

std::string value_of_field(const LaunchLine& line, const std::string& path) {
  std::string value;
  for (const std::string& one : line.overrides) {
    if (one.starts_with(path + "=")) value = one.substr(path.size() + 1);
  }
  return value;
}

int64_t count_of_field(const LaunchLine& line, const std::string& path) {
  const std::string value = value_of_field(line, path);
  return value.empty() ? 1 : integer_value(path, value);
}

// Sets a field to a value that the manifest gives outside of flags.
void set_field(LaunchLine& line, const std::string& field, const std::string& value, const std::string& flag,
               const std::string& place) {
  line.overrides.push_back(field + "=" + value);
  line.flags.push_back({.flag = flag, .value = value, .fields = {field}, .place = place + ": "});
}

// The GPUs of a node are those that the pod reserves, which may be more than the engine uses.
void set_gpus(const ManifestEngine& engine, LaunchLine& line) {
  if (!engine.gpus) return;
  const int64_t used = count_of_field(line, "serving.tensor_parallel_size") *
                       count_of_field(line, "serving.pipeline_parallel_size") *
                       count_of_field(line, "serving.data_parallel_size") *
                       count_of_field(line, "fleet.replicas");
  const PlacedCount& gpus = *engine.gpus;
  const int64_t reserved = gpus.count * engine.nodes.count;
  const auto text = [](int64_t count) { return std::to_string(count) + (count == 1 ? " GPU" : " GPUs"); };
  if (used > reserved) {
    throw InputError("--from: " + gpus.place + ": found " + text(reserved) + ", allowed: at least the " +
                     text(used) + " that the engine's flags need");
  }
  if (used == reserved) return;
  line.notes.push_back(gpus.place + ": the engine uses " + std::to_string(used) + " of " + text(reserved) +
                       "; the others are idle");
  set_field(line, "hardware.gpu.count", std::to_string(reserved), "GPUs", gpus.place);
}

bool is_in(const Texts& texts, std::string_view wanted) {
  return std::find(texts.begin(), texts.end(), wanted) != texts.end();
}

constexpr const char* kNodes = "nnodes";

// Throws InputError for an engine that spans several nodes, unless the user ignores `nnodes`.
void refuse_nodes(const ManifestEngine& engine, const Texts& ignored, LaunchLine& line) {
  std::erase_if(line.notes, [](const std::string& note) {
    return note.starts_with(std::string("--ignore-flags ") + kNodes + ":");
  });
  if (engine.nodes.count == 1) return;
  if (!is_in(ignored, kNodes)) {
    throw InputError("--from: " + engine.nodes.place + ": found an engine that spans " +
                     std::to_string(engine.nodes.count) + " nodes, allowed: one node; --ignore-flags " +
                     kNodes + " simulates one node with the GPUs of all");
  }
  if (!is_in(line.left_out, kNodes)) line.left_out.emplace_back(kNodes);
}

LaunchLine line_of(const ManifestEngine& engine, const Manifest& manifest, const Texts& ignored) {
  LaunchLine line = read_launch_words({.words = engine.words, .files = manifest.files, .ignored = ignored});
  line.notes.insert(line.notes.end(), engine.notes.begin(), engine.notes.end());
  refuse_nodes(engine, ignored, line);
  set_gpus(engine, line);
  return line;
}

LaunchLine read_one(const ManifestEngine& engine, const Manifest& manifest, const Texts& ignored) {
  LaunchLine line = line_of(engine, manifest, ignored);
  const int64_t servers = count_of_field(line, "fleet.replicas") * engine.instances.count;
  if (engine.instances.count > 1) {
    set_field(line, "fleet.replicas", std::to_string(servers), "replicas", engine.instances.place);
  }
  return line;
}

// ---- servers for prefill and decode ----

// Removes flags that only tell whether the server prefills or decodes and how it sends KV.
std::vector<LineWord> without_role(const std::vector<LineWord>& words) {
  constexpr std::string_view kSwitches[] = {"--is-prefill-worker", "--is-decode-worker"};
  constexpr std::string_view kValues[] = {"--disaggregation-mode", "--disaggregation-transfer-backend",
                                          "--disaggregation-bootstrap-port", "--disaggregation-ib-device"};
  const auto is_one_of = [](const auto& names, const std::string& flag) {
    return std::find(std::begin(names), std::end(names), flag) != std::end(names);
  };
  std::vector<LineWord> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string flag = normal_flag(words[i].text), name = flag.substr(0, flag.find('='));
    if (is_one_of(kSwitches, flag)) continue;
    if (is_one_of(kValues, name)) {
      i += name == flag ? 1 : 0;
      continue;
    }
    kept.push_back(words[i]);
  }
  return kept;
}

// Returns the fields of a line by path.
std::map<std::string, std::string> fields_of(const LaunchLine& line) {
  std::map<std::string, std::string> fields;
  for (const std::string& one : line.overrides)
    fields[one.substr(0, one.find('='))] = one.substr(one.find('=') + 1);
  return fields;
}

// Servers for prefill and decode may differ in these fields of `serving`: the limits of a batch, and the GPUs
// of a server.
constexpr const char* kOfBatch[] = {"max_num_seqs", "max_num_batched_tokens"};
constexpr const char* kOfGpus[] = {"tensor_parallel_size", "data_parallel_size"};

// Throws InputError for the first field in which the servers differ, other than those above.
void refuse_difference(const LaunchLine& prefill, const LaunchLine& decode, const std::string& path) {
  std::map<std::string, std::string> ours = fields_of(prefill), others = fields_of(decode);
  for (const char* name : kOfBatch) {
    const std::string field = std::string("serving.") + name;
    if (!ours.contains(field) || !others.contains(field)) continue;
    ours.erase(field);
    others.erase(field);
  }
  for (auto* fields : {&ours, &others}) {
    // The GPU count is set if the pod has idle GPUs. The parallelism must then be the same for both servers,
    // because the options of a pool have no count of idle GPUs.
    if (fields->contains("hardware.gpu.count")) continue;
    for (const char* name : kOfGpus) fields->erase(std::string("serving.") + name);
  }
  for (const auto& [field, value] : others) ours.try_emplace(field, "");
  for (const auto& [field, value] : ours) {
    const auto other = others.find(field);
    if (other != others.end() && other->second == value) continue;
    const auto shown = [](const std::string& text) {
      return text.empty() ? "no value" : beginning(text, 40);
    };
    throw InputError(
        "--from: " + path + ": prefill and decode differ in " + field + ": found " + shown(value) + " and " +
        shown(other == others.end() ? "" : other->second) +
        ", allowed: the same for both; max_num_seqs, max_num_batched_tokens, tensor_parallel_size "
        "and data_parallel_size may differ");
  }
}

// Sets the batch limits and the GPUs of each pool where the two servers differ.
void set_pools(LaunchLine& line, const LaunchLine& prefill, const std::string& place) {
  const std::string group = "fleet.disaggregation.";
  for (const char* name : kOfBatch) {
    const std::string own = value_of_field(prefill, std::string("serving.") + name);
    if (own == value_of_field(line, std::string("serving.") + name)) continue;
    set_field(line, group + "prefill." + name, own, std::string("prefill ") + name, place);
  }
  for (const char* name : kOfGpus) {
    const int64_t first = count_of_field(prefill, std::string("serving.") + name);
    const int64_t second = count_of_field(line, std::string("serving.") + name);
    if (first == second) continue;
    set_field(line, group + "prefill." + name, std::to_string(first), std::string("prefill ") + name, place);
    set_field(line, group + "decode." + name, std::to_string(second), std::string("decode ") + name, place);
  }
}

// Reads a prefill server and a decode server as one scenario with fleet.disaggregation.
LaunchLine read_pair(const ManifestEngine& prefill, const ManifestEngine& decode, const Manifest& manifest,
                     const FileName& file, const Texts& ignored) {
  const auto line_without_role = [&](ManifestEngine engine) {
    engine.words = without_role(engine.words);
    LaunchLine line = line_of(engine, manifest, ignored);
    std::erase_if(line.notes, [](const std::string& note) {
      return note.find("fleet.disaggregation") != std::string::npos;
    });
    return line;
  };
  const LaunchLine first = line_without_role(prefill);
  LaunchLine line = line_without_role(decode);
  refuse_difference(first, line, file.path);
  const std::string group = "fleet.disaggregation.";
  set_pools(line, first, prefill.instances.place);
  set_field(line, "fleet.replicas", std::to_string(prefill.instances.count + decode.instances.count),
            "replicas", decode.instances.place);
  set_field(line, group + "prefill_replicas", std::to_string(prefill.instances.count), "prefill replicas",
            prefill.instances.place);
  // SGLang's decode servers reserve blocks before the prefill begins.
  if (line.engine == Stack::sglang) line.overrides.push_back(group + "transfer=push");
  for (const std::string& note : first.notes) {
    if (!is_in(line.notes, note)) line.notes.push_back(note);
  }
  return line;
}

}  // namespace

LaunchLine read_from(const std::string& text, const std::vector<std::string>& ignored) {
  const std::optional<FileName> file = file_of(text);
  if (!file) return read_launch_line(text, ignored);
  constexpr int64_t kMaxBytes = 1 << 20;
  const std::string content = read_file(file->path, kMaxBytes);
  if (file->path.ends_with(".sh")) return read_launch_line(content, ignored);
  const Manifest manifest = parse_manifest(content, file->path);
  const std::vector<ManifestEngine>& engines = manifest.engines;
  const auto with_role = [&](ServerRole role) {
    return std::find_if(engines.begin(), engines.end(), [role](const auto& one) { return one.role == role; });
  };
  const auto prefill = with_role(ServerRole::prefill), decode = with_role(ServerRole::decode);
  const bool is_pair =
      file->engine.empty() && engines.size() == 2 && prefill != engines.end() && decode != engines.end();
  LaunchLine line = is_pair ? read_pair(*prefill, *decode, manifest, *file, ignored)
                            : read_one(chosen(manifest, *file), manifest, ignored);
  line.source = file->path + ", " + (is_pair ? names_of(engines) : chosen(manifest, *file).name);
  return line;
}

}  // namespace kvcap
