#include "text/comparison.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/text/format.h"
#include "base/text/joined.h"

namespace kvcap {
namespace {

// The parts of the TTFT, with their names in ttft_breakdown_ms and what a request does in each part.
// "batching" is not in ttft_breakdown_ms: it is the part of "prefill" that is due to other requests in the
// same steps.
struct Part {
  std::string_view name;
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

// True for parts that exist only if the API server takes time, or if prefill nodes hand prompts to decode
// nodes.
bool may_be_absent(std::string_view part) {
  return part == "api" || part == "decode_queue" || part == "transfer" || part == "first_step";
}

double part_ms(const Setting& setting, std::string_view part) {
  const double batching_ms = setting.number("mean_batching_ms");
  const double known_ms = std::isnan(batching_ms) ? 0 : batching_ms;
  if (part == "batching") return known_ms;
  const double ms = setting.number("ttft_breakdown_ms." + std::string(part));
  if (std::isnan(ms) && may_be_absent(part)) return 0;
  return part == "prefill" ? ms - known_ms : ms;
}

std::vector<SloTarget> targets_of(const std::vector<Setting>& settings) {
  const RunResult& first = *settings.front().result;
  std::vector<SloTarget> targets;
  for (const SloTarget& one : {SloTarget{"p99_ttft_ms", "p99 TTFT", first.slo_ttft_ms},
                               SloTarget{"p99_tpot_ms", "p99 TPOT", first.slo_tpot_ms}})
    if (one.most_ms >= 0) targets.push_back(one);
  const bool is_shared = std::all_of(settings.begin(), settings.end(), [&](const Setting& other) {
    return other.result->slo_ttft_ms == first.slo_ttft_ms && other.result->slo_tpot_ms == first.slo_tpot_ms &&
           std::none_of(targets.begin(), targets.end(),
                        [&](const SloTarget& one) { return std::isnan(other.number(one.metric)); });
  });
  return is_shared ? targets : std::vector<SloTarget>();
}

template <typename Value>
std::optional<Setting> least_of(const std::vector<Setting>& settings, Value value) {
  std::optional<Setting> best;
  for (const Setting& setting : settings)
    if (!std::isnan(value(setting)) && (!best || value(setting) < value(*best))) best = setting;
  return best;
}

double interval_of(const Setting& setting, std::string_view metric) {
  for (const Interval& interval : setting.result->intervals)
    if (interval.name == metric) return interval.half_width;
  return std::numeric_limits<double>::quiet_NaN();
}

bool is_between(const Difference& difference, const Setting& one, const Setting& other,
                std::string_view metric) {
  return difference.metric == metric && difference.setting == one.label && difference.against == other.label;
}

}  // namespace

bool Setting::is_undecided() const {
  return result->text("stable.verdict") == "undecided" && !result->is_bound;
}

double Setting::share(std::string_view what) const {
  double share = number(std::string(what) + "_share");
  // Abandoned attempts, relative to all turns.
  if (what == "abandoned")
    share = number(what) / (number("completed") + number("rejected") + number("failed"));
  return std::isnan(share) ? 0 : share;
}

Comparison::Comparison(std::vector<Setting> settings, std::vector<Difference> differences)
    : settings_(std::move(settings)), differences_(std::move(differences)) {
  for (const Setting& setting : settings_) {
    if (setting.is_ideal() && !ideal_) ideal_ = setting;
    if (setting.result->is_bound) continue;
    real_.push_back(setting);
    least_truncated_ = std::min(least_truncated_, setting.share("truncated"));
  }
  if (!settings_.empty()) targets_ = targets_of(settings_);
  std::copy_if(real_.begin(), real_.end(), std::back_inserter(eligible_),
               [&](const Setting& one) { return is_eligible_so_far(one) && !one.is_undecided(); });
}

bool Comparison::is_eligible_so_far(const Setting& setting) const {
  return !setting.result->is_bound && !setting.is_saturated() &&
         setting.unanswered_share() <= kFewUnanswered && setting.share("abandoned") < kFewCut &&
         setting.share("truncated") < least_truncated_ + kFewCut;
}

bool Comparison::is_eligible(const Setting& setting) const {
  return std::any_of(eligible_.begin(), eligible_.end(),
                     [&](const Setting& one) { return one.label == setting.label; });
}

std::vector<Setting> Comparison::unsaturated() const {
  std::vector<Setting> all = real_;
  std::erase_if(all, [](const Setting& one) { return one.is_saturated(); });
  return all;
}

SloVerdict Comparison::slo_verdict(const Setting& setting) const {
  SloVerdict verdict = SloVerdict::meets;
  for (const SloTarget& target : targets_) {
    const double value = setting.number(target.metric), half = interval_of(setting, target.metric);
    const double width = std::isnan(half) ? 0 : half;
    if (value - width > target.most_ms) return SloVerdict::misses;
    if (value + width > target.most_ms) verdict = SloVerdict::unclear;
  }
  return verdict;
}

std::optional<Setting> Comparison::least(std::string_view metric, const Setting* but) const {
  std::vector<Setting> rest = eligible_;
  std::erase_if(rest, [&](const Setting& one) { return but && one.label == but->label; });
  return least_of(rest, [&](const Setting& one) { return one.number(metric); });
}

std::optional<Setting> Comparison::fastest() const {
  return least_of(eligible_, [&](const Setting& one) { return restore_ms(one); });
}

std::vector<Setting> Comparison::affordable() const {
  std::vector<Setting> all = eligible_;
  std::erase_if(all, [](const Setting& one) { return !(one.number(kOutputCost) > 0); });
  return all;
}

std::optional<Setting> Comparison::cheapest() const {
  return least_of(affordable(), [](const Setting& one) { return one.number(kOutputCost); });
}

bool Comparison::is_beside_ideal() const {
  return ideal_ && std::none_of(eligible_.begin(), eligible_.end(), [&](const Setting& one) {
           return one.number(kHistoryService) < ideal_->number(kHistoryService);
         });
}

double Comparison::restore_ms(const Setting& setting) const {
  return setting.number(kHistoryService) - (is_beside_ideal() ? ideal_->number(kHistoryService) : 0);
}

Difference Comparison::difference(const Setting& one, const Setting& other, std::string_view metric) const {
  for (const Difference& paired : differences_) {
    if (is_between(paired, one, other, metric)) return paired;
    if (is_between(paired, other, one, metric))
      return {one.label, other.label, paired.metric, -paired.difference, paired.half_width};
  }
  return {one.label, other.label, std::string(metric), one.number(metric) - other.number(metric),
          std::hypot(interval_of(one, metric), interval_of(other, metric))};
}

std::string Comparison::doubt(const Setting& one, const Setting& other, std::string_view metric) const {
  for (const Difference& paired : differences_) {
    if ((is_between(paired, one, other, metric) || is_between(paired, other, one, metric)) &&
        std::abs(paired.difference) <= paired.half_width)
      return " (not significant)";
  }
  return "";
}

std::vector<std::pair<double, const char*>> ttft_parts(const Setting& setting) {
  std::vector<std::pair<double, const char*>> parts;
  for (const Part& part : kTtftParts) parts.emplace_back(part_ms(setting, part.name), part.doing);
  return parts;
}

std::vector<std::pair<double, const char*>> ttft_parts_between(const Setting& one, const Setting& other) {
  std::vector<std::pair<double, const char*>> parts = ttft_parts(one);
  const std::vector<std::pair<double, const char*>> others = ttft_parts(other);
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].first -= others[i].first;
  return parts;
}

std::string parts_text(std::vector<std::pair<double, const char*>> parts, double whole_ms, const char* more) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  std::erase_if(parts, [&](const auto& part) {
    return !(std::abs(part.first) > kNoticeableShare * std::abs(whole_ms));
  });
  return joined(parts, ", ", [more](const auto& part) {
    return format_number(std::abs(part.first)) + (part.first < 0 ? " less " : more) + part.second;
  });
}

const char* doing_in_part(std::string_view part) {
  const auto found = std::find_if(std::begin(kTtftParts), std::end(kTtftParts),
                                  [part](const Part& one) { return one.name == part; });
  return found == std::end(kTtftParts) ? "" : found->doing;
}

}  // namespace kvcap
