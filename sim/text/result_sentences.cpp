// Which sentences on results are said, and in which order.
#include "text/result_sentences.h"

#include <algorithm>
#include <cmath>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/note.h"
#include "text/result_rows.h"

namespace kvcap {
namespace {

void add(std::vector<std::string>& paragraphs, const std::vector<std::string>& texts) {
  if (std::string paragraph = paragraph_of(texts); !paragraph.empty())
    paragraphs.push_back(std::move(paragraph));
}

ResultSubject first_of_all(const Comparison& all) { return {all, all.settings().front()}; }

std::string verdict_of(const Comparison& all) {
  const std::optional<Setting> winner = all.least(kTail);
  const std::optional<Setting> rival = winner ? all.least(kTail, &*winner) : std::nullopt;
  return rival ? first_said(kVerdict, ResultSubject{all, *winner, *rival}) : "";
}

std::string loss_of(const ResultSubject& s) {
  return s.all.ideal() ? first_said(kLoss, ResultSubject{s.all, s.one, s.all.ideal()}) : "";
}

std::string gain_of(const ResultSubject& s) {
  const std::optional<Setting> second = s.all.least(kMean, &s.one);
  if (!second || second->is_saturated()) return "";
  return first_said(kGain, ResultSubject{s.all, s.one, *second});
}

std::vector<std::string> warnings_of(const Comparison& all) {
  std::vector<std::string> warnings = all_said(kWarnings, first_of_all(all)), items;
  for (const Setting& setting : all.settings())
    for (std::string& one : all_said(kUnanswered, ResultSubject{all, setting}))
      items.push_back(std::move(one));
  if (!items.empty())
    warnings.push_back("Warning: " + listed(items) + " of the turns; latencies are those of the others.");
  return warnings;
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

// Returns the bills of storage whose size was not set, each with the peak of the bytes stored.
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

void describe_one(const Comparison& all, std::vector<std::string>& paragraphs) {
  const ResultSubject s = first_of_all(all);
  add(paragraphs, {first_said(kHits, s), first_said(kBottleneck, s), first_said(kStorageCost, s)});
  add(paragraphs, {first_said(kBreakdown, s)});
}

void describe_several(const Comparison& all, std::vector<std::string>& paragraphs) {
  add(paragraphs, {verdict_of(all)});
  const std::optional<Setting> fastest = all.fastest(), cheapest = all.cheapest();
  if (fastest) {
    const ResultSubject s{all, *fastest};
    if (all.eligible().size() > 1) add(paragraphs, {first_said(kFastest, s), first_said(kStorage, s)});
    add(paragraphs, {first_said(kBottleneck, s), loss_of(s), gain_of(s)});
  }
  add(paragraphs, {first_said(kDifferences, first_of_all(all))});
  if (!cheapest || all.affordable().size() < 2) return;
  // Explains the higher cost of the fastest setting by its storage, else the bottleneck of the cheapest one.
  const ResultSubject s{all, *cheapest};
  std::string reason = first_said(kStorageCost, fastest ? ResultSubject{all, *fastest} : s);
  if (reason.empty() && fastest && cheapest->label != fastest->label) reason = first_said(kBottleneck, s);
  add(paragraphs, {first_said(kCheapest, s), reason});
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

std::vector<std::string> sentences(const Comparison& all) {
  std::vector<std::string> paragraphs;
  if (all.settings().empty()) return paragraphs;
  if (all.settings().size() == 1) {
    describe_one(all, paragraphs);
  } else {
    describe_several(all, paragraphs);
  }
  for (std::string& text : unsized_texts(all)) paragraphs.push_back(std::move(text));
  add(paragraphs, {prices_text(all)});
  add(paragraphs, warnings_of(all));
  for (std::string& text : assumed_texts(all)) paragraphs.push_back(std::move(text));
  return paragraphs;
}

std::vector<std::string> latency_sentences(const Comparison& all) {
  std::vector<std::string> paragraphs;
  if (all.settings().empty()) return paragraphs;
  add(paragraphs, {verdict_of(all)});
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
  for (const Setting& setting : all.settings()) {
    if (setting.result->is_bound && all.settings().size() > 1) continue;
    const ResultSubject s{all, setting};
    add(paragraphs, {first_said(kBottleneck, s), first_said(kWear, s)});
  }
  add(paragraphs, warnings_of(all));
  return paragraphs;
}

std::vector<std::string> assumptions(const std::vector<std::string>& notes) {
  std::vector<std::string> texts;
  for (const std::string& note : notes)
    if (qualifies_answer(kind_of(note))) texts.push_back(note + ".");
  return texts;
}

}  // namespace kvcap
