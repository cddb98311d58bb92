// Tables of all sentences that kvcap can say about results. sentence.h explains how to read a row.
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/resource.h"
#include "text/comparison.h"
#include "text/sentence.h"

namespace kvcap {

// The subject of a sentence: a setting, and a second one if the sentence compares two.
struct ResultSubject {
  const Comparison& all;
  Setting one;
  std::optional<Setting> other = std::nullopt;
  std::string_view latency = {};  // the metric, for sentences that can state any latency

  double number(std::string_view metric) const { return one.number(metric); }
  double ratio(std::string_view metric) const { return number(metric) / other->number(metric); }
};
using ResultSentence = Sentence<ResultSubject>;

bool knows(const ResultSubject& s, std::string_view metric);
std::span<const PlaceOfText<ResultSubject>> places_of(const ResultSubject& s);

// Beginnings of clauses on all settings together. A sentence that begins with one of them has a capital.
inline constexpr std::string_view kEvery = "every setting ", kAll = "all ";

// ---- conditions ----

inline constexpr double kNearLimit = 0.5;  // a resource below this busy share is not a bottleneck
inline constexpr std::string_view kTail = "p99_ttft_ms", kMean = "mean_ttft_ms",
                                  kStored = "stored_bytes_per_token", kHourly = "cost.usd_per_hour",
                                  kOfferedBoundBy = "offered_bound_by";
// The metrics that users notice or pay for; the headline is a difference in one of them.
inline constexpr std::string_view kFelt[] = {kTail,          kMean,       "p99_itl_ms",
                                             "mean_e2el_ms", kOutputCost, "output_throughput"};

inline bool is_alike(double ratio) { return std::abs(ratio - 1) < kNoticeableShare; }
inline double mean_loss_ms(const ResultSubject& s) { return s.number(kMean) - s.other->number(kMean); }
inline double restore_factor(const ResultSubject& s) {
  return s.all.restore_ms(*s.other) / s.all.restore_ms(s.one);
}
inline double saving(const ResultSubject& s) { return 1 - s.ratio(kOutputCost); }
// Returns the difference in p99 TTFT.
Difference tail_difference(const ResultSubject& s);
// Whether the policy computes the prompts of restored requests in engine steps of their own.
bool has_own_steps(const Setting& one);
// Whether `one` has a clearly lower mean TTFT than `other`, the ideal setting.
bool is_below_ideal(const ResultSubject& s);
bool stores_as_many_bytes(const ResultSubject& s);
// Whether the runs show which of the two has the lower p99 TTFT.
bool is_clear(const ResultSubject& s);
// Whether a latency of `one` is much lower, beyond chance.
bool is_far_below(const Comparison& all, const Setting& one, const Setting& other, std::string_view metric);
// Returns the resource that a metric of the result names; null if it names none.
const ResourceRow* bottleneck_of(const ResultSubject& s, std::string_view metric = "bound_by");
double busy_share(const ResultSubject& s);
double wear_usd_per_hour(const ResultSubject& s);
// Returns the settings that wear out their SSDs within five years, or whose wear is a noticeable share of
// their cost, the shortest lifetime first: "0.625 years with kv_offload (0.220 $ an hour)".
std::string worn(const ResultSubject& s);
// Whether the total cost of any setting in worn() excludes the price of the wear, as it does for rented SSDs.
bool leaves_out_wear(const ResultSubject& s);
// Whether another eligible setting stores anything.
bool others_store(const ResultSubject& s);
bool all_cost_the_same(const ResultSubject& s);
// Returns the difference of every setting from `s.one` in one metric; `with_interval`: only differences that
// have an interval.
std::vector<std::string> differences_texts(const ResultSubject& s, std::string_view metric,
                                           bool with_interval);
// Return the labels of the settings that are saturated because more arrives than leaves (overloaded), that
// are saturated because clients give up (left_by_clients), or whose run is too short to tell (undecided).
std::string overloaded(const ResultSubject& s);
std::string left_by_clients(const ResultSubject& s);
std::string undecided(const ResultSubject& s);
// Whether all settings that can be built are saturated because more arrives than leaves.
bool all_overloaded(const ResultSubject& s);
// Return the settings with their shares of unserved turns: "hcache rejects 60.0 %". unanswered() is empty if
// no setting has a noticeable share, and few_unanswered() is empty if one has.
std::string unanswered(const ResultSubject& s);
std::string few_unanswered(const ResultSubject& s);
// Whether any setting answers a turn.
bool any_answers(const ResultSubject& s);
std::string abandoned(const ResultSubject& s);
std::string truncated(const ResultSubject& s);

// The settings, grouped by the targets: eligible settings that meet them or may meet them, settings that meet
// them so far in a run that is too short, and unsaturated settings that miss them.
struct ByTargets {
  std::vector<Setting> meeting, unclear, so_far, missing;
};
ByTargets by_targets(const ResultSubject& s);

// The eligible settings in order of p99 TTFT. The runs do not distinguish the first `leaders` settings from
// the best one, but distinguish each of them from all later settings. 0 leaders: no such split exists.
struct Ahead {
  std::vector<Setting> sorted;
  std::size_t leaders = 0;
};
Ahead ahead(const Comparison& all);

// ---- sentences ----

// What rules out calling a setting better than another; clauses of one sentence, the worst first.
inline constexpr ResultSentence kTroubles[] = {
    {"No setting serves this load: more arrives than leaves",
     [](const ResultSubject& s) { return all_overloaded(s) && s.all.real().size() > 1; }},
    {"{overloaded} cannot serve this load: more arrives than leaves",
     [](const ResultSubject& s) {
       return !overloaded(s).empty() && !(all_overloaded(s) && s.all.real().size() > 1);
     }},
    {"{left} cannot serve this load: clients give up",
     [](const ResultSubject& s) { return !left_by_clients(s).empty(); }},
    {"{unanswered} of the turns, and latencies are those of the others",
     [](const ResultSubject& s) { return !unanswered(s).empty() && any_answers(s); }},
    {"{unanswered} of the turns",
     [](const ResultSubject& s) { return !unanswered(s).empty() && !any_answers(s); }},
    {"{abandoned} of the turns", [](const ResultSubject& s) { return !abandoned(s).empty(); }},
    {"{truncated} of the turns", [](const ResultSubject& s) { return !truncated(s).empty(); }},
    {"{undecided} ran too briefly to tell whether the load can be served: lengthen the run ({longer run})",
     [](const ResultSubject& s) { return !undecided(s).empty(); }},
};

// Which settings meet the targets, and at what price. The sentence consists of the first clause of kTargets
// that applies, and of all clauses of kOtherTargets that apply.
inline constexpr ResultSentence kTargets[] = {
    {"{meeting} {targets}{price}", [](const ResultSubject& s) { return !by_targets(s).meeting.empty(); }},
    {"{so far} {targets} so far", [](const ResultSubject& s) { return !by_targets(s).so_far.empty(); }},
    {"These runs do not show whether {unclear} {targets}",
     [](const ResultSubject& s) { return !by_targets(s).unclear.empty(); }},
    {"{one} misses {targets} ({missed values})",
     [](const ResultSubject& s) {
       return by_targets(s).missing.size() == 1 && s.all.settings().size() == 1;
     }},
    {"No setting meets {targets}", [](const ResultSubject& s) { return s.all.unsaturated().empty(); }},
    {"No setting meets {targets}: {values}",
     [](const ResultSubject& s) { return by_targets(s).missing.size() == s.all.unsaturated().size(); }},
};
inline constexpr ResultSentence kOtherTargets[] = {
    {"; {so far} {it} so far",
     [](const ResultSubject& s) {
       const ByTargets by = by_targets(s);
       return !by.meeting.empty() && !by.so_far.empty();
     }},
    {"; these runs do not show whether {unclear} {it}",
     [](const ResultSubject& s) {
       const ByTargets by = by_targets(s);
       return !(by.meeting.empty() && by.so_far.empty()) && !by.unclear.empty();
     }},
    {"; {missing} {it} ({missed values})",
     [](const ResultSubject& s) {
       const ByTargets by = by_targets(s);
       return !(by.meeting.empty() && by.so_far.empty() && by.unclear.empty()) && !by.missing.empty();
     }},
};
inline constexpr ResultSentence kPrice[] = {
    {"", [](const ResultSubject& s) { return by_targets(s).meeting.empty(); }},
    {" at {hourly} $/h", [](const ResultSubject& s) { return by_targets(s).meeting.size() == 1; }, {kHourly}},
    {", each at {hourly} $/h", [](const ResultSubject& s) { return is_alike(s.ratio(kHourly)); }, {kHourly}},
    {"; the cheapest of them is {one} at {hourly} $/h", nullptr, {kHourly}},
};

// Latencies without a verdict: of a single setting (kServes), or of several settings of which none may be
// called better (kValues).
inline constexpr ResultSentence kServes[] = {
    {"So far {one} has a mean TTFT of {mean with unit} and a p99 TTFT of {p99 with unit}.",
     [](const ResultSubject& s) { return s.one.is_undecided(); },
     {kMean, kTail}},
    {"{one} serves {rate} requests/s with a mean TTFT of {mean with unit} and a p99 TTFT of {p99 with unit}.",
     [](const ResultSubject& s) { return !s.one.is_saturated(); },
     {kMean, "request_throughput"}},
    {"{one} has a mean TTFT of {mean with unit} and a p99 TTFT of {p99 with unit}.",
     [](const ResultSubject& s) { return !s.one.is_saturated(); },
     {kMean, kTail}},
};
inline constexpr ResultSentence kValues[] = {
    {"So far {metric} is {latencies}.", [](const ResultSubject& s) { return !undecided(s).empty(); }},
    {"{metric} is {latencies}."},
};

// Sentences about a latency other than TTFT: one that distinguishes settings although TTFT does not (kApart),
// or one that favours a different setting than TTFT (kBut).
inline constexpr ResultSentence kApart[] = {{"{metric} tells them apart: {latencies}."}};
inline constexpr ResultSentence kBut[] = {
    {"; but the {metric} of {one} is {saving of metric} lower than that of {other} ({value} against {other "
     "value})."},
};

// Compares the settings with the lowest p99 TTFT, among which the runs do not distinguish, with all others.
inline constexpr ResultSentence kAhead[] = {
    {"{leaders} have a lower p99 TTFT than {followers} ({p99 of leaders} against {p99 of followers} ms); "
     "these "
     "runs do not show which of them is lowest{; what it stores}."},
};
// Compares the setting with the lowest p99 TTFT with the next one.
inline constexpr ResultSentence kVerdict[] = {
    {"These runs do not show whether {one} or {other} has the lower p99 TTFT ({p99} against {other p99} "
     "ms{p99 difference}){; what it stores}.",
     [](const ResultSubject& s) { return !is_clear(s); }},
    {"In one run the p99 TTFT of {one} is {p99 saving} lower than that of {other} ({p99} against {other p99} "
     "ms), which may be chance{; what it stores}.",
     [](const ResultSubject& s) { return std::isnan(tail_difference(s).half_width); }},
    {"{one} halves p99 TTFT against {other} ({p99} against {other p99} ms{p99 difference}){and what it "
     "stores}.",
     [](const ResultSubject& s) { return std::abs(s.ratio(kTail) - 0.5) < 0.02; }},
    {"{one} lowers p99 TTFT by {p99 saving} against {other} ({p99} against {other p99} ms{p99 "
     "difference}){and what it stores}."},
};
inline constexpr ResultSentence kTailDifference[] = {
    {"; one run, so chance is not excluded",
     [](const ResultSubject& s) { return std::isnan(tail_difference(s).half_width); }},
    {", {p99 change} ms lower", [](const ResultSubject& s) { return tail_difference(s).difference < 0; }},
    {", {p99 change} ms higher"},
};
inline constexpr ResultSentence kStores[] = {
    {"stores nothing", [](const ResultSubject& s) { return !(s.number(kStored) > 0); }},
    {"", [](const ResultSubject& s) { return !std::isfinite(s.ratio(kStored)); }},
    {"stores the same bytes", [](const ResultSubject& s) { return is_alike(s.ratio(kStored)); }},
    {"stores {bytes change} % fewer bytes", [](const ResultSubject& s) { return s.ratio(kStored) < 1; }},
    {"stores {bytes change} % more bytes"},
};

// Compares the setting that serves turns with history fastest with all others. The time in excess of the
// ideal setting's includes waiting for other requests in shared steps, so the sentence does not call it the
// restoration time, which is mean_restore_ms.
inline constexpr ResultSentence kFastest[] = {
    {"Turns with history take {restore} ms longer with {one} than with ideal{added factors}.",
     [](const ResultSubject& s) { return s.all.is_beside_ideal(); },
     {kHistoryService}},
    {"{one} serves turns with history fastest ({restore} ms from admission to first token; mean TTFT with "
     "queueing {mean} ms){restore factors}.",
     nullptr,
     {kHistoryService}},
};
inline constexpr ResultSentence kRestoreFactor[] = {
    {"as fast as {other}", [](const ResultSubject& s) { return restore_factor(s) < 1 + kNoticeableShare; }},
    {"{restore factor}x faster than {other}{restore doubt}"},
};
inline constexpr ResultSentence kAddedFactor[] = {
    {"as much longer with {other}",
     [](const ResultSubject& s) { return restore_factor(s) < 1 + kNoticeableShare; }},
    {"{restore factor}x as much with {other}{restore doubt}"},
};
inline constexpr ResultSentence kStorage[] = {
    {"{one} stores nothing.", [](const ResultSubject& s) { return !(s.number(kStored) > 0); }},
    {"It stores {bytes beside others}.", others_store},
};
inline constexpr ResultSentence kBytes[] = {
    {"{bytes change} % fewer bytes than {other}",
     [](const ResultSubject& s) { return s.ratio(kStored) < 1; }},
    {"{bytes change} % more bytes than {other}"},
};

// The busy share alone does not show the load: a GPU may be busy all the time at a low load, because a step
// runs whenever a sequence is active.
inline constexpr ResultSentence kBottleneck[] = {
    {"This load is {offered} of what {offered resource} can serve with {one}, at any latency.",
     [](const ResultSubject& s) {
       // The closed form assumes full batches, so it may miss that a saturated machine cannot serve the load.
       const bool contradicts = s.one.is_saturated() && s.number("offered_load") < 1;
       return bottleneck_of(s, kOfferedBoundBy) != nullptr && !contradicts;
     },
     {"offered_load", kOfferedBoundBy}},
    {"No resource of {one} is near its limit; the busiest is {resource} ({busy} of the time).",
     [](const ResultSubject& s) { return bottleneck_of(s) && busy_share(s) < kNearLimit; },
     {"bound_by"}},
    {"The busiest resource of {one} is {resource} (busy {busy} of the time).",
     [](const ResultSubject& s) { return bottleneck_of(s) != nullptr; },
     {"bound_by"}},
};

// Compare a setting with the ideal one (kLoss), and with the one that has the next lowest mean TTFT (kGain).
inline constexpr ResultSentence kLoss[] = {
    {"The mean TTFT of {one} is {mean gain} ms lower than that of {other}{parts of gain}. {other} bounds "
     "what "
     "loads cost under the engine's own schedule; {one} computes restored prompts in steps of their own, so "
     "the schedule decides here and not the loads.",
     [](const ResultSubject& s) { return is_below_ideal(s) && has_own_steps(s.one); },
     {kMean}},
    {"The mean TTFT of {one} is {mean gain} ms lower than that of {other}{parts of gain}. {other} bounds "
     "what "
     "loads cost under the engine's own schedule, and the two schedules differ.",
     [](const ResultSubject& s) { return is_below_ideal(s); },
     {kMean}},
    {"Against {other} {one} loses {mean loss} ms of mean TTFT{parts of loss}.",
     [](const ResultSubject& s) { return mean_loss_ms(s) > kNoticeableShare * s.other->number(kMean); },
     {kMean}},
    {"The mean TTFT of {one} is not noticeably different from that of {other}.", nullptr, {kMean}},
};
inline constexpr ResultSentence kGain[] = {
    {"Over {other} it gains {mean gain} ms of mean TTFT{mean doubt}{parts of gain}. policy.preload=layerwise "
     "gives {other} the same schedule.",
     [](const ResultSubject& s) {
       return -mean_loss_ms(s) > kNoticeableShare * s.number(kMean) && has_own_steps(s.one) &&
              !has_own_steps(*s.other) && stores_as_many_bytes(s);
     },
     {kMean, kStored}},
    {"Over {other} it gains {mean gain} ms of mean TTFT{mean doubt}{parts of gain}.",
     [](const ResultSubject& s) { return -mean_loss_ms(s) > kNoticeableShare * s.number(kMean); },
     {kMean}},
};

// Differences of all settings from the first one.
inline constexpr ResultSentence kDifferences[] = {
    {"p99 TTFT against {one}: {p99 intervals}.",
     [](const ResultSubject& s) { return !differences_texts(s, kTail, true).empty(); }},
    {"Mean TTFT against {one}, by batches of one run: {mean intervals}.",
     [](const ResultSubject& s) { return !differences_texts(s, kMean, true).empty(); }},
    {"p99 TTFT against {one}: {p99 differences}; one run, so chance is not excluded.",
     [](const ResultSubject& s) { return !differences_texts(s, kTail, false).empty(); }},
};

inline constexpr ResultSentence kCheapest[] = {
    {"All cost the same: {cost} $ per million output tokens.", all_cost_the_same, {kOutputCost}},
    {"{one} is cheapest: {cost} $ per million output tokens, {savings}.", nullptr, {kOutputCost}},
};
inline constexpr ResultSentence kSaving[] = {
    {"the same as {other}", [](const ResultSubject& s) { return saving(s) < kNoticeableShare; }},
    {"{saving} % less than {other}{cost doubt}"},
};
inline constexpr ResultSentence kStorageCost[] = {
    {"Storage costs {one} as much as the GPU time that it saves ({storage cost} $ per GPU-hour).",
     [](const ResultSubject& s) {
       return is_alike(s.number("cost.usd_per_saved_gpu_hour") / s.number("cost.usd_per_gpu_hour"));
     },
     {"cost.usd_per_saved_gpu_hour", "cost.usd_per_gpu_hour"}},
    {"Storage costs {one} {storage cost} $ per GPU-hour that it saves; a GPU-hour costs {GPU cost} $.",
     [](const ResultSubject& s) {
       return s.number("cost.usd_per_saved_gpu_hour") > 0 && s.number("cost.usd_per_gpu_hour") > 0;
     },
     {"cost.usd_per_saved_gpu_hour", "cost.usd_per_gpu_hour"}},
};

// Sentences about a single setting.
inline constexpr ResultSentence kHits[] = {
    {"Of every 100 prompt tokens (history and new) {hits} came from stored state; {reusing} of the turns "
     "reused some."},
};
inline constexpr ResultSentence kBreakdown[] = {
    {"Mean TTFT of {mean} ms: {parts}.",
     [](const ResultSubject& s) { return !parts_text(ttft_parts(s.one), s.number(kMean)).empty(); }},
};
inline constexpr ResultSentence kLeastStored[] = {
    {"{one} stores {KiB} KiB per token, the least.",
     [](const ResultSubject& s) { return s.all.settings().size() > 1; }},
    {"{one} stores {KiB} KiB per token."},
};
inline constexpr ResultSentence kWear[] = {
    {"{one} uses up the rated writes of the SSDs in {years} years: {wear} $ of them an hour.",
     [](const ResultSubject& s) {
       return s.number("ssd_writes.lifetime_years") > 0 && wear_usd_per_hour(s) > 0;
     }},
    {"{one} uses up the rated writes of the SSDs in {years} years.",
     [](const ResultSubject& s) { return s.number("ssd_writes.lifetime_years") > 0; }},
};

// Sentences about all settings together.
inline constexpr ResultSentence kWorn[] = {
    {"The rated writes of the SSDs last {worn}; the cost does not contain this wear.", leaves_out_wear},
    {"The rated writes of the SSDs last {worn}.", [](const ResultSubject& s) { return !worn(s).empty(); }},
};
inline constexpr ResultSentence kHitsOfAll[] = {
    {"Of every 100 prompt tokens (history and new), this many came from stored state: {hits by setting}."},
};
inline constexpr ResultSentence kWarnings[] = {
    {"Warning: {few unanswered} of the turns; latencies are those of the others.",
     [](const ResultSubject& s) { return !few_unanswered(s).empty(); }},
};

}  // namespace kvcap
