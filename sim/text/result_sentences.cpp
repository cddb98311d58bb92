// Decides which sentences about results are said, and in which order.
#include "text/result_sentences.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/note.h"
#include "metrics/quantity.h"
#include "text/result_rows.h"
#include "text/titles.h"

namespace kvcap {
namespace {

void add(std::vector<std::string>& paragraphs, const std::vector<std::string>& texts) {
  if (std::string paragraph = paragraph_of(texts); !paragraph.empty())
    paragraphs.push_back(std::move(paragraph));
}

ResultSubject first_of_all(const Comparison& all) { return {all, all.settings().front()}; }

// Returns one sentence that lists what is wrong with the settings, the worst first; "" if nothing is wrong.
std::string trouble_of(const Comparison& all) {
  const std::vector<std::string> clauses = all_said(kTroubles, first_of_all(all));
  if (clauses.empty()) return "";
  std::string text = joined(clauses, "; ") + ".";
  // Labels keep their case.
  if (text.starts_with(kEvery) || text.starts_with(kAll)) text.front() = text.front() == 'e' ? 'E' : 'A';
  return text;
}

std::string target_of(const Comparison& all) {
  if (all.targets().empty()) return "";
  const std::string begin = first_said(kTargets, first_of_all(all));
  return begin.empty() ? "" : begin + joined(all_said(kOtherTargets, first_of_all(all)), "") + ".";
}

// Returns the verdict on p99 TTFT for a pair of settings. Adds another latency if it distinguishes settings
// although p99 TTFT does not, or if it favours a different setting.
std::vector<std::string> verdicts_against(const Comparison& all, const ResultSubject& pair, bool is_split) {
  const Setting& winner = pair.one;
  const std::string tail = is_split ? first_said(kAhead, pair) : first_said(kVerdict, pair);
  for (std::string_view metric : {"p99_itl_ms", "p99_tpot_ms", "p99_e2el_ms"}) {
    const std::optional<Setting> least = all.least(metric);
    if (!least) continue;
    if (is_clear(pair) && is_far_below(all, *least, winner, metric))
      return {tail.substr(0, tail.size() - 1) + first_said(kBut, ResultSubject{all, *least, winner, metric})};
    const bool is_apart = std::any_of(all.eligible().begin(), all.eligible().end(), [&](const Setting& one) {
      return is_far_below(all, *least, one, metric);
    });
    if (!is_clear(pair) && !is_split && is_apart)
      return {first_said(kApart, ResultSubject{all, *least, std::nullopt, metric}), tail};
  }
  return {tail};
}

// Returns the verdicts on p99 TTFT if there are at least two eligible settings: of the leader against the
// first setting (users list the setting that they already have first), then against the next one.
std::vector<std::string> verdicts_of(const Comparison& all) {
  const Ahead order = ahead(all);
  if (order.sorted.size() < 2) return {};
  const std::string& first = all.settings().front().label;
  const auto has_first = [&first](const Setting& one) { return one.label == first; };
  const bool is_split = order.leaders > 1 && order.leaders < order.sorted.size();
  const auto found = std::find_if(order.sorted.begin() + 1, order.sorted.end(), has_first);
  const Setting &winner = order.sorted.front(), &next = order.sorted[1];
  const bool is_next = is_split || found == order.sorted.end() || found->label == next.label;
  if (is_next) return verdicts_against(all, ResultSubject{all, winner, next}, is_split);
  std::vector<std::string> verdicts = verdicts_against(all, ResultSubject{all, winner, *found}, is_split);
  verdicts.push_back(first_said(kVerdict, ResultSubject{all, winner, next}));
  return verdicts;
}

// Returns the sentence on latencies if fewer than two settings may be compared.
std::string latencies_of(const Comparison& all) {
  if (all.settings().size() == 1) return first_said(kServes, first_of_all(all));
  if (all.eligible().size() == 1) return first_said(kServes, ResultSubject{all, all.eligible().front()});
  if (all.unsaturated().empty()) return "";
  return first_said(kValues, ResultSubject{all, all.unsaturated().front(), std::nullopt, kTail});
}

std::string bottleneck_where_all_are_saturated(const Comparison& all) {
  const std::vector<Setting>& real = all.real();
  if (real.empty() || !all.unsaturated().empty()) return "";
  const Setting& least = *std::min_element(real.begin(), real.end(), [](const Setting& a, const Setting& b) {
    return a.number("offered_load") < b.number("offered_load");
  });
  return first_said(kBottleneck, ResultSubject{all, least});
}

// Returns the sentences that answer a question about latency, the most important first: what is wrong, which
// settings meet the targets, and the difference that decides.
std::vector<std::string> latency_answers(const Comparison& all) {
  std::vector<std::string> answers = {trouble_of(all), target_of(all),
                                      bottleneck_where_all_are_saturated(all)};
  if (all.eligible().size() > 1) {
    for (std::string& one : verdicts_of(all)) answers.push_back(std::move(one));
  } else {
    answers.push_back(latencies_of(all));
  }
  std::erase(answers, "");
  return answers;
}

std::string cheapest_of(const Comparison& all) {
  const std::optional<Setting> cheapest = all.cheapest();
  if (!all.targets().empty() || !cheapest || all.affordable().size() < 2) return "";
  return first_said(kCheapest, ResultSubject{all, *cheapest});
}

std::string loss_of(const ResultSubject& s) {
  return s.all.ideal() ? first_said(kLoss, ResultSubject{s.all, s.one, s.all.ideal()}) : "";
}

std::string gain_of(const ResultSubject& s) {
  const std::optional<Setting> second = s.all.least(kMean, &s.one);
  if (!second || second->is_saturated()) return "";
  return first_said(kGain, ResultSubject{s.all, s.one, *second});
}

// Returns the peaks of the bytes stored: "12 GB in dram and 1.2 TB in ssd".
std::string most_stored_text(const RunResult& result) {
  std::vector<std::string> parts;
  for (Tier tier : kHostTiers) {
    if (!(result.number("billed_bytes." + std::string(name(tier))) > 0)) continue;
    const double bytes = result.number("peak_stored_bytes." + std::string(name(tier)));
    const bool is_tb = bytes >= 1e12;
    parts.push_back(format_number(bytes / (is_tb ? 1e12 : 1e9)) + (is_tb ? " TB in " : " GB in ") +
                    std::string(name(tier)));
  }
  return listed(parts);
}

// Returns a text for each setting that is billed for storage without a set size: the bill and the peak of the
// bytes stored.
std::vector<std::string> unsized_texts(const Comparison& all) {
  std::vector<std::string> texts;
  for (const Setting& setting : all.settings()) {
    if (setting.result->is_bound) continue;
    std::vector<std::string> bills = setting.result->notes;
    std::erase_if(bills, [](const std::string& note) { return kind_of(note) != NoteKind::unsized_bill; });
    if (bills.empty()) continue;
    texts.push_back(setting.label + " " + joined(bills, "; ") + ". It stored at most " +
                    most_stored_text(*setting.result) + ".");
  }
  return texts;
}

// Returns the dates of the prices and what the rent includes: "Prices: H100 80GB SXM5 2026-03; DRAM in the
// GPUs' rent."
std::string prices_text(const Comparison& all) {
  const std::string_view label = kNoteLabels[static_cast<std::size_t>(NoteKind::price)];
  std::vector<std::string> prices;
  for (const Setting& setting : all.settings()) {
    for (const std::string& note : setting.result->notes) {
      if (setting.result->is_bound || kind_of(note) != NoteKind::price) continue;
      std::string price = note.substr(label.size());
      if (std::find(prices.begin(), prices.end(), price) == prices.end()) prices.push_back(std::move(price));
    }
  }
  return prices.empty() ? "" : "Prices: " + joined(prices, "; ") + ".";
}

// Returns each assumption once.
std::vector<std::string> assumed_texts(const Comparison& all) {
  std::vector<std::string> texts;
  for (const Setting& setting : all.settings()) {
    for (std::string& text : assumptions(setting.result->notes))
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts;
}

// Returns the notes of one kind, each once.
std::vector<std::string> notes_of(const Comparison& all, NoteKind kind) {
  std::vector<std::string> notes;
  for (const Setting& setting : all.settings())
    for (const std::string& note : setting.result->notes)
      if (kind_of(note) == kind && std::find(notes.begin(), notes.end(), note) == notes.end())
        notes.push_back(note);
  return notes;
}

void explain_one(const Comparison& all, std::vector<std::string>& paragraphs) {
  const ResultSubject s = first_of_all(all);
  add(paragraphs, {first_said(kHits, s), first_said(kStorageCost, s)});
  add(paragraphs, {first_said(kBreakdown, s)});
}

void explain_several(const Comparison& all, std::vector<std::string>& paragraphs) {
  const std::optional<Setting> fastest = all.fastest(), cheapest = all.cheapest();
  if (fastest) {
    const ResultSubject s{all, *fastest};
    if (all.eligible().size() > 1) add(paragraphs, {first_said(kFastest, s), first_said(kStorage, s)});
    add(paragraphs, {first_said(kBottleneck, s), loss_of(s), gain_of(s)});
  }
  add(paragraphs, {first_said(kDifferences, first_of_all(all))});
  if (!cheapest || !fastest || all.affordable().size() < 2) return;
  // If the storage cost of the fastest setting is known, states it as the reason for the higher cost;
  // otherwise states the bottleneck of the cheapest setting.
  std::string reason = first_said(kStorageCost, ResultSubject{all, *fastest});
  if (reason.empty() && cheapest->label != fastest->label)
    reason = first_said(kBottleneck, ResultSubject{all, *cheapest});
  add(paragraphs, {reason});
}

struct Decided {
  Setting better, worse;
  Difference difference;  // better - worse
  double size = 0;        // |ln(better / worse)|
};

std::optional<Setting> eligible_named(const Comparison& all, const std::string& label) {
  for (const Setting& one : all.eligible())
    if (one.label == label) return one;
  return std::nullopt;
}

// Returns a difference between two eligible settings if its interval excludes zero; nullopt otherwise.
std::optional<Decided> decided(const Comparison& all, const Difference& paired) {
  const std::optional<Setting> one = eligible_named(all, paired.setting),
                               other = eligible_named(all, paired.against);
  const Quantity* metric = find_quantity(paired.metric);
  if (!one || !other || !metric || !(std::abs(paired.difference) > paired.half_width)) return std::nullopt;
  const double ratio = one->number(paired.metric) / other->number(paired.metric);
  if (!(ratio > 0) || !std::isfinite(ratio)) return std::nullopt;
  const bool is_better = (paired.difference > 0) == (metric->better == Better::more);
  Difference difference = paired;
  if (!is_better) difference.difference = -difference.difference;
  return Decided{is_better ? *one : *other, is_better ? *other : *one, difference, std::abs(std::log(ratio))};
}

std::optional<Decided> largest_decided(const Comparison& all) {
  std::optional<Decided> largest;
  for (const Difference& paired : all.differences()) {
    if (std::find(std::begin(kFelt), std::end(kFelt), paired.metric) == std::end(kFelt)) continue;
    const std::optional<Decided> one = decided(all, paired);
    if (one && (!largest || one->size > largest->size)) largest = one;
  }
  return largest;
}

std::string headline_text(const Decided& found) {
  const Quantity& metric = *find_quantity(found.difference.metric);
  const double value = found.better.number(metric.name), other = found.worse.number(metric.name);
  const std::string unit(metric.unit.symbol);
  const auto shown = [&](double number) { return format_number(metric.unit.scale * number); };
  return found.better.label + " has a " + format_percent(std::abs(value / other - 1)) +
         (value < other ? " lower " : " higher ") + metric.title + " than " + found.worse.label + " (" +
         shown(value) + " against " + shown(other) + " " + unit + ", " +
         difference_text(metric.unit.scale * found.difference.difference,
                         metric.unit.scale * found.difference.half_width, unit) +
         "), the largest difference that these runs decide.";
}

// Returns how each lossy policy changes the model's answers, and on what that was measured.
std::vector<std::string> quality_texts(const Comparison& all) {
  std::vector<std::string> texts;
  for (const Setting& setting : all.settings()) {
    const RunResult& result = *setting.result;
    const std::string text = quality_text(result.policy, result.quality_note);
    if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return texts;
}

}  // namespace

std::string quality_text(const std::string& policy, const std::string& quality_note) {
  return quality_note.empty() ? "" : "Answers of " + policy + " differ: " + quality_note + ".";
}

std::string difference_text(double difference, double half_width, std::string_view unit) {
  const double size = std::abs(difference);
  // Smaller differences are rounding errors.
  constexpr double kNothing = 1e-9;
  if (size < kNothing && !(half_width >= kNothing)) return "no different";
  std::string text = format_interval(size, half_width);
  if (!unit.empty()) text += " " + difference_unit(unit);
  text += difference < 0 ? " lower" : " higher";
  return size <= half_width ? text + " (not significant)" : text;
}

std::vector<std::string> answers(const Comparison& all) {
  if (all.settings().empty()) return {};
  std::vector<std::string> texts = latency_answers(all);
  const bool is_one = all.settings().size() == 1;
  if (!is_one || !all.settings().front().is_saturated())
    texts.push_back(is_one ? first_said(kBottleneck, first_of_all(all)) : cheapest_of(all));
  std::erase(texts, "");
  return texts;
}

std::vector<std::string> sentences(const Comparison& all) {
  std::vector<std::string> paragraphs = answers(all);
  if (all.settings().empty()) return paragraphs;
  if (all.settings().size() == 1) {
    explain_one(all, paragraphs);
  } else {
    explain_several(all, paragraphs);
  }
  for (std::string& text : unsized_texts(all)) paragraphs.push_back(std::move(text));
  add(paragraphs, {first_said(kWorn, first_of_all(all))});
  add(paragraphs, {prices_text(all)});
  for (const std::string& note : notes_of(all, NoteKind::no_effect)) paragraphs.push_back(note + ".");
  add(paragraphs, {first_said(kWarnings, first_of_all(all))});
  for (std::string& text : assumed_texts(all)) paragraphs.push_back(std::move(text));
  return paragraphs;
}

std::vector<std::string> headlined_sentences(const Comparison& all) {
  std::vector<std::string> texts = sentences(all);
  const std::optional<Decided> largest = largest_decided(all);
  if (!largest) return texts;
  // The verdict on p99 TTFT already states this difference.
  const std::string verdict = first_said(kVerdict, ResultSubject{all, largest->better, largest->worse});
  const auto says_it = [&](const std::string& text) {
    return largest->difference.metric == kTail && text.starts_with(verdict.substr(0, verdict.size() - 1));
  };
  std::string headline = headline_text(*largest);
  if (const auto said = std::find_if(texts.begin(), texts.end(), says_it); said != texts.end()) {
    headline = *said;
    texts.erase(said);
  }
  texts.insert(texts.begin() + (trouble_of(all).empty() ? 0 : 1), std::move(headline));
  return texts;
}

std::vector<std::string> detail_notes(const Comparison& all) {
  std::vector<std::string> notes = notes_of(all, NoteKind::detail);
  // Leaves out notes that are outdated for at least one setting, because they would be printed as true for
  // all.
  const std::vector<std::string> old = outdated_notes(all);
  std::erase_if(notes, [&](const std::string& note) {
    return std::find(old.begin(), old.end(), noted(NoteKind::outdated, note)) != old.end();
  });
  return notes;
}

std::vector<std::string> outdated_notes(const Comparison& all) { return notes_of(all, NoteKind::outdated); }

std::string left_out_text(std::size_t notes, std::size_t assumptions) {
  std::vector<std::string> counts;
  if (notes > 0) counts.push_back(format_count(static_cast<int64_t>(notes), "note"));
  if (assumptions > 0) counts.push_back(format_count(static_cast<int64_t>(assumptions), "assumption"));
  return counts.empty() ? "" : listed(counts) + ": --explain";
}

std::string outdated_text(std::size_t notes) {
  if (notes == 0) return "";
  return format_count(static_cast<int64_t>(notes), "note") +
         " of the file may not hold for the changed fields: --explain shows " + (notes == 1 ? "it" : "them");
}

std::vector<std::string> brief_sentences(const Comparison& all, std::size_t more_assumptions) {
  if (all.settings().empty()) return {};
  // Two sentences, in addition to the one on what is wrong.
  const std::size_t most = trouble_of(all).empty() ? 2 : 3;
  std::vector<std::string> texts = answers(all);
  texts.resize(std::min(texts.size(), most));
  // Prices are notes of a result, too, and --explain prints them.
  const std::size_t notes =
      detail_notes(all).size() + unsized_texts(all).size() + notes_of(all, NoteKind::price).size();
  add(texts, quality_texts(all));
  const std::vector<std::string> versions = version_texts(notes_of(all, NoteKind::other_version));
  texts.insert(texts.end(), versions.begin(), versions.end());
  for (const std::string& note : notes_of(all, NoteKind::no_effect)) add(texts, {note + "."});
  add(texts, {first_said(kWorn, first_of_all(all))});
  add(texts, {outdated_text(outdated_notes(all).size())});
  add(texts, {first_said(kWarnings, first_of_all(all)),
              left_out_text(notes, assumed_texts(all).size() - versions.size() + more_assumptions)});
  return texts;
}

std::vector<std::string> latency_sentences(const Comparison& all) {
  if (all.settings().empty()) return {};
  std::vector<std::string> paragraphs = latency_answers(all);
  if (const std::optional<Setting> fastest = all.fastest()) {
    const ResultSubject s{all, *fastest};
    if (all.eligible().size() > 1) add(paragraphs, {first_said(kFastest, s)});
    add(paragraphs, {all.ideal() ? loss_of(s) : first_said(kBreakdown, s)});
  }
  add(paragraphs, {first_said(kDifferences, first_of_all(all))});
  return paragraphs;
}

std::vector<std::string> cache_sentences(const Comparison& all) {
  std::vector<std::string> paragraphs;
  if (all.settings().empty()) return paragraphs;
  const bool is_one = all.settings().size() == 1;
  add(paragraphs,
      {is_one ? first_said(kHits, first_of_all(all)) : first_said(kHitsOfAll, first_of_all(all))});
  std::vector<Setting> storing = all.settings();
  std::erase_if(storing,
                [](const Setting& one) { return one.result->is_bound || !(one.number(kStored) > 0); });
  if (storing.empty()) return paragraphs;
  const Comparison stores(storing, {});
  const auto smallest = std::min_element(
      storing.begin(), storing.end(),
      [](const Setting& a, const Setting& b) { return a.number(kStored) < b.number(kStored); });
  const ResultSubject s{stores, *smallest};
  add(paragraphs, {first_said(kLeastStored, s), first_said(kStorage, s)});
  return paragraphs;
}

std::vector<std::string> resource_sentences(const Comparison& all) {
  std::vector<std::string> paragraphs;
  if (all.settings().empty()) return paragraphs;
  add(paragraphs, {trouble_of(all)});
  for (const Setting& setting : all.settings()) {
    if (setting.result->is_bound && all.settings().size() > 1) continue;
    const ResultSubject s{all, setting};
    add(paragraphs, {first_said(kBottleneck, s), first_said(kWear, s)});
  }
  add(paragraphs, {first_said(kWarnings, first_of_all(all))});
  return paragraphs;
}

std::vector<std::string> assumptions(const std::vector<std::string>& notes) {
  std::vector<std::string> texts;
  for (const std::string& note : notes)
    if (qualifies_answer(kind_of(note))) texts.push_back(note + ".");
  return texts;
}

std::vector<std::string> version_texts(const std::vector<std::string>& notes) {
  std::vector<std::string> texts = assumptions(notes);
  std::erase_if(texts, [](const std::string& text) { return kind_of(text) != NoteKind::other_version; });
  return texts;
}

}  // namespace kvcap
