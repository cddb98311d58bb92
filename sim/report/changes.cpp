#include "report/changes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/float_values.h"
#include "metrics/format.h"
#include "metrics/quantiles.h"
#include "metrics/quantity.h"
#include "metrics/sentences.h"
#include "report/json_values.h"
#include "report/read_result.h"

namespace kvcap {
namespace {

struct Found {
  std::string input;
  const RunResult* result;
};
using Results = std::map<std::pair<std::string, std::string>, Found>;  // by scenario and label

Results by_setting(const std::vector<ResultGroup>& groups) {
  Results results;
  for (const ResultGroup& group : groups)
    for (std::size_t i = 0; i < group.results.size(); ++i)
      results.try_emplace({group.results[i].scenario_name, group.labels[i]},
                          Found{group.name, &group.results[i]});
  return results;
}

double half_width(const RunResult& result, std::string_view metric) {
  for (const Interval& interval : result.intervals)
    if (interval.name == metric) return interval.half_width;
  return kNaN;
}

void add_results(const std::vector<ReportInput>& inputs, std::vector<Change>& changes) {
  const std::vector<ResultGroup> after = result_groups(inputs, false), before = result_groups(inputs, true);
  const Results old = by_setting(before);
  const Results all = by_setting(after);
  for (const ResultGroup& group : after) {
    for (std::size_t i = 0; i < group.results.size(); ++i) {
      const RunResult& now = group.results[i];
      auto match = old.find({now.scenario_name, group.labels[i]});
      // One result a side is meant to be compared, whatever they are called.
      if (match == old.end() && old.size() == 1 && all.size() == 1) match = old.begin();
      if (match == old.end()) continue;
      const RunResult& then = *match->second.result;
      for (const Quantity* metric : headline_metrics()) {
        const double a = then.number(metric->name), b = now.number(metric->name);
        if (std::isnan(a) || std::isnan(b)) continue;
        const double width = std::hypot(half_width(then, metric->name), half_width(now, metric->name));
        const auto& [symbol, scale] = metric->unit;
        changes.push_back({group.name, group.labels[i], metric->name, metric->title, std::string(symbol),
                           scale * a, scale * b, scale * width});
      }
    }
  }
}

// Pairs of documents of one schema that `key` calls the same.
template <typename Key, typename Add>
void each_pair(const std::vector<ReportInput>& inputs, std::string_view schema, Key key, Add add) {
  for (const ReportInput& now : inputs) {
    if (now.is_before || now.schema() != schema) continue;
    const auto then = std::find_if(inputs.begin(), inputs.end(), [&](const ReportInput& one) {
      return one.is_before && one.schema() == schema && key(one.content) == key(now.content);
    });
    if (then != inputs.end()) add(*then, now);
  }
}

// Items of a list by the text behind `name`.
std::map<std::string, const Json*> by_name(const Json& list, std::string_view name) {
  std::map<std::string, const Json*> items;
  for (const Json& item : list) items.try_emplace(text_of(item, name), &item);
  return items;
}

std::string restored(const Json& restore) {
  std::string key;
  for (const char* name : {"model", "hardware", "tokens", "new_tokens", "tier"})
    key += text_of(restore, name) + "\n";
  return key;
}
std::string named(const Json& document) { return text_of(document, "name"); }
std::string nothing(const Json&) { return ""; }

void add_restorations(const ReportInput& then, const ReportInput& now, std::vector<Change>& changes) {
  const auto old = by_name(list_of(then.content, "policies"), "policy");
  for (const Json& entry : list_of(now.content, "policies")) {
    const std::string policy = text_of(entry, "policy");
    const auto match = old.find(policy);
    if (match == old.end()) continue;
    changes.push_back({now.name, policy, "restore_s", "restoration", "ms",
                       1e3 * number_of(*match->second, "restore_s"), 1e3 * number_of(entry, "restore_s"), 0});
  }
}

void add_checks(const ReportInput& then, const ReportInput& now, std::vector<Change>& changes) {
  const auto old = by_name(list_of(then.content, "checks"), "id");
  for (const Json& check : list_of(now.content, "checks")) {
    const auto match = old.find(text_of(check, "id"));
    if (match == old.end()) continue;
    const double a = number_of(*match->second, "error"), b = number_of(check, "error");
    if (std::isnan(a) || std::isnan(b)) continue;
    changes.push_back({now.name, match->first, "error", "error", "%", 100 * a, 100 * b, 0});
  }
}

void add_answers(const ReportInput& then, const ReportInput& now, std::vector<Change>& changes) {
  const std::string objective = text_of(now.content, "minimize");
  const auto mean = [&](const ReportInput& plan) {
    return number_of(value_of(value_of(value_of(plan.content, "answer"), "metrics"), objective), "mean");
  };
  if (std::isnan(mean(then)) || std::isnan(mean(now))) return;
  changes.push_back({now.name, "answer", objective, objective, "", mean(then), mean(now), kNaN});
}

// The values of all parameters of row i, as a key.
std::string point_key(const Json& sweep, const Json& parameters, std::size_t i) {
  std::string key;
  for (const Json& parameter : parameters) {
    const Json& column = list_of(value_of(sweep, "columns"), text_or_json(parameter));
    key += i < column.size() ? column[i].dump() + "\n" : "\n";
  }
  return key;
}

void add_points(const ReportInput& then, const ReportInput& now, std::vector<Change>& changes) {
  const Json& parameters = list_of(now.content, "parameters");
  std::map<std::string, std::size_t> old;
  const auto rows = [](const ReportInput& sweep) {
    return list_of(value_of(sweep.content, "columns"), "status").size();
  };
  for (std::size_t i = 0; i < rows(then); ++i) old.try_emplace(point_key(then.content, parameters, i), i);
  for (const Quantity* metric : headline_metrics()) {
    const Json& was = list_of(value_of(then.content, "columns"), metric->name);
    const Json& is = list_of(value_of(now.content, "columns"), metric->name);
    std::vector<double> before, after;
    for (std::size_t i = 0; i < std::min(rows(now), is.size()); ++i) {
      const auto match = old.find(point_key(now.content, parameters, i));
      if (match == old.end() || match->second >= was.size()) continue;
      const double a = number_or_nan(was[match->second]), b = number_or_nan(is[i]);
      if (std::isnan(a) || std::isnan(b)) continue;
      before.push_back(metric->unit.scale * a);
      after.push_back(metric->unit.scale * b);
    }
    if (before.empty()) continue;
    const std::string points = "median of " + format_count(std::ssize(before)) + " points";
    changes.push_back({now.name, points, metric->name, metric->title, std::string(metric->unit.symbol),
                       describe(before).median, describe(after).median, kNaN});
  }
}

std::string value_text(double value, const std::string& unit) {
  return format_number(value) + (unit.empty() ? "" : " " + unit);
}

// "p99 TTFT 30.0 +-12.0 ms lower (150 against 180 ms before)"
std::string change_text(const Change& change) {
  const double width = change.half_width > 0 ? change.half_width : kNaN;
  return change.what + " " + difference_text(change.difference(), width, change.unit) + " (" +
         format_number(change.after) + " against " + value_text(change.before, change.unit) + " before)";
}

std::string list_text(const std::vector<std::string>& items, std::size_t most = 8) {
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), most); ++i) text += (i > 0 ? ", " : "") + items[i];
  if (items.size() > most) text += " and " + std::to_string(items.size() - most) + " more";
  return text;
}

// One setting's changes: what is clear, what is not, and where nothing has changed.
std::string setting_text(const std::string& title, const std::vector<const Change*>& changes) {
  std::vector<std::string> clear, unclear;
  bool has_single_runs = false;
  for (const Change* change : changes) {
    if (change->is_same()) continue;
    (change->can_tell() ? clear : unclear)
        .push_back(change->can_tell() ? change_text(*change) : change->what);
    has_single_runs = has_single_runs || std::isnan(change->half_width);
  }
  if (clear.empty() && unclear.empty()) return title + ": as before.";
  std::string text = title + ": ";
  text += list_text(clear, 20);
  if (has_single_runs)
    text += (clear.empty() ? "" : "; ") + std::string("one run each, so chance is not excluded");
  if (!unclear.empty())
    text += (clear.empty() ? "" : "; ") + std::string("these runs cannot tell whether ") +
            list_text(unclear) + (unclear.size() == 1 ? " has changed" : " have changed");
  return text + ".";
}

void add_verdicts(const ReportInput& then, const ReportInput& now, std::vector<std::string>& sentences) {
  const auto old = by_name(list_of(then.content, "checks"), "id");
  std::vector<std::string> better, worse;
  const auto rank = [](const std::string& verdict) {
    return verdict == "inside" ? 0 : verdict == "near" ? 1 : 2;
  };
  std::size_t common = 0;
  for (const Json& check : list_of(now.content, "checks")) {
    const auto match = old.find(text_of(check, "id"));
    if (match == old.end()) continue;
    ++common;
    const int moved = rank(text_of(check, "verdict")) - rank(text_of(*match->second, "verdict"));
    if (moved != 0) (moved < 0 ? better : worse).push_back(match->first);
  }
  std::string text =
      now.name + ": of " + format_count(static_cast<int64_t>(common)) + " checks of both sides ";
  if (better.empty() && worse.empty()) {
    text += "none has another verdict";
  } else {
    text += format_count(std::ssize(better)) + " have a better verdict" +
            (better.empty() ? "" : " (" + list_text(better) + ")") + " and " +
            format_count(std::ssize(worse)) + " a worse one" +
            (worse.empty() ? "" : " (" + list_text(worse) + ")");
  }
  sentences.push_back(text + ".");
}

void add_winners(const ReportInput& then, const ReportInput& now, std::vector<std::string>& sentences) {
  const auto place = [](const Json& cell) { return text_of(cell, "across") + "\n" + text_of(cell, "down"); };
  std::map<std::string, std::string> old;
  for (const Json& cell : list_of(then.content, "cells")) old[place(cell)] = text_of(cell, "winner");
  int64_t common = 0, changed = 0;
  for (const Json& cell : list_of(now.content, "cells")) {
    const auto match = old.find(place(cell));
    if (match == old.end()) continue;
    ++common;
    changed += match->second != text_of(cell, "winner");
  }
  sentences.push_back(now.name + ": another policy wins in " + format_count(changed) + " of " +
                      format_count(common) + " places of both maps.");
}

void add_configurations(const ReportInput& then, const ReportInput& now,
                        std::vector<std::string>& sentences) {
  const auto answer = [](const ReportInput& plan) {
    const Json& found = value_of(plan.content, "answer");
    std::string text;
    for (const Json& change : list_of(found, "changes"))
      text += (text.empty() ? "" : " ") + text_or_json(change);
    return found.is_null() ? "none" : text;
  };
  const std::string was = answer(then), is = answer(now);
  sentences.push_back(now.name + ": the answer is " +
                      (was == is ? "the same: " + is : is + "; it was " + was) + ".");
}

}  // namespace

bool Change::is_same() const {
  return std::abs(difference()) <= 1e-9 * std::max(std::abs(before), std::abs(after));
}

bool Change::can_tell() const { return !(std::abs(difference()) <= half_width); }

std::vector<Change> changes(const std::vector<ReportInput>& inputs) {
  std::vector<Change> changes;
  const auto with = [&changes](auto add) {
    return [&changes, add](const ReportInput& then, const ReportInput& now) { add(then, now, changes); };
  };
  add_results(inputs, changes);
  each_pair(inputs, "kvcap.restore/1", restored, with(add_restorations));
  each_pair(inputs, "kvcap.sweep_rows/1", named, with(add_points));
  each_pair(inputs, "kvcap.plan_result/1", named, with(add_answers));
  each_pair(inputs, "kvcap.validation/1", nothing, with(add_checks));
  return changes;
}

std::vector<std::string> change_sentences(const std::vector<ReportInput>& inputs) {
  std::vector<std::string> sentences;
  if (std::none_of(inputs.begin(), inputs.end(), [](const ReportInput& input) { return input.is_before; }))
    return sentences;
  const std::vector<Change> all = changes(inputs);
  const auto is_check = [](const Change& change) { return change.metric == "error"; };
  for (std::size_t i = 0; i < all.size();) {
    std::vector<const Change*> one;
    const std::size_t first = i;
    for (; i < all.size() && all[i].input == all[first].input && all[i].setting == all[first].setting; ++i)
      one.push_back(&all[i]);
    if (!is_check(all[first]))
      sentences.push_back(setting_text(all[first].input + ", " + all[first].setting, one));
  }
  const auto with = [&sentences](auto add) {
    return [&sentences, add](const ReportInput& then, const ReportInput& now) { add(then, now, sentences); };
  };
  each_pair(inputs, "kvcap.plan_result/1", named, with(add_configurations));
  each_pair(inputs, "kvcap.break_even/1", named, with(add_winners));
  each_pair(inputs, "kvcap.validation/1", nothing, with(add_verdicts));
  if (sentences.empty()) sentences.push_back("Both sides have nothing in common that could be compared.");
  return sentences;
}

}  // namespace kvcap
