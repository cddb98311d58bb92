#include "launch/launch_line.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/input_error.h"
#include "policy/table.h"
#include "scenario/json.h"
#include "scenario/load.h"
#include "spec/tiers.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return small;
}

bool is_variable(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](unsigned char letter) {
                       return std::isupper(letter) != 0 || std::isdigit(letter) != 0 || letter == '_';
                     });
}

// ---- models ----

// "qwen3-32b" of "Qwen/Qwen3-32B": the catalogue's name of what is served, without what only says how it was
// trained or packed.
struct NamedModel {
  std::string name;
  bool is_8bit = false;   // its weights are, and the catalogue's are not
  int64_t positions = 0;  // more than the catalogue's; 0: as many
};

// Models whose config.json has the shapes of another of the catalogue.
constexpr std::pair<std::string_view, std::string_view> kAlike[] = {
    {"llama-3.3-70b", "llama-3.1-70b"}, {"deepseek-r1", "deepseek-v3"}, {"deepseek-v3-0324", "deepseek-v3"}};
// max_position_embeddings of Qwen3's releases of July 2025 (Qwen/Qwen3-30B-A3B-Instruct-2507, config.json).
constexpr int64_t kPositionsOf2507 = 262144;

NamedModel model_of(const std::string& written) {
  std::error_code ignored;
  if (std::filesystem::exists(written, ignored)) return {written};
  std::vector<std::string_view> names;
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) names.push_back(entry.name);
  std::string wanted = lower(written);
  while (wanted.ends_with('/')) wanted.pop_back();
  wanted.erase(0, wanted.rfind('/') + 1);
  if (wanted.starts_with("meta-")) wanted.erase(0, 5);
  const std::string whole = wanted;
  constexpr std::string_view kEndings[] = {"-instruct", "-2507", "-chat", "-hf",         "-it",
                                           "-base",     "-bf16", "-v0.1", "-v0.2",       "-v0.3",
                                           "-thinking", "-0528", "-fp8",  "-fp8-dynamic"};
  const auto is_there = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  // "mistral-7b-instruct-v0.1" is "mistral-7b-v0.1".
  const std::size_t tuned = wanted.find("-instruct-v");
  if (tuned != std::string::npos && is_there(wanted.substr(0, tuned) + wanted.substr(tuned + 9))) {
    return {wanted.substr(0, tuned) + wanted.substr(tuned + 9)};
  }
  bool is_8bit = false;
  int64_t positions = 0;
  for (bool shorter = true; shorter;) {
    for (const auto& [name, like] : kAlike) {
      if (wanted == name) wanted = like;
    }
    if (is_8bit && is_there(wanted + "-fp8")) return {wanted + "-fp8", false, positions};
    if (is_there(wanted)) return {wanted, is_8bit, positions};
    shorter = false;
    for (std::string_view ending : kEndings) {
      if (!wanted.ends_with(ending)) continue;
      wanted.resize(wanted.size() - ending.size());
      is_8bit = is_8bit || ending.starts_with("-fp8");
      if (ending == "-2507") positions = kPositionsOf2507;
      shorter = true;
    }
  }
  std::string near = suggestion(wanted, names);
  if (near.empty()) near = suggestion(whole, names);
  throw InputError("--from: found model \"" + written +
                   "\", allowed: a name of kvcap show models or the path of a config.json" + near);
}

// ---- values ----

[[noreturn]] void fail(std::string_view flag, const std::string& value, const std::string& allowed) {
  throw InputError("--from: " + std::string(flag) + ": found \"" + value + "\", allowed: " + allowed);
}

double number_of(std::string_view flag, const std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const std::string_view rest(end, static_cast<std::size_t>(value.data() + value.size() - end));
  double factor = rest.empty() ? 1 : 0;
  if (rest == "k") factor = 1e3;
  if (rest == "K") factor = 1024;
  if (rest == "m") factor = 1e6;
  if (rest == "M") factor = 1048576;
  if (rest == "g") factor = 1e9;
  if (rest == "G") factor = 1073741824;
  if (error != std::errc() || factor == 0 || !std::isfinite(number)) {
    fail(flag, value, "a number, perhaps with k, K, m, M, g or G behind it");
  }
  return number * factor;
}

int64_t integer_of(std::string_view flag, const std::string& value) {
  const double number = number_of(flag, value);
  if (number != std::floor(number) || std::abs(number) > 1e15) fail(flag, value, "an integer");
  return std::llround(number);
}

std::string text_of(double number) { return Json(number).dump(); }
std::string whole_of(double number) { return std::to_string(std::llround(number)); }

// The value of a word in a row; nothing where the row leaves the field alone.
std::optional<std::string> word_value(const FlagRow& row, const std::string& word) {
  std::string allowed;
  for (const Word& one : words_of(row.words)) {
    if (lower(one.word) == lower(word) || one.word == "*") {
      return one.value.empty() ? std::nullopt : std::optional(std::string(one.value));
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(one.word);
  }
  fail(first_name(row), word, allowed);
}

// ---- reading ----

// What the line says, by field; tiers by their kind.
struct Said {
  std::map<std::string, std::string> fields;  // JSON texts by path
  std::string policy;
  std::map<std::string, std::map<std::string, std::string>> tiers;
  bool no_host_cache = false;                            // LMCACHE_LOCAL_CPU=False
  std::vector<std::pair<const FlagRow*, double>> bytes;  // of each rank
};

class Reader {
 public:
  explicit Reader(LaunchLine& line) : line_(line) {}

  void take(const std::string& flag, const std::optional<std::string>& value) {
    const std::vector<const FlagRow*> rows = find_flags(line_.engine, flag);
    if (rows.empty()) return take_unknown(flag, value);
    for (const FlagRow* row : rows) apply(*row, flag, value.value_or(""));
  }
  // A JSON value of a flag whose members are rows.
  bool take_members(const std::string& flag, const std::string& value) {
    const Json json = Json::parse(value, nullptr, false);
    if (!json.is_object() && value.starts_with("{")) fail(flag, value, "JSON (in single quotes)");
    if (!json.is_object()) return false;
    take_object(flag, json);
    return true;
  }
  static bool has_members(Stack engine, const std::string& flag) {
    const std::string prefix = normal_flag(flag) + ".";
    const std::vector<std::string_view> names = flag_names(engine);
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return normal_flag(name).starts_with(prefix); });
  }

  void name_model(const std::string& written) {
    const NamedModel model = model_of(written);
    line_.model = model.name;
    if (model.positions > 0) {
      said_.fields["model.max_position_embeddings"] = std::to_string(model.positions);
    }
    if (!model.is_8bit) return;
    said_.fields["model.weight_bytes_per_element"] = "1";
    said_.fields["model.activation_bytes_per_element"] = "1";
  }

  void finish() {
    std::vector<std::string>& overrides = line_.overrides;
    overrides.push_back("model=" + line_.model);
    overrides.push_back("serving.engine=" + std::string(name(line_.engine)));
    settle_ranks();
    settle_chunks();
    // Each data parallel rank is an engine with a host cache of its own.
    const double engines = count_of("serving.data_parallel_size");
    const double ranks = engines * count_of("serving.tensor_parallel_size");
    for (const auto& [row, bytes] : said_.bytes) {
      const std::vector<std::string> path = parts_of(row->field);
      said_.tiers[path[2]]["capacity_bytes"] = text_of(bytes * (row->is_per_rank ? ranks : engines));
    }
    if (blocks_) {
      const auto size = said_.fields.find("serving.block_size");
      const int64_t tokens = size == said_.fields.end() ? 16 : integer_of("--block-size", size->second);
      said_.fields["serving.kv_capacity_tokens"] = std::to_string(tokens * *blocks_);
    }
    const auto caching = said_.fields.find("serving.prefix_caching");
    if (said_.policy == "hicache" && caching != said_.fields.end() && caching->second == "false") {
      throw InputError(
          "--from: found --disable-radix-cache beside --enable-hierarchical-cache, allowed: one of them");
    }
    note_sizes();
    settle_sizes();
    overrides.push_back("policy.name=" + (said_.policy.empty() ? "recompute" : said_.policy));
    overrides.push_back("policy.tiers=" + tiers_text());
    for (const auto& [path, value] : said_.fields) overrides.push_back(path + "=" + value);
  }
  Said& said() { return said_; }

 private:
  static std::vector<std::string> parts_of(std::string_view path) {
    std::vector<std::string> parts(1);
    for (char letter : path) {
      if (letter == '.') {
        parts.emplace_back();
      } else {
        parts.back() += letter;
      }
    }
    return parts;
  }

  void note(std::string text) { line_.notes.push_back(std::move(text)); }

  double count_of(const std::string& field) const {
    const auto found = said_.fields.find(field);
    return found == said_.fields.end() ? 1 : number_of(field, found->second);
  }

  // Host caches that the line does not begin, and those whose size it does not say.
  void note_sizes() {
    if (said_.policy.empty() && !said_.tiers.empty()) {
      note("sizes and tiers of a host cache change nothing without a connector that begins it");
    }
    const auto dram = said_.tiers.find("dram");
    const bool is_sized = dram != said_.tiers.end() && !dram->second.empty();
    if ((said_.policy == "vllm_offload" || said_.policy == "kvbm") && !is_sized) {
      note("the line says no size of the host cache: all DRAM of the hardware is taken");
    }
  }

  // A size decides before a ratio, and a size of 0 leaves it to the ratio (SGLang's server_args.py).
  void settle_sizes() {
    if (said_.policy != "hicache") return;
    for (auto& [kind, tier] : said_.tiers) {
      const auto size = tier.find("capacity_bytes");
      if (size == tier.end()) continue;
      if (number_of("--hicache-size", size->second) > 0) {
        if (tier.erase("capacity_over_gpu") > 0) note("--hicache-size overrides --hicache-ratio");
      } else {
        tier.erase(size);
        tier.try_emplace("capacity_over_gpu", "2");
      }
    }
  }

  // Attention of data parallel ranks divides the line's tensor parallel GPUs, and its chunks of prompts;
  // without it each of SGLang's ranks is a model of its own, where vLLM's share experts.
  void settle_ranks() {
    const int64_t gpus = std::llround(count_of("serving.tensor_parallel_size"));
    int64_t ranks = std::llround(count_of("serving.data_parallel_size"));
    if (divides_gpus_) {
      if (line_.engine == Stack::trtllm) ranks = gpus;
      if (ranks < 1 || gpus % ranks != 0) {
        fail("--dp-size", std::to_string(ranks), "a divisor of --tp-size with --enable-dp-attention");
      }
      said_.fields["serving.tensor_parallel_size"] = std::to_string(gpus / ranks);
      said_.fields["serving.data_parallel_size"] = std::to_string(ranks);
      line_.attention_ranks = ranks;
    } else if (line_.engine == Stack::sglang && ranks > 1 && load_model(line_.model).experts) {
      said_.fields.erase("serving.data_parallel_size");
      said_.fields["fleet.replicas"] = std::to_string(ranks);
      note("--dp-size without --enable-dp-attention: " + std::to_string(ranks) +
           " servers of their own, which share no experts");
    }
  }

  void settle_chunks() {
    const auto chunk = said_.fields.find("serving.max_num_batched_tokens");
    if (chunk == said_.fields.end() || line_.engine != Stack::sglang) return;
    int64_t tokens = integer_of("--chunked-prefill-size", chunk->second);
    if (tokens == -1) {
      const auto length = said_.fields.find("serving.max_model_len");
      tokens = length != said_.fields.end() ? integer_of("--context-length", length->second)
                                            : load_model(line_.model).max_position_embeddings;
      note("--chunked-prefill-size -1: a step computes up to " + std::to_string(tokens) +
           " tokens of prompts");
    } else {
      tokens = std::max<int64_t>(1, tokens / line_.attention_ranks);
    }
    chunk->second = std::to_string(tokens);
  }

  void take_object(const std::string& prefix, const Json& json) {
    for (const auto& [key, value] : json.items()) {
      const std::string flag = prefix + "." + key;
      if (value.is_object()) {
        take_object(flag, value);
      } else if (value.is_array() && !value.empty() && value.front().is_object()) {
        for (std::size_t i = 0; i < value.size(); ++i) take_object(flag + "." + std::to_string(i), value[i]);
      } else {
        take(flag, value.is_string() ? value.get<std::string>() : value.dump());
      }
    }
  }

  void take_unknown(const std::string& flag, const std::optional<std::string>& value) {
    const std::vector<std::string_view> names = flag_names(line_.engine);
    note(flag + (value && !value->empty() ? " " + *value : "") + " is not known and changes nothing" +
         suggestion(normal_flag(flag), names));
  }

  void set(const FlagRow& row, const std::string& json) {
    const std::vector<std::string> path = parts_of(row.field);
    if (path.size() == 4 && path[1] == "tiers") {
      said_.tiers[path[2]][path[3]] = json;
    } else {
      said_.fields[std::string(row.field)] = json;
    }
    if (row.starts_storage) start(row.storage);
  }

  void start(std::string_view policy) {
    if (said_.policy.empty()) said_.policy = policy;
  }

  void apply(const FlagRow& row, const std::string& flag, const std::string& value) {
    if (row.effect == FlagEffect::not_simulated) note(flag + " has an effect that is not simulated");
    if (row.effect != FlagEffect::sets) return;
    switch (row.form) {
      case FlagForm::integer:
        return set(row, std::to_string(integer_of(flag, value)));
      case FlagForm::number:
        return set(row, text_of(number_of(flag, value)));
      case FlagForm::words:
        if (const std::optional<std::string> said = word_value(row, value)) set(row, *said);
        return;
      case FlagForm::ranks:
        divides_gpus_ = row.words.empty() || word_value(row, value) == "true";
        return;
      case FlagForm::present:
        if (row.field == "policy") return start(row.words);
        return set(row, std::string(row.words));
      case FlagForm::bytes:
        return take_bytes(row, flag, value);
      case FlagForm::blocks:
        blocks_ = integer_of(flag, value);
        return;
      case FlagForm::tier:
        if (const std::optional<std::string> kind = word_value(row, value)) {
          said_.tiers[*kind];
        } else if (first_name(row) == "LMCACHE_LOCAL_CPU") {
          said_.no_host_cache = true;
        }
        return;
      case FlagForm::storage:
        if (const std::optional<std::string> policy = word_value(row, value)) said_.policy = *policy;
        return;
      case FlagForm::model:
        if (row.field == "model") {
          name_model(value);
        } else {
          set(row, Json(model_of(value).name).dump());
        }
        return;
      case FlagForm::yaml_file:
        return note(flag + " " + value + " is not read: give its keys on the line, as in " +
                    (row.stack == Stack::lmcache
                         ? "LMCACHE_MAX_LOCAL_CPU_SIZE=60"
                         : "--extra_llm_api_options.kv_cache_config.host_cache_size 68719476736"));
      case FlagForm::text:
        return;
    }
  }

  void take_bytes(const FlagRow& row, const std::string& flag, const std::string& value) {
    // A unit behind a number that has one already is a slip.
    if (row.unit_bytes != 1 && !value.empty() &&
        std::isalpha(static_cast<unsigned char>(value.back())) != 0) {
      fail(flag, value, std::string("a number of ") + (row.unit_bytes == 1e9 ? "GB" : "GiB"));
    }
    const double number = number_of(flag, value);
    if (number == 0 && row.starts_storage && row.storage != "hicache") return;  // off
    said_.bytes.emplace_back(&row, number * row.unit_bytes);
    if (row.starts_storage) start(row.storage);
  }

  // From near to far; the policy's own where the line names none.
  std::string tiers_text() const {
    if (said_.tiers.empty() || said_.policy.empty()) return "null";
    std::string text;
    for (const char* kind : {"dram", "ssd", "remote", "mooncake_store"}) {
      auto tier = said_.tiers.find(kind);
      const bool is_dram = std::string_view(kind) == "dram";
      if (is_dram && said_.no_host_cache && said_.tiers.size() > 0) continue;
      const bool implied = is_dram && tier == said_.tiers.end();
      if (tier == said_.tiers.end() && !implied) continue;
      text += (text.empty() ? "" : ",") + (R"({"kind":")" + std::string(kind)) + "\"";
      if (!implied) {
        for (const auto& [key, value] : tier->second) text += ",\"" + key + "\":" + value;
      } else if (said_.policy == "hicache") {
        text += ",\"capacity_over_gpu\":2";
      } else if (said_.policy == "lmcache") {
        text += ",\"capacity_per_gpu_bytes\":5368709120";
      }
      text += "}";
    }
    return "[" + text + "]";
  }

  LaunchLine& line_;
  Said said_;
  std::optional<int64_t> blocks_;
  bool divides_gpus_ = false;
};

// Where the flags begin, and whose they are.
std::size_t find_engine(const std::vector<std::string>& words, LaunchLine& line) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string program = words[i].substr(words[i].rfind('/') + 1);
    const bool serves = i + 1 < words.size() && words[i + 1] == "serve";
    // The word alone may be a container's name or the end of a path.
    const bool is_last = i + 1 == words.size();
    if ((program == "vllm" || program == "sglang") && (serves || is_last)) {
      line.engine = program == "vllm" ? Stack::vllm : Stack::sglang;
      return serves ? i + 2 : i + 1;
    }
    if (program == "trtllm-serve") {
      line.engine = Stack::trtllm;
      return serves ? i + 2 : i + 1;
    }
    // docker run ... vllm/vllm-openai:latest --model MODEL
    const bool is_image = program == "vllm-openai" || program.starts_with("vllm-openai:");
    if (is_image || program == "vllm.entrypoints.openai.api_server" || program == "dynamo.vllm") {
      line.engine = Stack::vllm;
      return i + 1;
    }
    if (program == "sglang.launch_server" || program == "dynamo.sglang") {
      line.engine = Stack::sglang;
      return i + 1;
    }
  }
  throw InputError(
      "--from: found no engine, allowed: a line with vllm serve, sglang.launch_server, sglang serve or "
      "trtllm-serve");
}

bool takes_value(Stack engine, const std::string& flag) {
  const std::vector<const FlagRow*> rows = find_flags(engine, flag);
  if (rows.empty()) return true;
  const bool is_switch = rows.front()->form == FlagForm::ranks && rows.front()->words.empty();
  return rows.front()->form != FlagForm::present && !is_switch;
}

}  // namespace

std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool has_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (quote == '\'' ? letter == '\'' : quote != 0 && letter == quote) {
      quote = 0;
    } else if (quote != '\'' && letter == '\\' && i + 1 < line.size()) {
      ++i;
      if (line[i] == '\n') continue;
      if (quote == '"' && line[i] != '"' && line[i] != '\\') word += '\\';
      word += line[i];
      has_word = true;
    } else if (quote == 0 && (letter == '\'' || letter == '"')) {
      quote = letter;
      has_word = true;
    } else if (quote == 0 && std::isspace(static_cast<unsigned char>(letter)) != 0) {
      if (has_word) words.push_back(word);
      word.clear();
      has_word = false;
    } else {
      word += letter;
      has_word = true;
    }
  }
  if (quote != 0) throw InputError(std::string("--from: found a quote ") + quote + " that does not end");
  if (has_word) words.push_back(word);
  return words;
}

LaunchLine read_launch_line(std::string_view text) {
  LaunchLine line;
  const std::vector<std::string> words = shell_words(text);
  const std::size_t begin = find_engine(words, line);
  Reader reader(line);
  for (std::size_t i = 0; i < begin; ++i) {
    // Also docker's --env=NAME=value, and a shell's export NAME=value;
    std::string word = words[i].starts_with("--env=") ? words[i].substr(6) : words[i];
    if (word.starts_with("--env-file"))
      line.notes.push_back("--env-file is not read: give its variables with --env");
    while (word.ends_with(';')) word.pop_back();
    if (!is_variable(word)) continue;
    const std::size_t equals = word.find('=');
    reader.take(word.substr(0, equals), word.substr(equals + 1));
  }
  for (std::size_t i = begin; i < words.size(); ++i) {
    std::string flag = words[i];
    if (!flag.starts_with("-")) {
      if (line.model.empty()) {
        reader.name_model(flag);
      } else {
        line.notes.push_back("\"" + flag + "\" belongs to no flag and changes nothing");
      }
      continue;
    }
    std::optional<std::string> value;
    const std::size_t equals = flag.find('=');
    if (equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    }
    // --no-enable-prefix-caching
    if (flag.starts_with("--no-") && find_flags(line.engine, flag).empty()) {
      const std::vector<const FlagRow*> rows = find_flags(line.engine, "--" + flag.substr(5));
      if (!rows.empty() && rows.front()->form == FlagForm::present && !rows.front()->field.empty()) {
        const std::string_view is = rows.front()->words;
        if (is == "true" || is == "false") {
          reader.said().fields[std::string(rows.front()->field)] = is == "true" ? "false" : "true";
        }
        continue;
      }
      if (flag == "--no-enable-chunked-prefill")
        line.notes.push_back(flag + " has an effect that is not simulated");
      if (!rows.empty()) continue;
    }
    if (value && !takes_value(line.engine, flag)) {
      throw InputError("--from: " + flag + ": found \"" + *value + "\", allowed: no value");
    }
    const bool has_members = Reader::has_members(line.engine, flag);
    if (!value && (has_members || takes_value(line.engine, flag)) && i + 1 < words.size() &&
        !words[i + 1].starts_with("--")) {
      value = words[++i];
    }
    if (has_members && value && reader.take_members(flag, *value)) continue;
    reader.take(flag, value);
  }
  if (line.model.empty()) throw InputError("--from: found no model, allowed: a line that names one");
  reader.finish();
  return line;
}

std::vector<std::string> defaults_on(const LaunchLine& line, const HardwareProfile& hardware) {
  std::vector<std::string> defaults;
  const auto says = [&](const std::string& path) {
    return std::any_of(line.overrides.begin(), line.overrides.end(),
                       [&](const std::string& one) { return one.starts_with(path + "="); });
  };
  const auto add = [&](const std::string& path, const std::string& value) {
    if (!says(path)) defaults.push_back(path + "=" + value);
  };
  const double gib = hardware.gpu.memory_bytes / 1073741824;
  if (line.engine == Stack::vllm) {
    // vllm/engine/arg_utils.py: the API server's.
    const bool is_large = gib >= 70 && hardware.gpu.name.find("A100") == std::string::npos;
    add("serving.max_num_batched_tokens", is_large ? "8192" : "2048");
    add("serving.max_num_seqs", is_large ? "1024" : "256");
    add("serving.gpu_memory_utilization", "0.92");
  }
  if (line.engine == Stack::sglang) {
    // python/sglang/srt/server_args.py: chunks by memory; 1.5 MB for each token of a chunk and 2 MB for each
    // sequence of the largest CUDA graph are left to activations and graphs.
    const double chunk = gib < 35 ? 2048 : gib < 60 ? 4096 : gib < 160 ? 8192 : 16384;
    const double graph = gib < 20 ? 8 : gib < 35 ? 24 : gib < 60 ? 32 : gib < 160 ? 256 : 512;
    add("serving.max_num_batched_tokens", whole_of(chunk / static_cast<double>(line.attention_ranks)));
    const double share = 1 - (1.5 * chunk + 2 * graph) / (1024 * gib);
    add("serving.gpu_memory_utilization", text_of(std::round(1000 * share) / 1000));
    const bool tiered = std::find(line.overrides.begin(), line.overrides.end(), "policy.name=hicache") !=
                        line.overrides.end();
    if (tiered) add("serving.block_size", "64");
  }
  return defaults;
}

// ---- writing ----

namespace {

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

std::string plain(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// "100" for 100 GiB. What has more digits is cut, not rounded: no tier may be larger than the hardware's.
std::string size_text(double bytes, double unit_bytes) {
  const double units = bytes / unit_bytes;
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", units);
  if (std::abs(std::strtod(text, nullptr) - units) <= 1e-12 * units) return text;
  return text_of(units < 1 ? units : std::floor(100 * units) / 100);
}

using Words = std::vector<std::string>;  // each a flag with its value

// Whether the engine's line divides its tensor parallel GPUs among the ranks.
bool divides_gpus(const Scenario& scenario, Stack engine) {
  const bool shares_experts = scenario.serving.data_parallel_size > 1 && scenario.model.experts.has_value();
  return shares_experts && engine != Stack::vllm;
}
bool has_line_for_ranks(const Scenario& scenario, Stack engine) {
  if (scenario.serving.data_parallel_size == 1 || engine != Stack::trtllm) return true;
  return divides_gpus(scenario, engine) && scenario.serving.tensor_parallel_size == 1;
}

// Flags of fields of `serving` that are not what the engine has by itself.
void add_serving(const Scenario& scenario, Stack engine, Words& words) {
  Json json = Json::parse(scenario.resolved_json);
  const int64_t ranks = divides_gpus(scenario, engine) ? scenario.serving.data_parallel_size : 1;
  if (ranks > 1) {
    Json& serving = json["serving"];
    serving["tensor_parallel_size"] = ranks * scenario.serving.tensor_parallel_size;
    if (engine == Stack::sglang) {
      serving["max_num_batched_tokens"] = ranks * scenario.serving.max_num_batched_tokens;
    }
  }
  for (const FlagRow& row : flag_table()) {
    const bool is_plain = row.stack == engine && row.effect == FlagEffect::sets &&
                          row.field.starts_with("serving.") && row.names.starts_with("--") &&
                          row.field != "serving.speculative.draft_model";
    const Json* value = is_plain ? at(json, row.field) : nullptr;
    if (!value) continue;
    const std::string flag(first_name(row)), text = plain(*value);
    if (row.form == FlagForm::ranks) {
      if (ranks > 1) words.push_back(flag + (row.words.empty() ? "" : " true"));
    } else if (row.form == FlagForm::present) {
      const bool is_default_on = row.engine_default == "on";
      if (text == row.words && !is_default_on) words.push_back(flag);
      if (text != row.words && is_default_on) words.push_back("--no-" + flag.substr(2));
    } else if (row.form == FlagForm::words) {
      for (const Word& one : words_of(row.words)) {
        const bool is_default =
            row.engine_default.substr(0, row.engine_default.find_first_of(" ;")) == one.word;
        if (one.value == text && !is_default) {
          // Any other word stands for a number of GPUs: all of the line's.
          words.push_back(
              flag + " " +
              (one.word == "*" ? plain(*at(json, "serving.tensor_parallel_size")) : std::string(one.word)));
          break;
        }
        if (one.value == text && is_default) break;
      }
    } else if (row.form == FlagForm::blocks) {
      words.push_back(flag + " " + std::to_string(value->get<int64_t>() / scenario.serving.block_size));
    } else if (row.form == FlagForm::integer || row.form == FlagForm::number) {
      if (row.engine_default.substr(0, row.engine_default.find_first_of(" ;,")) == text) continue;
      if (row.field == "serving.max_model_len" && *value == scenario.model.max_position_embeddings) continue;
      words.push_back(flag + " " + text);
    }
  }
}

// 0 where the tier is not there, or where the stack has a flag for what decides its size.
double capacity_bytes(const Scenario& scenario, Tier kind) {
  if (!scenario.policy.tiers) return 0;
  for (const TierOptions& tier : *scenario.policy.tiers) {
    if (tier.kind != kind || tier.capacity_over_gpu) continue;
    const std::optional<TierFacts> whole = tier_facts(scenario.hardware, kind);
    return tier.capacity_bytes.value_or(whole ? whole->capacity_bytes : 0);
  }
  return 0;
}

constexpr std::string_view kExtra = "--kv-transfer-config.kv_connector_extra_config.";

// How a row writes a value; nothing where it has no word for it.
std::optional<std::string> word_for(const FlagRow& row, const Json& value) {
  if (row.form == FlagForm::integer || row.form == FlagForm::number) return plain(value);
  if (row.form != FlagForm::words) return std::nullopt;
  for (const Word& one : words_of(row.words)) {
    if (!one.value.empty() && one.value == plain(value)) return std::string(one.word);
  }
  return std::nullopt;
}

// Options that the scenario gives and that are not the stack's own; `extra` gets what vLLM's connector reads.
// False where the stack has no flag for one of them.
bool add_options(const Scenario& scenario, Words& words, Words& variables, Json& extra) {
  Scenario stock = scenario;
  stock.policy = with_preset({.name = scenario.policy.name});
  const Json standard = write_scenario(stock).at("policy"), given = write_scenario(scenario).at("policy");
  const std::vector<const FlagRow*> rows = flags_of_policy(scenario.policy.name);
  for (const auto& [key, value] : given.items()) {
    if (key == "name" || key == "tiers" || value.is_null() || value == standard.at(key)) continue;
    const std::string field = "policy." + key;
    std::optional<std::string> word;
    for (const FlagRow* row : rows) {
      if (row->field != field || !(word = word_for(*row, value))) continue;
      const std::string_view flag = first_name(*row);
      if (flag.starts_with(kExtra)) {
        const Json read = Json::parse(*word, nullptr, false);
        extra[std::string(flag.substr(kExtra.size()))] = read.is_discarded() ? Json(*word) : read;
      } else if (flag.starts_with("--")) {
        words.push_back(std::string(flag) + " " + *word);
      } else {
        variables.push_back(std::string(flag) + "=" + *word);
      }
      break;
    }
    if (!word) return false;
  }
  return true;
}

bool has_kind(const Scenario& scenario, Tier kind) {
  const std::optional<std::vector<TierOptions>>& tiers = scenario.policy.tiers;
  return tiers && std::any_of(tiers->begin(), tiers->end(),
                              [kind](const TierOptions& tier) { return tier.kind == kind; });
}

std::string transfer_config(const char* connector, const Json& extra) {
  nlohmann::ordered_json config = {{"kv_connector", connector}, {"kv_role", "kv_both"}};
  if (!extra.empty()) config["kv_connector_extra_config"] = extra;
  return "--kv-transfer-config '" + config.dump() + "'";
}

// False where no stack of this engine does it.
bool add_storage(const Scenario& scenario, Stack engine, Words& words, Words& variables) {
  constexpr double kGib = 1073741824, kGb = 1e9;
  const std::string& policy = scenario.policy.name;
  const double dram = capacity_bytes(scenario, Tier::dram), ssd = capacity_bytes(scenario, Tier::ssd);
  const bool is_remote = has_kind(scenario, Tier::remote);
  const auto engines = static_cast<double>(scenario.serving.data_parallel_size);
  const double gpus = engines * static_cast<double>(scenario.serving.tensor_parallel_size);
  Json extra = Json::object();
  Words options;
  if (!add_options(scenario, options, variables, extra)) return false;
  if (policy == "recompute") return true;
  if (policy == "vllm_offload" && engine == Stack::vllm) {
    if (ssd > 0) extra["secondary_tiers"].push_back({{"type", "fs"}});
    if (is_remote) extra["secondary_tiers"].push_back({{"type", "obj"}});
    if (extra.empty()) {
      words.push_back("--kv-offloading-size " + size_text(dram / engines, kGib));
    } else {
      extra["cpu_bytes_to_use"] = std::llround(dram / engines);
      words.push_back(transfer_config("OffloadingConnector", extra));
    }
  } else if (policy == "lmcache" && engine != Stack::trtllm) {
    if (dram > 0) variables.push_back("LMCACHE_MAX_LOCAL_CPU_SIZE=" + size_text(dram / gpus, kGib));
    if (ssd > 0) {
      variables.push_back("LMCACHE_LOCAL_DISK=file:///mnt/kv");
      variables.push_back("LMCACHE_MAX_LOCAL_DISK_SIZE=" + size_text(ssd / gpus, kGib));
    }
    if (is_remote) variables.push_back("LMCACHE_REMOTE_URL=lm://HOST:65432");
    words.push_back(engine == Stack::vllm ? transfer_config("LMCacheConnectorV1", {}) : "--enable-lmcache");
  } else if (policy == "kvbm" && engine == Stack::vllm) {
    if (is_remote) return false;
    if (dram > 0) variables.push_back("DYN_KVBM_CPU_CACHE_GB=" + size_text(dram / engines, kGb));
    if (ssd > 0) variables.push_back("DYN_KVBM_DISK_CACHE_GB=" + size_text(ssd / engines, kGb));
    words.push_back(transfer_config("DynamoConnector", {}));
  } else if (policy == "hicache" && engine == Stack::sglang) {
    words.push_back("--enable-hierarchical-cache");
    if (dram > 0) words.push_back("--hicache-size " + size_text(dram / gpus, kGb));
    for (const TierOptions& tier : scenario.policy.tiers.value_or(std::vector<TierOptions>())) {
      if (tier.kind == Tier::dram && tier.capacity_over_gpu.value_or(2) != 2) {
        words.push_back("--hicache-ratio " + text_of(*tier.capacity_over_gpu));
      }
      if (tier.kind == Tier::ssd) words.push_back("--hicache-storage-backend file");
      if (tier.kind == Tier::remote) words.push_back("--hicache-storage-backend mooncake");
    }
  } else if (policy == "trtllm_offload" && engine == Stack::trtllm) {
    if (ssd > 0 || is_remote) return false;
    words.push_back("--extra_llm_api_options.kv_cache_config.host_cache_size " + whole_of(dram / gpus));
  } else {
    return false;
  }
  words.insert(words.end(), options.begin(), options.end());
  return true;
}

// Keys and values of 8 bits in a model whose weights have more.
void add_kv_dtype(const Scenario& scenario, Stack engine, Words& words) {
  if (scenario.model.kv_bytes_per_element != 1) return;
  for (const FlagRow& row : flag_table()) {
    if (row.stack != engine || row.field != "model.kv_bytes_per_element") continue;
    words.push_back(std::string(first_name(row)) + " fp8");
    return;
  }
}

struct Parts {
  Words variables, words;
};

std::optional<Parts> parts_of(const Scenario& scenario) {
  const auto engine = static_cast<Stack>(scenario.serving.engine);
  Parts parts;
  if (!has_line_for_ranks(scenario, engine)) return std::nullopt;
  if (!add_storage(scenario, engine, parts.words, parts.variables)) return std::nullopt;
  add_serving(scenario, engine, parts.words);
  add_kv_dtype(scenario, engine, parts.words);
  return parts;
}

}  // namespace

std::string launch_line_of(const Scenario& scenario) {
  const std::optional<Parts> parts = parts_of(scenario);
  if (!parts) return "";
  std::string line;
  for (const std::string& one : parts->variables) line += one + " ";
  constexpr std::string_view kPrograms[] = {"vllm serve ", "python3 -m sglang.launch_server --model-path ",
                                            "trtllm-serve "};
  line += std::string(kPrograms[static_cast<std::size_t>(scenario.serving.engine)]) + scenario.model.name;
  for (const std::string& one : parts->words) line += " " + one;
  return line;
}

std::string changed_flags(const Scenario& from, const Scenario& to) {
  const std::optional<Parts> before = parts_of(from), after = parts_of(to);
  if (!before || !after) return "";
  std::string text;
  const auto add = [&text](const Words& some, const Words& others, const char* mark) {
    for (const std::string& one : some) {
      if (std::find(others.begin(), others.end(), one) != others.end()) continue;
      text += (text.empty() ? "" : " ") + (mark + one);
    }
  };
  add(after->variables, before->variables, "");
  add(after->words, before->words, "");
  std::string dropped;
  const auto drop = [&](const Words& some, const Words& others) {
    for (const std::string& one : some) {
      const std::string flag = one.substr(0, one.find_first_of(" ="));
      const bool stays = std::any_of(others.begin(), others.end(), [&](const std::string& other) {
        return other.substr(0, other.find_first_of(" =")) == flag;
      });
      if (!stays) dropped += (dropped.empty() ? "" : " ") + flag;
    }
  };
  drop(before->variables, after->variables);
  drop(before->words, after->words);
  if (!dropped.empty()) text += (text.empty() ? "" : ", ") + ("without " + dropped);
  return text;
}

}  // namespace kvcap
