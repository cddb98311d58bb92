// kvcap compare: runs the same workload with several settings and prints paired differences against the
// first.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/print.h"
#include "base/text/progress.h"
#include "base/text/warning.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/compared.h"
#include "commands/draws.h"
#include "commands/model_options.h"
#include "commands/output.h"
#include "commands/question.h"
#include "commands/require.h"
#include "metrics/recorder.h"
#include "metrics/write.h"
#include "plan/model_draws.h"
#include "plan/replicate.h"
#include "plan/workers.h"
#include "run/billing.h"
#include "run/setup.h"
#include "text/change_gain.h"
#include "text/comparison.h"
#include "text/model_text.h"
#include "text/result_table.h"
#include "workload/workload.h"

namespace kvcap {
namespace {

constexpr int kGatedReplications = 5;  // default number of seeds if --require bounds a difference

// Returns the paired differences of setting `one` from setting `other`, with the labels of both.
std::vector<Difference> differences_of(const std::vector<Compared>& columns,
                                       const std::vector<std::vector<RunResult>>& runs, std::size_t one,
                                       std::size_t other) {
  std::vector<Difference> differences = paired_differences(runs[other], runs[one]);
  for (Difference& difference : differences) {
    difference.setting = columns[one].label;
    difference.against = columns[other].label;
  }
  return differences;
}

// Returns the flags to change for each setting that gains something; "" if no setting differs in flags.
std::string flags_of_columns(const std::vector<Compared>& columns, const std::vector<Scenario>& scenarios,
                             const std::vector<RunResult>& results,
                             const std::vector<Difference>& differences) {
  const bool has_flags = std::any_of(scenarios.begin(), scenarios.end(), [&](const Scenario& one) {
    return !changed_flags(scenarios[0], one).empty();
  });
  if (!columns[0].is_launched && !has_flags) return "";
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < columns.size(); ++i) settings.push_back({columns[i].label, &results[i]});
  const Comparison all(std::move(settings), differences);
  std::string text;
  for (std::size_t i = 1; i < columns.size(); ++i) {
    const std::string gain = columns[i].is_bound ? "" : gain_text(all, all.settings()[i]);
    if (gain.empty()) continue;
    text += flags_line(columns[i].label, with_filled_sizes(scenarios[0], results[0]),
                       with_filled_sizes(scenarios[i], results[i])) +
            gain;
  }
  return text.empty() ? no_gain_text(all) : kFlagsTitle + text;
}

// Splits a line of scenario_line() into its facts, without the name: "a model on 1x a GPU", "60 sessions",
// "seed 1".
std::vector<std::string> facts_of(const std::string& line) {
  std::vector<std::string> facts;
  for (std::size_t at = std::min(line.find("   "), line.size()); at < line.size();) {
    at = std::min(line.find_first_not_of(" ,", at), line.size());
    const std::size_t end = std::min({line.find("   ", at), line.find(", ", at), line.size()});
    if (end > at) facts.push_back(line.substr(at, end - at));
    at = end;
  }
  return facts;
}

// Returns the heading of a comparison of files: first the facts that all files share, then those that are
// particular to each file.
std::string heading_of(const std::vector<Compared>& columns, const std::vector<Scenario>& scenarios,
                       const std::vector<RunResult>& results) {
  std::vector<std::vector<std::string>> facts;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (!columns[i].is_bound) facts.push_back(facts_of(scenario_line(scenarios[i], results[i])));
  const auto is_shared = [&facts](const std::string& fact) {
    return std::all_of(facts.begin(), facts.end(), [&fact](const std::vector<std::string>& one) {
      return std::find(one.begin(), one.end(), fact) != one.end();
    });
  };
  std::vector<std::string> parts = facts.front();
  std::erase_if(parts, [&](const std::string& fact) { return !is_shared(fact); });
  if (!parts.empty()) parts = {joined(parts)};
  for (std::size_t i = 0; i < facts.size(); ++i) {
    std::vector<std::string> own = facts[i];
    std::erase_if(own, is_shared);
    if (!own.empty()) parts.push_back(columns[i].label + ": " + joined(own));
  }
  return joined(parts, "   ");
}

bool sets_seeds(const CompareArgs& args) {
  return std::any_of(args.question.set.begin(), args.question.set.end(),
                     [](const std::string& one) { return one.starts_with("replications="); });
}

// A combination of values that cannot be simulated, and the error that says why.
struct LeftOut {
  Compared column;
  std::string reason;
};

// Throws the error of a left-out combination if one of its values occurs in no possible combination: then the
// value itself is wrong. Otherwise the values are valid and only cannot be combined.
void refuse_impossible_values(const std::vector<LeftOut>& left_out, const std::vector<Compared>& columns) {
  for (const LeftOut& one : left_out) {
    for (const Override& value : one.column.overrides) {
      const bool is_possible = std::any_of(columns.begin(), columns.end(), [&](const Compared& other) {
        return std::any_of(other.overrides.begin(), other.overrides.end(), [&](const Override& own) {
          return own.path == value.path && own.value == value.value;
        });
      });
      if (!is_possible) throw InputError(one.reason);
    }
  }
}

// Loads the scenarios of the columns that have none yet, and moves impossible columns to `left_out`.
// `is_gated`: --require judges a difference by its interval, which a single run does not have, so a scenario
// with one seed gets kGatedReplications seeds.
void load_columns(const Question& question, std::vector<Compared>& columns, bool is_gated,
                  std::vector<Scenario>& scenarios, std::vector<LeftOut>& left_out) {
  const Override seeds = override_of("replications=" + std::to_string(kGatedReplications));
  Progress progress("checking");
  while (scenarios.size() < columns.size()) {
    progress.show(static_cast<double>(scenarios.size()) / static_cast<double>(columns.size()));
    const auto column = columns.begin() + static_cast<std::ptrdiff_t>(scenarios.size());
    try {
      Overrides overrides = column->overrides;
      Scenario scenario = question.load(overrides, column->file);
      if (is_gated && scenario.replications == 1) {
        overrides.push_back(seeds);
        scenario = question.load(overrides, column->file);
      }
      scenarios.push_back(std::move(scenario));
    } catch (const InputError& error) {
      if (column->overrides.size() < 2 || column->is_bound || !column->file.empty()) throw;
      left_out.push_back({*column, error.what()});
      columns.erase(column);
    }
  }
  refuse_impossible_values(left_out, columns);
}

// Returns a line that names the impossible combinations; "" if there are none.
std::string impossible_text(const std::vector<LeftOut>& left_out) {
  if (left_out.empty()) return "";
  const bool is_one = left_out.size() == 1;
  return "Left out because " + std::string(is_one ? "it is" : "they are") +
         " impossible: " + joined(left_out, ", ", [](const LeftOut& one) { return one.column.label; }) +
         (is_one ? " (" : " (the first: ") + left_out.front().reason + ")\n";
}

// Throws InputError if settings have different numbers of seeds, because differences are paired by seed.
void require_equal_seeds(const std::vector<Compared>& columns, const std::vector<Scenario>& scenarios) {
  for (std::size_t i = 1; i < scenarios.size(); ++i) {
    const int64_t first = scenarios[0].replications, other = scenarios[i].replications;
    if (first == other) continue;
    throw InputError("compare: found replications " + std::to_string(first) + " (" + columns[0].label +
                     ") and " + std::to_string(other) + " (" + columns[i].label +
                     "), allowed: the same number for all settings; --set replications=" +
                     std::to_string(std::max(first, other)));
  }
}

// Reads the workload of every scenario, equal ones once, and sets its engines up, without a simulation.
// Throws InputError as a run does, e.g. for a bad row of a trace or a model that does not fit.
void refuse_setups(const std::vector<Scenario>& scenarios) {
  std::string made;
  Workload workload;
  for (const Scenario& scenario : scenarios) {
    const std::string wanted =
        nlohmann::json::parse(scenario.resolved_json)["workload"].dump() + std::to_string(scenario.seed);
    if (wanted != made) workload = make_workload(scenario.workload, scenario.seed);
    made = wanted;
    const Setup setup(scenario, workload);
  }
}

// Returns what --dry-run prints: the settings and the number of simulations.
std::string dry_run_text(const std::vector<Compared>& columns, const std::vector<Scenario>& scenarios,
                         bool json) {
  refuse_setups(scenarios);
  int64_t simulations = 0;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    simulations += scenarios[i].replications;
    labels.push_back(columns[i].label);
  }
  if (json) {
    return nlohmann::ordered_json{{"settings", labels}, {"simulations", simulations}}.dump(2) + "\n";
  }
  return "Would run " + format_count(simulations, "simulation") + ": " + joined(labels) + "; " +
         format_count(scenarios.front().replications, "seed") + " each\n";
}

// Reports a finished run to the program that reads the output of --progress: {"finished": "hcache", "seed":
// 1, "metrics": {...}}.
void tell_finished(const std::string& label, uint64_t seed, const RunResult& result) {
  nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
  for (const char* metric : {"mean_ttft_ms", "p99_ttft_ms", "p99_tpot_ms", "output_throughput"}) {
    metrics[metric] = result.number(metric);
  }
  Progress::tell(nlohmann::ordered_json{{"finished", label}, {"seed", seed}, {"metrics", metrics}}.dump());
}

void compare(const CompareArgs& args) {
  if (args.progress) Progress::tell_lines();
  const int64_t draws = draws_of(args.draws);
  constexpr bool kHasDifferences = true;
  const std::vector<Requirement> requirements = parse_requirements(args.requirements, kHasDifferences);
  const Question question(args.question, {.has_sizes = true});
  const Launched& from = question.from();
  std::vector<Compared> columns = columns_of(args, question);
  const bool has_policies = !args.policies.empty() || args.over.empty();
  refuse_twice(columns, !args.others.empty()    ? "compare"
                        : !args.layouts.empty() ? "--layouts"
                        : has_policies          ? "--policies"
                                                : "--over");
  const bool has_gate = std::any_of(requirements.begin(), requirements.end(),
                                    [](const Requirement& one) { return one.is_difference; });
  if (has_gate && columns.size() < 2)
    throw InputError("--require: found a difference and one setting, allowed: two settings or more");
  std::vector<Scenario> scenarios;
  refuse_read_once(args.question.file, ", and a comparison reads it for every setting; allowed: a file");
  for (const std::string& file : args.others) refuse_read_once(file, "; allowed: a file");
  const bool is_gated = has_gate && !sets_seeds(args);
  std::vector<LeftOut> left_out;
  load_columns(question, columns, is_gated, scenarios, left_out);
  if (args.bounds) add_bounds(scenarios, columns);
  load_columns(question, columns, is_gated, scenarios, left_out);
  require_equal_seeds(columns, scenarios);
  if (args.dry_run) return print(dry_run_text(columns, scenarios, args.json));
  question.save(scenarios.front(), columns.front().overrides);
  if (!args.question.save.empty() && columns.size() > 1) {
    warn("--save: " + args.question.save + " contains only the first of " + std::to_string(columns.size()) +
         " settings, " + columns.front().label);
  }
  refuse_resume_without_folder("compare", args.resume, args.out);
  const MadeFolders made = prepare_folder(args.out);
  if (!args.out.empty()) {
    const std::vector<std::string> names = {"compare.json", "table.txt"};
    std::vector<std::string> inputs;
    for (const Scenario& scenario : scenarios) {
      for (std::string& file : files_of(scenario)) inputs.push_back(std::move(file));
    }
    refuse_to_replace_in("--out", args.out, names, inputs);
    for (const Compared& column : columns)
      refuse_to_replace_run(args.out + "/" + folder_name(column), inputs);
  }
  const FinishedRuns finished(args.out, args.resume);
  const auto begin = std::chrono::steady_clock::now();
  bool is_interrupted = false;
  ReplicationOptions options{.keep_turns = true, .finished = &finished, .is_interrupted = &is_interrupted};
  if (args.progress) {
    options.on_finished = [&](std::size_t scenario, std::size_t replication, const RunResult& result) {
      tell_finished(columns[scenario].label, scenarios[scenario].seed + replication, result);
    };
  }
  const std::vector<std::vector<RunResult>> runs = run_replications(scenarios, options);

  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::vector<std::string> labels;
  std::vector<RunResult> results;
  std::vector<Difference> differences, pairs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    labels.push_back(columns[i].label);
    results.push_back(combine_replications(runs[i]));
    results.back().setting = columns[i].label;
    for (std::size_t other = 0; other < i; ++other) {
      for (Difference& one : differences_of(columns, runs, i, other)) {
        if (other == 0) {
          differences.push_back(std::move(one));
        } else if (one.metric == "mean_ttft_ms" || one.metric == "p99_ttft_ms") {
          pairs.push_back(std::move(one));
        }
      }
    }
  }
  std::string interrupted = is_interrupted ? finished_text(runs[0].size(), scenarios[0].replications) : "";
  ModelReport model;
  try {
    if (!is_interrupted) model = model_report(labels, scenarios, results, {.draws = draws});
  } catch (const Interrupted&) {
    interrupted = "Interrupted while plausible machines were drawn: no model intervals.\n\n";
  }
  if (!interrupted.empty() && args.json) throw Interrupted();
  const std::string line =
      args.others.empty() ? scenario_line(scenarios[0], results[0]) : heading_of(columns, scenarios, results);
  std::vector<Difference> compared = differences;
  compared.insert(compared.end(), pairs.begin(), pairs.end());
  const TableOptions table_options{.is_brief = !args.explain, .assumptions = model.outside.size()};
  std::string table = interrupted + result_table(labels, results, compared, line, table_options) +
                      model_text(labels, results, model, table_options.is_brief);
  table += flags_of_columns(columns, scenarios, results, differences) + launched_text(from);
  const std::string impossible = impossible_text(left_out);
  if (!impossible.empty()) table += "\n" + impossible;
  if (!impossible.empty() && args.json) tell(impossible.substr(0, impossible.size() - 1));
  const std::string from_json = from.is_given() ? launched_json(from).dump() : "";
  if (!args.out.empty() && interrupted.empty()) {
    NewFiles files;
    std::set<std::string> folders;
    for (std::size_t i = 0; i < results.size(); ++i) {
      std::string folder = folder_name(columns[i]);
      // A number distinguishes settings whose folder names are equal after escaping and truncation.
      if (!folders.insert(folder).second) folder += "," + std::to_string(i + 1);
      add_run_files(args.out + "/" + folder, scenario_line(scenarios[i], results[i]), results[i], files);
    }
    files.add(args.out + "/table.txt", table);
    files.add(args.out + "/compare.json", compare_json(results, differences, pairs, model, from_json));
    files.commit();
    finished.discard();
  }
  const CheckedRequirements checked = check_requirements(requirements, results, differences);
  print(args.json ? with_requirements(compare_json(results, differences, pairs, model, from_json), checked)
                  : table + (interrupted.empty() ? holds_text(checked) : ""));
  if (!interrupted.empty()) throw Interrupted();
  tell_longer_run(results, wall.count());
  require_all(checked);
}

}  // namespace

void add_compare(CLI::App& app) {
  auto args = std::make_shared<CompareArgs>();
  Command command(app, "compare", "run the same workload with several settings");
  add_question(command, args->question);
  command.values("others", args->others, "further files, compared with the first: before.json after.json");
  command.value(
      "--policies", args->policies,
      "policies to compare, separated by commas; with their tiers: kv_offload:dram+ssd; with --over: each "
      "policy with every combination");
  command.repeated("--over", args->over,
                   "field to vary: PATH=v1,v2,..., e.g. hardware.ssd.count=1,2,4; if given several times: "
                   "all combinations");
  command.value(
      "--layouts", args->layouts,
      "layouts to compare: 4,2+2,1+3 are four nodes that prefill and decode, two that prefill and two "
      "that decode, and one that prefills and three that decode");
  command.flag("--bounds", args->bounds,
               "also compare with bounds: no cache, unlimited storage, and optimal eviction (Belady)");
  add_draws(command, args->draws);
  command.repeated("--require", args->requirements,
                   "fail with exit code 3 unless this holds: 'p99_ttft_ms<=500' for every setting, "
                   "'p99_ttft_ms<=+2%' against the first one, over 5 seeds by default");
  declare_model_options(command);
  command.value("--prices", args->question.prices,
                "price file (kvcap.prices/1), in place of the profiles' prices");
  command.value("--out", args->out, "folder for compare.json, table.txt and one folder per setting");
  command.flag("--resume", args->resume,
               "continue an interrupted command with this --out; keep its finished simulations");
  command.flag("--dry-run", args->dry_run, "check the settings and print what would run, but run nothing");
  command.flag("--progress", args->progress,
               "for programs: progress and each finished run as lines of JSON on stderr");
  command.flag("--explain", args->explain, kExplainHelp);
  command.flag("--json", args->json, "print the comparison as JSON");
  command.footer(
      "Example: kvcap compare demo --policies recompute,kv_offload,hcache,ideal --out "
      "build/demo");
  command.runs([args] { run_resumable(args->out, [args] { compare(*args); }); });
}

}  // namespace kvcap
