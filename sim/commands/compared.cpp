#include "commands/compared.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "base/tier.h"
#include "policy/table.h"

namespace kvcap {
namespace {

// Returns where the list item that begins at `begin` ends: at the next comma outside JSON brackets and
// quotes, or at the end of the text.
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

void add(Compared& column, const std::string& change, const std::string& option) {
  Override& override = column.overrides.emplace_back(override_of(change));
  override.place = option;
}

constexpr const char* kLaunched = "as launched";
// Returns the label of a setting: the value alone if it is a name ("hcache"), otherwise the last name in the
// path and the value ("count=4").
std::string label_of(const std::string& path, const std::string& value) {
  constexpr std::string_view kNoNames[] = {"true", "false", "null"};
  const bool is_name = !value.empty() && std::isalpha(static_cast<unsigned char>(value.front())) != 0 &&
                       std::find(std::begin(kNoNames), std::end(kNoNames), value) == std::end(kNoNames);
  return is_name ? value : path.substr(path.rfind('.') + 1) + "=" + value;
}

// Returns the tiers that an item of --policies names, e.g. DRAM and SSD for "kv_offload:dram+ssd"; empty for
// a policy without tiers.
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

// Reads an item of --policies: "hcache", or "kv_offload:dram+ssd" with tiers.
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

// Reads an item of --layouts: "4" is four nodes that prefill and decode, "1+3" one prefill node and three
// decode nodes.
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

// Limits the work, because every pair of settings is compared.
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

// Returns the policy with the sizes of --dram and --ssd: one column per combination of sizes, or one column
// if the policy uses neither tier. If the item names its tiers, as in lmcache:dram, it uses no others.
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
    // Combinations that differ only in a tier that the policy does not use give one column.
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

// Throws InputError for sizes of --dram or --ssd that none of the policies uses; they would silently change
// nothing. Unknown policy names are refused later, when they are loaded.
void refuse_unused_sizes(const std::vector<std::string>& items, const std::vector<Storage>& storages) {
  const auto is_size = [](const Storage::Size& size) { return size.bytes > 0; };
  const auto takes = [&](const std::string& item) {
    return std::any_of(storages.begin(), storages.end(), [&](const Storage& one) {
      return !storing(item.substr(0, item.find(':')), one, "--dram, --ssd", tiers_of_policy(item)).empty();
    });
  };
  const auto is_unknown = [](const std::string& item) {
    const auto names = policy_names();
    return std::find(names.begin(), names.end(), item.substr(0, item.find(':'))) == names.end();
  };
  if (std::any_of(items.begin(), items.end(), is_unknown)) return;
  for (const Storage& one : storages) {
    if (!std::any_of(one.sizes.begin(), one.sizes.end(), is_size)) continue;
    if (std::any_of(items.begin(), items.end(), takes)) return;
    throw InputError("--dram, --ssd: found " + one.label() + ", and " + joined(items, " and ") +
                     " cannot store there; compare with one that can: --policies recompute,vllm_offload");
  }
}

// Returns a column per item of --policies or, without that option, per policy that the engine offers. With
// --from, the policy of the launch line gets a column only if --over or sizes are given; that column keeps
// the tiers of the launch line.
std::vector<Compared> columns_of_policies(const CompareArgs& args, const Question& question) {
  const std::vector<std::string>& launched = question.from().overrides;
  const bool is_launched = question.from().is_given();
  const std::vector<std::string> names =
      args.policies.empty() ? question.own_policies() : split(args.policies);
  refuse_unused_sizes(names, question.storages());
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

// Returns a column per file, labelled with its name, or with its path if two files have the same name.
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

bool same(const Overrides& one, const Overrides& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const auto& a, const auto& b) { return a.path == b.path && a.value == b.value; });
}

}  // namespace

std::vector<Compared> columns_of(const CompareArgs& args, const Question& question) {
  const bool is_launched = question.from().is_given();
  if (!args.others.empty()) {
    if (is_launched || !args.policies.empty() || !args.over.empty() || !args.layouts.empty() ||
        !question.storages().empty()) {
      throw InputError(
          "compare: found several files with --from, --policies, --over, --layouts, --dram or --ssd, "
          "allowed: files alone, or with --set, which applies to all of them");
    }
    return columns_of_files(args);
  }
  std::vector<Compared> columns;
  if (is_launched) columns.push_back({.label = kLaunched, .overrides = {}, .is_launched = true});
  if (!args.layouts.empty()) {
    if (is_launched || !args.policies.empty() || !args.over.empty() || !question.storages().empty()) {
      throw InputError(
          "compare: found --layouts with --from, --policies, --over, --dram or --ssd, allowed: alone");
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

void refuse_twice(const std::vector<Compared>& columns, const char* option) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      const bool is_same = columns[other].file == columns[i].file;
      if (!is_same || !same(columns[other].overrides, columns[i].overrides)) continue;
      throw InputError(std::string(option) + ": found \"" + columns[i].label + "\" twice, allowed: once");
    }
  }
}

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

void add_bounds(const std::vector<Scenario>& scenarios, std::vector<Compared>& columns) {
  const auto stores = [](const Scenario& scenario) { return kvcap::stores(with_preset(scenario.policy)); };
  const auto last = std::find_if(scenarios.rbegin(), scenarios.rend(), stores);
  if (last == scenarios.rend()) {
    throw InputError(
        "--bounds: found no policy that stores anything, allowed: a comparison with at least one");
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
  // The resolved scenario also contains the tiers that the policy's name implies, so their eviction is set,
  // too.
  nlohmann::json tiers = nlohmann::json::parse(last->resolved_json).at("policy").at("tiers");
  for (nlohmann::json& tier : tiers) tier["eviction"] = "belady";
  columns.back().overrides.push_back(override_of("policy.tiers=" + tiers.dump()));
}

}  // namespace kvcap
