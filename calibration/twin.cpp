#include "calibration/twin.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/check.h"
#include "base/files.h"
#include "calibration/journal.h"
#include "calibration/models.h"
#include "calibration/progress.h"

namespace kvcap::calibration {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDiskDepth = 16;
constexpr uint64_t kWeightSeed = 11;
constexpr int64_t kGpuLayers = 8;
constexpr int64_t kMostPositions = 32768;

// Adds a case of every policy with `tokens` tokens and `requests` concurrent requests.
void add_cases(const std::string& model, int64_t layers, int64_t tokens, int64_t requests, bool with_ssd,
               std::vector<TwinCase>* cases) {
  const int64_t some_layers = std::max<int64_t>(1, layers / 4);
  const std::vector<std::pair<std::string, TwinOptions>> policies = {
      {"kv_offload", {}},
      {"hcache", {.recomputed_layers = 0, .kv_layers = 0}},
      {"hcache", {.recomputed_layers = 0, .kv_layers = some_layers}},
      {"hcache", {.recomputed_layers = std::max<int64_t>(1, layers / 8), .kv_layers = 0}},
      {"cached_attention", {.read_buffer_layers = 2}},
      {"cacheblend", {.recompute_ratio = 0.15, .full_layers = 2}},
      {"hyperinfer", {.retention = 0.25}}};
  constexpr int64_t kNewTokens = 16;
  cases->push_back({"recompute", {}, model, tokens, kNewTokens, Tier::dram, requests});
  for (const Tier tier : {Tier::dram, Tier::ssd}) {
    if (tier == Tier::ssd && !with_ssd) continue;
    for (const auto& [policy, options] : policies) {
      cases->push_back({policy, options, model, tokens, kNewTokens, tier, requests});
    }
  }
}

struct Size {
  int64_t tokens, requests;
};

const ModelSpec& model_of(const std::vector<ModelSpec>& models, const std::string& name) {
  const auto found = std::ranges::find(models, name, &ModelSpec::name);
  KVCAP_CHECK(found != models.end());
  return *found;
}

// Returns the first layers of a catalogue model; its name contains their number.
ModelSpec few_layers(const std::string& name) {
  ModelSpec model = model_of(catalogue_models(), name);
  model.name += "-" + std::to_string(kGpuLayers) + "-layers";
  model.num_hidden_layers = kGpuLayers;
  model.max_position_embeddings = kMostPositions;
  return model;
}

void add_model(TwinPlan* plan, const ModelSpec& model, std::initializer_list<Size> sizes, bool with_ssd) {
  plan->models.push_back(model);
  for (const Size& size : sizes) {
    add_cases(model.name, model.num_hidden_layers, size.tokens, size.requests, with_ssd, &plan->cases);
  }
}

Json options_json(const TwinOptions& options) {
  Json json = Json::object();
  const auto add = [&json](const char* name, const auto& value) {
    if (value) json[name] = *value;
  };
  add("recomputed_layers", options.recomputed_layers);
  add("kv_layers", options.kv_layers);
  add("read_buffer_layers", options.read_buffer_layers);
  add("recompute_ratio", options.recompute_ratio);
  add("full_layers", options.full_layers);
  add("retention", options.retention);
  return json;
}

// Returns the policy's fields in a scenario, including the fixed behaviour of this program.
Json fields_json(const TwinCase& one) {
  Json json = options_json(one.options);
  json.update(Json::parse(twin_policy(one.policy).fixed_fields));
  return json;
}

Json model_json(const ModelSpec& model, Format format) {
  return {{"schema", "kvcap.model/1"},
          {"name", model.name},
          {"num_hidden_layers", model.num_hidden_layers},
          {"hidden_size", model.hidden_size},
          {"num_attention_heads", model.num_attention_heads},
          {"num_key_value_heads", model.num_key_value_heads},
          {"head_dim", model.head_dim},
          {"intermediate_size", model.intermediate_size},
          {"vocab_size", model.vocab_size},
          {"max_position_embeddings", model.max_position_embeddings},
          {"torch_dtype", name(format)},
          {"ffn", "gated"},
          {"position_encoding", "rope"}};
}

}  // namespace

TwinPlan twin_plan(const DeviceInfo& info, bool quick, bool with_ssd) {
  TwinPlan plan;
  if (quick) {
    plan.repeats = 2;
    add_model(&plan, toy_model(), {{130, 1}, {130, 2}}, with_ssd);
  } else if (info.backend == "cpu") {
    // A CPU core needs seconds where a GPU needs milliseconds.
    const std::vector<ModelSpec> models = cpu_models();
    add_model(&plan, models.front(), {{128, 1}, {128, 2}, {128, 4}, {256, 1}, {512, 1}}, with_ssd);
    add_model(&plan, models.back(), {{128, 1}}, with_ssd);
  } else {
    // 210 cases. A repeat of all takes 780 TFLOP in GEMMs, 100 in attention, and 51 GB of contexts from
    // memory and the same from disk: on an H200 2 s of computation, 2 s of PCIe and, with a disk of 2 GB/s,
    // 25 s. With the repeats and warm-up, that is 3 minutes with a disk of 2 GB/s and 6 with one of 1 GB/s,
    // plus about 1.5 minutes of preparation.
    plan.warms_up = true;
    add_model(&plan, few_layers("llama-2-7b"),
              {{512, 1}, {2048, 1}, {2048, 2}, {2048, 4}, {8192, 1}, {16384, 1}}, with_ssd);
    add_model(&plan, few_layers("llama-2-13b"), {{512, 1}, {2048, 1}, {2048, 2}, {8192, 1}}, with_ssd);
    add_model(&plan, few_layers("llama-3-8b"), {{512, 1}, {2048, 1}, {2048, 4}, {16384, 1}}, with_ssd);
  }
  return plan;
}

std::string id_of(const TwinCase& one) {
  std::string id = one.policy;
  const Json options = options_json(one.options);
  for (const auto& [name, value] : options.items()) id += " " + name + "=" + value.dump();
  return id + "/" + one.model + "/" + std::to_string(one.tokens) + "/" + std::string(name(one.tier)) + "/" +
         std::to_string(one.requests);
}

namespace {

// Performs the cases. A case that fails is not performed again; all other cases are.
class TwinRun {
 public:
  TwinRun(Backend& backend, const TwinOptionsOfRun& options, TwinTable* table);

  void perform(Journal* journal);

 private:
  const ModelSpec& model(const TwinCase& one) const { return model_of(table_.plan.models, one.model); }
  ContextArena make_context_arena(const TwinOptionsOfRun& options);
  void make_models();
  Sample perform(std::size_t number);
  void perform(std::size_t number, int64_t repeat, Journal* journal);
  std::string key_of(std::size_t number, int64_t repeat) const;
  std::string left_text(const Journal& journal) const;
  Pipeline& pipeline();

  Backend& backend_;
  TwinTable& table_;
  Format format_;
  int64_t slot_bytes_ = 0;  // of the largest case
  Arena device_, pinned_;
  ContextArena context_arena_;
  std::map<std::string, Transformer> models_;
  // All cases share a pipeline, so that no case's time includes the first use of its streams. A failure ends
  // it.
  std::unique_ptr<Pipeline> pipeline_;
  std::vector<bool> warm_;  // by case
};

TwinRun::TwinRun(Backend& backend, const TwinOptionsOfRun& options, TwinTable* table)
    : backend_(backend),
      table_(*table),
      format_(table->info.formats.front()),
      device_(backend, Place::device),
      pinned_(backend, Place::pinned),
      context_arena_(make_context_arena(options)),
      warm_(table->plan.cases.size(), !table->plan.warms_up) {
  make_models();
}

// The arena has the size of the largest case. Its file is checked before models are made.
ContextArena TwinRun::make_context_arena(const TwinOptionsOfRun& options) {
  int64_t host_bytes = 0, file_bytes = 0;
  for (const TwinCase& one : table_.plan.cases) {
    int64_t& bytes = one.tier == Tier::ssd ? file_bytes : host_bytes;
    bytes = std::max(bytes, stored_bytes(one, model(one), format_));
    slot_bytes_ = std::max(slot_bytes_, slot_bytes(one, model(one), format_));
  }
  return {backend_, format_, host_bytes, options.ssd.value_or(""), file_bytes};
}

void TwinRun::make_models() {
  for (const ModelSpec& model : table_.plan.models) {
    try {
      models_.try_emplace(model.name, backend_, model, format_, kWeightSeed);
    } catch (const BackendError& error) {
      for (std::size_t i = 0; i < table_.plan.cases.size(); ++i) {
        if (table_.plan.cases[i].model == model.name) table_.failures[i] = error.what();
      }
    }
  }
}

Pipeline& TwinRun::pipeline() {
  if (!pipeline_) {
    pipeline_ = std::make_unique<Pipeline>(backend_, context_arena_.file(), slot_bytes_, kDiskDepth);
  }
  return *pipeline_;
}

Sample TwinRun::perform(std::size_t number) try {
  const TwinCase& one = table_.plan.cases[number];
  CaseRun run({backend_, models_.at(one.model), context_arena_, device_, pinned_, one, Contents::drawn});
  if (!warm_[number]) run.perform(pipeline());
  warm_[number] = true;
  double sum_s = 0;
  for (const Answered& answered : run.perform(pipeline())) sum_s += answered.first_token_s;
  run.require_finite_logits();
  return summarize({sum_s / static_cast<double>(one.requests)});
} catch (const std::system_error& error) {  // of the disk
  throw BackendError(error.what());
}

std::string TwinRun::key_of(std::size_t number, int64_t repeat) const {
  return id_of(table_.plan.cases[number]) + "/" + std::to_string(repeat);
}

std::string TwinRun::left_text(const Journal& journal) const {
  int64_t left = 0, all = 0;
  for (std::size_t i = 0; i < table_.plan.cases.size(); ++i) {
    for (int64_t repeat = 0; repeat < table_.plan.repeats && table_.failures[i].empty(); ++repeat) {
      ++all;
      left += journal.has(key_of(i, repeat)) ? 0 : 1;
    }
  }
  return "the --budget is spent; not yet measured: " + std::to_string(left) + " of " + std::to_string(all) +
         " repeats. Run the same command again to continue";
}

void TwinRun::perform(std::size_t number, int64_t repeat, Journal* journal) {
  try {
    const Sample sample = journal->sample(key_of(number, repeat), [&] { return perform(number); });
    table_.mean_ttft_s[number].push_back(sample.median_s);
  } catch (const BudgetSpent&) {
    throw BudgetSpent(left_text(*journal));
  } catch (const BackendError& error) {
    table_.failures[number] = error.what();
    pipeline_.reset();
    backend_.make_stream()->synchronize();  // throws if the device runs nothing more
  }
}

void TwinRun::perform(Journal* journal) {
  Progress progress;
  const auto cases = static_cast<double>(table_.plan.cases.size());
  const auto repeats = static_cast<double>(table_.plan.repeats);
  for (int64_t repeat = 0; repeat < table_.plan.repeats; ++repeat) {
    for (std::size_t i = 0; i < table_.plan.cases.size(); ++i) {
      progress.show("twin", (static_cast<double>(repeat) + static_cast<double>(i) / cases) / repeats);
      if (table_.failures[i].empty()) perform(i, repeat, journal);
    }
  }
}

}  // namespace

TwinTable perform_twin(Backend& backend, const TwinOptionsOfRun& options) {
  const auto end = end_of(options.budget_s);
  TwinTable table;
  table.info = backend.info();
  table.plan = twin_plan(table.info, options.quick, options.ssd.has_value());
  if (options.ssd) table.disk = disk_info(*options.ssd);
  table.mean_ttft_s.resize(table.plan.cases.size());
  table.failures.resize(table.plan.cases.size());

  std::string identity = "twin, " + table.info.backend + ", " + table.info.name + ", " + table.info.uuid +
                         ", " + table.info.software;
  for (const TwinCase& one : table.plan.cases) identity += ", " + id_of(one);
  Journal journal(options.out.string() + ".measurements.jsonl", identity);
  journal.stop_at(end);
  table.resumed = journal.resumed();
  tell_kept(journal);
  TwinRun(backend, options, &table).perform(&journal);
  table.dates = journal.dates();
  // An unfinished journal lets the next call try the failed cases again.
  if (table.failed() == 0) journal.finish();
  return table;
}

std::string twin_json(const TwinTable& table, const std::string& name) {
  const Format format = table.info.formats.front();
  Json models = Json::object();
  for (const ModelSpec& model : table.plan.models) models[model.name] = model_json(model, format);
  Json cases = Json::array();
  for (std::size_t i = 0; i < table.plan.cases.size(); ++i) {
    if (!table.failures[i].empty()) continue;
    const TwinCase& one = table.plan.cases[i];
    const std::vector<double>& times_s = table.mean_ttft_s[i];
    const Sample sample = summarize(times_s);
    cases.push_back({{"policy", one.policy},
                     {"options", fields_json(one)},
                     {"model", one.model},
                     {"tokens", one.tokens},
                     {"new_tokens", one.new_tokens},
                     {"tier", kvcap::name(one.tier)},
                     {"requests", one.requests},
                     {"mean_ttft_s",
                      {{"minimum", sample.min_s},
                       {"median", sample.median_s},
                       {"spread", (sample.median_s - sample.min_s) / sample.min_s},
                       {"repeats", times_s}}}});
  }
  Json notes = table.info.notes;
  notes.push_back(
      "mean_ttft_s: from the start of a case, at which all its requests arrive, to the first token of each; "
      "spread: of the median over the minimum, as a share of it");
  notes.push_back(
      "contexts are random; which tokens hyperinfer finds important is drawn from kvcap's model of "
      "importance; the attention mass and its largest entries are computed, the vote among heads is not");
  if (table.info.backend == "cuda" && table.plan.warms_up) {
    notes.push_back("of every model its first " + std::to_string(kGpuLayers) +
                    " layers are performed, with its embeddings and its head");
  }
  for (const std::string& failure : failures_of(table)) notes.push_back(failure);
  if (table.disk) notes.push_back("ssd: " + table.disk->file_system + " on " + table.disk->device);
  const Json json = {
      {"schema", "kvcap.twin/1"},
      {"hardware", name},
      {"backend", table.info.backend},
      {"provenance",
       {{"kind", "measured"},
        {"source", "kvcap-calibrate twin: " + table.info.name + ", " + table.info.software + ", backend " +
                       table.info.backend + (table.dates.empty() ? "" : ", measured " + table.dates)}}},
      {"notes", notes},
      {"repeats", table.plan.repeats},
      {"models", models}};
  // One case per line, so that people can read and compare the table.
  std::string text = json.dump(2);
  text.resize(text.size() - 2);
  text += ",\n  \"cases\": [";
  for (std::size_t i = 0; i < cases.size(); ++i) text += (i == 0 ? "\n    " : ",\n    ") + cases[i].dump();
  return text + "\n  ]\n}\n";
}

std::vector<std::string> failures_of(const TwinTable& table) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < table.failures.size(); ++i) {
    if (table.failures[i].empty()) continue;
    texts.push_back("failed: " + id_of(table.plan.cases[i]) + ": " + table.failures[i]);
  }
  return texts;
}

TwinTable write_twin(Backend& backend, const TwinOptionsOfRun& options) {
  TwinTable table = perform_twin(backend, options);
  write_file(options.out, twin_json(table, options.out.stem().string()));
  return table;
}

}  // namespace kvcap::calibration
