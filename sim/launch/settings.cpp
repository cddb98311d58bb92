#include "launch/settings.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/input_error.h"
#include "launch/named_model.h"
#include "launch/quantization.h"
#include "launch/stack_tiers.h"
#include "launch/start_checks.h"
#include "launch/state_formats.h"
#include "launch/values.h"
#include "scenario/load.h"
#include "spec/engine_version.h"

namespace kvcap {
namespace {

constexpr std::string_view kTierPrefix = "policy.tiers.", kKvFormat = "model.kv_bytes_per_element";

// Bytes of a flag, not yet multiplied by the number of ranks.
struct Bytes {
  const FlagRow* row;
  double bytes;
};

double bytes_of(const FlagSetting& setting) {
  const FlagRow& row = *setting.row;
  const std::string& value = setting.value;
  const std::string unit = row.unit == 1 ? "bytes" : row.unit == 1e9 ? "GB" : "GiB";
  // Refuses a unit on a number whose flag already implies one.
  if (row.unit != 1 && !value.empty() && std::isalpha(static_cast<unsigned char>(value.back())) != 0) {
    refuse_value(setting.flag, value, "a number of " + unit);
  }
  const double bytes =
      row.unit == 1 ? bytes_value(setting.flag, value) : number_value(setting.flag, value) * row.unit;
  constexpr double kMaxBytes = 1e18;
  if (bytes < 0 || bytes > kMaxBytes)
    refuse_value(setting.flag, value, "0 or more " + unit + ", at most 1e18 bytes");
  return bytes;
}

// True iff the line's image contains a vLLM older than `version`. A line without a version means the newest
// vLLM.
bool is_before(const LaunchLine& line, EngineVersion version) {
  return parse_engine_version(line.engine_version).value_or(version) < version;
}

// From this version of vLLM on, --kv-offloading-backend lmcache means LMCache's server (vllm#42865, merged
// after 0.22).
constexpr EngineVersion kLmcacheServerVllm{0, 23};
// Formats of --kv-cache-dtype, and the first version of vLLM that has each (vllm#38378, vllm#40177).
constexpr std::pair<std::string_view, EngineVersion> kNewKvFormats[] = {{"fp8_inc", {0, 10}},
                                                                        {"fp8_per_token_head", {0, 20}},
                                                                        {"int8_per_token_head", {0, 20}},
                                                                        {"nvfp4", {0, 21}}};

// Returns the name of the policy that the settings enable; empty if they enable none.
std::string policy_of(std::span<const FlagSetting> settings, const LaunchLine& line) {
  std::string connector, backend, started;
  for (const FlagSetting& one : settings) {
    const FlagRow& row = *one.row;
    if (row.form == FlagForm::storage) {
      std::optional<std::string> policy = word_value(row, one.value);
      if (!policy) continue;
      if (!row.starts_storage && policy == "lmcache_mp" && is_before(line, kLmcacheServerVllm))
        policy = "lmcache";
      std::string& said = row.starts_storage ? connector : backend;
      if (row.starts_storage && !said.empty() && said != *policy) {
        throw InputError("--from: " + one.flag + ": found \"" + one.value +
                         "\" together with a connector of " + said +
                         ", allowed: one connector that stores KV");
      }
      said = *policy;
    } else if (row.starts_storage && started.empty()) {
      // A host cache of 0 bytes means that it is disabled.
      if (row.form != FlagForm::bytes || bytes_of(one) > 0) started = row.storage;
    }
  }
  if (started.empty()) return connector;
  return backend.empty() ? started : backend;
}

class LineOverrides {
 public:
  LineOverrides(LaunchLine& line, std::span<const FlagSetting> settings)
      : line_(line), policy_(policy_of(settings, line)) {
    std::set<std::string_view> read;
    for (const FlagSetting& one : settings) {
      if (!is_read(*one.row)) continue;
      apply(one);
      read.insert(one.flag);
      name_fields(one);
    }
    // A flag is ignored only if none of its rows is read.
    for (const FlagSetting& one : settings) {
      if (!read.contains(one.flag)) ignored_.push_back(one.flag);
    }
  }

  void finish() {
    if (line_.model.empty())
      throw InputError("--from: found no model, allowed: a launch line that names one");
    settle_quantization();
    settle_kv_format();
    settle_states();
    settle_drafter();
    settle_sampling();
    settle_ranks();
    settle_chunks();
    settle_blocks();
    settle_bytes();
    settle_tiers();
    refuse_what_does_not_start(line_, fields_);
    std::vector<std::string>& overrides = line_.overrides;
    overrides.push_back("model=" + line_.model);
    overrides.push_back("serving.engine=" + std::string(name(line_.engine)));
    if (!line_.engine_version.empty()) {
      overrides.push_back("serving.engine_version=\"" + line_.engine_version + "\"");
    }
    overrides.push_back("policy.name=" + (policy_.empty() ? "recompute" : policy_));
    overrides.push_back("policy.tiers=" + tiers_json());
    for (const auto& [path, value] : fields_) overrides.push_back(path + "=" + value);
  }

 private:
  bool is_read(const FlagRow& row) const {
    if (row.form == FlagForm::storage) return row.starts_storage || !policy_.empty();
    return row.storage.empty() || row.starts_storage || row.storage == policy_;
  }

  void note(std::string text) { line_.notes.push_back(std::move(text)); }

  // Records the fields that a flag sets.
  void name_fields(const FlagSetting& setting) {
    const FlagRow& row = *setting.row;
    const bool has_words =
        row.form == FlagForm::words || row.form == FlagForm::storage || row.form == FlagForm::tier;
    if (has_words && !word_value(row, setting.value)) return;
    std::vector<std::string>& fields = line_.flags[setting.taken].fields;
    const bool is_policy = row.field == "policy";
    fields.push_back(is_policy ? "policy.name" : std::string(row.field));
    if (row.starts_storage && !is_policy && row.storage == policy_) fields.emplace_back("policy.name");
    if (row.form == FlagForm::ranks) fields.emplace_back("serving.tensor_parallel_size");
    if (row.form == FlagForm::quantization) fields.emplace_back("model.activation_bytes_per_element");
  }

  void set(const FlagRow& row, const std::string& json) {
    if (!row.field.starts_with(kTierPrefix)) {
      fields_[std::string(row.field)] = json;
      return;
    }
    const std::string place(row.field.substr(kTierPrefix.size()));
    const std::size_t dot = place.find('.');
    tiers_[place.substr(0, dot)][place.substr(dot + 1)] = json;
  }

  void apply(const FlagSetting& setting) {
    const FlagRow& row = *setting.row;
    const std::string &flag = setting.flag, &value = setting.value;
    // These values are equal to leaving the flag out.
    if (row.stack != Stack::lmcache && (value == "None" || value == "null")) return;
    switch (row.form) {
      case FlagForm::integer:
        if (row.field == "serving.max_model_len" && row.stack == Stack::vllm && is_longest(value)) {
          line_.has_longest_that_fits = true;
          fields_.erase("serving.max_model_len");
          return;
        }
        return set(row, std::to_string(integer_value(flag, value)));
      case FlagForm::number: {
        double number = number_value(flag, value) * row.unit;
        // SGLang's server limits it to 1.
        if (row.field == "serving.reserved_output_share") number = std::min(number, 1.0);
        return set(row, number_json(number));
      }
      case FlagForm::words:
        if (row.field == kKvFormat && row.stack == Stack::vllm) check_kv_format(setting);
        if (const std::optional<std::string> said = word_value(row, value)) {
          if (row.field == kStateBytes) {
            states_.state = number_value(flag, *said);
          } else if (row.field == kConvBytes) {
            states_.conv = number_value(flag, *said);
          } else {
            set(row, *said);
          }
          return;
        }
        if (first_name(row) == "--generation-config" && lower_case(value) != "auto")
          note(flag + " " + value + " is not read; set serving.sampling for its top_k and top_p");
        return;
      case FlagForm::present:
        if (row.field == "policy") return;  // policy_of has read it
        if (setting.is_negated) return set(row, row.words == "true" ? "false" : "true");
        return set(row, std::string(row.words));
      case FlagForm::bytes:
        bytes_.push_back({&row, bytes_of(setting)});
        return;
      case FlagForm::blocks:
        blocks_ = integer_value(flag, value);
        if (*blocks_ < 1) refuse_value(flag, value, "1 block or more");
        return;
      case FlagForm::kv_bytes:
        line_.kv_bytes = bytes_of(setting);
        if (*line_.kv_bytes < 1) refuse_value(flag, value, "more than 0 bytes");
        return;
      case FlagForm::host_blocks:
        line_.host_blocks = integer_value(flag, value);
        if (*line_.host_blocks < 1) refuse_value(flag, value, "1 block or more");
        return;
      case FlagForm::quantization:
        quantization_ = setting;
        return;
      case FlagForm::batches:
        return set(row, drafts_by_batch(flag, value));
      case FlagForm::ranks:
        divides_gpus_ = row.words.empty() || word_value(row, value) == "true";
        return;
      case FlagForm::tier:
        if (const std::optional<std::string> kind = word_value(row, value)) tiers_[*kind];
        return;
      case FlagForm::host_cache:
        has_host_cache_ = word_value(row, value) == "true";
        return;
      case FlagForm::model:
        if (row.field == "model") return take_model(value);
        drafter_ = setting;
        return;
      case FlagForm::storage:  // policy_of has read it
        if (moves_between_servers(value)) {
          note(value + " moves KV between servers; use fleet.disaggregation to simulate it");
        }
        if (value == "SimpleCPUOffloadConnector") is_simple_ = true;
        return;
      case FlagForm::yaml_file:
      case FlagForm::text:
      case FlagForm::texts:
      case FlagForm::json:
        return;
    }
  }

  // vllm/v1/spec_decode/dynamic/utils.py@14b450c: batch sizes between two rows use the drafts of the
  // preceding row.
  static std::string drafts_by_batch(const std::string& flag, const std::string& value) {
    const nlohmann::json rows = nlohmann::json::parse(value, nullptr, false);
    nlohmann::json result = nlohmann::json::array();
    int64_t last = 0;
    for (const nlohmann::json& row : rows.is_array() ? rows : nlohmann::json::array({nullptr})) {
      const bool is_row =
          row.is_array() && row.size() == 3 &&
          std::all_of(row.begin(), row.end(), [](const auto& one) { return one.is_number_unsigned(); });
      if (!is_row || row[0] <= last || row[1] < row[0] || (last == 0 && row[0] != 1)) {
        refuse_value(
            flag, value,
            "ascending rows [first batch size, last batch size, draft tokens] from 1 on (rows by context "
            "length are not simulated)");
      }
      last = row[1];
      result.push_back({{"from_sequences", row[0]}, {"draft_tokens", row[2]}});
    }
    return result.dump();
  }

  // vllm/utils/argparse_utils.py: human_readable_int_or_auto.
  static bool is_longest(const std::string& value) { return value == "-1" || lower_case(value) == "auto"; }

  void take_model(const std::string& written) {
    const NamedModel model = named_model(written);
    line_.model = model.name;
    line_.written_model = written;
    if (!model.note.empty()) note(model.note);
    if (model.positions > 0) fields_["model.max_position_embeddings"] = std::to_string(model.positions);
    if (model.has_no_blocks) fields_["model.weight_block_size"] = "0";
    if (model.has_wide_kv) fields_.try_emplace(std::string(kKvFormat), "2");
    line_.is_8bit = model.is_8bit;
    if (!model.is_8bit) return;
    fields_["model.weight_bytes_per_element"] = "1";
    fields_["model.activation_bytes_per_element"] = "1";
  }

  std::optional<int64_t> integer_of(const std::string& field) const {
    const auto found = fields_.find(field);
    if (found == fields_.end()) return std::nullopt;
    return integer_value(field, found->second);
  }
  int64_t count_of(const std::string& field) const { return integer_of(field).value_or(1); }

  // Applies a flag that quantises weights at load time. If the checkpoint is quantised already, checks that
  // the flag names its format.
  void settle_quantization() {
    if (!quantization_) return;
    const FlagSetting& said = *quantization_;
    const ModelSpec model = load_model(line_.model);
    const bool is_8bit = line_.is_8bit || fields_.contains("model.weight_bytes_per_element");
    const std::string method = quantization_of(line_.model);
    if (lower_case(said.value) == "none") return;
    std::string loads_as;
    for (const Word& one : words_of(said.row->words)) {
      if (lower_case(one.word) == lower_case(said.value)) loads_as = one.value;
    }
    if (!method.empty() && !is_same_quantization(method, said.value)) {
      refuse_value(said.flag, said.value, method + ", as in the model's config.json");
    }
    const std::string named = contradicted_format(line_.written_model, said.value);
    if (method.empty() && !named.empty())
      refuse_value(said.flag, said.value, named + ", as in the model's name");
    const bool is_quantised = is_8bit || !method.empty() || model.weight_bytes_per_element < 2 ||
                              (model.experts && model.experts->weight_bytes_per_element.value_or(2) < 2);
    if (is_quantised) return;
    if (loads_as.empty()) {
      refuse_value(said.flag, said.value,
                   std::string(said.row->words).substr(0, said.row->words.find('=')) +
                       ", or a model with this method in its config.json: " + said.value);
    }
    fields_["model.weight_bytes_per_element"] = loads_as;
    fields_["model.activation_bytes_per_element"] = loads_as;
  }

  void check_kv_format(const FlagSetting& setting) {
    for (const auto& [format, version] : kNewKvFormats) {
      if (lower_case(setting.value) != format || !is_before(line_, version)) continue;
      refuse_value(setting.flag, setting.value,
                   "this format only in vLLM " + std::to_string(version.major) + "." +
                       std::to_string(version.minor) + " and newer; the launch line has " +
                       line_.engine_version);
    }
    kv_format_ = setting;
  }

  // Formats with scales per token and head store the scales next to the elements, and only Triton's kernels
  // read them.
  void settle_kv_format() {
    const auto found = fields_.find(std::string(kKvFormat));
    if (!kv_format_ || found == fields_.end()) return;
    const bool has_head_scales = found->second == kPerTokenHead;
    const ModelSpec model = load_model(line_.model);
    if (model.latent && (has_head_scales || lower_case(kv_format_->value).starts_with("nvfp4")))
      refuse_value(kv_format_->flag, kv_format_->value, "auto, fp8, for a model with latent attention");
    if (!has_head_scales) return;
    found->second = number_json(per_token_head_bytes(model));
    fields_.try_emplace("serving.attention_backend", "triton");
  }

  void settle_states() {
    const ModelSpec model = load_model(line_.model);
    for (std::size_t i = 0; i < model.layer_groups.size(); ++i) {
      if (!model.layer_groups[i].recurrent) continue;
      const RecurrentState& own = *model.layer_groups[i].recurrent;
      const RecurrentState kept = with_formats(own, model, line_.engine, states_);
      const auto take = [&](std::string_view field, bool is_said, double bytes, double own_bytes) {
        if (is_said || bytes != own_bytes) fields_[of_group(field, i)] = number_json(bytes);
      };
      take(kStateBytes, states_.state.has_value(), kept.state_bytes_per_element, own.state_bytes_per_element);
      take(kConvBytes, states_.conv.has_value(), kept.conv_bytes_per_element, own.conv_bytes_per_element);
    }
  }

  // If the line names a drafter but no method, the drafter is a draft model, unless its name indicates
  // another method (vllm/config/speculative.py). The catalogue has no draft heads, so the method `layers`
  // drafts with one more layer of the model.
  void settle_drafter() {
    if (!drafter_) return;
    const std::string drafter = lower_case(drafter_->value);
    // Gemma 4's assistants are MTP layers in a separate checkpoint (vllm-project/vllm#41745).
    const bool is_assistant = drafter.find("gemma-4") != std::string::npos && drafter.ends_with("-assistant");
    const bool is_head = is_assistant || drafter.find("eagle") != std::string::npos;
    const std::string method = is_head ? "layers" : "draft_model";
    const std::string said = fields_.try_emplace("serving.speculative.method", method).first->second;
    // The model drafts with its own layers for multi-token prediction.
    if (said != "draft_model" && drafter == lower_case(line_.written_model)) return;
    try {
      set(*drafter_->row, nlohmann::json(named_model(drafter_->value).name).dump());
    } catch (const InputError&) {
      if (said == "draft_model") throw;
      note(drafter_->flag + " " + drafter_->value +
           " is not in the catalogue; one additional layer of the model drafts");
      // For an assistant, draft_layers stays unset: its layers are treated as part of the model's own
      // checkpoint.
      if (!is_assistant) fields_.try_emplace("serving.speculative.draft_layers", "1");
    }
  }

  // If the line overrides some sampling values, takes the others from the model's generation_config.json,
  // unless the line disables that file. A top_k of -1 keeps all tokens.
  void settle_sampling() {
    const std::string field = "serving.sampling";
    const auto top_k = fields_.find(field + ".top_k");
    if (top_k != fields_.end() && top_k->second == "-1") top_k->second = "0";
    const auto first = fields_.lower_bound(field);
    if (first == fields_.end() || !first->first.starts_with(field + ".")) return;
    const std::optional<Sampling> own = load_model(line_.model).sampling;
    if (!own) return;
    fields_.try_emplace(field + ".temperature", number_json(own->temperature));
    fields_.try_emplace(field + ".top_k", std::to_string(own->top_k));
    fields_.try_emplace(field + ".top_p", number_json(own->top_p));
  }

  // With data parallel attention, the ranks divide the line's tensor parallel GPUs. Without it, each of
  // SGLang's ranks holds all experts; here ranks of one engine share the experts, as in vLLM.
  void settle_ranks() {
    // DeepEP and similar backends exchange tokens between whole experts (server_args.py).
    const bool exchanges = fields_.contains("serving.expert_exchange");
    if (line_.engine == Stack::sglang && exchanges) fields_["serving.expert_parallel"] = "true";
    const int64_t gpus = count_of("serving.tensor_parallel_size");
    int64_t ranks = count_of("serving.data_parallel_size");
    if (divides_gpus_) {
      if (line_.engine == Stack::trtllm) ranks = gpus;
      if (ranks < 1 || gpus % ranks != 0) {
        refuse_value("--dp-size", std::to_string(ranks), "a divisor of --tp-size with --enable-dp-attention");
      }
      fields_["serving.tensor_parallel_size"] = std::to_string(gpus / ranks);
      fields_["serving.data_parallel_size"] = std::to_string(ranks);
      line_.attention_ranks = ranks;
    } else if (line_.engine == Stack::sglang && ranks > 1 && load_model(line_.model).experts) {
      fields_.erase("serving.data_parallel_size");
      fields_["fleet.replicas"] = std::to_string(ranks);
      const std::string count = std::to_string(ranks);
      note("--dp-size " + count +
           " without --enable-dp-attention: SGLang's ranks share no experts and are simulated as " + count +
           " servers, each with its own DRAM, SSDs and price");
    }
  }

  void settle_chunks() {
    const std::optional<int64_t> said = integer_of("serving.max_num_batched_tokens");
    if (!said || line_.engine != Stack::sglang) return;
    int64_t tokens = line_.rank_chunk(*said);
    if (*said == -1) {
      tokens = longest_prompt();
      note("--chunked-prefill-size -1: a step computes up to " + std::to_string(tokens) +
           " tokens of whole prompts; that SGLang adds none after --max-prefill-tokens (16,384) is not "
           "simulated");
      fields_["serving.chunked_prefill"] = "false";
    }
    fields_["serving.max_num_batched_tokens"] = std::to_string(tokens);
  }
  int64_t longest_prompt() const {
    for (const char* field : {"serving.max_model_len", "model.max_position_embeddings"}) {
      if (const std::optional<int64_t> tokens = integer_of(field)) return *tokens;
    }
    return load_model(line_.model).max_position_embeddings;
  }

  void settle_blocks() {
    if (!blocks_) return;
    const int64_t tokens =
        integer_of("serving.block_size").value_or(16) * count_of("serving.decode_context_parallel_size");
    fields_["serving.kv_capacity_tokens"] = std::to_string(tokens * *blocks_);
  }

  // Each data parallel rank is an engine with its own host cache. LMCache's server is a single one for all
  // ranks.
  void settle_bytes() {
    const int64_t engines = count_of("serving.data_parallel_size");
    const int64_t gpus =
        engines * count_of("serving.tensor_parallel_size") * count_of("serving.pipeline_parallel_size");
    const bool has_server = policy_ == "lmcache_mp";
    const bool is_server_sized = std::any_of(bytes_.begin(), bytes_.end(), [&](const Bytes& one) {
      return has_server && one.row->storage == policy_;
    });
    if (has_server && !is_server_sized && !bytes_.empty()) {
      note("the launch line gives no size for LMCache's server; kvcap uses that of " +
           std::string(first_name(*bytes_.back().row)) + ", which vLLM does not pass on");
    }
    for (const Bytes& one : bytes_) {
      if (is_server_sized && one.row->storage != policy_) continue;
      const auto holders = static_cast<double>(has_server ? 1 : one.row->is_per_rank ? gpus : engines);
      if (one.bytes > 0 || !one.row->starts_storage) set(*one.row, number_json(one.bytes * holders));
    }
  }

  void settle_tiers() {
    note_ignored();
    if (policy_ == "hicache") settle_hicache();
    if (line_.host_blocks) tiers_["dram"];  // the size depends on the model and is set later
    if (policy_ == "vllm_offload" && tiers_.contains("mooncake_store")) {
      has_host_cache_ = false;
      note("the launch line gives no size for Mooncake Store; it gets all remote storage of the hardware");
    }
    if (!has_host_cache_) tiers_.erase("dram");
    if (policy_ == "lmcache" && !has_host_cache_ && tiers_.empty())
      keep_nothing("LMCACHE_LOCAL_CPU=False leaves LMCache without a tier; nothing is kept");
    const auto dram = tiers_.find("dram");
    const bool is_sized = (dram != tiers_.end() && !dram->second.empty()) || line_.host_blocks;
    if (is_simple_ && policy_ == "vllm_offload") return settle_simple(is_sized);
    const bool has_no_default = policy_ == "vllm_offload" || policy_ == "kvbm" || policy_ == "lmcache_mp";
    if (has_no_default && has_host_cache_ && !is_sized) {
      note("the launch line gives no size for the host cache; it gets all DRAM of the hardware");
    }
  }

  // vllm/distributed/kv_transfer/kv_connector/v1/simple_cpu_offload_connector.py@040c343
  void settle_simple(bool is_sized) {
    const auto caching = fields_.find("serving.prefix_caching");
    if (caching != fields_.end() && caching->second == "false") {
      keep_nothing("SimpleCPUOffloadConnector needs prefix caching, which is off; nothing is kept");
    } else if (!is_sized) {
      const double bytes = 8 * 1073741824.0 * static_cast<double>(count_of("serving.data_parallel_size"));
      tiers_["dram"]["capacity_bytes"] = number_json(bytes);
      note("the launch line gives no size for the host cache; SimpleCPUOffloadConnector has 8 GiB");
    }
  }

  void keep_nothing(const std::string& why) {
    policy_.clear();
    std::erase_if(fields_, [](const auto& field) { return field.first.starts_with("policy."); });
    note(why);
  }

  // A size overrides a ratio; a size of 0 means that the ratio is used (SGLang's server_args.py).
  void settle_hicache() {
    const auto caching = fields_.find("serving.prefix_caching");
    if (caching != fields_.end() && caching->second == "false") {
      throw InputError(
          "--from: found --disable-radix-cache together with --enable-hierarchical-cache, allowed: one of "
          "them");
    }
    const auto dram = tiers_.find("dram");
    if (dram == tiers_.end()) return;
    const auto size = dram->second.find("capacity_bytes");
    if (size == dram->second.end()) return;
    if (number_value("--hicache-size", size->second) > 0) {
      if (dram->second.erase("capacity_over_gpu") > 0) note("--hicache-size overrides --hicache-ratio");
    } else {
      dram->second.erase(size);
    }
  }

  void note_ignored() {
    if (ignored_.empty()) return;
    if (policy_.empty()) {
      note("host cache settings are ignored: the launch line enables no connector");
      return;
    }
    for (const std::string& flag : ignored_) note(flag + " is ignored: the launch line enables " + policy_);
  }

  // Returns the tiers as JSON, from near to far; "null" means the policy's default tiers.
  std::string tiers_json() {
    if (policy_.empty() || (tiers_.empty() && has_host_cache_)) return "null";
    if (has_host_cache_) tiers_["dram"];
    std::string text;
    for (const char* kind : {"dram", "ssd", "remote", "mooncake_store"}) {
      const auto said = tiers_.find(kind);
      if (said == tiers_.end()) continue;
      const TierOptions* tier = stack_tier(policy_, kind);
      KVCAP_CHECK(tier != nullptr);
      text += (text.empty() ? "" : ",") + tier_json(*tier, said->second);
    }
    return "[" + text + "]";
  }

  LaunchLine& line_;
  std::string policy_;
  std::map<std::string, std::string> fields_;                        // JSON texts by path of the field
  std::map<std::string, std::map<std::string, std::string>> tiers_;  // JSON texts by kind and key
  bool has_host_cache_ = true;
  bool divides_gpus_ = false;
  bool is_simple_ = false;  // SimpleCPUOffloadConnector stores KV
  std::vector<Bytes> bytes_;
  std::optional<int64_t> blocks_;
  StateFlags states_;
  std::optional<FlagSetting> quantization_, kv_format_, drafter_;
  std::vector<std::string> ignored_;  // flags of policies that the line does not enable
};

}  // namespace

bool moves_between_servers(std::string_view connector) {
  constexpr std::string_view kMovers[] = {"NixlConnector",     "NixlPullConnector", "NixlPushConnector",
                                          "MooncakeConnector", "P2pNcclConnector",  "MoRIIOConnector"};
  return std::find(std::begin(kMovers), std::end(kMovers), connector) != std::end(kMovers);
}

void apply_settings(std::span<const FlagSetting> settings, LaunchLine& line) {
  LineOverrides(line, settings).finish();
}

}  // namespace kvcap
