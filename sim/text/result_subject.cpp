// The conditions and placeholders of the sentences about results (result_rows.h).
#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/json_values.h"
#include "base/text/note.h"
#include "metrics/quantity.h"
#include "metrics/statistics/stability.h"
#include "text/result_rows.h"
#include "text/result_sentences.h"

namespace kvcap {
namespace {

// Returns, for each other eligible setting for which `is_meant` holds, the first sentence of `rows` that
// applies.
template <std::size_t kRows, typename Meant>
std::vector<std::string> beside_others(const ResultSubject& s, const ResultSentence (&rows)[kRows],
                                       Meant is_meant) {
  std::vector<std::string> items;
  for (const Setting& other : s.all.eligible()) {
    const ResultSubject pair{s.all, s.one, other};
    if (other.label != s.one.label && is_meant(pair)) items.push_back(first_said(rows, pair));
  }
  return items;
}
bool stores_both(const ResultSubject& s) { return s.number(kStored) > 0 && s.other->number(kStored) > 0; }
bool has_cost(const ResultSubject& s) { return s.other->number(kOutputCost) > 0; }

constexpr std::size_t kFew = 4;  // a longer list counts the rest instead of naming it

// Returns the labels as a list; "a, b, c and 2 more" if there are more than kFew.
std::string few_of(std::vector<std::string> labels) {
  if (labels.size() > kFew) {
    const std::size_t more = labels.size() - kFew + 1;
    labels.resize(kFew - 1);
    labels.push_back(std::to_string(more) + " more");
  }
  return listed(labels);
}

// Returns the labels of the settings for which `is` holds.
template <typename Is>
std::string labels_of(const Comparison& all, Is is) {
  std::vector<std::string> labels;
  for (const Setting& setting : all.settings())
    if (is(setting)) labels.push_back(setting.label);
  const bool are_all = labels.size() > kFew && labels.size() == all.settings().size();
  return are_all ? std::string(kAll) + std::to_string(labels.size()) + " settings"
                 : few_of(std::move(labels));
}
bool clients_leave(const Setting& one) {
  return one.result->text("stable.reason").starts_with(kClientsGiveUp);
}
}  // namespace

bool knows(const ResultSubject& s, std::string_view metric) {
  const auto has = [metric](const Setting& setting) {
    return !std::isnan(setting.number(metric)) || !setting.result->text(metric).empty();
  };
  return has(s.one) && (!s.other || has(*s.other));
}

Difference tail_difference(const ResultSubject& s) { return s.all.difference(s.one, *s.other, kTail); }
bool has_own_steps(const Setting& one) {
  const std::vector<std::string>& notes = one.result->notes;
  return std::any_of(notes.begin(), notes.end(),
                     [](const std::string& note) { return note.ends_with(kOwnSteps); });
}
bool is_below_ideal(const ResultSubject& s) {
  const Difference mean = s.all.difference(s.one, *s.other, kMean);
  return -mean_loss_ms(s) > kNoticeableShare * s.other->number(kMean) &&
         !(std::abs(mean.difference) <= mean.half_width);
}
bool stores_as_many_bytes(const ResultSubject& s) {
  return s.number(kStored) > 0 && is_alike(s.ratio(kStored));
}
bool is_clear(const ResultSubject& s) {
  const Difference tail = tail_difference(s);
  return !(std::abs(tail.difference) <= tail.half_width) && s.ratio(kTail) < 1 - kNoticeableShare;
}

bool is_far_below(const Comparison& all, const Setting& one, const Setting& other, std::string_view metric) {
  constexpr double kFar = 0.1;
  if (one.label == other.label) return false;
  const Difference apart = all.difference(one, other, metric);
  return one.number(metric) < (1 - kFar) * other.number(metric) &&
         !(std::abs(apart.difference) <= apart.half_width);
}

const ResourceRow* bottleneck_of(const ResultSubject& s, std::string_view metric) {
  const std::string_view name = s.one.result->text(metric);
  const auto found = std::find_if(std::begin(kResources), std::end(kResources),
                                  [name](const ResourceRow& one) { return one.name == name; });
  return found == std::end(kResources) ? nullptr : &*found;
}
double busy_share(const ResultSubject& s) {
  return s.number("utilization." + std::string(s.one.result->text("bound_by")));
}

double wear_usd_per_hour(const ResultSubject& s) {
  return 3600 * s.number("cost.ssd_wear_usd") / s.number("duration");
}

namespace {

// Returns the settings whose wear is worth mentioning, those with the shortest lifetime first.
std::vector<Setting> worn_settings(const Comparison& all) {
  constexpr double kLongLife_years = 5, kNoticeableCost = 0.05;
  std::vector<Setting> worn = all.real();
  std::erase_if(worn, [](const Setting& one) {
    const double years = one.number("ssd_writes.lifetime_years");
    const bool is_costly = one.number("cost.ssd_wear_usd") > kNoticeableCost * one.number("cost.total_usd");
    return !(years > 0) || !(years < kLongLife_years || is_costly);
  });
  std::stable_sort(worn.begin(), worn.end(), [](const Setting& a, const Setting& b) {
    return a.number("ssd_writes.lifetime_years") < b.number("ssd_writes.lifetime_years");
  });
  return worn;
}

bool has_bought_ssds(const Setting& one) {
  const Json scenario = Json::parse(one.result->scenario_json, nullptr, false);
  return number_of(value_of(value_of(scenario, "hardware"), "ssd"), "purchase_usd") > 0;
}

}  // namespace

std::string worn(const ResultSubject& s) {
  std::vector<std::string> items;
  for (const Setting& one : worn_settings(s.all)) {
    const double usd_per_hour = wear_usd_per_hour({s.all, one});
    items.push_back(format_number(one.number("ssd_writes.lifetime_years")) + " years with " + one.label +
                    (usd_per_hour > 0 ? " (" + format_number(usd_per_hour) + " $ an hour)" : ""));
  }
  return few_of(std::move(items));
}

bool leaves_out_wear(const ResultSubject& s) {
  const std::vector<Setting> worn = worn_settings(s.all);
  return std::any_of(worn.begin(), worn.end(), [&s](const Setting& one) {
    return wear_usd_per_hour({s.all, one}) > 0 && !has_bought_ssds(one);
  });
}

bool others_store(const ResultSubject& s) {
  return std::any_of(s.all.eligible().begin(), s.all.eligible().end(), [&](const Setting& other) {
    return other.label != s.one.label && other.number(kStored) > 0;
  });
}

bool all_cost_the_same(const ResultSubject& s) {
  const std::vector<Setting> all = s.all.affordable();
  return std::all_of(all.begin(), all.end(), [&](const Setting& other) {
    return saving({s.all, s.one, other}) < kNoticeableShare;
  });
}

std::vector<std::string> differences_texts(const ResultSubject& s, std::string_view metric,
                                           bool with_interval) {
  const auto is_comparable = [&](const Setting& one) {
    return one.result->is_bound || s.all.is_eligible(one);
  };
  std::vector<std::string> items;
  for (const Setting& setting : s.all.settings()) {
    for (const Difference& one : s.all.differences()) {
      if (one.metric != metric || one.setting != setting.label || one.against != s.one.label) continue;
      if (!is_comparable(setting) || !is_comparable(s.one)) continue;
      if (with_interval && std::isnan(one.half_width)) continue;
      items.push_back(one.setting + " " + difference_text(one.difference, one.half_width, "ms"));
    }
  }
  return items;
}

std::string overloaded(const ResultSubject& s) {
  return labels_of(s.all, [](const Setting& one) { return one.is_saturated() && !clients_leave(one); });
}
std::string left_by_clients(const ResultSubject& s) {
  return labels_of(s.all, [](const Setting& one) { return one.is_saturated() && clients_leave(one); });
}
std::string undecided(const ResultSubject& s) {
  return labels_of(s.all, [](const Setting& one) { return one.is_undecided(); });
}
bool all_overloaded(const ResultSubject& s) {
  return !s.all.real().empty() && s.all.unsaturated().empty() && left_by_clients(s).empty();
}

namespace {

struct SharedVerb {
  std::string_view what;  // "rejected"
  const char* verb;       // "rejects"
};

// Returns "hcache rejects 60.0 %" for each setting with a share of at least `least`; one text for all
// settings if they are alike.
std::string shares_text(const Comparison& all, std::initializer_list<SharedVerb> verbs, double least) {
  std::vector<std::string> items, alike;
  for (const Setting& setting : all.settings()) {
    for (const SharedVerb& one : verbs) {
      const double share = setting.share(one.what);
      if (!(share > 0) || share < least) continue;
      const std::string text = std::string(" ") + one.verb + " " + format_percent(share);
      items.push_back(setting.label + text);
      if (alike.empty() || alike.back() != text) alike.push_back(text);
    }
  }
  const bool is_one = alike.size() == 1 && items.size() == all.settings().size() && items.size() > 1;
  return is_one ? std::string(kEvery) + alike.front().substr(1) : listed(items);
}

std::string unanswered_text(const Comparison& all) {
  return shares_text(all, {{"rejected", "rejects"}, {"failed", "fails"}}, 0);
}
bool leaves_many(const Setting& one) { return one.unanswered_share() > kFewUnanswered; }
bool any_leaves_many(const Comparison& all) {
  return std::any_of(all.settings().begin(), all.settings().end(), leaves_many);
}

}  // namespace

std::string unanswered(const ResultSubject& s) {
  return any_leaves_many(s.all) ? unanswered_text(s.all) : "";
}
std::string few_unanswered(const ResultSubject& s) {
  return any_leaves_many(s.all) ? "" : unanswered_text(s.all);
}
bool any_answers(const ResultSubject& s) {
  const std::vector<Setting>& all = s.all.settings();
  // Results without this metric (NaN) count as answered.
  return std::any_of(all.begin(), all.end(), [](const Setting& one) { return one.number("completed") != 0; });
}
std::string abandoned(const ResultSubject& s) {
  return shares_text(s.all, {{"abandoned", "makes clients abandon"}}, kFewCut);
}
std::string truncated(const ResultSubject& s) {
  return shares_text(s.all, {{"truncated", "truncates"}}, kFewCut);
}

ByTargets by_targets(const ResultSubject& s) {
  ByTargets by;
  if (s.all.targets().empty()) return by;
  for (const Setting& one : s.all.unsaturated()) {
    const SloVerdict verdict = s.all.slo_verdict(one);
    if (verdict == SloVerdict::misses) {
      by.missing.push_back(one);
    } else if (s.all.is_eligible(one)) {
      (verdict == SloVerdict::meets ? by.meeting : by.unclear).push_back(one);
    } else if (one.is_undecided() && one.unanswered_share() <= kFewUnanswered) {
      by.so_far.push_back(one);
    }
  }
  return by;
}

Ahead ahead(const Comparison& all) {
  Ahead found{.sorted = all.eligible()};
  std::vector<Setting>& sorted = found.sorted;
  std::erase_if(sorted, [](const Setting& one) { return std::isnan(one.number(kTail)); });
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Setting& a, const Setting& b) { return a.number(kTail) < b.number(kTail); });
  const auto tells = [&](std::size_t a, std::size_t b) {
    return is_clear(ResultSubject{all, sorted[a], sorted[b]});
  };
  std::size_t leaders = std::min<std::size_t>(1, sorted.size());
  while (leaders > 0 && leaders < sorted.size() && !tells(0, leaders)) ++leaders;
  for (std::size_t a = 0; a < leaders; ++a)
    for (std::size_t b = leaders; b < sorted.size(); ++b)
      if (!tells(a, b)) return found;
  found.leaders = leaders;
  return found;
}

namespace {

std::string with(const std::string& before, const std::string& text) {
  return text.empty() ? text : before + text;
}

std::string bytes_beside_others(const ResultSubject& s) {
  std::vector<std::string> items = beside_others(s, kBytes, [](const ResultSubject& pair) {
    return stores_both(pair) && !is_alike(pair.ratio(kStored));
  });
  std::vector<std::string> alike;
  for (const Setting& other : s.all.eligible()) {
    const ResultSubject pair{s.all, s.one, other};
    if (other.label != s.one.label && stores_both(pair) && is_alike(pair.ratio(kStored)))
      alike.push_back(other.label);
  }
  if (!alike.empty()) items.push_back("as many bytes as " + listed(alike));
  return listed(items);
}

// Groups settings with the same text: "0 with recompute, 95.5 with kv_offload and hcache".
template <typename Text>
std::string grouped(const std::vector<Setting>& settings, Text text_of) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const Setting& setting : settings) {
    const std::string text = text_of(setting);
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == text; });
    if (group == groups.end()) group = groups.insert(groups.end(), {text, {}});
    group->second.push_back(setting.label);
  }
  return joined(groups, ", ", [](const auto& one) { return one.first + " with " + listed(one.second); });
}

std::string hits_by_setting(const ResultSubject& s) {
  return grouped(s.all.settings(),
                 [](const Setting& one) { return format_number(100 * one.number("token_hit_rate")); });
}

// Returns the latencies of the eligible settings if there are several, otherwise of all unsaturated settings.
// If there are more than kFew, returns only the lowest and the highest.
std::string latencies(const ResultSubject& s) {
  const std::vector<Setting>& all = s.all.eligible().size() > 1 ? s.all.eligible() : s.all.unsaturated();
  const auto text = [&](const Setting& one) { return format_ms(one.number(s.latency)); };
  if (all.size() <= kFew) return grouped(all, text);
  const auto [lowest, highest] = std::minmax_element(
      all.begin(), all.end(),
      [&](const Setting& a, const Setting& b) { return a.number(s.latency) < b.number(s.latency); });
  return text(*lowest) + " with " + lowest->label + " to " + text(*highest) + " with " + highest->label;
}

std::string some(const std::vector<Setting>& settings) {
  std::vector<std::string> labels;
  for (const Setting& one : settings) labels.push_back(one.label);
  return few_of(std::move(labels));
}
std::string some(const std::vector<Setting>& settings, const char* verb_of_one, const char* verb) {
  return some(settings) + (settings.size() == 1 ? verb_of_one : verb);
}

// Returns a bound without trailing zeros: "5 s" rather than "5.00 s".
std::string bound_text(double most_ms) {
  std::string text = format_ms(most_ms);
  const std::size_t point = text.find('.'), space = text.find(' ');
  if (point == std::string::npos) return text;
  std::size_t end = space;
  while (end > point && (text[end - 1] == '0' || end - 1 == point)) --end;
  return text.erase(end, space - end);
}

// Returns "p99 TTFT <= 5 s and p99 TPOT <= 50 ms".
std::string targets_text(const ResultSubject& s) {
  std::vector<std::string> texts;
  for (const SloTarget& one : s.all.targets())
    texts.push_back(std::string(one.title) + " <= " + bound_text(one.most_ms));
  return listed(texts);
}

// Returns the values that miss a target: "461 s", or "p99 TTFT 461 s" if there are several targets.
std::string missed_text(const ResultSubject& s, const Setting& setting) {
  std::vector<std::string> texts;
  const bool is_one = s.all.targets().size() == 1;
  for (const SloTarget& one : s.all.targets()) {
    const double value = setting.number(one.metric);
    if (value > one.most_ms) texts.push_back((is_one ? "" : std::string(one.title) + " ") + format_ms(value));
  }
  return listed(texts);
}

std::string missed_values(const ResultSubject& s) {
  const std::vector<Setting> missing = by_targets(s).missing;
  constexpr std::size_t kMost = 3;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(missing.size(), kMost); ++i)
    texts.push_back(missed_text(s, missing[i]));
  return missing.size() <= kMost ? listed(texts) : joined(texts) + ", ...";
}

std::string price_text(const ResultSubject& s) {
  std::vector<Setting> meeting = by_targets(s).meeting;
  const bool is_priced =
      std::all_of(meeting.begin(), meeting.end(), [](const Setting& one) { return one.number(kHourly) > 0; });
  if (!is_priced || meeting.empty()) return "";
  const auto [least, most] = std::minmax_element(
      meeting.begin(), meeting.end(),
      [](const Setting& a, const Setting& b) { return a.number(kHourly) < b.number(kHourly); });
  return first_said(kPrice, ResultSubject{s.all, *least, *most});
}

// Returns how the user can lengthen the run. A trace with recorded arrivals needs a different proposal,
// because its number of sessions is fixed.
std::string longer_run(const ResultSubject& s) {
  const Json scenario = Json::parse(s.one.result->scenario_json, nullptr, false);
  const Json& workload = value_of(scenario, "workload");
  // A run that was extended to the steady state has more sessions than its scenario states.
  const double sessions = number_of(workload, "sessions"),
               ran = std::max(sessions, static_cast<double>(s.one.result->session_count));
  std::vector<std::string> ways;
  if (text_of(value_of(workload, "arrivals"), "process") == "trace") {
    return "a longer log, or --rate or --concurrency with --set workload.run_length=steady, which draw its "
           "sessions until the run is long enough";
  }
  if (!std::isnan(sessions))
    ways.push_back("--set workload.sessions=" + std::to_string(std::llround(kLongerRun * ran)));
  if (text_of(workload, "run_length") != "steady") ways.emplace_back("--set workload.run_length=steady");
  if (std::isnan(sessions)) ways.emplace_back("a longer trace");
  return joined(ways, ", or ");
}

std::string p99_of(const std::vector<Setting>& sorted, std::size_t from, std::size_t to) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> texts;
  for (std::size_t i = from; i < to; ++i) texts.push_back(format_number(sorted[i].number(kTail)));
  return texts.size() > kMost + 1 ? texts.front() + " to " + texts.back() : listed(texts);
}

// Returns the words for a resource. GPUs without NVLink exchange data over PCIe, but results call that
// resource `nvlink`, too.
std::string words_of(const ResultSubject& s, const ResourceRow& resource) {
  if (resource.name != "nvlink") return std::string(resource.words);
  const Json scenario = Json::parse(s.one.result->scenario_json, nullptr, false);
  const Json& hardware = value_of(scenario, "hardware");
  const bool is_over_pcie = hardware.is_object() &&
                            (value_of(hardware, "nvlink").is_null() || !value_of(hardware, "peer").is_null());
  return is_over_pcie ? std::string(kPcieBetweenGpus) : std::string(resource.words);
}

const PlaceOfText<ResultSubject> kPlaces[] = {
    {"one", [](const ResultSubject& s) { return s.one.label; }},
    {"other", [](const ResultSubject& s) { return s.other->label; }},
    {"p99", [](const ResultSubject& s) { return format_number(s.number(kTail)); }},
    {"other p99", [](const ResultSubject& s) { return format_number(s.other->number(kTail)); }},
    {"p99 saving", [](const ResultSubject& s) { return format_percent(1 - s.ratio(kTail)); }},
    {"p99 difference", [](const ResultSubject& s) { return first_said(kTailDifference, s); }},
    {"p99 change",
     [](const ResultSubject& s) {
       const Difference tail = tail_difference(s);
       return format_interval(std::abs(tail.difference), tail.half_width);
     }},
    {"and what it stores", [](const ResultSubject& s) { return with(" and ", first_said(kStores, s)); }},
    {"; what it stores",
     [](const ResultSubject& s) { return with("; " + s.one.label + " ", first_said(kStores, s)); }},
    {"bytes change",
     [](const ResultSubject& s) { return format_number(100 * std::abs(s.ratio(kStored) - 1)); }},
    {"bytes beside others", bytes_beside_others},
    {"KiB", [](const ResultSubject& s) { return format_number(s.number(kStored) / 1024); }},
    {"restore", [](const ResultSubject& s) { return format_number(std::max(s.all.restore_ms(s.one), 0.0)); }},
    {"restore factors",
     [](const ResultSubject& s) {
       return with(": ", listed(beside_others(s, kRestoreFactor, [](const ResultSubject& pair) {
                     return std::isfinite(restore_factor(pair)) && pair.all.restore_ms(pair.one) > 0;
                   })));
     }},
    {"added factors",
     [](const ResultSubject& s) {
       return with(": ", listed(beside_others(s, kAddedFactor, [](const ResultSubject& pair) {
                     return std::isfinite(restore_factor(pair)) && pair.all.restore_ms(pair.one) > 0;
                   })));
     }},
    {"restore factor", [](const ResultSubject& s) { return format_number(restore_factor(s)); }},
    {"restore doubt", [](const ResultSubject& s) { return s.all.doubt(s.one, *s.other, kHistoryService); }},
    {"mean with unit", [](const ResultSubject& s) { return format_ms(s.number(kMean)); }},
    {"p99 with unit", [](const ResultSubject& s) { return format_ms(s.number(kTail)); }},
    {"rate", [](const ResultSubject& s) { return format_number(s.number("request_throughput")); }},
    {"metric", [](const ResultSubject& s) { return find_quantity(s.latency)->title; }},
    {"value", [](const ResultSubject& s) { return format_ms(s.number(s.latency)); }},
    {"other value", [](const ResultSubject& s) { return format_ms(s.other->number(s.latency)); }},
    {"saving of metric", [](const ResultSubject& s) { return format_percent(1 - s.ratio(s.latency)); }},
    {"latencies", latencies},
    {"leaders",
     [](const ResultSubject& s) {
       const auto [sorted, count] = ahead(s.all);
       return some({sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count)});
     }},
    {"followers",
     [](const ResultSubject& s) {
       const auto [sorted, count] = ahead(s.all);
       return some({sorted.begin() + static_cast<std::ptrdiff_t>(count), sorted.end()});
     }},
    {"p99 of leaders",
     [](const ResultSubject& s) {
       const auto [sorted, count] = ahead(s.all);
       return p99_of(sorted, 0, count);
     }},
    {"p99 of followers",
     [](const ResultSubject& s) {
       const auto [sorted, count] = ahead(s.all);
       return p99_of(sorted, count, sorted.size());
     }},
    {"longer run", longer_run},
    {"targets", targets_text},
    {"it", [](const ResultSubject& s) { return std::string(s.all.targets().size() == 1 ? "it" : "them"); }},
    {"meeting", [](const ResultSubject& s) { return some(by_targets(s).meeting, " meets", " meet"); }},
    {"so far", [](const ResultSubject& s) { return some(by_targets(s).so_far, " meets", " meet"); }},
    {"unclear", [](const ResultSubject& s) { return some(by_targets(s).unclear, " meets", " meet"); }},
    {"missing", [](const ResultSubject& s) { return some(by_targets(s).missing, " misses", " miss"); }},
    {"missed values", missed_values},
    {"values",
     [](const ResultSubject& s) {
       return grouped(by_targets(s).missing, [&](const Setting& one) { return missed_text(s, one); });
     }},
    {"price", price_text},
    {"hourly", [](const ResultSubject& s) { return format_number(s.number(kHourly)); }},
    {"offered", [](const ResultSubject& s) { return format_percent(s.number("offered_load")); }},
    {"offered resource",
     [](const ResultSubject& s) { return words_of(s, *bottleneck_of(s, kOfferedBoundBy)); }},
    {"resource", [](const ResultSubject& s) { return words_of(s, *bottleneck_of(s)); }},
    {"busy", [](const ResultSubject& s) { return format_percent(busy_share(s)); }},
    {"mean", [](const ResultSubject& s) { return format_number(s.number(kMean)); }},
    {"parts", [](const ResultSubject& s) { return parts_text(ttft_parts(s.one), s.number(kMean)); }},
    {"mean loss", [](const ResultSubject& s) { return format_number(mean_loss_ms(s)); }},
    {"parts of loss",
     [](const ResultSubject& s) {
       return with(": ", parts_text(ttft_parts_between(s.one, *s.other), mean_loss_ms(s)));
     }},
    {"mean gain", [](const ResultSubject& s) { return format_number(-mean_loss_ms(s)); }},
    {"parts of gain",
     [](const ResultSubject& s) {
       return with(": ", parts_text(ttft_parts_between(s.one, *s.other), mean_loss_ms(s), " more "));
     }},
    {"mean doubt", [](const ResultSubject& s) { return s.all.doubt(s.one, *s.other, kMean); }},
    {"p99 intervals", [](const ResultSubject& s) { return listed(differences_texts(s, kTail, true)); }},
    {"mean intervals", [](const ResultSubject& s) { return listed(differences_texts(s, kMean, true)); }},
    {"p99 differences", [](const ResultSubject& s) { return listed(differences_texts(s, kTail, false)); }},
    {"cost", [](const ResultSubject& s) { return format_number(s.number(kOutputCost)); }},
    {"savings", [](const ResultSubject& s) { return listed(beside_others(s, kSaving, has_cost)); }},
    {"saving", [](const ResultSubject& s) { return format_number(100 * saving(s)); }},
    {"cost doubt", [](const ResultSubject& s) { return s.all.doubt(s.one, *s.other, kOutputCost); }},
    {"storage cost",
     [](const ResultSubject& s) { return format_number(s.number("cost.usd_per_saved_gpu_hour")); }},
    {"GPU cost", [](const ResultSubject& s) { return format_number(s.number("cost.usd_per_gpu_hour")); }},
    {"hits", [](const ResultSubject& s) { return format_number(100 * s.number("token_hit_rate")); }},
    {"reusing", [](const ResultSubject& s) { return format_percent(s.number("request_hit_rate")); }},
    {"hits by setting", hits_by_setting},
    {"worn", worn},
    {"years", [](const ResultSubject& s) { return format_number(s.number("ssd_writes.lifetime_years")); }},
    {"wear", [](const ResultSubject& s) { return format_number(wear_usd_per_hour(s)); }},
    {"unanswered", unanswered},
    {"few unanswered", few_unanswered},
    {"abandoned", abandoned},
    {"truncated", truncated},
    {"overloaded", overloaded},
    {"left", left_by_clients},
    {"undecided", undecided},
};
}  // namespace

std::span<const PlaceOfText<ResultSubject>> places_of(const ResultSubject&) { return kPlaces; }

}  // namespace kvcap
