// kvcap capacity: the highest load that meets the targets, and the curve around it.
#include "plan/capacity.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/output.h"
#include "commands/require.h"
#include "metrics/format.h"
#include "metrics/write.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

struct CapacityArgs {
  std::string scenario_path;
  std::vector<std::string> overrides;
  std::string prices;
  std::vector<std::string> meet;
  int seeds = 4;
  std::string out;
  bool json = false;
};

constexpr std::size_t kColumns = 100;

// Else the highest load that meets a target is not where a search from below ends.
bool worsens_with_load(const std::string& metric) {
  return metric.ends_with("_ms") || metric.ends_with("hit_rate") || metric.starts_with("rejected") ||
         metric.starts_with("truncated");
}

std::vector<Target> read_targets(const CapacityArgs& args, const Scenario& scenario) {
  std::vector<Target> targets = args.meet.empty() ? targets_of(scenario.slo) : std::vector<Target>();
  for (const Requirement& one : parse_conditions("--meet", args.meet)) {
    if (one.relation == "<" || one.relation == ">") {
      throw InputError("--meet: found \"" + one.text + "\", allowed: <=, >= or ==");
    }
    if (!worsens_with_load(one.metric)) {
      throw InputError(
          "--meet: found the metric \"" + one.metric +
          "\", allowed: one that a higher load makes worse: latencies (_ms), hit rates, rejected, "
          "truncated and their shares");
    }
    Target target{.metric = one.metric};
    if (one.relation != ">=") target.max = one.bound;
    if (one.relation != "<=") target.min = one.bound;
    targets.push_back(std::move(target));
  }
  if (!targets.empty()) return targets;
  throw InputError(args.scenario_path +
                   ": slo: missing, required without --meet, e.g. --set slo.ttft_ms=1000 or --meet "
                   "'p99_ttft_ms<=1000'");
}

// Where the search begins: a load of the scenario's order; sessions stand for requests.
double first_guess(const Scenario& scenario) {
  const ArrivalOptions& arrivals = scenario.workload.arrivals;
  if (arrivals.process == ArrivalProcess::closed_loop) return static_cast<double>(*arrivals.concurrency);
  if (arrivals.requests_per_s) return *arrivals.requests_per_s;
  return arrivals.sessions_per_s.value_or(1);
}

std::string targets_text(const std::vector<Target>& meet) {
  std::string all;
  for (const Target& one : meet) {
    std::string text = one.metric;
    if (std::isfinite(one.min)) text = format_number(one.min) + " <= " + text;
    if (std::isfinite(one.max)) text += " <= " + format_number(one.max);
    all += (all.empty() ? "" : ", ") + text;
  }
  return all;
}

std::string sentence_of(const CapacityQuestion& question, const CapacityAnswer& answer) {
  const std::string targets = targets_text(question.meet);
  if (!(answer.load.mean > 0)) return "No load meets " + targets + ": the least misses " + answer.limit + ".";
  const std::string unit = question.closed_loop ? " active sessions" : " requests/s";
  return "Capacity: " + format_interval(answer.load.mean, answer.load.half_width) + unit + " meet " +
         targets + " (" + format_count(question.seeds, "seed") +
         (question.seeds > 1 ? ", 95 % interval" : "") + "). " +
         (answer.limit.empty() ? "More was not tried." : "More misses " + answer.limit + ".");
}

// What targets count as served, else all that is.
double served_per_s(const Attempt& one) {
  const double goodput = one.result.number("request_goodput");
  return std::isnan(goodput) ? one.result.number("request_throughput") : goodput;
}

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

// One row a load; the bar is what is served.
std::string curve_text(const CapacityQuestion& question, const CapacityAnswer& answer) {
  constexpr double kBar = 20;
  constexpr std::size_t kWidth = 11;
  double most = 0;
  for (const Attempt& one : answer.curve) most = std::max(most, served_per_s(one));
  std::string text;
  const auto add_head = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) text += padded(name, kWidth);
    text += '\n';
  };
  add_head(
      {question.closed_loop ? "sessions" : "requests", "TTFT mean", "p99", "TPOT p99", "output", "good"});
  add_head({question.closed_loop ? "active" : "/s", "ms", "ms", "ms", "tokens/s", "requests/s"});
  for (const Attempt& one : answer.curve) {
    text += padded(format_number(one.ask.load), kWidth);
    for (const char* metric : {"mean_ttft_ms", "p99_ttft_ms", "p99_tpot_ms", "output_throughput"}) {
      text += padded(format_number(one.result.number(metric)), kWidth);
    }
    text += padded(format_number(served_per_s(one)), kWidth) + "  ";
    text += std::string(static_cast<std::size_t>(std::lround(most > 0 ? kBar * served_per_s(one) / most : 0)),
                        '#');
    const std::string_view verdict = one.result.text("stable.verdict");
    if (verdict != "stable") text.append(" ").append(verdict);
    text += '\n';
  }
  return text;
}

// JSON has no NaN: it is written as null.
Json attempt_object(const CapacityQuestion& question, const Attempt& one) {
  Json metrics = Json::object();
  for (const char* name :
       {"mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms", "mean_e2el_ms", "request_throughput",
        "output_throughput", "request_goodput", "token_hit_rate", "offered_load", "utilization.gpu",
        "rejected", "truncated", "cost.usd_per_million_output_tokens"}) {
    metrics[name] = one.result.number(name);
  }
  for (const Target& target : question.meet) {
    metrics[target.metric] = one.result.number(target.metric);
  }
  return {{question.closed_loop ? "concurrency" : "requests_per_s", one.ask.load},
          {"seed", one.ask.seed},
          {"sessions", one.result.session_count},
          {"stable", one.result.text("stable.verdict")},
          {"missed", one.missed.empty() ? Json() : Json(one.missed)},
          {"metrics", metrics}};
}

Json answer_object(const Scenario& scenario, const CapacityQuestion& question, const CapacityAnswer& answer) {
  const double half_width = answer.load.half_width;
  Json interval;
  if (!std::isnan(half_width)) interval = {answer.load.mean - half_width, answer.load.mean + half_width};
  Json meet = Json::object();
  for (const Target& target : question.meet) {
    Json& bounds = meet[target.metric] = Json::object();
    if (std::isfinite(target.min)) bounds["min"] = target.min;
    if (std::isfinite(target.max)) bounds["max"] = target.max;
  }
  Json object = {{"schema", "kvcap.capacity/1"},
                 {"name", scenario.name},
                 {"policy", scenario.policy.name},
                 {"meet", meet},
                 {"unit", question.closed_loop ? "concurrency" : "requests_per_s"},
                 {"capacity", {{"mean", answer.load.mean}, {"interval", interval}}},
                 {"limit", answer.limit},
                 {"curve", Json::array()},
                 {"attempts", Json::array()}};
  for (const Attempt& one : answer.curve) object["curve"].push_back(attempt_object(question, one));
  for (const Attempt& one : answer.attempts) object["attempts"].push_back(attempt_object(question, one));
  return object;
}

void capacity(const CapacityArgs& args) {
  const Scenario scenario = load_scenario(args.scenario_path, with_prices(args.prices, args.overrides));
  const ArrivalProcess process = scenario.workload.arrivals.process;
  if (process == ArrivalProcess::trace) {
    throw InputError(args.scenario_path +
                     ": workload.arrivals.process: found \"trace\", allowed: poisson, gamma, constant, "
                     "closed_loop (a trace says itself when its requests arrive)");
  }
  const CapacityQuestion question{.meet = read_targets(args, scenario),
                                  .closed_loop = process == ArrivalProcess::closed_loop,
                                  .seeds = args.seeds,
                                  .guess = first_guess(scenario)};
  prepare_folder(args.out);
  if (!args.out.empty()) {
    refuse_to_replace_in("--out", args.out, std::vector<std::string>{"capacity.json"}, files_of(scenario));
  }
  const CapacityAnswer answer = find_capacity(question, simulated_loads(scenario));
  const std::string json = answer_object(scenario, question, answer).dump(2) + "\n";
  if (!args.out.empty()) write_file(args.out + "/capacity.json", json);
  if (args.json) {
    std::fputs(json.c_str(), stdout);
  } else {
    std::string text = scenario.name + ": " + scenario.model.name + ", " + scenario.policy.name + "\n\n";
    for (const std::string& line : wrap(sentence_of(question, answer), kColumns)) text += line + "\n";
    if (!answer.curve.empty()) text += "\n" + curve_text(question, answer);
    std::fputs(text.c_str(), stdout);
  }
  if (!(answer.load.mean > 0)) throw CheckFailed(args.scenario_path + ": no load meets the targets");
}

}  // namespace

void add_capacity(CLI::App& app) {
  auto args = std::make_shared<CapacityArgs>();
  Command command(app, "capacity", "the highest load that meets the targets");
  command.value("scenario", args->scenario_path, "scenario file (JSON)").required();
  command.repeated("--set", args->overrides, "override a field: path=value, e.g. policy.name=kv_offload");
  command.value("--prices", args->prices, "file of your prices, in place of the profiles' (kvcap.prices/1)");
  command.repeated("--meet", args->meet,
                   "a target in place of slo, which bounds the 99th percentile: 'p99_ttft_ms<=500'");
  command.value("--seeds", args->seeds, "searches, each under a seed of its own")
      .with_default()
      .within(1, 100);
  command.value("--out", args->out, "folder for capacity.json");
  command.flag("--json", args->json, "print everything as JSON");
  command.footer(
      "The load is requests a second, or with workload.arrivals.process closed_loop the sessions that are\n"
      "active at once. Runs are as long as it takes to tell the long run.\n\n"
      "Example: kvcap capacity scenarios/demo.json --set policy.name=kv_offload");
  command.runs([args] { capacity(*args); });
}

}  // namespace kvcap
