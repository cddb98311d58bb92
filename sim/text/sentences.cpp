#include "text/sentences.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/resource.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "metrics/cost.h"
#include "metrics/statistics/stability.h"

namespace kvcap {
namespace {

constexpr const char* kCost = "cost.usd_per_million_output_tokens";
constexpr const char* kBringBack = "mean_service_ttft_with_history_ms";
constexpr double kNearLimit = 0.5;     // a resource below this busy share is not a bottleneck
constexpr double kNoticeable = 0.005;  // relative; smaller differences are called equal

// Parts of the TTFT, as ttft_breakdown_ms names them, and what happens in them; batching is taken from
// prefill.
struct Part {
  const char* name;
  const char* doing;
};
constexpr Part kTtftParts[] = {{"retries", "giving up and asking again"},
                               {"api", "in the API server"},
                               {"queue", "queueing"},
                               {"lookup", "looking up"},
                               {"load", "loading"},
                               {"restore_compute", "projecting or recomputing"},
                               {"prefill", "prefilling"},
                               {"batching", "sharing steps with others"},
                               {"decode_queue", "waiting for a decode node"},
                               {"transfer", "moving KV"},
                               {"first_step", "waiting for the first decode step"}};

double metric(const Setting& setting, std::string_view name) { return setting.result->number(name); }
bool is_ideal(const Setting& setting) { return setting.result->policy == "ideal"; }
bool is_saturated(const Setting& setting) { return metric(setting, "stable") == 0; }
bool is_undecided(const Setting& setting) { return setting.result->text("stable.verdict") == "undecided"; }

// True for parts that exist only if the API server takes time, or if nodes that prefill hand prompts to
// others.
bool may_be_absent(std::string_view part) {
  return part == "api" || part == "decode_queue" || part == "transfer" || part == "first_step";
}

double part_ms(const Setting& setting, const Part& part) {
  const std::string_view name = part.name;
  const double batching_ms = metric(setting, "mean_batching_ms");
  const double known_ms = std::isnan(batching_ms) ? 0 : batching_ms;
  if (name == "batching") return known_ms;
  const double ms = metric(setting, std::string("ttft_breakdown_ms.") + part.name);
  if (std::isnan(ms) && may_be_absent(name)) return 0;
  return name == "prefill" ? ms - known_ms : ms;
}

// Returns the noticeable parts of `whole_ms`, largest first: "20.0 ms loading, 6.10 ms projecting or
// recomputing".
std::string parts_text(std::vector<std::pair<double, const char*>> parts, double whole_ms,
                       const char* positive = " ") {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  std::vector<std::string> items;
  for (const auto& [ms, doing] : parts)
    if (std::abs(ms) > kNoticeable * std::abs(whole_ms))
      items.push_back(format_number(std::abs(ms)) + (ms < 0 ? " less " : positive) + doing);
  return joined(items);
}

std::string bound_text(const Setting& setting) {
  std::string_view resource;
  for (const Metric& one : setting.result->metrics)
    if (const auto* text = std::get_if<std::string>(&one.value); text && one.name == "bound_by")
      resource = *text;
  for (const ResourceRow& one : kResources) {
    if (one.name != resource) continue;
    const double busy = metric(setting, "utilization." + std::string(resource));
    const std::string words(one.words);
    if (busy < kNearLimit)
      return "No resource of " + setting.label + " is near its limit; the busiest is " + words + " (" +
             format_percent(busy) + " of the time).";
    return setting.label + " is bound by " + words + " (busy " + format_percent(busy) + " of the time).";
  }
  return "";
}

std::optional<Setting> find_ideal(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings)
    if (is_ideal(setting)) return setting;
  return std::nullopt;
}

// Returns the mean time from admission to first token of turns with history, less that of the setting `ideal`
// if given: the time to restore a context, by loading or by computing.
double bring_back_ms(const Setting& setting, const std::optional<Setting>& ideal) {
  return metric(setting, kBringBack) - (ideal ? metric(*ideal, kBringBack) : 0);
}

// Returns the setting with the least value; none if all are NaN.
template <typename Value>
std::optional<Setting> least(const std::vector<Setting>& settings, Value value) {
  std::optional<Setting> best;
  for (const Setting& setting : settings)
    if (!std::isnan(value(setting)) && (!best || value(setting) < value(*best))) best = setting;
  return best;
}

// Whether chance alone may make the difference of two settings in one metric: its interval holds 0.
bool is_not_significant(const Difference& difference) {
  return std::abs(difference.difference) <= difference.half_width;
}

std::string doubt(const std::vector<Difference>& differences, const Setting& one, const Setting& other,
                  std::string_view metric) {
  for (const Difference& difference : differences) {
    const bool is_theirs = (difference.setting == one.label && difference.against == other.label) ||
                           (difference.setting == other.label && difference.against == one.label);
    if (is_theirs && difference.metric == metric && is_not_significant(difference))
      return " (not significant)";
  }
  return "";
}

std::string fastest_text(const Setting& winner, const std::vector<Setting>& others,
                         const std::optional<Setting>& ideal, const std::vector<Difference>& differences) {
  const double least_ms = bring_back_ms(winner, ideal);
  std::vector<std::string> factors;
  for (const Setting& other : others) {
    const double factor = bring_back_ms(other, ideal) / least_ms;
    if (other.label == winner.label || !std::isfinite(factor) || least_ms <= 0) continue;
    factors.push_back(factor < 1 + kNoticeable ? "as fast as " + other.label
                                               : format_number(factor) + "x faster than " + other.label +
                                                     doubt(differences, winner, other, kBringBack));
  }
  std::string text = winner.label;
  text += ideal ? " restores a context fastest (" : " serves turns with history fastest (";
  text +=
      format_number(std::max(least_ms, 0.0)) + (ideal ? " ms per turn" : " ms from admission to first token");
  text += factors.empty() ? ")." : "): " + listed(factors) + ".";
  return text;
}

std::string storage_text(const Setting& winner, const std::vector<Setting>& others) {
  const double bytes = metric(winner, "stored_bytes_per_token");
  if (!(bytes > 0)) return winner.label + " stores nothing.";
  std::vector<std::string> comparisons, alike;
  for (const Setting& other : others) {
    const double other_bytes = metric(other, "stored_bytes_per_token");
    if (other.label == winner.label || !(other_bytes > 0)) continue;
    const double change = bytes / other_bytes - 1;
    if (std::abs(change) < kNoticeable) {
      alike.push_back(other.label);
    } else {
      comparisons.push_back(format_number(100 * std::abs(change)) + (change < 0 ? " % fewer" : " % more") +
                            " bytes than " + other.label);
    }
  }
  if (!alike.empty()) comparisons.push_back("as many bytes as " + listed(alike));
  return comparisons.empty() ? "" : "It stores " + listed(comparisons) + ".";
}

// Returns the parts of one - other: "10.0 more queueing, 3.00 less loading", or without the "more".
std::string parts_between(const Setting& one, const Setting& other, double difference_ms,
                          const char* positive) {
  std::vector<std::pair<double, const char*>> parts;
  for (const Part& part : kTtftParts)
    parts.emplace_back(part_ms(one, part) - part_ms(other, part), part.doing);
  return parts_text(parts, difference_ms, positive);
}

std::string loss_text(const Setting& setting, const Setting& ideal) {
  const double loss_ms = metric(setting, "mean_ttft_ms") - metric(ideal, "mean_ttft_ms");
  if (!(loss_ms > kNoticeable * metric(ideal, "mean_ttft_ms")))
    return setting.label + " loses nothing against " + ideal.label + " in mean TTFT.";
  return "Against " + ideal.label + " " + setting.label + " loses " + format_number(loss_ms) +
         " ms of mean TTFT: " + parts_between(setting, ideal, loss_ms, " ") + ".";
}

// Returns the winner's gain over the next fastest setting, part by part.
std::string gain_text(const Setting& winner, const std::vector<Setting>& others,
                      const std::vector<Difference>& differences) {
  const auto ttft_ms = [](const Setting& setting) { return metric(setting, "mean_ttft_ms"); };
  std::vector<Setting> rest;
  for (const Setting& other : others)
    if (other.label != winner.label && !is_ideal(other) && !is_saturated(other)) rest.push_back(other);
  const std::optional<Setting> second = least(rest, ttft_ms);
  if (!second || is_ideal(winner)) return "";
  const double gain_ms = ttft_ms(*second) - ttft_ms(winner);
  if (!(gain_ms > kNoticeable * ttft_ms(winner))) return "";
  return "Over " + second->label + " it gains " + format_number(gain_ms) + " ms of mean TTFT" +
         doubt(differences, winner, *second, "mean_ttft_ms") + ": " +
         parts_between(winner, *second, gain_ms, " more ") + ".";
}

// Returns the differences in one metric of every setting against the first; `only_intervals`: only those with
// an interval.
std::vector<std::string> difference_texts(const std::vector<Setting>& settings,
                                          const std::vector<Difference>& differences, std::string_view metric,
                                          bool only_intervals) {
  std::vector<std::string> items;
  for (const Setting& setting : settings) {
    for (const Difference& difference : differences) {
      if (difference.metric != metric || difference.setting != setting.label ||
          difference.against != settings[0].label)
        continue;
      if (only_intervals && std::isnan(difference.half_width)) continue;
      items.push_back(difference.setting + " " +
                      difference_text(difference.difference, difference.half_width, "ms"));
    }
  }
  return items;
}

// Returns the differences in p99 TTFT if replications give them intervals; one run gives intervals of means
// only.
std::string tail_text(const std::vector<Setting>& settings, const std::vector<Difference>& differences) {
  const std::string against = " against " + settings[0].label;
  const auto tails = difference_texts(settings, differences, "p99_ttft_ms", true);
  if (!tails.empty()) return "p99 TTFT" + against + ": " + listed(tails) + ".";
  const auto means = difference_texts(settings, differences, "mean_ttft_ms", true);
  if (!means.empty()) return "Mean TTFT" + against + ", by batches of one run: " + listed(means) + ".";
  const auto items = difference_texts(settings, differences, "p99_ttft_ms", false);
  if (items.empty()) return "";
  return "p99 TTFT" + against + ": " + listed(items) + "; one run, so chance is not excluded.";
}

std::string cheapest_text(const Setting& cheapest, const std::vector<Setting>& others,
                          const std::vector<Difference>& differences) {
  const double cost = metric(cheapest, kCost);
  const std::string price = format_number(cost) + " $ per million output tokens";
  std::vector<std::string> comparisons;
  bool all_alike = true;
  for (const Setting& other : others) {
    const double other_cost = metric(other, kCost);
    if (other.label == cheapest.label || !(other_cost > 0)) continue;
    const double saving = 1 - cost / other_cost;
    all_alike = all_alike && saving < kNoticeable;
    comparisons.push_back(saving < kNoticeable ? "the same as " + other.label
                                               : format_number(100 * saving) + " % less than " + other.label +
                                                     doubt(differences, cheapest, other, kCost));
  }
  if (all_alike && !comparisons.empty()) return "All cost the same: " + price + ".";
  return cheapest.label + " is cheapest: " + price +
         (comparisons.empty() ? "." : ", " + listed(comparisons) + ".");
}

// Returns the cost of storage per GPU-hour saved, next to the price of a GPU-hour.
std::string storing_text(const Setting& setting) {
  const double storing_usd = metric(setting, "cost.usd_per_saved_gpu_hour");
  const double computing_usd = metric(setting, "cost.usd_per_gpu_hour");
  if (!(storing_usd > 0) || !(computing_usd > 0)) return "";
  return "Every GPU-hour that " + setting.label + " saves costs " + format_number(storing_usd) +
         " $ of storage; a GPU-hour costs " + format_number(computing_usd) + " $.";
}

// Share of turns; 0 for results without this metric.
double share_of(const Setting& setting, std::string_view what) {
  const double share = metric(setting, std::string(what) + "_share");
  return std::isnan(share) ? 0 : share;
}
double unanswered_share(const Setting& setting) {
  return share_of(setting, "rejected") + share_of(setting, "failed");
}

// Returns the settings with the least share of unanswered turns, or at most 0.1 % more, because a setting
// that answers few turns answers them fast.
std::vector<Setting> without_unanswered(std::vector<Setting> settings) {
  constexpr double kFew = 0.001;
  double least = 1;
  for (const Setting& setting : settings) least = std::min(least, unanswered_share(setting));
  std::erase_if(settings, [&](const Setting& one) { return unanswered_share(one) > least + kFew; });
  return settings;
}

void add(std::vector<std::string>& paragraphs, std::initializer_list<std::string> texts) {
  std::string paragraph;
  for (const std::string& text : texts)
    if (!text.empty()) paragraph += (paragraph.empty() ? "" : " ") + text;
  if (!paragraph.empty()) paragraphs.push_back(paragraph);
}

void compare(const std::vector<Setting>& settings, const std::vector<Difference>& differences,
             std::vector<std::string>& paragraphs) {
  const std::optional<Setting> ideal = find_ideal(settings);
  std::vector<Setting> real, affordable;  // excludes settings that cannot serve the rate
  for (const Setting& setting : settings)
    if (!setting.result->is_bound) real.push_back(setting);
  real = without_unanswered(std::move(real));
  for (const Setting& setting : real)
    if (!is_saturated(setting) && metric(setting, kCost) > 0) affordable.push_back(setting);
  const auto fastest = least(real, [&](const Setting& s) { return bring_back_ms(s, ideal); });
  const auto cheapest = least(affordable, [&](const Setting& s) { return metric(s, kCost); });
  if (fastest) {
    const bool is_alone = real.size() == 1;
    add(paragraphs, {is_alone ? "" : fastest_text(*fastest, real, ideal, differences),
                     is_alone ? "" : storage_text(*fastest, real)});
    add(paragraphs, {bound_text(*fastest), ideal ? loss_text(*fastest, *ideal) : "",
                     gain_text(*fastest, real, differences)});
  }
  add(paragraphs, {tail_text(settings, differences)});
  if (cheapest && affordable.size() > 1) {
    // Explains the higher cost of the fastest setting by its storage, else the bottleneck of the cheapest
    // one.
    std::string reason = storing_text(fastest.value_or(*cheapest));
    if (reason.empty() && fastest && cheapest->label != fastest->label) reason = bound_text(*cheapest);
    add(paragraphs, {cheapest_text(*cheapest, affordable, differences), reason});
  }
}

std::string hits_text(const Setting& setting) {
  return "Of every 100 prompt tokens (history and new) " +
         format_number(100 * metric(setting, "token_hit_rate")) + " came from stored state; " +
         format_percent(metric(setting, "request_hit_rate")) + " of the turns reused some.";
}

std::string breakdown_text(const Setting& setting) {
  const double ttft_ms = metric(setting, "mean_ttft_ms");
  std::vector<std::pair<double, const char*>> parts;
  for (const Part& part : kTtftParts) parts.emplace_back(part_ms(setting, part), part.doing);
  const std::string shares = parts_text(parts, ttft_ms);
  return shares.empty() ? "" : "Mean TTFT of " + format_number(ttft_ms) + " ms: " + shares + ".";
}

void describe_one(const Setting& setting, std::vector<std::string>& paragraphs) {
  add(paragraphs, {hits_text(setting), bound_text(setting), storing_text(setting)});
  add(paragraphs, {breakdown_text(setting)});
}

// Returns the peaks of the bytes stored: "12 GB in dram and 1.2 TB in ssd".
std::string most_stored_text(const RunResult& result) {
  std::vector<std::string> parts;
  for (Tier tier : kHostTiers) {
    if (!(result.number("billed_bytes." + std::string(name(tier))) > 0)) continue;
    const double bytes = result.number("peak_stored_bytes." + std::string(name(tier)));
    parts.push_back(
        (bytes >= 1e12 ? format_number(bytes / 1e12) + " TB in " : format_number(bytes / 1e9) + " GB in ") +
        std::string(name(tier)));
  }
  return listed(parts);
}

// Returns the bills of storage whose size was not set, each with the peak of the bytes stored.
std::vector<std::string> unsized_texts(const std::vector<Setting>& settings) {
  std::vector<std::string> texts;
  for (const Setting& setting : settings) {
    if (setting.result->is_bound) continue;
    std::string bills;
    for (const std::string& note : setting.result->notes) {
      if (note.starts_with(kBillsAll)) bills += (bills.empty() ? " " : "; ") + note;
    }
    if (bills.empty()) continue;
    texts.push_back(setting.label + bills + ". It stored at most " + most_stored_text(*setting.result) + ".");
  }
  return texts;
}

bool clients_leave(const Setting& setting) {
  return setting.result->text("stable.reason").starts_with(kClientsGiveUp);
}

std::string overload_text(const std::vector<Setting>& settings) {
  std::vector<std::string> overloaded, left, open;
  for (const Setting& setting : settings) {
    if (is_saturated(setting)) (clients_leave(setting) ? left : overloaded).push_back(setting.label);
    if (is_undecided(setting) && !setting.result->is_bound) open.push_back(setting.label);
  }
  std::string text;
  if (!overloaded.empty()) {
    text = "Warning: this machine cannot serve this rate with " + listed(overloaded, " or ") +
           ": the requests inside grow throughout.";
  }
  if (!left.empty()) {
    text += std::string(text.empty() ? "" : " ") + "Warning: this machine cannot serve this rate with " +
            listed(left, " or ") + ": clients give up.";
  }
  if (!open.empty()) {
    text += std::string(text.empty() ? "" : " ") +
            "This run is too short to tell whether the machine serves this rate with " +
            listed(open, " or ") +
            " in the long run: let it be longer (workload.run_length steady, or a longer trace).";
  }
  return text;
}

std::string unanswered_text(const std::vector<Setting>& settings) {
  std::vector<std::string> items;
  for (const Setting& setting : settings) {
    for (const auto& [what, does] : {std::pair("rejected", " rejects "), std::pair("failed", " fails ")}) {
      const double share = share_of(setting, what);
      if (share > 0) items.push_back(setting.label + does + format_percent(share));
    }
  }
  if (items.empty()) return "";
  return "Warning: " + listed(items) + " of the turns; latencies are those of the others.";
}

// Phrases of the notes that belong next to the answer: how GPUs without NVLink communicate
// (cost/peer_collectives.h), the acceptance of drafts (scenario/checks/speculative.cpp), and defaults that
// moved since the scenario was written (scenario/moved_defaults.h).
constexpr std::string_view kAssumptions[] = {"set hardware.peer to", " is assumed, the low end of",
                                             "default moved since kvcap ",
                                             "the scenario was written by kvcap "};

// Returns each assumption once.
std::vector<std::string> assumed_texts(const std::vector<Setting>& settings) {
  std::vector<std::string> texts;
  for (const Setting& setting : settings) {
    for (std::string& text : assumptions(setting.result->notes))
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts;
}

// Returns the settings that can be built, without saturated ones unless all are saturated, and without those
// that leave more turns unanswered.
std::vector<Setting> eligible(const std::vector<Setting>& settings) {
  std::vector<Setting> real, stable;
  for (const Setting& setting : settings) {
    if (setting.result->is_bound) continue;
    real.push_back(setting);
    if (!is_saturated(setting)) stable.push_back(setting);
  }
  return without_unanswered(stable.empty() ? real : stable);
}

double half_width(const Setting& setting, std::string_view metric) {
  for (const Interval& interval : setting.result->intervals)
    if (interval.name == metric) return interval.half_width;
  return std::numeric_limits<double>::quiet_NaN();
}

// Returns one - other: the paired difference if the two were compared, else with an interval as if their runs
// were independent.
Difference difference_of(const Setting& one, const Setting& other, const std::string& name,
                         const std::vector<Difference>& differences) {
  Difference found{one.label, other.label, name, metric(one, name) - metric(other, name),
                   std::hypot(half_width(one, name), half_width(other, name))};
  for (const Difference& paired : differences) {
    if (paired.metric != name) continue;
    if (paired.setting == one.label && paired.against == other.label) return paired;
    if (paired.setting == other.label && paired.against == one.label) {
      found.difference = -paired.difference;
      found.half_width = paired.half_width;
    }
  }
  return found;
}

// Groups settings by the text of `value`: "0 with recompute; 95.5 with kv_offload and hcache".
template <typename Value>
std::string grouped(const std::vector<Setting>& settings, Value value) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const Setting& setting : settings) {
    const std::string text = value(setting);
    const auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == text; });
    if (group == groups.end()) {
      groups.push_back({text, {setting.label}});
    } else {
      group->second.push_back(setting.label);
    }
  }
  std::vector<std::string> items;
  items.reserve(groups.size());
  for (const auto& [text, labels] : groups) items.push_back(text + " with " + listed(labels));
  return joined(items);
}

std::string wear_text(const Setting& setting) {
  const double years = metric(setting, "ssd_writes.lifetime_years");
  if (!(years > 0)) return "";
  const double usd_per_hour = 3600 * metric(setting, "cost.ssd_wear_usd") / metric(setting, "duration");
  return setting.label + " uses up the rated writes of the SSDs in " + format_number(years) + " years" +
         (usd_per_hour > 0 ? ": " + format_number(usd_per_hour) + " $ of them an hour." : ".");
}

}  // namespace

std::string difference_text(double difference, double half_width, std::string_view unit) {
  const double size = std::abs(difference);
  // Smaller differences are rounding errors.
  constexpr double kNothing = 1e-9;
  if (size < kNothing && !(half_width >= kNothing)) return "no different";
  std::string text = format_interval(size, half_width);
  if (!unit.empty()) text += " " + std::string(unit);
  text += difference < 0 ? " lower" : " higher";
  return size <= half_width ? text + " (not significant)" : text;
}

std::string headline(const std::vector<Setting>& settings, const std::vector<Difference>& differences) {
  const std::string name = "p99_ttft_ms";
  const auto p99_ms = [&](const Setting& setting) { return metric(setting, name); };
  std::vector<Setting> others = eligible(settings);
  const auto winner = least(others, p99_ms);
  if (!winner) return "";
  std::erase_if(others, [&](const Setting& setting) { return setting.label == winner->label; });
  const auto rival = least(others, p99_ms);
  if (!rival) return "";
  const Difference difference = difference_of(*winner, *rival, name, differences);
  const double ratio = p99_ms(*winner) / p99_ms(*rival);
  const bool is_clear =
      !(std::abs(difference.difference) <= difference.half_width) && ratio < 1 - kNoticeable;
  const std::string numbers =
      " (" + format_number(p99_ms(*winner)) + " against " + format_number(p99_ms(*rival)) + " ms" +
      (std::isnan(difference.half_width)
           ? "; one run, so chance is not excluded)"
           : ", " + format_interval(std::abs(difference.difference), difference.half_width) +
                 (difference.difference < 0 ? " ms lower)" : " ms higher)"));
  const double bytes = metric(*winner, "stored_bytes_per_token");
  const double saved = 1 - bytes / metric(*rival, "stored_bytes_per_token");
  const std::string storage = !(bytes > 0)            ? "stores nothing"
                              : !std::isfinite(saved) ? ""
                              : std::abs(saved) < kNoticeable
                                  ? "stores as many bytes"
                                  : "stores " + format_number(100 * std::abs(saved)) +
                                        (saved > 0 ? " % fewer bytes" : " % more bytes");
  if (!is_clear) {
    return "These runs do not show whether " + winner->label + " or " + rival->label +
           " has the lower p99 TTFT" + numbers +
           (storage.empty() ? "." : "; " + winner->label + " " + storage + ".");
  }
  const std::string change = std::abs(ratio - 0.5) < 0.02
                                 ? " halves p99 TTFT against "
                                 : " lowers p99 TTFT by " + format_percent(1 - ratio) + " against ";
  return winner->label + change + rival->label + numbers + (storage.empty() ? "." : " and " + storage + ".");
}

std::vector<std::string> latency_sentences(const std::vector<Setting>& settings,
                                           const std::vector<Difference>& differences) {
  std::vector<std::string> paragraphs;
  add(paragraphs, {headline(settings, differences)});
  const std::optional<Setting> ideal = find_ideal(settings);
  const std::vector<Setting> real = eligible(settings);
  const auto fastest = least(real, [&](const Setting& s) { return bring_back_ms(s, ideal); });
  if (fastest && real.size() > 1) add(paragraphs, {fastest_text(*fastest, real, ideal, differences)});
  if (fastest) add(paragraphs, {ideal ? loss_text(*fastest, *ideal) : breakdown_text(*fastest)});
  add(paragraphs, {tail_text(settings, differences)});
  return paragraphs;
}

std::vector<std::string> cache_sentences(const std::vector<Setting>& settings) {
  std::vector<std::string> paragraphs;
  if (settings.size() == 1) add(paragraphs, {hits_text(settings[0])});
  if (settings.size() > 1) {
    add(paragraphs, {"What came from stored state of every 100 prompt tokens (history and new): " +
                     grouped(settings,
                             [](const Setting& setting) {
                               return format_number(100 * metric(setting, "token_hit_rate"));
                             }) +
                     "."});
  }
  std::vector<Setting> storing;
  for (const Setting& setting : settings)
    if (!setting.result->is_bound && metric(setting, "stored_bytes_per_token") > 0)
      storing.push_back(setting);
  const auto smallest = least(storing, [](const Setting& s) { return metric(s, "stored_bytes_per_token"); });
  if (smallest) {
    const std::string kib = format_number(metric(*smallest, "stored_bytes_per_token") / 1024);
    add(paragraphs,
        {smallest->label + " stores " + kib + " KiB per token" + (storing.size() > 1 ? ", the least." : "."),
         storing.size() > 1 ? storage_text(*smallest, storing) : ""});
  }
  return paragraphs;
}

std::vector<std::string> resource_sentences(const std::vector<Setting>& settings) {
  std::vector<std::string> paragraphs;
  for (const Setting& setting : settings) {
    if (setting.result->is_bound && settings.size() > 1) continue;
    add(paragraphs, {bound_text(setting), wear_text(setting)});
  }
  add(paragraphs, {overload_text(settings), unanswered_text(settings)});
  return paragraphs;
}

std::vector<std::string> assumptions(const std::vector<std::string>& notes) {
  std::vector<std::string> texts;
  for (const std::string& note : notes) {
    const auto says = [&note](std::string_view what) { return note.find(what) != std::string::npos; };
    if (std::any_of(std::begin(kAssumptions), std::end(kAssumptions), says)) texts.push_back(note + ".");
  }
  return texts;
}

std::vector<std::string> sentences(const std::vector<Setting>& settings,
                                   const std::vector<Difference>& differences) {
  std::vector<std::string> paragraphs;
  if (settings.size() == 1) describe_one(settings[0], paragraphs);
  if (settings.size() > 1) compare(settings, differences, paragraphs);
  for (std::string& text : unsized_texts(settings)) paragraphs.push_back(std::move(text));
  add(paragraphs, {overload_text(settings), unanswered_text(settings)});
  for (std::string& text : assumed_texts(settings)) paragraphs.push_back(std::move(text));
  return paragraphs;
}

}  // namespace kvcap
