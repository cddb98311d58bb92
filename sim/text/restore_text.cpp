#include "text/restore_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "base/text/width.h"
#include "text/setting_grid.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

// A group of policies with the same restoration (restore_alike()). The first policy represents the group.
struct Way {
  std::size_t entry;  // index in the document's "policies"
  std::vector<std::string> policies;
};

std::string policy_of(const Json& entry) { return entry["policy"].get<std::string>(); }

bool restore_alike(const Json& one, const Json& other) {
  constexpr const char* kFacts[] = {"restore_s", "ttft_s", "schedule", "stored_bytes_per_token", "bound"};
  return std::all_of(std::begin(kFacts), std::end(kFacts),
                     [&](const char* fact) { return one[fact] == other[fact]; });
}

std::vector<Way> ways_of(const std::vector<Json>& documents) {
  std::vector<Way> ways;
  const Json& policies = documents.front()["policies"];
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const auto alike = std::find_if(ways.begin(), ways.end(), [&](const Way& way) {
      return std::all_of(documents.begin(), documents.end(), [&](const Json& document) {
        return restore_alike(document["policies"][i], document["policies"][way.entry]);
      });
    });
    if (alike == ways.end()) {
      ways.push_back({i, {policy_of(policies[i])}});
    } else {
      alike->policies.push_back(policy_of(policies[i]));
    }
  }
  return ways;
}

std::string ms(const Json& entry, const char* time_s) {
  return fmt::format("{:.2f}", 1e3 * entry[time_s].get<double>());
}

std::string layers_text(const Json& schedule) {
  return fmt::format("{}/{}/{}", schedule["hidden_layers"].get<int64_t>(),
                     schedule["kv_layers"].get<int64_t>(), schedule["recompute_layers"].get<int64_t>());
}

SettingGrid grid_of(const std::vector<Way>& ways) {
  SettingGrid grid;
  for (const Way& way : ways) grid.settings.push_back(way.policies.front());
  return grid;
}

SettingGrid facts_of(const Json& document, const std::vector<Way>& ways) {
  SettingGrid grid = grid_of(ways);
  const auto add = [&](const char* title, const char* unit, const auto& cell) {
    grid.rows.push_back({title, title, unit, {}});
    for (const Way& way : ways) grid.rows.back().cells.push_back(cell(document["policies"][way.entry]));
  };
  add("restore", "ms", [](const Json& entry) { return ms(entry, "restore_s"); });
  add("TTFT", "ms", [](const Json& entry) { return ms(entry, "ttft_s"); });
  add("closed form", "ms", [](const Json& entry) { return ms(entry, "closed_form_restore_s"); });
  add("layers hidden/KV/recomputed", "", [](const Json& entry) { return layers_text(entry["schedule"]); });
  add("stored", "KiB/token", [](const Json& entry) {
    return fmt::format("{:.1f}", entry["stored_bytes_per_token"].get<double>() / 1024);
  });
  add("bottleneck", "", [](const Json& entry) { return entry["bound"].get<std::string>(); });
  return grid;
}

SettingGrid times_of(const std::vector<Json>& documents, const std::vector<Way>& ways) {
  SettingGrid grid = grid_of(ways);
  for (const Json& document : documents) {
    const std::string title = format_count(document["tokens"].get<int64_t>()) + " tokens";
    grid.rows.push_back({title, title, "ms", {}});
    for (const Way& way : ways)
      grid.rows.back().cells.push_back(ms(document["policies"][way.entry], "restore_s"));
  }
  return grid;
}

// Returns a line per group of several policies: "as kv_offload: map_reduce, lmcache".
std::string alike_text(const std::vector<Way>& ways) {
  std::string text;
  for (const Way& way : ways) {
    if (way.policies.size() < 2) continue;
    const std::vector<std::string> others(way.policies.begin() + 1, way.policies.end());
    text += wrapped({"as " + way.policies.front() + ": " + joined(others)}, "    ");
  }
  return text.empty() ? "" : "\n" + text;
}

// Returns a line that names the policies that are only bounds, with restoration times of 0; "" if there are
// none.
std::string bounds_text(const Json& policies) {
  std::vector<std::string> bounds;
  for (const Json& entry : policies)
    if (entry["is_bound"].get<bool>()) bounds.push_back(policy_of(entry));
  if (bounds.empty()) return "";
  return "\n" + wrapped({"bounds, as if the GPU still held the context: " + joined(bounds)}, "    ");
}

std::string note_lines(const Json& notes) {
  std::string text;
  for (const Json& note : notes) text += wrapped({"note: " + plain_line(note.get<std::string>())}, "      ");
  return text;
}

}  // namespace

std::string restore_table(const std::vector<Json>& documents) {
  const Json& first = documents.front();
  const bool is_one = documents.size() == 1;
  const std::vector<Way> ways = ways_of(documents);
  std::string title =
      message_line(first["model"].get<std::string>()) + " on " +
      message_line(first["hardware"].get<std::string>()) + ": " +
      (is_one ? fmt::format("{} tokens of ", first["tokens"].get<int64_t>()) : "times to restore a ") +
      "context on " + first["tier"].get<std::string>() +
      fmt::format(", {} new tokens, idle machine", first["new_tokens"].get<int64_t>());
  std::string page = wrapped({title}) + "\n";
  const SettingGrid grid = is_one ? facts_of(first, ways) : times_of(documents, ways);
  for (const std::string& line : setting_rows(grid, table_columns())) page += line + "\n";
  page += alike_text(ways) + bounds_text(first["policies"]);
  return page;
}

std::string restore_notes(const std::vector<Json>& documents) {
  std::string page = note_lines(documents.front()["notes"]);
  if (documents.size() > 1) return page;  // notes on a row describe a single length
  for (const Way& way : ways_of(documents))
    page += note_lines(documents.front()["policies"][way.entry]["notes"]);
  return page;
}

}  // namespace kvcap
