#include "validate/figures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/input_error.h"
#include "metrics/quantiles.h"
#include "metrics/quantity.h"
#include "policy/restoration.h"
#include "validate/study_rows.h"

namespace kvcap {
namespace {

// ---- machines, in closed form ----

// Of contexts.tokens tokens unless the name says otherwise; of a batch, contexts.count prompts of
// contexts.new_tokens new tokens, each over a history of contexts.tokens in DRAM.
struct Asked {
  const Machine& machine;
  StoredContexts contexts;

  const CostModel& cost() const { return machine.cost(); }
  const ModelSpec& model() const { return machine.cost().model(); }
  int64_t tokens() const { return contexts.tokens; }
  Schedule schedule() const { return machine.policy().schedule(contexts.tokens, Tier::ssd); }
};

LayerWork batch_layer(const Asked& asked) {
  const StoredContexts& batch = asked.contexts;
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
// Of the batch's prompts and answers to DRAM.
double batch_save_s(const Asked& asked) {
  const StoredContexts& batch = asked.contexts;
  const auto tokens =
      static_cast<double>(batch.count * (batch.tokens + batch.new_tokens + batch.output_tokens));
  return asked.machine.route(Tier::hbm, Tier::dram).seconds(tokens * asked.model().kv_bytes_per_token(), 0);
}

// Of the first layer of a restoration of chunks from the SSD.
double chunks_layer_load_s(const Asked& asked) {
  const Hit chunks{.tier = Tier::ssd, .tokens = asked.tokens()};
  const LoadRates rates = asked.machine.idle_rates();
  const Restoration blend = asked.machine.policy().restore(
      {.history_tokens = asked.tokens(), .new_tokens = 1}, {&chunks, 1}, rates);
  return load_s(blend.work.front(), Tier::ssd, rates[index(Tier::ssd)]);
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
    {"chunks_layer_load_s", chunks_layer_load_s}};

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

// The largest share of history in a prompt that has some.
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
     }},  // of the first
    {"input_tokens", [](const Lab::Trace& t) { return t.stats.input_tokens.mean; }},
    {"output_tokens", [](const Lab::Trace& t) { return t.stats.output_tokens.mean; }},
    {"context_tokens", [](const Lab::Trace& t) { return t.stats.context_tokens.mean; }},
    {"median_context_tokens", [](const Lab::Trace& t) { return t.stats.context_tokens.median; }},
    // That sessions begin with, all together.
    {"stored_tokens", [](const Lab::Trace& t) { return static_cast<double>(t.workload.context_tokens()); }},
    {"turns", [](const Lab::Trace& t) { return t.stats.turns.mean; }},
    {"multi_turn_share", [](const Lab::Trace& t) { return t.stats.multi_turn_share; }},
    {"share_above_2048_tokens",
     [](const Lab::Trace& t) { return share_of_sessions_above(t.workload, 2048); }},
    {"share_above_4096_tokens",
     [](const Lab::Trace& t) { return share_of_sessions_above(t.workload, 4096); }},
    {"largest_history_share", [](const Lab::Trace& t) { return largest_history_share(t.workload); }}};

// Parts of all prompts as the policy uses them (importance).
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

// ---- turns within bounds ----

struct Turns {
  std::vector<TurnRecord> list;
  double from_s = 0;
};
using OfTurn = double (*)(const TurnRecord& turn);

double ttft_ms(const TurnRecord& turn) { return 1e3 * turn.ttft_s; }
double e2el_ms(const TurnRecord& turn) { return 1e3 * turn.e2el_s; }
double tpot_ms(const TurnRecord& turn) {
  return 1e3 * (turn.e2el_s - turn.ttft_s) / std::max(1.0, turn.output_tokens - 1.0);
}
double prompt_tokens(const TurnRecord& turn) { return turn.history_tokens + turn.input_tokens; }
double output_tokens(const TurnRecord& turn) { return turn.output_tokens; }
double hit_tokens(const TurnRecord& turn) { return turn.hit_tokens; }

double sum_of(const Turns& turns, OfTurn of) {
  double sum = 0;
  for (const TurnRecord& turn : turns.list) sum += of(turn);
  return sum;
}
double mean_of(const Turns& turns, OfTurn of) {
  return sum_of(turns, of) / static_cast<double>(turns.list.size());
}
double quantile_of(const Turns& turns, double share, OfTurn of) {
  std::vector<double> values;
  for (const TurnRecord& turn : turns.list) values.push_back(of(turn));
  std::sort(values.begin(), values.end());
  return quantile_of_sorted(values, share);
}
double last_answer_s(const Turns& turns) {
  double last_s = 0;
  for (const TurnRecord& turn : turns.list) last_s = std::max(last_s, turn.arrival_s + turn.e2el_s);
  return last_s;
}
double total_tokens(const TurnRecord& turn) { return prompt_tokens(turn) + turn.output_tokens; }
// Until the last answer.
double per_s(const Turns& turns, OfTurn of) {
  return sum_of(turns, of) / (last_answer_s(turns) - turns.from_s);
}

struct TurnsFigure {
  std::string_view name;
  double (*value)(const Turns& turns);
};
constexpr TurnsFigure kTurnsFigures[] = {
    {"count", [](const Turns& t) { return static_cast<double>(t.list.size()); }},
    {"last_answer_s", last_answer_s},
    {"mean_ttft_ms", [](const Turns& t) { return mean_of(t, ttft_ms); }},
    {"median_ttft_ms", [](const Turns& t) { return quantile_of(t, 0.5, ttft_ms); }},
    {"p90_ttft_ms", [](const Turns& t) { return quantile_of(t, 0.9, ttft_ms); }},
    {"p99_ttft_ms", [](const Turns& t) { return quantile_of(t, 0.99, ttft_ms); }},
    {"mean_tpot_ms", [](const Turns& t) { return mean_of(t, tpot_ms); }},
    {"mean_e2el_ms", [](const Turns& t) { return mean_of(t, e2el_ms); }},
    {"output_tokens_per_s", [](const Turns& t) { return per_s(t, output_tokens); }},
    {"total_tokens_per_s", [](const Turns& t) { return per_s(t, total_tokens); }},
    {"prompt_tokens", [](const Turns& t) { return sum_of(t, prompt_tokens); }},
    {"output_tokens", [](const Turns& t) { return sum_of(t, output_tokens); }},
    {"hit_tokens", [](const Turns& t) { return sum_of(t, hit_tokens); }}};

Turns turns_within(std::span<const TurnRecord> all, const std::map<std::string, double>& bounds) {
  const auto bound = [&](const char* name, double absent) {
    const auto found = bounds.find(name);
    return found == bounds.end() ? absent : found->second;
  };
  const double from_s = bound("from_s", 0), to_s = bound("to_s", INFINITY);
  const double first = bound("from_session", 0), last = bound("to_session", INFINITY);
  Turns turns{.list = {}, .from_s = from_s};
  for (const TurnRecord& turn : all) {
    const bool is_in_time = turn.arrival_s >= from_s && turn.arrival_s < to_s;
    const bool is_within = is_in_time && turn.session >= first && turn.session <= last;
    if (is_within && !turn.warmup && turn.answered()) turns.list.push_back(turn);
  }
  return turns;
}

// ---- names ----

[[noreturn]] void refuse(const std::string& name, std::span<const std::string_view> known) {
  throw InputError("found the name \"" + name + "\", allowed: a setting's name and a figure" +
                   suggestion(name, known));
}

template <class Row, std::size_t n>
const Row& row_of(const Row (&rows)[n], const std::string& group, const std::string& name) {
  const auto found =
      std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.name == name; });
  if (found != std::end(rows)) return *found;
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(group + "." + std::string(row.name));
  refuse(group + "." + name, std::vector<std::string_view>(names.begin(), names.end()));
}

// A number of the resolved scenario; true counts as 1.
double number_at(const Scenario& scenario, const std::string& path) {
  std::string pointer = "/" + path;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  const nlohmann::json resolved = nlohmann::json::parse(scenario.resolved_json);
  const nlohmann::json::json_pointer at(pointer);
  const nlohmann::json found = resolved.contains(at) ? resolved.at(at) : nlohmann::json();
  if (found.is_boolean()) return found.get<bool>();
  if (!found.is_number()) {
    throw InputError("found the name \"scenario." + path +
                     "\", allowed: a field of the scenario that is a number");
  }
  return found.get<double>();
}

double metric_of(Lab& lab, const StudySetting& setting, const std::string& name) {
  static const std::vector<std::string> kNames = metric_names();
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
    refuse(name, std::vector<std::string_view>(kNames.begin(), kNames.end()));
  }
  return lab.metric(setting, name);
}

constexpr std::string_view kFigureGroups[] = {"machine", "model", "trace",    "prompts",
                                              "turns",   "row",   "scenario", "restore_s"};

}  // namespace

double figure(Lab& lab, const StudySetting& setting, const std::string& name) {
  const std::size_t dot = name.find('.');
  const std::string group = name.substr(0, dot), rest = dot == std::string::npos ? "" : name.substr(dot + 1);
  if (name == "restore_s") return lab.restore_s(setting);
  if (group == "scenario") return number_at(lab.scenario(setting), rest);
  if (group == "machine") {
    const auto& row = row_of(kMachineFigures, group, rest);
    return row.value({lab.machine(setting), setting.stored_contexts()});
  }
  if (group == "model") return (lab.scenario(setting).model.*row_of(kModelFigures, group, rest).value)();
  if (group == "row") return number_of(setting.row, rest);
  if (group == "turns") {
    return row_of(kTurnsFigures, group, rest).value(turns_within(lab.turns(setting), setting.turns));
  }
  if (group == "trace") return row_of(kTraceFigures, group, rest).value(lab.trace(setting));
  if (group == "prompts") {
    const auto& row = row_of(kPromptsFigures, group, rest);
    return use_of_prompts(lab.machine(setting), lab.trace(setting).workload).*row.value;
  }
  return metric_of(lab, setting, name);
}

double figure(const RunResult& result, const StudySetting& setting, const std::string& name) {
  if (name.starts_with("row.")) return number_of(setting.row, name.substr(4));
  if (!name.starts_with("turns.")) return result.number(name);
  return row_of(kTurnsFigures, "turns", name.substr(6)).value(turns_within(result.turns, setting.turns));
}

bool begins_a_figure(const std::string& word) {
  if (std::find(std::begin(kFigureGroups), std::end(kFigureGroups), word) != std::end(kFigureGroups))
    return true;
  const std::vector<std::string> metrics = metric_names();
  return std::any_of(metrics.begin(), metrics.end(),
                     [&](const std::string& metric) { return metric.substr(0, metric.find('.')) == word; });
}

}  // namespace kvcap
