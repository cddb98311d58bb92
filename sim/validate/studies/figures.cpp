#include "validate/studies/figures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "metrics/quantity.h"
#include "policy/restoration.h"
#include "validate/studies/laws.h"
#include "validate/studies/study_rows.h"
#include "validate/studies/turn_figures.h"
#include "workload/source.h"

namespace kvcap {
namespace {

// ---- machines, in closed form ----

// The input of a figure machine.*: a context of contexts.tokens tokens. Figures of a batch instead use
// contexts.count prompts of contexts.new_tokens new tokens, each with a history of contexts.tokens tokens in
// DRAM.
struct Asked {
  const Machine& machine;
  const StudySetting& setting;

  const CostModel& cost() const { return machine.cost(); }
  const ModelSpec& model() const { return machine.cost().model(); }
  int64_t tokens() const { return setting.tokens(); }
  StoredContexts batch() const { return setting.stored_contexts(); }
  Schedule schedule() const { return machine.policy().schedule(tokens(), Tier::ssd); }
};

LayerWork batch_layer(const Asked& asked) {
  const StoredContexts batch = asked.batch();
  const auto prompts = static_cast<double>(batch.count);
  LayerWork layer{.layers = asked.model().num_hidden_layers, .form = LayerForm::kv};
  layer.load_bytes[index(Tier::dram)] =
      prompts * static_cast<double>(batch.tokens) * asked.model().kv_bytes_per_token_layer();
  layer.compute_s = asked.cost().linear_layer_s(batch.count * batch.new_tokens) +
                    prompts * asked.cost().attention_layer_s({batch.new_tokens, batch.tokens});
  return layer;
}
double batch_layer_load_s(const Asked& asked) {
  const double bytes = batch_layer(asked).load_bytes[index(Tier::dram)];
  return asked.machine.route(Tier::dram, Tier::hbm).seconds(bytes, 0);
}
double batch_overlapped_s(const Asked& asked) {
  return makespan_s({.work = {batch_layer(asked)}}, asked.machine.idle_rates());
}
double batch_one_ahead_s(const Asked& asked) {
  return makespan_s({.work = {batch_layer(asked)}, .ahead = 2}, asked.machine.idle_rates());
}
// Returns the time to save the batch's prompts and answers to DRAM.
double batch_save_s(const Asked& asked) {
  const StoredContexts batch = asked.batch();
  const auto tokens =
      static_cast<double>(batch.count * (batch.tokens + batch.new_tokens + batch.output_tokens));
  return asked.machine.route(Tier::hbm, Tier::dram).seconds(tokens * asked.model().kv_bytes_per_token(), 0);
}

// Returns the time to load the first layer when the chunks of a context are restored from the SSD.
double chunks_layer_load_s(const Asked& asked) {
  const Hit chunks{.tier = Tier::ssd, .tokens = asked.tokens()};
  const LoadRates rates = asked.machine.idle_rates();
  const Restoration blend = asked.machine.policy().restore(
      {.history_tokens = asked.tokens(), .new_tokens = 1}, {&chunks, 1}, rates);
  return load_s(blend.work.front(), Tier::ssd, rates[index(Tier::ssd)]);
}

// The times per layer to load and compute one context that is restored from the SSD: contexts.tokens stored
// tokens and contexts.new_tokens new tokens.
struct LayerTimes {
  std::vector<double> load_s, compute_s;  // the last entry belongs to the LM head
};
LayerTimes layer_times(const Asked& asked) {
  const Hit hit{.tier = Tier::ssd, .tokens = asked.tokens()};
  const LoadRates rates = asked.machine.idle_rates();
  const Restoration restoration = asked.machine.policy().restore(
      {.history_tokens = asked.tokens(), .new_tokens = asked.batch().new_tokens}, {&hit, 1}, rates);
  LayerTimes times;
  for (const LayerWork& work : restoration.work) {
    for (int64_t i = 0; i < work.layers; ++i) {
      times.load_s.push_back(load_s(work, Tier::ssd, rates[index(Tier::ssd)]));
      times.compute_s.push_back(work.compute_s);
    }
  }
  return times;
}
// Returns when the last layer ends if layers are loaded one after another, and each is computed after it is
// loaded and after the previous layer: a two-machine flow shop with load times a and computation times b,
// which takes max over j of (a_1 + .. + a_j + b_j + .. + b_n) (Johnson 1954).
double flow_shop_s(const Asked& asked) {
  const auto [first, second] = layer_times(asked);
  double longest_s = 0, loaded_s = 0, left_s = std::accumulate(second.begin(), second.end(), 0.0);
  for (std::size_t j = 0; j < first.size(); ++j) {
    loaded_s += first[j];
    longest_s = std::max(longest_s, loaded_s + left_s);
    left_s -= second[j];
  }
  return longest_s;
}

struct MachineFigure {
  std::string_view name;
  double (*value)(const Asked& asked);
};
constexpr MachineFigure kMachineFigures[] = {
    {"kv_capacity_tokens",
     [](const Asked& a) { return static_cast<double>(a.machine.kv_capacity_tokens()); }},
    {"stored_bytes_per_token",
     [](const Asked& a) { return a.machine.policy().traits().stored_bytes_per_token; }},
    {"prefill_s",
     [](const Asked& a) {
       return a.cost().prefill_s({a.tokens(), 0});
     }},
    {"prefill_layer_s",
     [](const Asked& a) {
       return a.cost().prefill_layer_s({a.tokens(), 0});
     }},
    {"prefill_layer_flops",
     [](const Asked& a) {
       return a.cost().prefill_layer_flops({a.tokens(), 0});
     }},
    {"project_kv_layer_s", [](const Asked& a) { return a.cost().project_kv_layer_s(a.tokens()); }},
    {"project_kv_layer_flops", [](const Asked& a) { return a.cost().project_kv_layer_flops(a.tokens()); }},
    {"hidden_layers", [](const Asked& a) { return static_cast<double>(a.schedule().hidden_layers); }},
    {"kv_layers", [](const Asked& a) { return static_cast<double>(a.schedule().kv_layers); }},
    {"recompute_layers", [](const Asked& a) { return static_cast<double>(a.schedule().recompute_layers); }},
    {"hidden_tokens", [](const Asked& a) { return static_cast<double>(a.schedule().hidden_tokens); }},
    {"batch_layer_load_s", batch_layer_load_s},
    {"batch_layer_compute_s", [](const Asked& a) { return batch_layer(a).compute_s; }},
    {"batch_overlapped_s", batch_overlapped_s},
    {"batch_one_ahead_s", batch_one_ahead_s},
    {"batch_save_s", batch_save_s},
    {"chunks_layer_load_s", chunks_layer_load_s},
    {"layer_load_s", [](const Asked& a) { return layer_times(a).load_s.front(); }},
    {"layer_compute_s", [](const Asked& a) { return layer_times(a).compute_s.front(); }},
    {"head_s", [](const Asked& a) { return layer_times(a).compute_s.back(); }},
    {"flow_shop_s", flow_shop_s}};

struct ModelFigure {
  std::string_view name;
  double (ModelSpec::*value)() const;
};
constexpr ModelFigure kModelFigures[] = {
    {"kv_bytes_per_token", &ModelSpec::kv_bytes_per_token},
    {"hidden_bytes_per_token_layer", &ModelSpec::hidden_bytes_per_token_layer}};

// ---- workloads ----

double share_of_sessions_above(const Workload& workload, int64_t tokens) {
  double above = 0;
  for (const Session& session : workload.sessions) {
    int64_t all = 0;
    for (const Turn& turn : workload.turns_of(session)) all += turn.input_tokens + turn.output_tokens;
    above += all > tokens;
  }
  return above / static_cast<double>(workload.sessions.size());
}

// Returns the largest share of history in any prompt that has a history.
double largest_history_share(const Workload& workload) {
  double largest = 0;
  for (const Session& session : workload.sessions) {
    double history = 0;
    for (const Turn& turn : workload.turns_of(session)) {
      if (history > 0) largest = std::max(largest, history / (history + turn.input_tokens));
      history += turn.input_tokens + turn.output_tokens;
    }
  }
  return largest;
}

struct TraceFigureOf {
  std::string_view name;
  double (*value)(const Lab::Trace& trace);
};
constexpr TraceFigureOf kTraceFigures[] = {
    {"requests", [](const Lab::Trace& t) { return static_cast<double>(t.stats.requests); }},
    {"pieces", [](const Lab::Trace& t) { return static_cast<double>(t.workload.pieces.size()); }},
    {"piece_tokens",
     [](const Lab::Trace& t) {
       return double{t.workload.pieces.empty() ? 0.0 : t.workload.pieces.front().tokens};
     }},  // tokens of the first piece
    {"input_tokens", [](const Lab::Trace& t) { return t.stats.input_tokens.mean; }},
    {"output_tokens", [](const Lab::Trace& t) { return t.stats.output_tokens.mean; }},
    {"context_tokens", [](const Lab::Trace& t) { return t.stats.context_tokens.mean; }},
    {"median_context_tokens", [](const Lab::Trace& t) { return t.stats.context_tokens.median; }},
    // The tokens that a store that keeps everything has at the end.
    {"stored_tokens", [](const Lab::Trace& t) { return static_cast<double>(t.workload.context_tokens()); }},
    {"turns", [](const Lab::Trace& t) { return t.stats.turns.mean; }},
    {"multi_turn_share", [](const Lab::Trace& t) { return t.stats.multi_turn_share; }},
    {"share_above_2048_tokens",
     [](const Lab::Trace& t) { return share_of_sessions_above(t.workload, 2048); }},
    {"share_above_4096_tokens",
     [](const Lab::Trace& t) { return share_of_sessions_above(t.workload, 4096); }},
    {"largest_history_share", [](const Lab::Trace& t) { return largest_history_share(t.workload); }}};

// Figures of what a policy reads of all prompts: the important tokens, and the chunks that contain any.
struct PromptsFigure {
  std::string_view name;
  double PartUse::*value;
};
constexpr PromptsFigure kPromptsFigures[] = {{"important_tokens", &PartUse::important_tokens},
                                             {"touched_chunks", &PartUse::touched_chunks}};

PartUse use_of_prompts(const Machine& machine, const Workload& workload) {
  PartUse sum;
  for (const Piece& piece : workload.pieces) sum += machine.policy().use({piece.tokens, 0, piece.tokens});
  return sum;
}

// ---- names ----

template <class Row, std::size_t n>
const Row& row_of(const Row (&rows)[n], const std::string& group, const std::string& name) {
  const auto found =
      std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.name == name; });
  if (found != std::end(rows)) return *found;
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(group + "." + std::string(row.name));
  refuse_figure(group + "." + name, std::vector<std::string_view>(names.begin(), names.end()));
}

// Returns the number at `path` in the resolved scenario; a Boolean true counts as 1.
double number_at(const Scenario& scenario, const std::string& path) {
  std::string pointer = "/" + path;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  const nlohmann::json resolved = nlohmann::json::parse(scenario.resolved_json);
  nlohmann::json found;
  try {
    found = resolved.at(nlohmann::json::json_pointer(pointer));
  } catch (const nlohmann::json::exception&) {
    // no such field
  }
  if (found.is_boolean()) return found.get<bool>();
  if (!found.is_number()) {
    throw InputError("\"scenario." + path + "\" is not a number of the resolved scenario");
  }
  return found.get<double>();
}

// Returns a figure of the recorded turns in the workload's log that lie within the setting's bounds.
double measured_figure(const Scenario& scenario, const StudySetting& setting, const std::string& name) {
  const std::vector<TurnRecord> recorded = recorded_turns(open_source(scenario.workload, scenario.seed));
  return turns_figure(turns_within(recorded, setting.turns), "measured", name);
}

// The end of figures such as measured.ttft_correlation: the correlation, over turns, of simulated and
// recorded times.
constexpr std::string_view kCorrelation = "_correlation";
bool is_correlation(const std::string& group, const std::string& name) {
  return group == "measured" && name.ends_with(kCorrelation);
}
double correlation(std::span<const TurnRecord> simulated, std::span<const TurnRecord> recorded,
                   const std::string& name) {
  return turns_correlation(simulated, recorded, name.substr(0, name.size() - kCorrelation.size()));
}

// Throws InputError if no figure of a run has this name.
void require_figure_of_run(const std::string& group, const std::string& rest, const std::string& name) {
  static const std::vector<std::string> kMetrics = metric_names();
  if (group == "turns") {
    turns_figure({}, group, rest);
  } else if (group == "law") {
    law_of(rest);
  } else if (is_correlation(group, rest)) {
    correlation({}, {}, rest);
  } else if (std::find(kMetrics.begin(), kMetrics.end(), name) == kMetrics.end()) {
    refuse_figure(name, std::vector<std::string_view>(kMetrics.begin(), kMetrics.end()));
  }
}

// Splits a name at its first dot: {"turns", "mean_ttft_ms"} for "turns.mean_ttft_ms".
std::pair<std::string, std::string> parts_of(const std::string& name) {
  const std::size_t dot = name.find('.');
  return {name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)};
}

constexpr std::string_view kFigureGroups[] = {"machine",   "model",    "trace", "prompts",
                                              "turns",     "measured", "row",   "scenario",
                                              "restore_s", "checks",   "law"};

}  // namespace

double figure(Lab& lab, const StudySetting& setting, const std::string& name) {
  const auto [group, rest] = parts_of(name);
  if (name == "restore_s") return lab.restore_s(setting);
  if (group == "scenario") return number_at(lab.scenario(setting), rest);
  if (group == "machine") {
    const auto& row = row_of(kMachineFigures, group, rest);
    return row.value({lab.machine(setting), setting});
  }
  if (group == "model") return (lab.scenario(setting).model.*row_of(kModelFigures, group, rest).value)();
  if (group == "row") return column_number(setting.row, rest);
  if (group == "measured" && !is_correlation(group, rest))
    return measured_figure(lab.scenario(setting), setting, rest);
  if (group == "trace") return row_of(kTraceFigures, group, rest).value(lab.trace(setting));
  if (group == "prompts") {
    const auto& row = row_of(kPromptsFigures, group, rest);
    return use_of_prompts(lab.machine(setting), lab.trace(setting).workload).*row.value;
  }
  require_figure_of_run(group, rest, name);
  return lab.of_run(setting, name);
}

double figure(const FinishedRun& run, const StudySetting& setting, const std::string& name) {
  const auto [group, rest] = parts_of(name);
  if (group == "row") return column_number(setting.row, rest);
  if (group == "turns") return turns_figure(turns_within(run.result.turns, setting.turns), group, rest);
  if (group == "law") {
    const Json parameters = setting.workload.empty() ? Json::object() : Json::parse(setting.workload);
    return law_of(rest)({run.workload, WorkloadParameters(parameters), run.result});
  }
  if (!is_correlation(group, rest)) return run.result.number(name);
  return correlation(run.result.turns, recorded_turns(open_source(run.scenario.workload, run.scenario.seed)),
                     rest);
}

bool begins_a_figure(const std::string& word) {
  if (std::find(std::begin(kFigureGroups), std::end(kFigureGroups), word) != std::end(kFigureGroups))
    return true;
  const std::vector<std::string> metrics = metric_names();
  return std::any_of(metrics.begin(), metrics.end(),
                     [&](const std::string& metric) { return metric.substr(0, metric.find('.')) == word; });
}

}  // namespace kvcap
