#include <algorithm>
#include <cmath>
#include <span>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "documents/items.h"
#include "documents/kind.h"
#include "text/result_sentences.h"
#include "text/sentence.h"

namespace kvcap {
namespace {

constexpr DocumentPart kRestoreParts[] = {{"policies", Json::value_t::array}};

// True iff the policy can be built. In older files, which lack is_bound, the name and the time identify a
// bound.
bool is_buildable(const Json& entry) {
  const Json& is_bound = value_of(entry, "is_bound");
  if (is_bound.is_boolean()) return !is_bound.get<bool>();
  const bool is_free = number_of(entry, "read_bytes") > 0 && number_of(entry, "restore_s") < 1e-9;
  return text_of(entry, "policy") != "ideal" && !is_free;
}

// ---- sentences ----

double restore_s(const Json& entry) { return number_of(entry, "restore_s"); }

// The subject of sentences about a restoration: the policies in order of their restoration times, and the
// policy whose simulated time differs most from the closed form.
struct RestoreSubject {
  explicit RestoreSubject(const Json& restore) : json(restore) {
    for (const Json& entry : list_of(restore, "policies")) {
      if (is_buildable(entry) && restore_s(entry) > 0) order.push_back(&entry);
      // The error is relative to the whole TTFT, because a restoration of 0 s has no relative error.
      const double off =
          std::abs(restore_s(entry) - number_of(entry, "closed_form_restore_s")) / number_of(entry, "ttft_s");
      if (off > farthest) {
        farthest = off;
        farthest_policy = text_of(entry, "policy");
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Json* a, const Json* b) { return restore_s(*a) < restore_s(*b); });
  }

  const Json& best() const { return *order.front(); }
  std::string layers(const char* kind) const { return text_of(value_of(best(), "schedule"), kind); }

  const Json& json;
  std::vector<const Json*> order;  // policies that can be built, the fastest first
  double farthest = 0;
  std::string farthest_policy;
};
using RestoreSentence = Sentence<RestoreSubject>;

bool knows(const RestoreSubject& s, std::string_view key) { return !value_of(s.json, key).is_null(); }
std::span<const PlaceOfText<RestoreSubject>> places_of(const RestoreSubject&);

constexpr RestoreSentence kRestoreVerdict[] = {
    {"{policy} restores {tokens} tokens of {model} from {tier} on {hardware} in {ms} ms{factors}."},
};
constexpr RestoreSentence kRestoreLayers[] = {
    {"{policy} keeps {KiB} KiB per token and restores {hidden} layers from hidden states, {KV} from keys and "
     "values and {recomputed} from tokens; {bottleneck}."},
};
constexpr RestoreSentence kRestoreBottleneck[] = {
    {"loading is the bottleneck", [](const RestoreSubject& s) { return text_of(s.best(), "bound") == "io"; }},
    {"the GPU is the bottleneck",
     [](const RestoreSubject& s) { return text_of(s.best(), "bound") == "compute"; }},
    {"loading and the GPU finish together"},
};
constexpr RestoreSentence kRestoreAgreement[] = {
    {"Simulation and closed form agree.", [](const RestoreSubject& s) { return s.farthest < 1e-6; }},
    {"Simulation and closed form differ by at most {farthest} of TTFT ({farthest policy})."},
};

// Returns the speedups over the next policy that is noticeably slower, and over the slowest one.
std::string factors_text(const RestoreSubject& s) {
  const auto factor_of = [&](const Json* other) { return restore_s(*other) / restore_s(s.best()); };
  const auto next = std::find_if(s.order.begin(), s.order.end(),
                                 [&](const Json* other) { return factor_of(other) > kNoticeable; });
  if (next == s.order.end()) return "";
  std::vector<const Json*> slower = {*next};
  if (s.order.back() != *next) slower.push_back(s.order.back());
  return ": " + joined(slower, ", ", [&](const Json* other) {
           return format_number(factor_of(other)) + "x faster than " + text_of(*other, "policy");
         });
}

const PlaceOfText<RestoreSubject> kRestorePlaces[] = {
    {"policy", [](const RestoreSubject& s) { return text_of(s.best(), "policy"); }},
    {"tokens",
     [](const RestoreSubject& s) {
       const double tokens = number_of(s.json, "tokens");
       return std::isnan(tokens) ? "" : format_count(std::llround(tokens));
     }},
    {"model", [](const RestoreSubject& s) { return text_of(s.json, "model"); }},
    {"tier", [](const RestoreSubject& s) { return text_of(s.json, "tier"); }},
    {"hardware", [](const RestoreSubject& s) { return text_of(s.json, "hardware"); }},
    {"ms", [](const RestoreSubject& s) { return format_number(1e3 * restore_s(s.best())); }},
    {"factors", factors_text},
    {"KiB",
     [](const RestoreSubject& s) {
       return format_number(number_of(s.best(), "stored_bytes_per_token") / 1024);
     }},
    {"hidden", [](const RestoreSubject& s) { return s.layers("hidden_layers"); }},
    {"KV", [](const RestoreSubject& s) { return s.layers("kv_layers"); }},
    {"recomputed", [](const RestoreSubject& s) { return s.layers("recompute_layers"); }},
    {"bottleneck", [](const RestoreSubject& s) { return first_said(kRestoreBottleneck, s); }},
    {"farthest", [](const RestoreSubject& s) { return format_percent(s.farthest); }},
    {"farthest policy", [](const RestoreSubject& s) { return s.farthest_policy; }},
};
std::span<const PlaceOfText<RestoreSubject>> places_of(const RestoreSubject&) { return kRestorePlaces; }

std::vector<std::string> restore_sentences(const Json& restore) {
  const RestoreSubject s(restore);
  if (s.order.empty()) return {};
  std::vector<std::string> texts = {
      first_said(kRestoreVerdict, s),
      quality_text(text_of(s.best(), "policy"), text_of(s.best(), "quality_note")),
      first_said(kRestoreLayers, s), first_said(kRestoreAgreement, s)};
  std::erase(texts, "");
  return texts;
}

// ---- views ----

std::string ms(const Json& object, std::string_view key) {
  return format_number(1e3 * number_of(object, key));
}

void restore_markdown(const ReportDocument& document, MarkdownPage& page) {
  const Json& restore = document.content;
  page.heading(2, document.name + ": " + text_of(restore, "tokens") + " tokens of " +
                      text_of(restore, "model") + " from " + text_of(restore, "tier") + " on " +
                      text_of(restore, "hardware"));
  std::vector<Cells> rows;
  for (const Json& entry : list_of(restore, "policies")) {
    const Json& schedule = value_of(entry, "schedule");
    rows.push_back({text_of(entry, "policy"), ms(entry, "restore_s"), ms(entry, "ttft_s"),
                    ms(entry, "closed_form_restore_s"),
                    text_of(schedule, "hidden_layers") + "/" + text_of(schedule, "kv_layers") + "/" +
                        text_of(schedule, "recompute_layers"),
                    format_number(number_of(entry, "stored_bytes_per_token") / 1024),
                    text_of(entry, "bound")});
  }
  page.table({"policy", "restore ms", "TTFT ms", "closed form ms", "layers hidden/KV/recomputed",
              "stored KiB/token", "bottleneck"},
             rows, 1);
}

void restore_csv(const ReportDocument& document, CsvRows& rows) {
  rows.add_list(document.name, list_of(document.content, "policies"), "policy");
}

std::string restore_key(const Json& restore) {
  std::string key;
  for (const char* name : {"model", "hardware", "tokens", "new_tokens", "tier"})
    key += text_of(restore, name) + "\n";
  return key;
}
void restore_changes(const ReportDocument& then, const ReportDocument& now, std::vector<Change>& changes) {
  const auto old = by_name(list_of(then.content, "policies"), "policy");
  for (const Json& entry : list_of(now.content, "policies")) {
    const std::string policy = text_of(entry, "policy");
    const auto match = old.find(policy);
    if (match == old.end()) continue;
    changes.push_back({now.name, policy, "restore_s", "restoration", "ms",
                       1e3 * number_of(*match->second, "restore_s"), 1e3 * number_of(entry, "restore_s"), 0});
  }
}

}  // namespace

const DocumentKind kRestoreDocument = {.schema = "kvcap.restore/1",
                                       .page = "restoration",
                                       .parts = kRestoreParts,
                                       .add_csv = restore_csv,
                                       .add_markdown = restore_markdown,
                                       .sentences = restore_sentences,
                                       .key = restore_key,
                                       .add_changes = restore_changes};

}  // namespace kvcap
