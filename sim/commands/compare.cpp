// kvcap compare: runs the same workload with several settings and prints paired differences against the
// first.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
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
#include "base/tier.h"
#include "commands/command_line.h"
#include "commands/commands.h"
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
#include "policy/table.h"
#include "run/billing.h"
#include "text/comparison.h"
#include "text/model_text.h"
#include "text/result_table.h"

namespace kvcap {
namespace {

struct CompareArgs {
  QuestionArgs question;
  std::vector<std::string> others;  // further files
  std::string policies;
  std::vector<std::string> over;
  std::string layouts;
  bool bounds = false;
  std::string draws = "auto";
  std::vector<std::string> requirements;
  std::string out;
  bool resume = false;
  bool json = false;
  bool explain = false;
};

// Returns the end of the part that begins at `begin`: a comma outside JSON brackets and quotes.
std::size_t end_of_part(const std::string& text, std::size_t begin) {
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char letter = text[i];
    if (is_quoted && letter == '\\') {
      ++i;
    } else if (letter == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted) {
      if (letter == ',' && depth <= 0) return i;
      depth += (letter == '[' || letter == '{') - (letter == ']' || letter == '}');
    }
  }
  return text.size();
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = end_of_part(text, begin);
    std::string& part = parts.emplace_back(text.substr(begin, end - begin));
    part.erase(0, std::min(part.find_first_not_of(' '), part.size()));
    part.erase(part.find_last_not_of(' ') + 1);
    begin = end + 1;
  }
  return parts;
}

// One column: its label and its overrides.
struct Compared {
  std::string label;
  Overrides overrides;  // messages about them name the option
  bool is_bound = false;
  bool is_launched{};    // the launch line without changes
  std::string folder{};  // name of its folder; empty: by its overrides
  std::string file{};    // a file of its own; empty: the question's
};

void add(Compared& column, const std::string& change, const std::string& option) {
  Override& override = column.overrides.emplace_back(override_of(change));
  override.place = option;
}

constexpr int kGatedReplications = 5;  // of a --require on differences
constexpr const char* kLaunched = "as launched";
// Returns "hcache", or "count=4" if the value is not a name.
std::string label_of(const std::string& path, const std::string& value) {
  constexpr std::string_view kNoNames[] = {"true", "false", "null"};
  const bool is_name = !value.empty() && std::isalpha(static_cast<unsigned char>(value.front())) != 0 &&
                       std::find(std::begin(kNoNames), std::end(kNoNames), value) == std::end(kNoNames);
  return is_name ? value : path.substr(path.rfind('.') + 1) + "=" + value;
}

// Returns the tiers of "kv_offload:dram+ssd"; empty for a policy alone.
std::vector<Tier> tiers_of_policy(const std::string& item) {
  std::vector<Tier> tiers;
  const std::size_t colon = item.find(':');
  if (colon == std::string::npos) return tiers;
  for (std::size_t begin = colon + 1; begin <= item.size();) {
    const std::size_t end = std::min(item.find('+', begin), item.size());
    const std::string kind = item.substr(begin, end - begin);
    const auto found = std::find(kTierNames.begin(), kTierNames.end(), kind);
    if (found == kTierNames.end()) {
      throw InputError("--policies: found tier \"" + kind + "\" in \"" + item +
                       "\", allowed: " + joined(kTierNames) + ", joined by +, as in kv_offload:dram+ssd" +
                       suggestion(kind, kTierNames));
    }
    tiers.push_back(kTiers[static_cast<std::size_t>(found - kTierNames.begin())]);
    begin = end + 1;
  }
  return tiers;
}

// Reads "hcache", or with tiers "kv_offload:dram+ssd".
Compared column_of_policy(const std::string& item) {
  Compared column{.label = item, .overrides = {}, .folder = item};
  add(column, "policy.name=" + item.substr(0, item.find(':')), "--policies");
  const std::vector<Tier> tiers = tiers_of_policy(item);
  if (tiers.empty()) return column;
  const std::string kinds =
      joined(tiers, ",", [](Tier tier) { return "{\"kind\":\"" + std::string(name(tier)) + "\"}"; });
  add(column, "policy.tiers=[" + kinds + "]", "--policies");
  return column;
}

// Reads "4": four nodes, each for prefill and decode; or "1+3": one prefill node and three decode nodes.
Compared column_of_layout(const std::string& item) {
  const std::size_t plus = item.find('+');
  const auto nodes = [&](const std::string& text) {
    int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    constexpr int64_t kMost = 1024;
    if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > kMost) {
      throw InputError("--layouts: found \"" + item +
                       "\", allowed: numbers of nodes, as in 4,1+3: four nodes that do both, one that "
                       "computes prompts and three that decode");
    }
    return count;
  };
  const int64_t first = nodes(item.substr(0, plus));
  const bool is_divided = plus != std::string::npos;
  const int64_t all = is_divided ? first + nodes(item.substr(plus + 1)) : first;
  Compared column{.label = item, .overrides = {}, .folder = item};
  const std::string option = "--layouts " + item;
  add(column, "fleet.replicas=" + std::to_string(all), option);
  add(column,
      is_divided ? "fleet.disaggregation.prefill_replicas=" + std::to_string(first)
                 : "fleet.disaggregation=null",
      option);
  return column;
}

// Limited because all pairs of settings are compared.
constexpr std::size_t kMostSettings = 500;

[[noreturn]] void refuse_more_settings() {
  throw InputError("compare: found more than " + std::to_string(kMostSettings) +
                   " settings, allowed: at most " + std::to_string(kMostSettings) +
                   "; kvcap sweep runs more");
}

// Returns all combinations of the values of several fields.
std::vector<Compared> columns_over(const std::vector<std::string>& fields) {
  std::vector<Compared> columns = {{}};
  for (const std::string& over : fields) {
    const std::size_t equals = over.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == over.size()) {
      throw InputError("--over: found \"" + over +
                       "\", allowed: PATH=v1,v2,..., e.g. hardware.ssd.count=1,2,4");
    }
    const std::string path = over.substr(0, equals);
    std::vector<Compared> finer;
    for (const Compared& column : columns) {
      for (const std::string& value : split(over.substr(equals + 1))) {
        Compared more = column;
        more.label += (more.label.empty() ? "" : " ") + label_of(path, value);
        const std::string change = std::string(path).append("=").append(value);
        add(more, change, "--over " + change);
        finer.push_back(std::move(more));
        if (finer.size() > kMostSettings) refuse_more_settings();
      }
    }
    columns = std::move(finer);
  }
  return columns;
}

// Returns every policy with every combination of the fields; `fields` is not empty.
std::vector<Compared> combined(const std::vector<Compared>& policies, const std::vector<Compared>& fields) {
  std::vector<Compared> columns;
  for (const Compared& policy : policies) {
    for (const Compared& field : fields) {
      Compared& column = columns.emplace_back(policy);
      if (!field.label.empty()) column.label += " " + field.label;
      column.overrides.insert(column.overrides.end(), field.overrides.begin(), field.overrides.end());
      if (!column.folder.empty()) column.folder = column.label;
      if (columns.size() > kMostSettings) refuse_more_settings();
    }
  }
  return columns;
}

// Returns the policy with the sizes of --dram and --ssd: a column per size, or one if it takes none of them.
// Tiers of the policy's own, as in lmcache:dram, remain the only ones.
std::vector<Compared> with_sizes(const Compared& policy, const std::string& item,
                                 const std::vector<Storage>& storages) {
  const std::string name = item.substr(0, item.find(':'));
  const std::vector<Tier> tiers = tiers_of_policy(item);
  std::vector<Compared> columns;
  for (Storage storage : storages) {
    const Overrides sized =
        storing(name, storage, tiers.empty() ? "--dram, --ssd" : "--policies, --dram, --ssd", tiers);
    if (sized.empty()) return {policy};
    if (!tiers.empty()) {
      std::erase_if(storage.sizes, [&](const Storage::Size& one) {
        return std::find(tiers.begin(), tiers.end(), one.tier) == tiers.end();
      });
    }
    // Sizes of a tier that the policy does not use make no columns.
    const auto is_same = [&](const Compared& one) {
      return one.overrides.back().value == sized.back().value;
    };
    if (std::any_of(columns.begin(), columns.end(), is_same)) continue;
    Compared& column = columns.emplace_back(policy);
    column.overrides.insert(column.overrides.end(), sized.begin(), sized.end());
    if (storages.size() > 1) column.folder = column.label += " " + storage.label();
  }
  return columns.empty() ? std::vector<Compared>{policy} : columns;
}

// Returns the columns of --policies, by default those of the engine. Beside a launch line its own policy is
// one of them only with --over, and keeps the line's tiers.
std::vector<Compared> columns_of_policies(const CompareArgs& args, const Question& question) {
  const std::vector<std::string>& launched = question.from().overrides;
  const bool is_launched = question.from().is_given();
  const std::vector<std::string> names =
      args.policies.empty() ? question.own_policies() : split(args.policies);
  std::vector<Compared> columns;
  for (const std::string& item : names) {
    const std::string name = item.substr(0, item.find(':'));
    const bool is_own = std::find(launched.begin(), launched.end(), "policy.name=" + item) != launched.end();
    if (is_own && args.over.empty() && question.storages().empty()) continue;
    Compared column = column_of_policy(item);
    if (is_launched && !is_own) {
      Overrides beside = overrides_beside(name, args.question.set);
      for (Override& one : beside) one.place = "--policies";
      column.overrides.insert(column.overrides.begin(), beside.begin(), beside.end());
    }
    for (Compared& one : with_sizes(column, item, question.storages())) {
      one.overrides = with_set_tiers(std::move(one.overrides), question.set());
      columns.push_back(std::move(one));
    }
  }
  return columns;
}

// Returns a column per file; labels are their names, or their paths if two have the same name.
std::vector<Compared> columns_of_files(const CompareArgs& args) {
  std::vector<Compared> columns;
  std::set<std::string> names;
  std::vector<std::string> files = args.others;
  files.insert(files.begin(), args.question.file);
  for (const std::string& file : files) names.insert(std::filesystem::path(file).stem().string());
  for (const std::string& file : files) {
    const std::string label =
        names.size() == files.size() ? std::filesystem::path(file).stem().string() : file;
    columns.push_back({.label = label, .overrides = {}, .folder = label, .file = file});
  }
  if (columns.size() > kMostSettings) refuse_more_settings();
  return columns;
}

std::vector<Compared> columns_of(const CompareArgs& args, const Question& question) {
  const bool is_launched = question.from().is_given();
  if (!args.others.empty()) {
    if (is_launched || !args.policies.empty() || !args.over.empty() || !args.layouts.empty() ||
        !question.storages().empty()) {
      throw InputError(
          "compare: found several files beside --from, --policies, --over, --layouts, --dram or --ssd, "
          "allowed: files alone, with --set for all of them");
    }
    return columns_of_files(args);
  }
  std::vector<Compared> columns;
  if (is_launched) columns.push_back({.label = kLaunched, .overrides = {}, .is_launched = true});
  if (!args.layouts.empty()) {
    if (is_launched || !args.policies.empty() || !args.over.empty() || !question.storages().empty()) {
      throw InputError(
          "compare: found --layouts beside --from, --policies, --over, --dram or --ssd, allowed: alone");
    }
    for (const std::string& item : split(args.layouts)) columns.push_back(column_of_layout(item));
    return columns;
  }
  const bool has_settings = !args.over.empty() || !args.policies.empty() || !question.storages().empty();
  if (question.has_file() && !is_launched && !has_settings) {
    throw InputError(
        "compare: give --policies a,b,c, --over PATH=v1,v2,... or both of them, or --layouts 4,1+3");
  }
  std::vector<Compared> settings = columns_over(args.over);
  const bool has_only_fields = args.policies.empty() && question.storages().empty() && !args.over.empty();
  if (!has_only_fields) settings = combined(columns_of_policies(args, question), settings);
  columns.insert(columns.end(), settings.begin(), settings.end());
  if (columns.size() > kMostSettings) refuse_more_settings();
  return columns;
}

bool same(const Overrides& one, const Overrides& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const auto& a, const auto& b) { return a.path == b.path && a.value == b.value; });
}

void refuse_twice(const std::vector<Compared>& columns, const char* option) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      const bool is_same = columns[other].file == columns[i].file;
      if (!is_same || !same(columns[other].overrides, columns[i].overrides)) continue;
      throw InputError(std::string(option) + ": found \"" + columns[i].label + "\" twice, allowed: once");
    }
  }
}

// Returns the name of the column's folder: "hcache", "hardware.ssd.count=8".
std::string folder_name(const Compared& column) {
  if (column.is_launched) return "as_launched";
  std::string name = column.folder;
  if (name.empty()) {
    name = joined(column.overrides, ",", [](const Override& one) {
      return one.path == "policy.name" ? one.value : one.path + "=" + one.value;
    });
  }
  constexpr std::size_t kLongest = 200;  // file systems allow 255 bytes
  name.resize(std::min(name.size(), kLongest));
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 &&
        std::string_view("_-.=,").find(c) == std::string_view::npos)
      c = '_';
  }
  return name;
}

// Adds bounds for the last setting that stores state: no cache, unlimited storage, and Belady's eviction.
// Each bound is a set of overrides, so that its result can be reproduced with --set.
void add_bounds(const std::vector<Scenario>& scenarios, std::vector<Compared>& columns) {
  const auto stores = [](const Scenario& scenario) { return kvcap::stores(with_preset(scenario.policy)); };
  const auto last = std::find_if(scenarios.rbegin(), scenarios.rend(), stores);
  if (last == scenarios.rend()) {
    throw InputError(
        "--bounds: found no policy that stores anything, allowed: at least one of them compared");
  }
  const Compared& stored = columns[static_cast<std::size_t>(scenarios.rend() - last) - 1];
  const Overrides base = stored.overrides;
  const std::string file = stored.file;
  const auto add = [&](const char* label, std::initializer_list<const char*> changes) {
    Compared& column = columns.emplace_back(
        Compared{.label = label, .overrides = base, .is_bound = true, .folder = label, .file = file});
    for (const char* change : changes) column.overrides.push_back(override_of(change));
  };
  add("no cache",
      {"policy.name=recompute", "policy.keep=none", "policy.restore=recompute", "policy.tiers=[]"});
  add("infinite", {"policy.unbounded=true"});
  add("belady", {"policy.look_ahead=false", "policy.eviction=belady"});
  if (!last->policy.tiers) return;
  // Also sets the eviction of the tiers that the policy's name implies.
  nlohmann::json tiers = nlohmann::json::parse(last->resolved_json).at("policy").at("tiers");
  for (nlohmann::json& tier : tiers) tier["eviction"] = "belady";
  columns.back().overrides.push_back(override_of("policy.tiers=" + tiers.dump()));
}

// Returns the differences of setting `one` against setting `other`, under their labels.
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

// True iff the setting's mean TTFT is higher than that of the first one, or lower only within chance or half
// a per cent.
bool gains_nothing(const std::string& setting, const RunResult& first,
                   const std::vector<Difference>& differences) {
  const auto found = std::find_if(differences.begin(), differences.end(), [&](const Difference& one) {
    return one.setting == setting && one.metric == "mean_ttft_ms";
  });
  return found != differences.end() && (found->difference > 0 || -found->difference <= found->half_width ||
                                        -found->difference < kNoticeableShare * first.number("mean_ttft_ms"));
}

// Returns one line per setting that lowers mean TTFT; "" if no setting differs in flags.
std::string flags_of_columns(const std::vector<Compared>& columns, const std::vector<Scenario>& scenarios,
                             const std::vector<RunResult>& results,
                             const std::vector<Difference>& differences) {
  const bool has_flags = std::any_of(scenarios.begin(), scenarios.end(), [&](const Scenario& one) {
    return !changed_flags(scenarios[0], one).empty();
  });
  if (!columns[0].is_launched && !has_flags) return "";
  std::string text;
  const double before_ms = results[0].number("mean_ttft_ms");
  for (std::size_t i = 1; i < columns.size(); ++i) {
    if (columns[i].is_bound || gains_nothing(columns[i].label, results[0], differences)) continue;
    const double after_ms = results[i].number("mean_ttft_ms");
    char gain[120];
    std::snprintf(gain, sizeof gain, "      mean TTFT %s ms instead of %s (%+.0f %%)\n",
                  format_number(after_ms).c_str(), format_number(before_ms).c_str(),
                  100 * (after_ms / before_ms - 1));
    text += flags_line(columns[i].label, with_filled_sizes(scenarios[0], results[0]),
                       with_filled_sizes(scenarios[i], results[i])) +
            gain;
  }
  if (!text.empty()) return kFlagsTitle + text;
  const bool is_told = std::none_of(results.begin(), results.end(),
                                    [](const RunResult& one) { return std::isnan(one.number("stable")); });
  return is_told
             ? "\nNo flag to change: no setting lowers mean TTFT by more than chance and half a per cent.\n"
             : "\nWhether to change a flag is not known: the runs were too brief to tell.\n";
}

// Returns the facts of a scenario's line without its name: "a model on 1x a GPU", "60 sessions", "seed 1".
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

// Returns the heading of several files: the facts that all share, then the others of each.
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

// A combination that cannot be, and why.
struct LeftOut {
  Compared column;
  std::string reason;
};

// Throws the first combination's error, unless each value of the combinations that are left out is possible
// in another one: then the values are right, and only do not go together.
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

// Loads the scenarios of further columns, and moves the columns that cannot be to `left_out`. `is_gated`: a
// difference is judged by its interval, which one run does not have, so that a single run becomes several.
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

// Returns a line that names the combinations that cannot be; "" without any.
std::string impossible_text(const std::vector<LeftOut>& left_out) {
  if (left_out.empty()) return "";
  const bool is_one = left_out.size() == 1;
  return "Left out, for " + std::string(is_one ? "it" : "they") +
         " cannot be: " + joined(left_out, ", ", [](const LeftOut& one) { return one.column.label; }) +
         (is_one ? " (" : " (the first: ") + left_out.front().reason + ")\n";
}

// Throws InputError if settings have different numbers of seeds, because differences are paired by seed.
void require_equal_seeds(const std::vector<Compared>& columns, const std::vector<Scenario>& scenarios) {
  for (std::size_t i = 1; i < scenarios.size(); ++i) {
    const int64_t first = scenarios[0].replications, other = scenarios[i].replications;
    if (first == other) continue;
    throw InputError(
        "compare: found replications " + std::to_string(first) + " (" + columns[0].label + ") and " +
        std::to_string(other) + " (" + columns[i].label +
        "), allowed: the same of all; --set replications=" + std::to_string(std::max(first, other)));
  }
}

void compare(const CompareArgs& args) {
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
  question.save(scenarios.front(), columns.front().overrides);
  if (!args.question.save.empty() && columns.size() > 1) {
    warn("--save: " + args.question.save + " has the first of " + std::to_string(columns.size()) +
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
  const std::vector<std::vector<RunResult>> runs = run_replications(
      scenarios, {.keep_turns = true, .finished = &finished, .is_interrupted = &is_interrupted});

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
    if (!is_interrupted) model = model_report(labels, scenarios, results, {.draws = draws_of(args.draws)});
  } catch (const Interrupted&) {
    interrupted = "Interrupted while plausible machines were drawn: no model intervals.\n\n";
  }
  if (!interrupted.empty() && args.json) throw Interrupted();
  const std::string line =
      args.others.empty() ? scenario_line(scenarios[0], results[0]) : heading_of(columns, scenarios, results);
  std::vector<Difference> compared = differences;
  compared.insert(compared.end(), pairs.begin(), pairs.end());
  const TableOptions options{.is_brief = !args.explain, .assumptions = model.outside.size()};
  std::string table = interrupted + result_table(labels, results, compared, line, options) +
                      model_text(labels, results, model, options.is_brief);
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
      // Settings whose names are equal after escaping and cutting get a number.
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
  Command command(app, "compare", "the same workload through several settings");
  add_question(command, args->question);
  command.values("others", args->others, "further files, compared with the first: before.json after.json");
  command.value(
      "--policies", args->policies,
      "policies to compare, separated by commas; with their tiers: kv_offload:dram+ssd; beside --over: each "
      "with every combination");
  command.repeated(
      "--over", args->over,
      "any field to vary: PATH=v1,v2,..., e.g. hardware.ssd.count=1,2,4; given again: every combination");
  command.value(
      "--layouts", args->layouts,
      "layouts to compare: 4,2+2,1+3 are four nodes that prefill and decode, two that prefill and two "
      "that decode, and one that prefills and three that decode");
  command.flag("--bounds", args->bounds,
               "also: nothing kept, everything kept, and eviction that knows the future (Belady)");
  add_draws(command, args->draws);
  command.repeated("--require", args->requirements,
                   "fail with exit code 3 unless it holds: 'p99_ttft_ms<=500' for every setting, "
                   "'p99_ttft_ms<=+2%' against the first one, over 5 seeds by default");
  declare_model_options(command);
  command.value("--prices", args->question.prices,
                "file of your prices, in place of the profiles' (kvcap.prices/1)");
  command.value("--out", args->out, "folder for compare.json, table.txt and one folder per setting");
  command.flag("--resume", args->resume,
               "repeat no simulation that an interrupted command with this --out has finished");
  command.flag("--explain", args->explain, kExplainHelp);
  command.flag("--json", args->json, "print the comparison as JSON");
  command.footer(
      "Example: kvcap compare demo --policies recompute,kv_offload,hcache,ideal --out "
      "build/demo");
  command.runs([args] { run_resumable(args->out, [args] { compare(*args); }); });
}

}  // namespace kvcap
