#include "plan/sweep/export.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/plain_text.h"

namespace kvcap {
namespace {

// True iff a column of `points` contains JSON.
bool is_json(const std::string& column) {
  return column == "scenario" || column == "intervals" || column == "notes";
}

// Returns the shortest digits that parse to the same double.
std::string digits(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// Quotes texts with a comma or a quote (RFC 4180).
std::string csv_text(std::string_view any) {
  const std::string text = plain_line(any);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_cell(const Cell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&cell)) return digits(*number);
  if (const auto* text = std::get_if<std::string>(&cell)) return csv_text(*text);
  return "";
}

std::string json_cell(const std::string& column, const Cell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) return std::to_string(*integer);
  const auto* number = std::get_if<double>(&cell);
  if (number && std::isfinite(*number)) return digits(*number);
  if (const auto* text = std::get_if<std::string>(&cell))
    return plain_line(is_json(column) ? *text : nlohmann::json(*text).dump());
  return "null";
}

}  // namespace

void export_csv(const ResultsFile& file, std::ostream& out) {
  bool is_first = true;
  file.each_result([&](const std::vector<std::string>& columns, const std::vector<Cell>& row) {
    std::string header, line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (is_json(columns[i])) continue;
      header += (header.empty() ? "" : ",") + csv_text(columns[i]);
      line += (i == 0 ? "" : ",") + csv_cell(row[i]);
    }
    if (is_first) out << header << '\n';
    is_first = false;
    out << line << '\n';
  });
}

void export_json(const ResultsFile& file, std::ostream& out) {
  out << "{\"schema\": \"kvcap.sweep_results/1\",\n\"results\": [";
  const char* separator = "\n";
  file.each_result([&](const std::vector<std::string>& columns, const std::vector<Cell>& row) {
    out << separator << '{';
    for (std::size_t i = 0; i < columns.size(); ++i) {
      out << (i == 0 ? "" : ", ") << plain_line(nlohmann::json(columns[i]).dump()) << ": "
          << json_cell(columns[i], row[i]);
    }
    out << '}';
    separator = ",\n";
  });
  out << "\n]}\n";
}

}  // namespace kvcap
