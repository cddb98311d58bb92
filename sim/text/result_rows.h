// Every sentence that can be said of results, as rows. See sentence.h for how a row reads.
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

// What a sentence is about: a setting, and another one if it compares two.
struct ResultSubject {
  const Comparison& all;
  Setting one;
  std::optional<Setting> other = std::nullopt;
  std::string_view latency = {};  // of sentences on any latency

  double number(std::string_view metric) const { return one.number(metric); }
  double ratio(std::string_view metric) const { return number(metric) / other->number(metric); }
};
using ResultSentence = Sentence<ResultSubject>;

bool knows(const ResultSubject& s, std::string_view metric);
std::span<const PlaceOfText<ResultSubject>> places_of(const ResultSubject& s);

// ---- conditions ----

inline constexpr double kNearLimit = 0.5;  // a resource below this busy share is not a bottleneck
inline constexpr std::string_view kTail = "p99_ttft_ms", kMean = "mean_ttft_ms",
                                  kStored = "stored_bytes_per_token", kHourly = "cost.usd_per_hour",
                                  kOfferedBoundBy = "offered_bound_by";

inline bool is_alike(double ratio) { return std::abs(ratio - 1) < kNoticeableShare; }
inline double mean_loss_ms(const ResultSubject& s) { return s.number(kMean) - s.other->number(kMean); }
inline double restore_factor(const ResultSubject& s) {
  return s.all.restore_ms(*s.other) / s.all.restore_ms(s.one);
}
inline double saving(const ResultSubject& s) { return 1 - s.ratio(kOutputCost); }
// The difference in p99 TTFT.
Difference tail_difference(const ResultSubject& s);
// Whether the policy computes restored prompts in steps of their own.
bool has_own_steps(const Setting& one);
// Whether `one` has a clearly lower mean TTFT than `other`, the ideal setting.
bool is_below_ideal(const ResultSubject& s);
bool stores_as_many_bytes(const ResultSubject& s);
// Whether the runs show which of the two has the lower p99 TTFT.
bool is_clear(const ResultSubject& s);
// Whether a latency of `one` is much lower, beyond chance.
bool is_far_below(const Comparison& all, const Setting& one, const Setting& other, std::string_view metric);
// The resource that a metric of the result names; null if none.
const ResourceRow* bottleneck_of(const ResultSubject& s, std::string_view metric = "bound_by");
double busy_share(const ResultSubject& s);
double wear_usd_per_hour(const ResultSubject& s);
// The settings that wear their SSDs out in less than five years or for a noticeable share of their cost, the
// fastest first: "0.625 years with kv_offload (0.220 $ an hour)".
std::string worn(const ResultSubject& s);
// Whether some of them have a wear with a price that their total does not contain: those of rented SSDs.
bool leaves_out_wear(const ResultSubject& s);
// Whether another eligible setting stores anything.
bool others_store(const ResultSubject& s);
bool all_cost_the_same(const ResultSubject& s);
// The differences in one metric of every setting against `s.one`; `with_interval`: only those with an
// interval.
std::vector<std::string> differences_texts(const ResultSubject& s, std::string_view metric,
                                           bool with_interval);
// Labels of settings: saturated ones, saturated ones whose clients give up, and those whose run is too short.
std::string overloaded(const ResultSubject& s);
std::string left_by_clients(const ResultSubject& s);
std::string undecided(const ResultSubject& s);
// Whether all settings that can be built are saturated by requests that grow.
bool all_overloaded(const ResultSubject& s);
// Settings with their shares of turns: "hcache rejects 60.0 %". Few: if no setting has a noticeable share.
std::string unanswered(const ResultSubject& s);
std::string few_unanswered(const ResultSubject& s);
std::string abandoned(const ResultSubject& s);
std::string truncated(const ResultSubject& s);

// The settings by the targets: eligible ones that meet them or may, those that meet them in a run that is too
// short, and those that serve the load and miss them.
struct ByTargets {
  std::vector<Setting> meeting, unclear, so_far, missing;
};
ByTargets by_targets(const ResultSubject& s);

// The eligible settings by p99 TTFT, and how many of them the runs do not tell from the first; 0: the runs
// do not split them in two.
struct Ahead {
  std::vector<Setting> sorted;
  std::size_t leaders = 0;
};
Ahead ahead(const Comparison& all);

// ---- what can be said ----

// What forbids to call settings better than others; clauses of one sentence, the worst first.
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
     [](const ResultSubject& s) { return !unanswered(s).empty(); }},
    {"{abandoned} of the turns", [](const ResultSubject& s) { return !abandoned(s).empty(); }},
    {"{truncated} of the turns", [](const ResultSubject& s) { return !truncated(s).empty(); }},
    {"{undecided} ran too briefly to tell whether the load can be served: lengthen the run ({longer run})",
     [](const ResultSubject& s) { return !undecided(s).empty(); }},
};

// Who meets the targets, and at what price. The first clause that applies begins; the others follow it.
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

// A setting that serves the load alone, and latencies of settings of which none may be called better.
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

// The latency besides TTFT that tells settings apart, and the one that favours another setting than TTFT.
inline constexpr ResultSentence kApart[] = {{"{metric} tells them apart: {latencies}."}};
inline constexpr ResultSentence kBut[] = {
    {"; but the {metric} of {one} is {saving of metric} lower than that of {other} ({value} against {other "
     "value})."},
};

// The settings with the least p99 TTFT that the runs do not tell apart, beside all others.
inline constexpr ResultSentence kAhead[] = {
    {"{leaders} have a lower p99 TTFT than {followers} ({p99 of leaders} against {p99 of followers} ms); "
     "these "
     "runs do not show which of them is lowest{; what it stores}."},
};
// The setting with the least p99 TTFT, beside the next one.
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

// The setting that serves turns with history fastest, beside all others. The time beyond ideal's includes
// that of sharing steps, so it is not called a restoration: that is mean_restore_ms.
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

// A GPU may be busy all the time at a small load, because a step runs whenever a sequence is active.
inline constexpr ResultSentence kBottleneck[] = {
    {"This load is {offered} of what {offered resource} can serve with {one}, at any latency.",
     [](const ResultSubject& s) { return bottleneck_of(s, kOfferedBoundBy) != nullptr; },
     {"offered_load", kOfferedBoundBy}},
    {"No resource of {one} is near its limit; the busiest is {resource} ({busy} of the time).",
     [](const ResultSubject& s) { return bottleneck_of(s) && busy_share(s) < kNearLimit; },
     {"bound_by"}},
    {"The busiest resource of {one} is {resource} (busy {busy} of the time).",
     [](const ResultSubject& s) { return bottleneck_of(s) != nullptr; },
     {"bound_by"}},
};

// A setting beside the ideal one, and beside the one with the next least mean TTFT.
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

// All settings against the first one.
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

// One setting.
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

// All settings.
inline constexpr ResultSentence kWorn[] = {
    {"The rated writes of the SSDs last {worn}; the cost does not contain this wear.", leaves_out_wear},
    {"The rated writes of the SSDs last {worn}.", [](const ResultSubject& s) { return !worn(s).empty(); }},
};
inline constexpr ResultSentence kHitsOfAll[] = {
    {"What came from stored state of every 100 prompt tokens (history and new): {hits by setting}."},
};
inline constexpr ResultSentence kWarnings[] = {
    {"Warning: {few unanswered} of the turns; latencies are those of the others.",
     [](const ResultSubject& s) { return !few_unanswered(s).empty(); }},
};

}  // namespace kvcap
