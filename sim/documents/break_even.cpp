#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "documents/items.h"
#include "documents/kind.h"
#include "text/titles.h"

namespace kvcap {
namespace {

constexpr DocumentPart kMapParts[] = {{"cells", Json::value_t::array}};

std::vector<std::string> map_sentences(const Json& map) {
  std::map<std::string, int64_t> wins;
  int64_t cells = 0, same = 0, compared = 0;
  for (const Json& cell : list_of(map, "cells")) {
    const std::string winner = text_of(cell, "winner"), expected = text_of(cell, "closed_form_winner");
    ++cells;
    if (!winner.empty()) ++wins[winner];
    if (expected.empty() || winner.empty()) continue;
    ++compared;
    same += winner == expected;
  }
  if (wins.empty()) return {};
  std::vector<std::pair<int64_t, std::string>> order;
  order.reserve(wins.size());
  for (const auto& [policy, count] : wins) order.emplace_back(-count, policy);
  std::sort(order.begin(), order.end());
  const std::string winners = joined(order, ", ", [&](const auto& one) {
    return one.second + (&one == order.data() ? " wins " : " ") + format_count(-one.first);
  });
  std::vector<std::string> said = {fmt::format("Of {} ({}, {}) pairs, {}.", format_count(cells),
                                               field_title(text_of(map, "across")),
                                               field_title(text_of(map, "down")), winners)};
  if (compared > 0)
    said.push_back(fmt::format("The closed form names the same winner in {} of {}.", format_count(same),
                               format_count(compared)));
  if (const Json& boundaries = list_of(map, "boundaries"); !boundaries.empty()) {
    const Json& first = boundaries.front();
    const std::string across = text_of(map, "across"), down = text_of(map, "down");
    said.push_back(fmt::format("At {}, {} gives way to {} at {} {}.",
                               change_title(down + "=" + text_of(first, "down")), text_of(first, "from"),
                               text_of(first, "to"), field_title(across),
                               field_text(across, number_of(first, "simulated"))));
  }
  return said;
}

void map_markdown(const ReportDocument& document, MarkdownPage& page) {
  const Json& map = document.content;
  page.heading(2, document.name);
  const std::string across_path = text_of(map, "across"), down_path = text_of(map, "down");
  Cells head = {field_title(down_path) + " \\ " + field_title(across_path)};
  std::vector<Cells> rows;
  std::map<std::string, std::size_t> columns, places;
  const Json& cells = list_of(map, "cells");
  for (const Json& cell : cells) {
    // If the cells do not fill most of a grid, the table would be far larger than the document.
    if (rows.size() * head.size() > 4 * cells.size() + 100) {
      page.list({"the cells do not form a grid; --format csv lists them"});
      return;
    }
    const std::string across = text_of(cell, "across"), down = text_of(cell, "down");
    if (columns.try_emplace(across, head.size()).second) head.push_back(field_text(across_path, across));
    if (places.try_emplace(down, rows.size()).second) rows.push_back({field_text(down_path, down)});
    Cells& row = rows[places[down]];
    row.resize(std::max(row.size(), columns[across] + 1));
    row[columns[across]] = text_of(cell, "winner");
  }
  for (Cells& row : rows) row.resize(head.size());
  page.table(head, rows, head.size());
}

void map_csv(const ReportDocument& document, CsvRows& rows) {
  const std::string across = text_of(document.content, "across"), down = text_of(document.content, "down");
  for (const Json& cell : list_of(document.content, "cells")) {
    std::string place = across;
    place.append("=").append(text_of(cell, "across")).append(" ").append(down);
    place.append("=").append(text_of(cell, "down")).append(" ");
    for (const Json& one : list_of(cell, "policies")) {
      const std::string setting = place + text_of(one, "policy");
      for (const char* metric : {"ttft_s", "closed_form_ttft_s"})
        rows.add(document.name, setting, metric, number_of(one, metric));
    }
  }
}

void map_change_sentences(const ReportDocument& then, const ReportDocument& now,
                          std::vector<std::string>& sentences) {
  const auto place = [](const Json& cell) { return text_of(cell, "across") + "\n" + text_of(cell, "down"); };
  std::map<std::string, std::string> old;
  for (const Json& cell : list_of(then.content, "cells")) old[place(cell)] = text_of(cell, "winner");
  int64_t common = 0, changed = 0;
  for (const Json& cell : list_of(now.content, "cells")) {
    const auto match = old.find(place(cell));
    if (match == old.end()) continue;
    ++common;
    changed += match->second != text_of(cell, "winner");
  }
  sentences.push_back(now.name + ": another policy wins in " + format_count(changed) + " of " +
                      format_count(common) + " cells that both maps have.");
}

}  // namespace

const DocumentKind kBreakEvenDocument = {.schema = "kvcap.break_even/1",
                                         .page = "sweep",
                                         .parts = kMapParts,
                                         .add_csv = map_csv,
                                         .add_markdown = map_markdown,
                                         .sentences = map_sentences,
                                         .key = name_of,
                                         .add_change_sentences = map_change_sentences};

}  // namespace kvcap
