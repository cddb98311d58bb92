#include "report/read_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <variant>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/joined.h"
#include "base/text/json_document.h"
#include "base/text/plain_text.h"
#include "base/text/utf8.h"
#include "documents/kind.h"
#include "plan/sweep/results_file.h"
#include "report/find_files.h"

namespace kvcap {
namespace {

// Returns the kind of a document; null if a report cannot read such a document from a file.
const DocumentKind* kind_of(const Json& document) {
  if (!document.is_object() || !document.contains("schema") || !document["schema"].is_string())
    return nullptr;
  const DocumentKind* kind = find_document_kind(document["schema"].get<std::string>());
  return kind && kind->is_file ? kind : nullptr;
}

std::string known_schemas() {
  std::vector<std::string_view> names;
  for (const DocumentKind* kind : kDocumentKinds)
    if (kind->is_file) names.push_back(kind->schema);
  return joined(names);
}

void check_parts(const Json& document, const DocumentKind& kind, const std::string& place) {
  for (const DocumentPart& part : kind.parts) {
    const auto found = document.find(part.key);
    if (found != document.end() && found->type() == part.kind) continue;
    throw InputError(place + ": " + part.key + ": found " +
                     (found == document.end() ? "nothing" : found->type_name()) + ", allowed in " +
                     std::string(kind.schema) + ": " + (part.kind == Json::value_t::string ? "a " : "an ") +
                     Json(part.kind).type_name());
  }
  if (!kind.items) return;
  const auto& [list, item_kind] = *kind.items;
  for (std::size_t i = 0; i < document[list].size(); ++i) {
    const Json& item = document[list][i];
    const std::string inner = place + ": " + list + "." + std::to_string(i);
    if (!item.is_object()) throw InputError(inner + ": found " + item.type_name() + ", allowed: an object");
    check_parts(item, *item_kind, inner);
  }
}

Json cell_json(const Cell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) return *integer;
  if (const auto* number = std::get_if<double>(&cell)) return std::isfinite(*number) ? Json(*number) : Json();
  if (const auto* text = std::get_if<std::string>(&cell)) return valid_utf8(*text);
  return nullptr;
}

// True for columns that describe the point and are neither swept fields nor metrics.
bool is_about_point(const std::string& column) {
  constexpr std::array<std::string_view, 6> kNames = {"error",        "scenario", "intervals",
                                                      "quality_note", "notes",    "build"};
  return std::find(kNames.begin(), kNames.end(), column) != kNames.end();
}

// True iff row i is one of at most `most` evenly spaced rows: the first row with its value of floor(i * most
// / rows).
bool is_kept(int64_t i, int64_t rows, int64_t most) {
  return rows <= most || i == 0 || i * most / rows != (i - 1) * most / rows;
}

bool is_database(const std::filesystem::path& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::array<char, kMagic.size()> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  return std::string_view(head.data(), static_cast<std::size_t>(file.gcount())) == kMagic ||
         path.extension() == ".sqlite";
}

// Reads a file; nullopt for a file found in a folder that is not a document of a report.
std::optional<Json> read_found(const FoundFile& file, std::vector<std::string>& skipped) {
  const std::string place = file.path.string();
  const bool is_regular = std::filesystem::is_regular_file(file.path);
  if (is_regular && is_database(file.path)) {
    refuse_larger(file.path, kMostInputBytes);
    return read_sweep_rows(place);
  }
  std::string text = read_file(file.path, kMostInputBytes);
  // Other programs' files in a folder are skipped, but a broken document of kvcap is an error.
  if (!file.is_asked && text.find("\"kvcap.") == std::string::npos) {
    skipped.push_back(place + ": is not a document of kvcap");
    return std::nullopt;
  }
  try {
    return read_document(std::move(text), place);
  } catch (const InputError& error) {
    const std::string_view what = error.what();
    if (file.is_asked || what.find(": schema: ") == std::string_view::npos) throw;
    skipped.emplace_back(what);
    return std::nullopt;
  }
}

class UniqueNames {
 public:
  std::string unique(const std::string& name, bool is_before) {
    std::string wanted = name;
    if (is_before && taken_.contains(wanted)) wanted += " (before)";
    std::string candidate = wanted;
    for (int n = 2; !taken_.insert(candidate).second; ++n) candidate = wanted + " " + std::to_string(n);
    return candidate;
  }

 private:
  std::set<std::string> taken_;
};

void read_side(const std::vector<std::string>& paths, bool is_before, UniqueNames& names,
               std::vector<ReportDocument>& inputs, std::vector<std::string>& skipped) {
  std::set<std::filesystem::path> seen;
  for (const std::string& path : paths) {
    std::size_t found = 0;
    for (const FoundFile& file : find_files(path, skipped)) {
      std::error_code error;
      const std::filesystem::path whole = std::filesystem::canonical(file.path, error);
      if (!error && seen.contains(whole)) {
        ++found;
        continue;
      }
      std::optional<Json> content = read_found(file, skipped);
      if (!content) continue;
      ++found;
      if (!error) seen.insert(whole);
      inputs.push_back({names.unique(valid_utf8(file.name), is_before), valid_utf8(file.path.string()),
                        is_before, std::move(*content)});
    }
    if (found == 0)
      throw InputError(path + ": contains nothing to report, looked for: results.sqlite and JSON of " +
                       known_schemas());
  }
}

}  // namespace

Json read_document(std::string text, const std::string& place) {
  text = valid_utf8(text);
  Json document = read_json<Json>(text, place);
  const DocumentKind* kind = kind_of(document);
  if (!kind) {
    const bool has_schema = document.is_object() && document.contains("schema");
    const std::string found = has_schema ? beginning(document["schema"].dump()) : "none";
    throw InputError(place + ": schema: found " + found + ", allowed: " + known_schemas() +
                     ", or the results.sqlite of a sweep");
  }
  check_parts(document, *kind, place);
  return document;
}

Json read_sweep_rows(const std::string& path) {
  Json parameters = Json::array(), metrics = Json::array(), columns = Json::object(), base;
  std::vector<Json*> kept;  // the list that receives each column; null: the column is left out
  int64_t total = 0, rows = 0, scenario_column = -1;
  const auto begin = [&](const std::vector<std::string>& names) {
    bool swept = true;
    std::vector<std::string> wanted(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string column = valid_utf8(names[i]);
      if (column == "status") swept = false;
      if (column == "scenario") scenario_column = static_cast<int64_t>(i);
      if (i < 2 || is_about_point(column) || columns.contains(column)) continue;  // point, key
      if (column != "status") (swept ? parameters : metrics).push_back(column);
      columns[column] = Json::array();
      wanted[i] = column;
    }
    for (const std::string& column : wanted) kept.push_back(column.empty() ? nullptr : &columns[column]);
  };
  read_results(
      path, [&](const std::vector<std::string>& names, const std::vector<Cell>& row, int64_t of_rows) {
        if (kept.empty()) begin(names);
        const int64_t i = total++;
        if (!is_kept(i, of_rows, kMostSweepRows)) return;
        ++rows;
        for (std::size_t c = 0; c < row.size(); ++c)
          if (kept[c]) kept[c]->push_back(cell_json(row[c]));
        Json& status = columns["status"].back();
        if (status.is_null()) status = "missing";
        if (base.is_null() && scenario_column >= 0) {
          const auto* text = std::get_if<std::string>(&row[static_cast<std::size_t>(scenario_column)]);
          if (text && !is_nested_too_deep(*text)) base = Json::parse(valid_utf8(*text), nullptr, false);
          if (base.is_discarded()) base = nullptr;
        }
      });
  // Leaves out parameters with a single value, because `base` contains them.
  Json varying = Json::array();
  for (const Json& name : parameters) {
    const Json& values = columns[name.get<std::string>()];
    const bool varies =
        std::any_of(values.begin(), values.end(), [&](const Json& value) { return value != values[0]; });
    if (varies) varying.push_back(name);
    if (!varies) columns.erase(name.get<std::string>());
  }
  const bool is_named = base.is_object() && base.contains("name") && base["name"].is_string();
  return {{"schema", "kvcap.sweep_rows/1"},
          {"name", is_named ? base["name"] : Json("")},
          {"parameters", varying},
          {"metrics", metrics},
          {"rows", rows},
          {"total_rows", total},
          {"columns", columns},
          {"base", base}};
}

std::vector<ReportDocument> read_inputs(const std::vector<std::string>& after,
                                        const std::vector<std::string>& before,
                                        std::vector<std::string>& skipped) {
  std::vector<ReportDocument> inputs;
  UniqueNames names;
  read_side(after, false, names, inputs, skipped);
  read_side(before, true, names, inputs, skipped);
  return inputs;
}

}  // namespace kvcap
