#include <fmt/core.h>

#include <cmath>

#include "base/text/format.h"
#include "documents/kind.h"
#include "text/titles.h"

namespace kvcap {
namespace {

std::vector<std::string> trace_sentences(const Json& stats) {
  std::vector<std::string> said;
  const double found = number_of(stats, "infinite_cache_token_hit_rate");
  if (!std::isnan(found))
    said.push_back(
        fmt::format("An unlimited cache has hits on {} of all prompt tokens; history is {} of them.",
                    format_percent(found), format_percent(number_of(stats, "history_token_share"))));
  // States the smallest capacity on the curve that has at least 90 % of the hits of an unlimited store.
  constexpr double kMost = 0.9;
  for (const Json& point : list_of(stats, "miss_ratio_curve")) {
    const double hits = 1 - number_of(point, "token_miss_ratio");
    if (!(found > 0) || !(hits >= kMost * found)) continue;
    said.push_back(fmt::format("An LRU cache of {} tokens has hits on {}; all contexts have {} tokens.",
                               format_number(number_of(point, "capacity_tokens")), format_percent(hits),
                               format_number(number_of(stats, "total_context_tokens"))));
    break;
  }
  return said;
}

void trace_markdown(const ReportDocument& document, MarkdownPage& page) {
  page.heading(2, document.name);
  std::vector<Cells> rows;
  for (const auto& [name, value] : document.content.items())
    if (value.is_number()) rows.push_back({field_title(name), field_text(name, value.get<double>())});
  page.table({"figure", "value"}, rows, 1);
}

void trace_csv(const ReportDocument& document, CsvRows& rows) {
  rows.add_all(document.name, "", document.content, "");
}

}  // namespace

const DocumentKind kTraceDocument = {.schema = "kvcap.trace_stats/1",
                                     .page = "cache",
                                     .add_csv = trace_csv,
                                     .add_markdown = trace_markdown,
                                     .sentences = trace_sentences,
                                     .key = [](const Json&) { return std::string(); }};

}  // namespace kvcap
