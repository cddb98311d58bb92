#include <algorithm>
#include <cmath>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "documents/items.h"
#include "documents/kind.h"

namespace kvcap {
namespace {

constexpr DocumentPart kRestoreParts[] = {{"policies", Json::value_t::array}};

// True iff the policy can be built; ideal, and loads that are assumed to take no time, are bounds.
bool is_buildable(const Json& entry) {
  const bool is_free = number_of(entry, "read_bytes") > 0 && number_of(entry, "restore_s") < 1e-9;
  return text_of(entry, "policy") != "ideal" && !is_free;
}

std::vector<std::string> restore_sentences(const Json& restore) {
  std::vector<const Json*> entries;
  double farthest = 0;
  std::string farthest_policy;
  for (const Json& entry : list_of(restore, "policies")) {
    if (is_buildable(entry) && number_of(entry, "restore_s") > 0) entries.push_back(&entry);
    // The error is a share of the whole TTFT, because a restoration of 0 s has no relative error.
    const double off = std::abs(number_of(entry, "restore_s") - number_of(entry, "closed_form_restore_s")) /
                       number_of(entry, "ttft_s");
    if (off > farthest) {
      farthest = off;
      farthest_policy = text_of(entry, "policy");
    }
  }
  if (entries.empty()) return {};
  std::stable_sort(entries.begin(), entries.end(), [](const Json* a, const Json* b) {
    return number_of(*a, "restore_s") < number_of(*b, "restore_s");
  });
  const Json& best = *entries.front();
  const std::string policy = text_of(best, "policy");
  // Factors over the next policy that is noticeably slower, and over the slowest.
  std::vector<std::string> factors;
  const auto factor_of = [&](const Json* other) {
    return number_of(*other, "restore_s") / number_of(best, "restore_s");
  };
  const auto next = std::find_if(entries.begin(), entries.end(),
                                 [&](const Json* other) { return factor_of(other) > kNoticeable; });
  const auto last = entries.empty() ? entries.end() : entries.end() - 1;
  for (auto other = next; other != entries.end(); other = other == last ? entries.end() : last)
    factors.push_back(format_number(factor_of(*other)) + "x faster than " + text_of(**other, "policy"));
  const double tokens = number_of(restore, "tokens");
  std::vector<std::string> said = {
      policy + " restores " + (std::isnan(tokens) ? "" : format_count(std::llround(tokens))) + " tokens of " +
      text_of(restore, "model") + " from " + text_of(restore, "tier") + " on " +
      text_of(restore, "hardware") + " in " + format_number(1e3 * number_of(best, "restore_s")) + " ms" +
      (factors.empty() ? "." : ": " + joined(factors) + ".")};
  const Json& schedule = value_of(best, "schedule");
  const std::string bound = text_of(best, "bound");
  said.push_back(policy + " keeps " + format_number(number_of(best, "stored_bytes_per_token") / 1024) +
                 " KiB per token and restores " + text_of(schedule, "hidden_layers") +
                 " layers from hidden states, " + text_of(schedule, "kv_layers") +
                 " from keys and values and " + text_of(schedule, "recompute_layers") + " from tokens; " +
                 (bound == "io"        ? "loading is the bottleneck."
                  : bound == "compute" ? "the GPU is the bottleneck."
                                       : "loading and the GPU finish together."));
  said.push_back(farthest < 1e-6 ? "Simulation and closed form agree."
                                 : "Simulation and closed form differ by at most " +
                                       format_percent(farthest) + " of TTFT (" + farthest_policy + ").");
  return said;
}

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
              "stored KiB/token", "bound by"},
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
