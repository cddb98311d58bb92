#include "metrics/sentences.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/resource.h"
#include "metrics/format.h"

namespace kvcap {
namespace {

constexpr const char* kCost = "cost.usd_per_million_output_tokens";
constexpr const char* kBringBack = "mean_service_ttft_with_history_ms";
constexpr double kNearLimit = 0.5;     // below this share busy, a resource binds nothing
constexpr double kNoticeable = 0.005;  // relative; less is called equal

constexpr std::array<std::string_view, kResourceCount> kResourceWords = {
    "the GPU", "the PCIe link to the GPU", "the PCIe link from the GPU", "NVLink",
    "DRAM",    "reads from the SSDs",      "writes to the SSDs",         "the remote store"};

// Parts of the TTFT, as ttft_breakdown_ms names them, and what happens in them.
struct Part {
  const char* name;
  const char* doing;
};
constexpr Part kParts[] = {{"queue", "queueing"},
                           {"lookup", "looking up"},
                           {"load", "loading"},
                           {"restore_compute", "projecting or recomputing"},
                           {"prefill", "prefilling"}};

double metric(const Setting& setting, std::string_view name) { return setting.result->number(name); }
bool is_ideal(const Setting& setting) { return setting.result->policy == "ideal"; }
bool is_stable(const Setting& setting) { return metric(setting, "stable") != 0; }

double part_ms(const Setting& setting, const Part& part) {
  return metric(setting, std::string("ttft_breakdown_ms.") + part.name);
}

std::string joined(const std::vector<std::string>& items, const std::string& last = " and ") {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? last : ", ") + items[i];
  return text;
}

// "20.0 ms loading, 6.10 ms projecting or recomputing": the noticeable parts of `whole_ms`, largest first.
std::string parts_text(std::vector<std::pair<double, const char*>> parts, double whole_ms) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  std::vector<std::string> items;
  for (const auto& [ms, doing] : parts)
    if (std::abs(ms) > kNoticeable * std::abs(whole_ms))
      items.push_back(format_number(std::abs(ms)) + (ms < 0 ? " less " : " ") + doing);
  return joined(items, ", ");
}

std::string bound_text(const Setting& setting) {
  std::string_view resource;
  if (const auto name = std::find_if(setting.result->metrics.begin(), setting.result->metrics.end(),
                                     [](const Metric& m) { return m.name == "bound_by"; });
      name != setting.result->metrics.end())
    resource = std::get<std::string>(name->value);
  for (std::size_t i = 0; i < kResourceCount; ++i) {
    if (kResourceNames[i] != resource) continue;
    const double busy = metric(setting, "utilization." + std::string(resource));
    const std::string words(kResourceWords[i]);
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

// With ideal at hand, the time by which turns with history are served later than ideal serves them: what
// it costs to bring a context back, whether by loading or by computing. Without it, the whole service time.
double bring_back_ms(const Setting& setting, const std::optional<Setting>& ideal) {
  return metric(setting, kBringBack) - (ideal ? metric(*ideal, kBringBack) : 0);
}

// The setting with the least value, if any has one.
template <typename Value>
std::optional<Setting> least(const std::vector<Setting>& settings, Value value) {
  std::optional<Setting> best;
  for (const Setting& setting : settings)
    if (!std::isnan(value(setting)) && (!best || value(setting) < value(*best))) best = setting;
  return best;
}

// Whether chance alone may make the difference of two settings in one metric: its interval holds 0.
bool cannot_tell(const Difference& difference) {
  return std::abs(difference.difference) <= difference.half_width;
}

std::string doubt(const std::vector<Difference>& differences, const Setting& one, const Setting& other,
                  std::string_view metric) {
  for (const Difference& difference : differences) {
    const bool is_theirs = (difference.setting == one.label && difference.against == other.label) ||
                           (difference.setting == other.label && difference.against == one.label);
    if (is_theirs && difference.metric == metric && cannot_tell(difference)) return " (cannot tell)";
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
  text += ideal ? " brings a context back fastest (" : " serves turns with history fastest (";
  text +=
      format_number(std::max(least_ms, 0.0)) + (ideal ? " ms a turn" : " ms from admission to first token");
  text += factors.empty() ? ")." : "): " + joined(factors) + ".";
  return text;
}

std::string storage_text(const Setting& winner, const std::vector<Setting>& others) {
  const double bytes = metric(winner, "stored_bytes_per_token");
  if (!(bytes > 0)) return winner.label + " stores nothing.";
  std::vector<std::string> comparisons;
  for (const Setting& other : others) {
    const double other_bytes = metric(other, "stored_bytes_per_token");
    if (other.label == winner.label || !(other_bytes > 0)) continue;
    const double change = bytes / other_bytes - 1;
    comparisons.push_back(std::abs(change) < kNoticeable
                              ? "as many bytes as " + other.label
                              : format_number(100 * std::abs(change)) +
                                    (change < 0 ? " % fewer" : " % more") + " bytes than " + other.label);
  }
  return comparisons.empty() ? "" : "It stores " + joined(comparisons) + ".";
}

std::string loss_text(const Setting& setting, const Setting& ideal) {
  const double loss_ms = metric(setting, "mean_ttft_ms") - metric(ideal, "mean_ttft_ms");
  if (!(loss_ms > kNoticeable * metric(ideal, "mean_ttft_ms")))
    return setting.label + " loses nothing against " + ideal.label + " in mean TTFT.";
  std::vector<std::pair<double, const char*>> parts;
  for (const Part& part : kParts)
    parts.emplace_back(part_ms(setting, part) - part_ms(ideal, part), part.doing);
  return "Against " + ideal.label + " " + setting.label + " loses " + format_number(loss_ms) +
         " ms of mean TTFT: " + parts_text(parts, loss_ms) + ".";
}

std::string difference_text(const Difference& difference) {
  const double size = std::abs(difference.difference);
  const char* direction = difference.difference < 0 ? " ms lower" : " ms higher";
  std::string text = difference.setting + " " + format_interval(size, difference.half_width) + direction;
  if (cannot_tell(difference)) text += " (cannot tell)";
  return text;
}

// The differences in one metric of every setting against the first, or only those with an interval.
std::vector<std::string> difference_texts(const std::vector<Setting>& settings,
                                          const std::vector<Difference>& differences, std::string_view metric,
                                          bool only_intervals) {
  std::vector<std::string> items;
  for (const Setting& setting : settings) {
    for (const Difference& difference : differences) {
      if (difference.metric != metric || difference.setting != setting.label ||
          difference.against != settings[0].label)
        continue;
      if (!only_intervals || !std::isnan(difference.half_width)) items.push_back(difference_text(difference));
    }
  }
  return items;
}

// The tail where replications say how far chance moves it; one run says so of the mean at most.
std::string tail_text(const std::vector<Setting>& settings, const std::vector<Difference>& differences) {
  const std::string against = " against " + settings[0].label;
  const auto tails = difference_texts(settings, differences, "p99_ttft_ms", true);
  if (!tails.empty()) return "p99 TTFT" + against + ": " + joined(tails) + ".";
  const auto means = difference_texts(settings, differences, "mean_ttft_ms", true);
  if (!means.empty()) return "Mean TTFT" + against + ", by batches of one run: " + joined(means) + ".";
  const auto items = difference_texts(settings, differences, "p99_ttft_ms", false);
  if (items.empty()) return "";
  return "p99 TTFT" + against + ": " + joined(items) + "; one run, so chance is not excluded.";
}

std::string cheapest_text(const Setting& cheapest, const std::vector<Setting>& others,
                          const std::vector<Difference>& differences) {
  const double cost = metric(cheapest, kCost);
  std::vector<std::string> comparisons;
  for (const Setting& other : others) {
    const double other_cost = metric(other, kCost);
    if (other.label == cheapest.label || !(other_cost > 0)) continue;
    const double saving = 1 - cost / other_cost;
    comparisons.push_back(saving < kNoticeable ? "the same as " + other.label
                                               : format_number(100 * saving) + " % less than " + other.label +
                                                     doubt(differences, cheapest, other, kCost));
  }
  return cheapest.label + " is cheapest: " + format_number(cost) + " $ per million output tokens" +
         (comparisons.empty() ? "." : ", " + joined(comparisons) + ".");
}

// Whether storing pays: what it costs beside what the GPU time that it saves would cost.
std::string storing_text(const Setting& setting) {
  const double storing_usd = metric(setting, "cost.usd_per_saved_gpu_hour");
  const double computing_usd = metric(setting, "cost.usd_per_gpu_hour");
  if (!(storing_usd > 0) || !(computing_usd > 0)) return "";
  return "Every GPU-hour that " + setting.label + " saves costs " + format_number(storing_usd) +
         " $ of storage; a GPU-hour costs " + format_number(computing_usd) + " $.";
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
  std::vector<Setting> real, affordable;  // what cannot serve the rate is no bargain
  for (const Setting& setting : settings) {
    if (setting.result->is_bound) continue;
    real.push_back(setting);
    if (is_stable(setting) && metric(setting, kCost) > 0) affordable.push_back(setting);
  }
  const auto fastest = least(real, [&](const Setting& s) { return bring_back_ms(s, ideal); });
  const auto cheapest = least(affordable, [&](const Setting& s) { return metric(s, kCost); });
  if (fastest) {
    const bool is_alone = real.size() == 1;
    add(paragraphs, {is_alone ? "" : fastest_text(*fastest, real, ideal, differences),
                     is_alone ? "" : storage_text(*fastest, real)});
    add(paragraphs, {bound_text(*fastest), ideal ? loss_text(*fastest, *ideal) : ""});
  }
  add(paragraphs, {tail_text(settings, differences)});
  if (cheapest && affordable.size() > 1) {
    // Why the fastest costs more, where its storage says it; else what the cheapest lacks.
    std::string reason = storing_text(fastest.value_or(*cheapest));
    if (reason.empty() && fastest && cheapest->label != fastest->label) reason = bound_text(*cheapest);
    add(paragraphs, {cheapest_text(*cheapest, affordable, differences), reason});
  }
}

void describe_one(const Setting& setting, std::vector<std::string>& paragraphs) {
  const double ttft_ms = metric(setting, "mean_ttft_ms");
  std::vector<std::pair<double, const char*>> parts;
  for (const Part& part : kParts) parts.emplace_back(part_ms(setting, part), part.doing);
  const std::string shares = parts_text(parts, ttft_ms);
  add(paragraphs, {"Of every 100 prompt tokens (history and new) " +
                       format_number(100 * metric(setting, "token_hit_rate")) + " came from stored state; " +
                       format_percent(metric(setting, "request_hit_rate")) + " of the turns reused some.",
                   bound_text(setting), storing_text(setting)});
  if (!shares.empty()) add(paragraphs, {"Mean TTFT of " + format_number(ttft_ms) + " ms: " + shares + "."});
}

}  // namespace

std::vector<std::string> sentences(const std::vector<Setting>& settings,
                                   const std::vector<Difference>& differences) {
  std::vector<std::string> paragraphs;
  if (settings.size() == 1) describe_one(settings[0], paragraphs);
  if (settings.size() > 1) compare(settings, differences, paragraphs);
  std::vector<std::string> overloaded;
  for (const Setting& setting : settings)
    if (!is_stable(setting)) overloaded.push_back(setting.label);
  if (!overloaded.empty())
    paragraphs.push_back("Warning: this machine cannot serve this rate with " + joined(overloaded, " or ") +
                         ": the queue grew throughout.");
  return paragraphs;
}

}  // namespace kvcap
