// kvcap plan: finds the cheapest configuration that meets the targets, and judges its neighbours.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "advise/purchase.h"
#include "advise/simulator.h"
#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/print.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/draws.h"
#include "commands/kept_answer.h"
#include "commands/machine_load.h"
#include "commands/model_options.h"
#include "commands/output.h"
#include "commands/question.h"
#include "commands/require.h"
#include "documents/kind.h"
#include "launch/deployment.h"
#include "plan/break_even.h"
#include "plan/sizes.h"
#include "plan/workers.h"
#include "run/billing.h"
#include "scenario/load.h"
#include "scenario/servers.h"
#include "scenario/tensor_parallel.h"
#include "text/plan/plan_text.h"
#include "text/plan/plan_words.h"
#include "text/result_sentences.h"
#include "text/titles.h"

namespace kvcap {
namespace {

struct PlanArgs {
  QuestionArgs question;
  std::vector<std::string> meet, requirements;
  std::string out;
  std::string draws = "auto";
  std::string emit;
  bool break_even = false;
  bool resume = false;
  bool json = false;
};

const char* name_of(Judgement verdict) {
  constexpr const char* kNames[] = {"cannot_run", "misses", "unclear", "meets"};
  return kNames[static_cast<std::size_t>(verdict)];
}

// Returns {"mean", "interval": [low, high]}; the interval is null for a single run.
Json interval_object(const MeanInterval& value) {
  Json interval;
  if (!std::isnan(value.half_width))
    interval = {value.mean - value.half_width, value.mean + value.half_width};
  return {{"mean", value.mean}, {"interval", interval}};
}

Json candidate_object(const Plan& plan, const Candidate& candidate) {
  Json metrics = Json::object();
  if (!candidate.runs.empty()) {
    for (const std::string& name : {plan.minimize, std::string(kFrontMetric)}) {
      metrics[name] = interval_object(candidate.metric(name));
    }
    for (const Target& target : plan.meet) {
      metrics[target.metric] = interval_object(candidate.metric(target.metric));
    }
  }
  Json object = {{"changes", candidate.changes},
                 {"verdict", name_of(candidate.verdict)},
                 {"reason", candidate.reason.empty() ? Json() : Json(candidate.reason)},
                 {"stable", candidate.stable()},
                 {"replications", candidate.runs.size()},
                 {"metrics", metrics}};
  if (!candidate.runs.empty()) {
    const RunResult& run = candidate.runs.front();
    object["policy"] = run.policy;
    object["quality_note"] = run.quality_note.empty() ? Json() : Json(run.quality_note);
  }
  // The runs with scaled contexts have no command that repeats them, because no field of a scenario scales
  // its prompts.
  object["command"] = candidate.context_scale == 1 ? Json(candidate_command(plan, candidate)) : Json();
  return object;
}

Json targets_object(const Plan& plan) {
  Json meet = Json::object();
  for (const Target& target : plan.meet) {
    Json& bounds = meet[target.metric] = Json::object();
    if (std::isfinite(target.min)) bounds["min"] = target.min;
    if (std::isfinite(target.max)) bounds["max"] = target.max;
  }
  return meet;
}

Json candidate_list(const Plan& plan, const std::vector<const Candidate*>& candidates) {
  Json list = Json::array();
  for (const Candidate* one : candidates) list.push_back(candidate_object(plan, *one));
  return list;
}

Json bottleneck_object(const Candidate& candidate) {
  Json object = Json::object();
  for (const BottleneckShare& one : bottleneck(candidate)) object[one.resource] = one.share;
  return object;
}

Json why_object(const PlanReport& report) {
  const Why& why = report.advice.why;
  Json object = {{"bottleneck", bottleneck_object(*report.result.best)}, {"runner_up", Json()}};
  if (!why.runner_up) return object;
  const auto parts = [](const std::vector<PartDifference>& differences) {
    Json all = Json::object();
    for (const PartDifference& one : differences) all[one.name] = interval_object(one.difference);
    return all;
  };
  object["runner_up"] = candidate_object(*report.plan, *why.runner_up);
  object["runner_up_bottleneck"] = bottleneck_object(*why.runner_up);
  object[report.plan->minimize] = interval_object(why.objective);
  object["cost_parts"] = parts(why.costs);
  object["mean_ttft_ms"] = interval_object(why.ttft_ms);
  object["ttft_parts_ms"] = parts(why.ttft_parts_ms);
  return object;
}

Json bought_list(const Plan& plan, const Candidate& candidate) {
  Json list = Json::array();
  for (const BoughtSize& one : bought_sizes(plan, candidate.changes)) {
    const bool is_searched = one.profile_bytes > 0;
    list.push_back({{"tier", name(one.tier)},
                    {"bytes", one.bytes},
                    {"used", one.is_used},
                    {"searched", is_searched},
                    {"profile_bytes", is_searched ? Json(one.profile_bytes) : Json()}});
  }
  return list;
}

Json price_list(const Plan& plan, const Candidate& candidate) {
  Json list = Json::array();
  for (const PriceSource& one : load_scenario(plan.base, candidate.changes).price_sources) {
    list.push_back({{"price", one.field}, {"value", one.value}, {"from", one.from}, {"date", one.date}});
  }
  return list;
}

Json draws_object(const PlanDraws& draws) {
  Json object = {{"draws", draws.draws},
                 {"sessions", draws.sessions},
                 {"still_best_share", draws.still_best},
                 {"finalists", Json::array()},
                 {"outside_validation", draws.outside}};
  for (const Finalist& one : draws.finalists) {
    Json intervals = Json::object();
    for (const ModelInterval& interval : one.intervals) {
      intervals[interval.name] = {
          {"low", interval.low}, {"high", interval.high}, {"share", kModelShare}, {"draws", interval.draws}};
    }
    object["finalists"].push_back(
        {{"changes", one.candidate->changes}, {"meets_share", one.meets}, {"model_intervals", intervals}});
  }
  return object;
}

// Returns the candidate's scenario with a size for every tier that has none: the bytes that the candidate's
// first run stores there.
Scenario sized(const Plan& plan, const Candidate& candidate) {
  Scenario scenario = load_scenario(plan.base, candidate.changes);
  return candidate.runs.empty() ? scenario : with_filled_sizes(std::move(scenario), candidate.runs.front());
}

Json marginal_object(const Plan& plan, const Marginal& one) {
  const bool has_unit = one.unit != ResourceUnit::none;
  return {{"what", one.what},
          {"change",
           {{plan.minimize, interval_object(one.objective)}, {kFrontMetric, interval_object(one.quality)}}},
          {"unit", has_unit ? Json(std::string(name(one.unit))) : Json()},
          {"units", has_unit ? Json(one.units) : Json()},
          {"has_price", one.has_price},
          {"candidate", candidate_object(plan, *one.candidate)}};
}

Json report_object(const PlanReport& report) {
  const Plan& plan = *report.plan;
  const PlanResult& result = report.result;
  Json object = {{"schema", "kvcap.plan_result/1"},   {"name", plan.name},
                 {"minimize", plan.minimize},         {"configurations", result.configurations},
                 {"simulations", report.simulations}, {"dropped", result.dropped},
                 {"cannot_run", result.cannot_run},   {"clear", result.is_clear()},
                 {"confidence", result.confidence},   {"meet", targets_object(plan)}};
  if (report.is_interrupted()) object["interrupted"] = result.is_interrupted ? "search" : "advice";
  const Implied& implied = result.implied;
  object["implied"] = {{"verified", implied.verified},
                       {"wrong", implied.wrong},
                       {"same", implied.same},
                       {"not_looked_at", implied.not_looked_at}};
  object["answer"] = result.best ? candidate_object(plan, *result.best) : Json();
  const Candidate* shown = result.best ? result.best : result.nearest;
  object["machine"] =
      shown ? machine_load(load_scenario(plan.base, shown->changes).resolved_json, shown->runs) : Json();
  object["purchase"] = result.best ? Json(report.purchase) : Json();
  object["bought"] = result.best ? bought_list(plan, *result.best) : Json::array();
  object["price_sources"] = result.best ? price_list(plan, *result.best) : Json::array();
  const Target* binding = result.best ? binding_target(plan, *result.best) : nullptr;
  object["binding"] = binding ? Json(binding->metric) : Json();
  object["nearest"] = !result.best && result.nearest ? candidate_object(plan, *result.nearest) : Json();
  object["rivals"] = candidate_list(plan, result.rivals);
  object["front"] = candidate_list(plan, result.front);
  object["judged"] = candidate_list(plan, result.judged);
  object["discarded"] = Json::array();
  for (const Discarded& one : result.discarded) {
    constexpr const char* kWhy[] = {"dearer", "unclear", "misses", "cannot_run"};
    object["discarded"].push_back({{"value", one.value},
                                   {"why", kWhy[static_cast<std::size_t>(one.why)]},
                                   {plan.minimize, Json(one.objective)},
                                   {"estimated", one.is_estimate},
                                   {"reason", one.reason.empty() ? Json() : Json(one.reason)},
                                   {"found", Json(one.found)},
                                   {"changes", one.changes}});
  }
  object["marginal"] = Json::array();
  for (const Marginal& one : report.advice.marginals)
    object["marginal"].push_back(marginal_object(plan, one));
  const Marginal* next = next_to_buy(report.advice.marginals);
  object["next"] = next ? marginal_object(plan, *next) : Json();
  object["robustness"] = Json::array();
  for (const Stress& one : report.advice.stresses) {
    object["robustness"].push_back(
        {{"what", one.what}, {"candidate", candidate_object(plan, *one.candidate)}});
  }
  object["prices"] = Json::array();
  for (const PriceChange& one : report.advice.prices) {
    object["prices"].push_back({{"what", one.what},
                                {"objective", one.objective},
                                {"still_best", one.best == result.best},
                                {"best", one.best->changes}});
  }
  object["why"] = result.best ? why_object(report) : Json();
  object["flips"] = Json::array();
  for (const Flip& one : report.advice.flips) {
    object["flips"].push_back({{"what", one.what},
                               {"found", one.is_found},
                               {"factor", one.factor},
                               {"holds_at", one.holds},
                               {"reason", one.reason.empty() ? Json() : Json(one.reason)},
                               {"better", one.better.empty() ? Json() : Json(one.better)}});
  }
  const std::string line = result.best ? launch_line_of(sized(plan, *result.best)) : "";
  object["launch"] = line.empty() ? Json() : Json(line);
  object["key"] = plan_key(plan);
  object["deployments"] = result.best ? deployments_of(sized(plan, *result.best)) : Json();
  if (report.advice.draws.draws > 0) object["model"] = draws_object(report.advice.draws);
  return object;
}

Json break_even_object(const Plan& plan, const BreakEvenMap& map) {
  const BreakEven& asked = *plan.break_even;
  const auto policy = [&](int which) {
    return which < 0 ? Json() : Json(asked.policies[static_cast<std::size_t>(which)]);
  };
  Json object = {{"schema", "kvcap.break_even/1"}, {"name", plan.name},      {"across", asked.across.name()},
                 {"down", asked.down.name()},      {"cells", Json::array()}, {"boundaries", Json::array()}};
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    for (std::size_t c = 0; c < map.rows[r].size(); ++c) {
      const BreakEvenCell& cell = map.rows[r][c];
      Json entry = {
          {"across", asked.across.values[c]}, {"down", asked.down.values[r]},
          {"winner", policy(cell.winner)},    {"closed_form_winner", policy(cell.closed_form_winner)},
          {"lead", Json(cell.lead)},          {"policies", Json::array()}};
      for (std::size_t p = 0; p < cell.policies.size(); ++p) {
        const Contestant& one = cell.policies[p];
        entry["policies"].push_back({{"policy", asked.policies[p]},
                                     {"ttft_s", Json(one.ttft_s)},
                                     {"closed_form_ttft_s", Json(one.closed_form_ttft_s)},
                                     {"reason", one.reason.empty() ? Json() : Json(one.reason)}});
      }
      object["cells"].push_back(std::move(entry));
    }
  }
  for (const Boundary& one : map.boundaries) {
    object["boundaries"].push_back({{"down", asked.down.values[one.row]},
                                    {"from", policy(one.from)},
                                    {"to", policy(one.to)},
                                    {"simulated", Json(one.simulated)},
                                    {"closed_form", Json(one.closed_form)}});
  }
  return object;
}

void break_even(const PlanArgs& args, const Plan& plan, const std::string& name, const std::string& out) {
  if (!plan.break_even) throw InputError(name + ": break_even: missing, required for --break-even");
  const BreakEvenMap map = break_even_map(plan);
  const Json object = break_even_object(plan, map);
  const std::string json = object.dump(2) + "\n";
  if (!out.empty()) write_file(out, json);
  print(args.json ? json : break_even_text(plan, map, document_sentences(object)));
}

// Returns the launch line of the answer, and the flags that turn the answer into each of its neighbours that
// is worth its price.
std::string flags_text(const PlanReport& report) {
  const Plan& plan = *report.plan;
  if (!report.result.best) return "";
  const Scenario best = sized(plan, *report.result.best);
  std::string text = launch_text(best), changes;
  for (const Marginal& one : report.advice.marginals) {
    const Scenario other = sized(plan, *one.candidate);
    if (!is_worth_buying(one) || changed_flags(best, other).empty()) continue;
    changes += flags_line(step_text(one.what), best, other) + "      " + metric_title(kFrontMetric) + " " +
               change_text(kFrontMetric, one.quality) + " for " + metric_title(plan.minimize) + " " +
               change_text(plan.minimize, one.objective) + "\n";
  }
  if (!changes.empty()) text += kFlagsTitle + changes;
  return text.empty() ? "" : "\n" + text;
}

// True iff the plan searches the field. A plan that searches policy.name searches all of policy.*, because
// each policy has its own options.
bool is_searched(const std::string& path, const Plan& plan) {
  for (const Dimension& dimension : plan.search) {
    for (const std::string& other : dimension.paths) {
      const bool is_policy = other == "policy.name" && path.starts_with("policy.");
      if (is_policy || path == other || path.starts_with(other + ".")) return true;
    }
  }
  return false;
}

// Returns the deployment of the answer in the form that --emit names; "" without an answer.
std::string deployment(const PlanReport& report, const std::string& emit) {
  if (!report.result.best) return "";
  return deployment_of(sized(*report.plan, *report.result.best), deployment_form(emit));
}

struct AskedPlan {
  Launched from;
  Plan plan;
  std::string searched = {};  // a sentence on what a plan without a file searches and leaves out
};

std::vector<std::string> changes_of(const Overrides& overrides) {
  std::vector<std::string> changes;
  for (const Override& one : overrides) changes.push_back(one.path + "=" + one.value);
  return changes;
}

AskedPlan plan_of_file(const PlanArgs& args) {
  const Plan alone = load_plan(args.question.file);
  const Question question(args.question, {.plan_base = &alone.base, .chooses = [&](const std::string& path) {
                                            return is_searched(path, alone);
                                          }});
  AskedPlan asked{question.from(), load_plan(args.question.file, changes_of(question.overrides()))};
  const bool has_line = question.from().is_given();
  if (has_line && is_searched("hardware", alone))
    asked.plan.base.machine_defaults = question.machine_defaults();
  return asked;
}

// Returns the names of the catalogue's servers that have a price.
std::vector<std::string> rented_servers() {
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) {
    const Gpu gpu = load_hardware(std::string(entry.name)).gpu;
    // Variants of a server have a longer name: h100-sxm-8x-cxl.
    const bool is_server = gpu.per_server && entry.name.ends_with("x");
    if (is_server && gpu.price_usd_per_hour > 0) names.emplace_back(entry.name);
  }
  return names;
}

// Returns the policies to search. A policy that can use the tier sizes of --dram and --ssd appears once per
// combination of sizes, another policy once and unchanged.
Json sized_policies(const std::vector<std::string>& policies, const std::vector<Storage>& storages) {
  Json all = Json::array();
  bool is_sized = false;
  for (const std::string& policy : policies) {
    const std::size_t before = all.size();
    for (const Storage& storage : storages) {
      const Overrides tiers = storing(policy, storage, "--dram, --ssd");
      if (!tiers.empty()) all.push_back({{"name", policy}, {"tiers", Json::parse(tiers.front().value)}});
    }
    is_sized = is_sized || all.size() > before;
    if (all.size() == before) all.push_back({{"name", policy}});
  }
  if (is_sized) return all;
  throw InputError("--dram, --ssd: found " + storages.front().label() + ", and " + joined(policies, " and ") +
                   " cannot store there; a plan file can search other policies");
}

// The tensor parallel sizes that a plan without --gpus searches: powers of two by which the model's tensors
// can be divided, with whole experts if these would be cut otherwise.
struct Divisions {
  std::vector<int64_t> sizes;
  bool keeps_experts_whole = false;
};
Divisions divisions_of(const Scenario& base, int64_t most) {
  Divisions all;
  Scenario whole = base;
  whole.serving.expert_parallel = base.model.experts.has_value();
  for (int64_t gpus = 1; gpus <= most; gpus *= 2) {
    if (!allowed_division(whole, gpus).empty()) continue;
    all.sizes.push_back(gpus);
    if (!allowed_division(base, gpus).empty()) all.keeps_experts_whole = true;
  }
  return all;
}

// Returns the plan of a question without a file. It searches the given server or every server with a price,
// the tensor parallel sizes within a server, the engine with and without its own offloading, and the given
// tier sizes.
AskedPlan plan_of_options(const PlanArgs& args) {
  if (args.meet.empty()) {
    throw InputError(
        "plan: found no plan file and no --meet, allowed: a file, or targets such as --meet "
        "'p90_ttft_ms<=1s'");
  }
  QuestionArgs asked = args.question;
  const std::vector<std::string> servers = rented_servers();
  const bool has_hardware = !asked.hardware.empty();
  constexpr int64_t kLargestServer_gpus = 8;
  if (!has_hardware) {
    asked.hardware = servers.front();
  } else if (!asked.gpus) {
    asked.hardware = server_of(load_hardware(asked.hardware), asked.hardware, kLargestServer_gpus);
  }
  const auto chooses = [&](const std::string& path) {
    return path.starts_with("policy") || (path == "hardware" && !has_hardware) ||
           (path == "serving.tensor_parallel_size" && !asked.gpus);
  };
  const Question question(asked, {.has_sizes = true, .plan_base = nullptr, .chooses = chooses});
  Json search = Json::object(), meet = Json::object();
  if (!has_hardware) search["hardware"] = servers;
  const int64_t most = has_hardware ? load_hardware(asked.hardware).gpu.count : kLargestServer_gpus;
  const Scenario base = question.load();
  Divisions divisions;
  if (!asked.gpus) {
    divisions = divisions_of(base, most);
    search["serving.tensor_parallel_size"] = divisions.sizes;
  }
  std::vector<std::string> policies = question.own_policies();
  policies.resize(2);
  const std::vector<Storage>& sizes = question.storages();
  if (sizes.empty()) {
    search["policy.name"] = policies;
  } else {
    search["policy"] = sized_policies(policies, sizes);
  }
  for (const Target& one : parse_targets(args.meet)) {
    Json& bounds = meet[one.metric] = Json::object();
    if (std::isfinite(one.min)) bounds["min"] = one.min;
    if (std::isfinite(one.max)) bounds["max"] = one.max;
  }
  const Json text = {
      {"schema", "kvcap.plan/1"}, {"name", base.name}, {"base", "x"}, {"search", search}, {"meet", meet}};
  BaseScenario asked_base = question.base();
  asked_base.text = question.text_without_set();
  asked_base.machine_defaults = question.machine_defaults();
  // Each candidate's command names its own machine, so the base command must not name one.
  if (!has_hardware) asked_base.command = options_text(args.question);
  std::vector<std::string> changes = changes_of(question.set());
  if (divisions.keeps_experts_whole) changes.emplace_back("serving.expert_parallel=true");
  AskedPlan plan{question.from(), parse_plan(text.dump(), asked_base, changes)};
  plan.searched =
      "Searched: " + (has_hardware ? asked.hardware : joined(servers) + " (the servers with a price)") +
      ", " + (asked.gpus ? std::to_string(*asked.gpus) : "1 to " + std::to_string(most)) +
      " GPUs of one of them, with " + joined(policies, " and ") +
      (sizes.empty() ? ""
                     : " (" + joined(sizes, ", ", [](const Storage& one) { return one.label(); }) + ")") +
      ". " +
      (divisions.keeps_experts_whole ? "Experts are kept whole (serving.expert_parallel), since some of "
                                       "these sizes would cut their FP8 blocks. "
                                     : "") +
      "Left out: other GPUs, several servers and other policies; use --gpu or a plan file for those.";
  return plan;
}

AskedPlan asked_plan(const PlanArgs& args) {
  if (args.question.file.empty()) return plan_of_options(args);
  AskedPlan asked = plan_of_file(args);
  if (!args.meet.empty()) asked.plan.meet = parse_targets(args.meet);
  return asked;
}

void plan(const PlanArgs& args) {
  if (!args.emit.empty() && (args.json || args.break_even)) {
    throw InputError("plan: found --emit with " + std::string(args.json ? "--json" : "--break-even") +
                     ", allowed: one of them");
  }
  refuse_read_once(args.question.file, ", and a plan reads it for every configuration; allowed: a file");
  const std::vector<Requirement> requirements = parse_requirements(args.requirements);
  const int64_t draws = draws_of(args.draws);
  const auto [from, plan, searched] = asked_plan(args);
  const std::string& name = args.question.file.empty() ? plan.base.path : args.question.file;
  const std::vector<std::string> names = {args.break_even ? "break_even.json" : "plan_result.json"};
  refuse_resume_without_folder("plan", args.resume, args.out);
  const MadeFolders made = prepare_folder(args.out);
  if (!args.out.empty()) {
    refuse_to_replace_in("--out", args.out, names,
                         std::vector<std::string>{args.question.file, args.question.prices});
  }
  const std::string out = args.out.empty() ? "" : args.out + "/" + names.front();
  if (args.break_even) {
    if (args.resume) throw InputError("plan: found --resume with --break-even, allowed: one of them");
    if (!requirements.empty())
      throw InputError("plan: found --require with --break-even, allowed: one of them");
    break_even(args, plan, name, out);
    return;
  }
  if (plan.search.empty()) throw InputError(name + ": search: missing, required");
  check_values(plan, name);
  if (!args.emit.empty() && !out.empty() && requirements.empty()) {
    if (const std::optional<std::string> kept = kept_deployment(out, plan_key(plan), args.emit)) {
      tell("kvcap: --emit: printing the saved answer of the same plan in " + out);
      print(*kept);
      return;
    }
  }
  const FinishedRuns finished(args.out, args.resume);
  Simulator simulator(plan, finished);
  Judge judge(plan, simulator);
  PlanReport report{.plan = &plan, .result = find_plan(plan, judge), .searched = searched};
  std::vector<std::string> notes;
  if (report.result.best) {
    report.purchase = purchase(plan, report.result.best->changes);
    report.purchase_notes = purchase_notes(plan, report.result.best->changes);
    notes = load_scenario(plan.base, report.result.best->changes).notes;
    for (std::string& one : assumptions(notes)) report.purchase_notes.push_back(std::move(one));
  }
  if (report.result.best && !report.result.is_interrupted) {
    report.advice = advise(plan, report.result, judge, draws == kAutoDraws ? kDefaultDraws : draws);
  }
  report.simulations = simulator.simulations();
  if (report.is_interrupted() && (args.json || !args.emit.empty())) throw Interrupted();
  Json object = report_object(report);
  if (!searched.empty()) notes.push_back(searched);
  object["notes"] = notes;
  if (from.is_given()) {
    object["from"] = launched_json(from);
    object["warnings"] = object["from"]["warnings"];
  }
  if (!report.is_interrupted()) {
    if (!out.empty()) write_file(out, object.dump(2) + "\n");
    finished.discard();
  }
  CheckedRequirements checked;
  if (report.result.best && !report.is_interrupted()) {
    checked = check_requirements(requirements, *report.result.best);
  }
  if (args.json) {
    print(with_requirements(object.dump(2) + "\n", checked));
  } else if (!args.emit.empty()) {
    print(deployment(report, args.emit));
  } else {
    print(plan_text(report, document_sentences(object)) + plan_draws_text(plan, report.advice.draws) +
          flags_text(report) + launched_text(from) + holds_text(checked));
  }
  if (report.is_interrupted()) throw Interrupted();
  if (!report.result.best) throw CheckFailed(name + ": no configuration meets every target");
  require_all(checked);
}

}  // namespace

void add_plan(CLI::App& app) {
  auto args = std::make_shared<PlanArgs>();
  Command command(app, "plan", "find the cheapest configuration that meets the targets");
  add_question(command, args->question, "plan", "plan file (JSON)", false);
  command.repeated("--meet", args->meet, "a target, in place of those of the file: 'p90_ttft_ms<=1s'");
  command.repeated("--require", args->requirements,
                   "fail with exit code 3 unless this holds for the answer: 'cost.usd_per_hour<=6'");
  declare_model_options(command);
  command.value("--prices", args->question.prices,
                "price file (kvcap.prices/1), in place of the profiles' prices");
  command.value("--out", args->out, "folder for plan_result.json, or break_even.json");
  command.flag("--resume", args->resume,
               "continue an interrupted command with this --out; keep its finished simulations");
  add_draws(command, args->draws);
  command.flag(
      "--break-even", args->break_even,
      "instead of the plan, print the fastest policy at each pair of values of the two fields in break_even");
  command.flag("--json", args->json, "print everything as JSON");
  declare_emit(command, args->emit, "the answer");
  command.footer(
      "Example: kvcap plan --model llama-3.1-8b --gpu l40s --workload chat --rate 1 --meet "
      "'p90_ttft_ms<=1s'");
  command.runs([args] { run_resumable(args->out, [args] { plan(*args); }); });
}

}  // namespace kvcap
