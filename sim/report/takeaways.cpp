#include "report/takeaways.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "metrics/format.h"
#include "metrics/quantiles.h"
#include "metrics/quantity.h"
#include "metrics/sentences.h"
#include "report/capacity_views.h"
#include "report/changes.h"
#include "report/json_values.h"
#include "report/read_result.h"

namespace kvcap {
namespace {

constexpr std::array<const char*, 10> kPages = {"overview",    "latency", "cache", "resources",
                                                "restoration", "sweep",   "plan",  "capacity",
                                                "validation",  "changes"};

// Collects sentences by page, and writes whose they are where that is needed.
class Pages {
 public:
  void add(const std::string& page, const std::string& input, const std::string& sentence) {
    if (sentence.empty()) return;
    said_[page].emplace_back(input, sentence);
    speakers_[page].insert(input);
  }
  void add(const std::string& page, const std::string& input, const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences) add(page, input, sentence);
  }
  // The first of a page, on the overview too.
  void add_first(const std::string& page, const std::string& input,
                 const std::vector<std::string>& sentences) {
    if (!sentences.empty()) add("overview", input, sentences.front());
    add(page, input, sentences);
  }

  Takeaways take() {
    Takeaways pages;
    for (const char* page : kPages) {
      std::vector<std::string>& sentences = pages.emplace_back(page, std::vector<std::string>{}).second;
      const bool is_one = speakers_[page].size() < 2;
      for (const auto& [input, sentence] : said_[page])
        sentences.push_back(is_one || input.empty() ? sentence
                                                    : std::string(input).append(": ").append(sentence));
    }
    return pages;
  }

 private:
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> said_;
  std::map<std::string, std::set<std::string>> speakers_;
};

std::string joined(const std::vector<std::string>& items, const char* separator = ", ") {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : separator) + item;
  return text;
}

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& item : list) texts.push_back(text_or_json(item));
  return texts;
}

// ---- results ----

void speak_of_results(const ResultGroup& group, Pages& pages) {
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < group.results.size(); ++i)
    settings.push_back({group.labels[i], &group.results[i]});
  if (settings.empty()) return;
  pages.add("overview", group.name, headline(settings, group.differences));
  pages.add("overview", group.name, sentences(settings, group.differences));
  pages.add("latency", group.name, latency_sentences(settings, group.differences));
  pages.add("cache", group.name, cache_sentences(settings));
  pages.add("resources", group.name, resource_sentences(settings));
}

// ---- traces ----

std::vector<std::string> trace_sentences(const Json& stats) {
  std::vector<std::string> said;
  const double found = number_of(stats, "infinite_cache_token_hit_rate");
  if (!std::isnan(found))
    said.push_back("A store that keeps everything finds " + format_percent(found) +
                   " of all prompt tokens; history is " +
                   format_percent(number_of(stats, "history_token_share")) + " of them.");
  // The least capacity of the curve that finds 90 % of what an endless one finds.
  constexpr double kMost = 0.9;
  for (const Json& point : list_of(stats, "miss_ratio_curve")) {
    const double hits = 1 - number_of(point, "token_miss_ratio");
    if (!(found > 0) || !(hits >= kMost * found)) continue;
    said.push_back("LRU over " + format_number(number_of(point, "capacity_tokens")) + " tokens finds " +
                   format_percent(hits) + ", of " + format_number(number_of(stats, "total_context_tokens")) +
                   " tokens that there are.");
    break;
  }
  return said;
}

// ---- restorations ----

constexpr double kNoticeable = 1.005;  // a ratio; below it two are the same

// What is free by assumption answers nobody.
bool is_buildable(const Json& entry) {
  const bool is_free = number_of(entry, "read_bytes") > 0 && number_of(entry, "restore_s") < 1e-9;
  return text_of(entry, "policy") != "ideal" && !is_free;
}

std::vector<std::string> restoration_sentences(const Json& restore) {
  std::vector<const Json*> entries;
  double farthest = 0;
  std::string farthest_policy;
  for (const Json& entry : list_of(restore, "policies")) {
    if (is_buildable(entry) && number_of(entry, "restore_s") > 0) entries.push_back(&entry);
    // As a share of the whole answer: what takes no time has no relative error.
    const double off = std::abs(number_of(entry, "restore_s") - number_of(entry, "closed_form_restore_s")) /
                       number_of(entry, "ttft_s");
    if (off > farthest) {
      farthest = off;
      farthest_policy = text_of(entry, "policy");
    }
  }
  if (entries.empty()) return {};
  std::stable_sort(entries.begin(), entries.end(), [](const Json* a, const Json* b) {
    return number_of(*a, "restore_s") < number_of(*b, "restore_s");
  });
  const Json& best = *entries.front();
  const std::string policy = text_of(best, "policy");
  // Against the next that is noticeably slower, and the slowest.
  std::vector<std::string> factors;
  const auto factor_of = [&](const Json* other) {
    return number_of(*other, "restore_s") / number_of(best, "restore_s");
  };
  const auto next = std::find_if(entries.begin(), entries.end(),
                                 [&](const Json* other) { return factor_of(other) > kNoticeable; });
  const auto last = entries.empty() ? entries.end() : entries.end() - 1;
  for (auto other = next; other != entries.end(); other = other == last ? entries.end() : last)
    factors.push_back(format_number(factor_of(*other)) + "x faster than " + text_of(**other, "policy"));
  const double tokens = number_of(restore, "tokens");
  std::vector<std::string> said = {
      policy + " brings " + (std::isnan(tokens) ? "" : format_count(std::llround(tokens))) + " tokens of " +
      text_of(restore, "model") + " back from " + text_of(restore, "tier") + " on " +
      text_of(restore, "hardware") + " in " + format_number(1e3 * number_of(best, "restore_s")) + " ms" +
      (factors.empty() ? "." : ": " + joined(factors) + ".")};
  const Json& schedule = value_of(best, "schedule");
  const std::string bound = text_of(best, "bound");
  said.push_back(policy + " keeps " + format_number(number_of(best, "stored_bytes_per_token") / 1024) +
                 " KiB a token and brings " + text_of(schedule, "hidden_layers") +
                 " layers back from hidden states, " + text_of(schedule, "kv_layers") +
                 " from keys and values and " + text_of(schedule, "recompute_layers") + " from tokens; " +
                 (bound == "io"        ? "loading binds."
                  : bound == "compute" ? "the GPU binds."
                                       : "loading and GPU finish together."));
  said.push_back(farthest < 1e-6 ? "Simulation and closed form agree."
                                 : "Simulation and closed form differ by at most " +
                                       format_percent(farthest) + " of TTFT (" + farthest_policy + ").");
  return said;
}

// ---- sweeps ----

struct SettingColumn {
  std::string name;
  const Json* values = nullptr;
};

// Whether the row's run rejected turns, or clients gave some up for good.
bool leaves_unanswered(const Json& columns, std::size_t row) {
  const auto has = [&](const char* what) {
    const Json& counts = list_of(columns, what);
    return row < counts.size() && number_or_nan(counts[row]) > 0;
  };
  return has("rejected") || has("failed");
}

// Rows in which `metric` is a number of a run that kept up with its rate and answered every turn.
std::vector<std::size_t> good_rows(const Json& sweep, const Json& values) {
  const Json& columns = value_of(sweep, "columns");
  const Json& verdicts = list_of(columns, "stable.verdict");
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_saturated = i < verdicts.size() && verdicts[i] == "saturated";
    if (!is_saturated && !leaves_unanswered(columns, i) && values[i].is_number()) rows.push_back(i);
  }
  return rows;
}

std::string point_text(const std::vector<SettingColumn>& parameters, std::size_t row) {
  std::vector<std::string> parts;
  for (const SettingColumn& one : parameters)
    if (row < one.values->size()) parts.push_back(one.name + "=" + text_or_json((*one.values)[row]));
  return parts.empty() ? "the only point" : joined(parts, " ");
}

std::string value_text(double value, const Quantity& metric) {
  return format_number(metric.unit.scale * value) + " " + std::string(metric.unit.symbol);
}

std::string best_text(const Json& sweep, const std::vector<SettingColumn>& parameters,
                      const Quantity& metric) {
  const Json& values = list_of(value_of(sweep, "columns"), metric.name);
  const std::vector<std::size_t> rows = good_rows(sweep, values);
  if (rows.empty()) return "";
  const auto [least, most] = std::minmax_element(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    return values[a].get<double>() < values[b].get<double>();
  });
  std::string text = "The least " + metric.title + " is at " + point_text(parameters, *least) + ", " +
                     value_text(values[*least].get<double>(), metric);
  if (*most != *least)
    text += ", and the greatest at " + point_text(parameters, *most) + ", " +
            value_text(values[*most].get<double>(), metric);
  return text + ".";
}

// The parameter between whose values the medians of the metric lie farthest apart, as a ratio.
std::string strongest_text(const Json& sweep, const std::vector<SettingColumn>& parameters,
                           const Quantity& metric) {
  const Json& values = list_of(value_of(sweep, "columns"), metric.name);
  const std::vector<std::size_t> rows = good_rows(sweep, values);
  double greatest = kNoticeable;
  std::string text;
  for (const SettingColumn& parameter : parameters) {
    std::map<std::string, std::vector<double>> by_value;
    for (std::size_t row : rows)
      if (row < parameter.values->size())
        by_value[text_or_json((*parameter.values)[row])].push_back(values[row].get<double>());
    std::vector<std::pair<double, std::string>> medians;
    medians.reserve(by_value.size());
    for (auto& [value, numbers] : by_value) medians.emplace_back(describe(numbers).median, value);
    if (medians.size() < 2) continue;
    const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
    const double ratio = high->first / low->first;
    if (!(ratio > greatest) || !std::isfinite(ratio)) continue;
    greatest = ratio;
    text = parameter.name + " moves " + metric.title + " most: its median is " +
           value_text(low->first, metric) + " at " + low->second + " and " + value_text(high->first, metric) +
           " at " + high->second + ".";
  }
  return text;
}

std::vector<std::string> sweep_sentences(const Json& sweep) {
  const Json& columns = value_of(sweep, "columns");
  std::vector<SettingColumn> parameters;
  for (const std::string& name : texts_of(list_of(sweep, "parameters")))
    parameters.push_back({name, &list_of(columns, name)});
  std::map<std::string, int64_t> statuses;
  for (const std::string& status : texts_of(list_of(columns, "status"))) ++statuses[status];
  const double total = number_of(sweep, "total_rows"), rows = number_of(sweep, "rows");
  std::string counts;
  for (const auto& [status, count] : statuses)
    if (status != "ok") counts += ", " + format_count(count) + " " + status;
  std::string points =
      format_count(statuses["ok"]) + " of " + format_count(std::llround(rows)) + " points ran" + counts;
  if (total > rows)
    points += " (shown are " + format_count(std::llround(rows)) + " of " + format_count(std::llround(total)) +
              ", evenly thinned)";
  int64_t overloaded = 0;
  for (const Json& verdict : list_of(columns, "stable.verdict")) overloaded += verdict == "saturated";
  if (overloaded > 0)
    points += "; " + format_count(overloaded) + " cannot serve their rate and are left out below";
  int64_t unanswering = 0;
  const std::size_t points_shown = list_of(columns, "rejected").size();
  for (std::size_t row = 0; row < points_shown; ++row) unanswering += leaves_unanswered(columns, row);
  if (unanswering > 0)
    points += "; " + format_count(unanswering) + " leave turns unanswered and are left out, too";
  std::vector<std::string> said;
  const double replications = number_of(value_of(sweep, "base"), "replications");
  const std::string chance = replications > 1 ? "" : " One run a point, so small differences may be chance.";
  const Quantity& ttft = *find_quantity("p99_ttft_ms");
  const Quantity& cost = *find_quantity("cost.usd_per_million_output_tokens");
  for (std::string text : {strongest_text(sweep, parameters, ttft), best_text(sweep, parameters, ttft),
                           best_text(sweep, parameters, cost)}) {
    if (!text.empty()) said.push_back(std::move(text));
  }
  said.push_back(points + "." + chance);
  return said;
}

// ---- plans ----

// "12.3", or with half the width of its interval.
std::string estimate_text(const Json& candidate, const std::string& metric) {
  const Json& value = value_of(value_of(candidate, "metrics"), metric);
  const Json& interval = value_of(value, "interval");
  double half_width = std::numeric_limits<double>::quiet_NaN();
  if (interval.is_array() && interval.size() == 2) {
    half_width = (number_or_nan(interval[1]) - number_or_nan(interval[0])) / 2;
    if (half_width <= 1e-9 * std::abs(number_of(value, "mean")))
      half_width = std::numeric_limits<double>::quiet_NaN();
  }
  return format_interval(number_of(value, "mean"), half_width);
}

std::vector<std::string> plan_sentences(const Json& plan) {
  std::vector<std::string> said;
  const std::string objective = text_of(plan, "minimize");
  const Json& answer = value_of(plan, "answer");
  const std::string simulations = text_of(plan, "simulations");
  const std::string effort = simulations.empty() ? "" : " (" + simulations + " simulations)";
  if (answer.is_null()) {
    const Json& nearest = value_of(plan, "nearest");
    said.push_back("No configuration meets every target" + effort + "." +
                   (nearest.is_null() ? ""
                                      : " Nearest is " + joined(texts_of(list_of(nearest, "changes")), " ") +
                                            ", which misses " + text_of(nearest, "reason") + "."));
    return said;
  }
  const std::string purchase = text_of(plan, "purchase");
  said.push_back((purchase.empty() ? "The answer is " + joined(texts_of(list_of(answer, "changes")), " ")
                                   : "Buy " + purchase) +
                 ": " + objective + " " + estimate_text(answer, objective) + ", p99 TTFT " +
                 estimate_text(answer, "p99_ttft_ms") + " ms" + effort + ".");
  if (const std::string note = text_of(plan, "note"); !note.empty()) said.push_back(note);
  const std::size_t rivals = list_of(plan, "rivals").size();
  if (rivals > 0)
    said.push_back("These runs cannot tell it from " + format_count(static_cast<int64_t>(rivals)) +
                   (rivals == 1 ? " other configuration." : " other configurations."));
  const std::string binding = text_of(plan, "binding");
  if (!binding.empty()) said.push_back("The target with the least room is " + binding + ".");
  if (const Json& marginals = list_of(plan, "marginal"); !marginals.empty()) {
    const Json& first = marginals.front();
    const double change_ms = number_of(value_of(value_of(first, "change"), "p99_ttft_ms"), "mean");
    if (change_ms < 0)
      said.push_back("What to buy next: " + text_of(first, "what") + ", p99 TTFT " +
                     format_number(-change_ms) + " ms lower.");
  }
  return said;
}

std::vector<std::string> break_even_sentences(const Json& map) {
  std::map<std::string, int64_t> wins;
  int64_t cells = 0, same = 0, compared = 0;
  for (const Json& cell : list_of(map, "cells")) {
    const std::string winner = text_of(cell, "winner"), expected = text_of(cell, "closed_form_winner");
    ++cells;
    if (!winner.empty()) ++wins[winner];
    if (expected.empty() || winner.empty()) continue;
    ++compared;
    same += winner == expected;
  }
  if (wins.empty()) return {};
  std::vector<std::pair<int64_t, std::string>> order;
  order.reserve(wins.size());
  for (const auto& [policy, count] : wins) order.emplace_back(-count, policy);
  std::sort(order.begin(), order.end());
  std::vector<std::string> items;
  items.reserve(order.size());
  for (const auto& [count, policy] : order) items.push_back(policy + " " + format_count(-count));
  std::vector<std::string> said = {"Of " + format_count(cells) + " pairs of " + text_of(map, "across") +
                                   " and " + text_of(map, "down") + " are won: " + joined(items) + "."};
  if (compared > 0)
    said.push_back("The closed form names the same winner in " + format_count(same) + " of " +
                   format_count(compared) + ".");
  if (const Json& boundaries = list_of(map, "boundaries"); !boundaries.empty()) {
    const Json& first = boundaries.front();
    said.push_back("At " + text_of(map, "down") + " " + text_of(first, "down") + ", " +
                   text_of(first, "from") + " gives way to " + text_of(first, "to") + " at " +
                   text_of(map, "across") + " " + format_number(number_of(first, "simulated")) + ".");
  }
  return said;
}

// ---- validations ----

std::vector<std::string> validation_sentences(const Json& validation) {
  std::map<std::string, int64_t> verdicts;
  std::vector<std::string> broken;
  int64_t promised = 0, no_tests = 0;
  const Json* worst = nullptr;
  for (const Json& check : list_of(validation, "checks")) {
    const std::string verdict = text_of(check, "verdict");
    // What was fitted to, or given, proves nothing.
    const std::string role = text_of(check, "role");
    if (verdict != "not comparable" && (role == "fitted" || role == "input")) {
      ++no_tests;
      continue;
    }
    ++verdicts[verdict];
    if (verdict == "not comparable") continue;
    if (value_of(check, "promised") == true) {
      ++promised;
      if (verdict == "outside") broken.push_back(text_of(check, "id"));
    }
    if (number_of(check, "error") > (worst ? number_of(*worst, "error") : 0)) worst = &check;
  }
  const int64_t judged = verdicts["inside"] + verdicts["near"] + verdicts["outside"];
  if (judged + verdicts["not comparable"] == 0) return {};
  std::vector<std::string> said = {
      "Of " + format_count(judged) + " numbers beside published, measured or analytic ones " +
      format_count(verdicts["inside"]) + " are inside, " + format_count(verdicts["near"]) + " near and " +
      format_count(verdicts["outside"]) + " outside; " + format_count(verdicts["not comparable"]) +
      " cannot be compared."};
  if (no_tests > 0) said.push_back(format_count(no_tests) + " more were fitted to, or given.");
  if (promised > 0)
    said.push_back(broken.empty() ? "All " + format_count(promised) + " that are promised hold."
                                  : "Farther off than promised: " + joined(broken) + ".");
  if (worst) {
    const std::string reason = text_of(*worst, "reason");
    said.push_back("Farthest off is " + text_of(*worst, "id") + ", " +
                   format_percent(number_of(*worst, "error")) +
                   (reason.empty() ? "." : ": " + reason + (reason.ends_with('.') ? "" : ".")));
  }
  return said;
}

}  // namespace

Takeaways takeaways(const std::vector<ReportInput>& inputs) {
  Pages pages;
  for (const ResultGroup& group : result_groups(inputs, false)) speak_of_results(group, pages);
  for (const ReportInput& input : inputs) {
    if (input.is_before) continue;
    const std::string schema = input.schema();
    const Json& content = input.content;
    if (schema == "kvcap.trace_stats/1") pages.add_first("cache", input.name, trace_sentences(content));
    if (schema == "kvcap.restore/1")
      pages.add_first("restoration", input.name, restoration_sentences(content));
    if (schema == "kvcap.sweep_rows/1") pages.add_first("sweep", input.name, sweep_sentences(content));
    if (schema == "kvcap.plan_result/1") pages.add_first("plan", input.name, plan_sentences(content));
    if (schema == "kvcap.break_even/1") pages.add_first("sweep", input.name, break_even_sentences(content));
    if (schema == "kvcap.capacity/1") pages.add_first("capacity", input.name, capacity_sentences(content));
    if (schema == "kvcap.validation/1")
      pages.add_first("validation", input.name, validation_sentences(content));
  }
  pages.add("changes", "", change_sentences(inputs));
  return pages.take();
}

}  // namespace kvcap
