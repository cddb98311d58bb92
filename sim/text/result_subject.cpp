// The conditions and places of the sentences on results (result_rows.h).
#include <algorithm>
#include <cmath>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "metrics/statistics/stability.h"
#include "text/result_rows.h"
#include "text/result_sentences.h"

namespace kvcap {
namespace {

// Returns `rows` for each other eligible setting for which `is_meant` holds.
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
bool has_cost(const ResultSubject& s) { return !s.other->is_saturated() && s.other->number(kOutputCost) > 0; }

// Returns the labels of the settings for which `is` holds.
template <typename Is>
std::string labels_of(const Comparison& all, Is is) {
  std::vector<std::string> labels;
  for (const Setting& setting : all.settings())
    if (is(setting)) labels.push_back(setting.label);
  return listed(labels, " or ");
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
bool is_clear(const ResultSubject& s) {
  const Difference tail = tail_difference(s);
  return !(std::abs(tail.difference) <= tail.half_width) && s.ratio(kTail) < 1 - kNoticeableShare;
}

const ResourceRow* bottleneck_of(const ResultSubject& s) {
  const std::string_view name = s.one.result->text("bound_by");
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
  std::vector<std::string> items;
  for (const Setting& setting : s.all.settings()) {
    for (const Difference& one : s.all.differences()) {
      if (one.metric != metric || one.setting != setting.label || one.against != s.one.label) continue;
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
  return labels_of(s.all, [](const Setting& one) {
    return one.result->text("stable.verdict") == "undecided" && !one.result->is_bound;
  });
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

// Groups settings by their hits: "0 with recompute, 95.5 with kv_offload and hcache".
std::string hits_by_setting(const ResultSubject& s) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const Setting& setting : s.all.settings()) {
    const std::string text = format_number(100 * setting.number("token_hit_rate"));
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == text; });
    if (group == groups.end()) group = groups.insert(groups.end(), {text, {}});
    group->second.push_back(setting.label);
  }
  return joined(groups, ", ", [](const auto& one) { return one.first + " with " + listed(one.second); });
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
    {"restore factor", [](const ResultSubject& s) { return format_number(restore_factor(s)); }},
    {"restore doubt", [](const ResultSubject& s) { return s.all.doubt(s.one, *s.other, kHistoryService); }},
    {"resource", [](const ResultSubject& s) { return std::string(bottleneck_of(s)->words); }},
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
    {"years", [](const ResultSubject& s) { return format_number(s.number("ssd_writes.lifetime_years")); }},
    {"wear", [](const ResultSubject& s) { return format_number(wear_usd_per_hour(s)); }},
    {"rejected", [](const ResultSubject& s) { return format_percent(s.one.share("rejected")); }},
    {"failed", [](const ResultSubject& s) { return format_percent(s.one.share("failed")); }},
    {"overloaded", overloaded},
    {"left", left_by_clients},
    {"undecided", undecided},
};
}  // namespace

std::span<const PlaceOfText<ResultSubject>> places_of(const ResultSubject&) { return kPlaces; }

}  // namespace kvcap
