#include "calibration/tables/tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "base/files.h"
#include "base/input_error.h"

namespace kvcap::calibration {

void add_collective(const std::string& op, const CollectivePoint& point, ImportedTimes* times) {
  if (op == "all_reduce" || op == "allreduce") {
    times->collectives.all_reduce.push_back(point);
  } else if (op == "all_gather" || op == "allgather") {
    times->collectives.all_gather.push_back(point);
  } else if (op == "all_to_all" || op == "alltoall") {
    times->collectives.all_to_all.push_back(point);
  } else {
    ++times->left_out[op];
  }
}

TableRow::TableRow(const std::string& path, int64_t line, const std::vector<std::string>& columns,
                   std::vector<std::string> fields)
    : at_(path + ":" + std::to_string(line)), columns_(columns), fields_(std::move(fields)) {
  fields_.resize(columns_.size());
}

const std::string& TableRow::text(const std::string& column) const {
  const std::string* found = find(column);
  if (!found) throw InputError(at_ + ": no column " + column);
  return *found;
}

double TableRow::number(const std::string& column, double least) const {
  const std::string& found = text(column);
  char* end = nullptr;
  const double value = std::strtod(found.c_str(), &end);
  if (found.empty() || *end != '\0' || !(value >= least) || !std::isfinite(value)) {
    char allowed[40];
    std::snprintf(allowed, sizeof allowed, "a number from %g", least);
    refuse(column, allowed);
  }
  return value;
}

int64_t TableRow::integer(const std::string& column, int64_t least) const {
  const double value = number(column, static_cast<double>(least));
  if (value != std::floor(value) || value > 9e15) refuse(column, "an integer");
  return static_cast<int64_t>(value);
}

std::string TableRow::first_of(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    if (has(name)) return name;
  }
  return {};
}

double TableRow::time_s() const {
  for (const auto& [column, unit_s] : {std::pair("time_s", 1.0), {"t_ms", 1e-3}, {"t_us", 1e-6}}) {
    if (!has(column)) continue;
    const double time_s = number(column) * unit_s;
    if (time_s <= 0) refuse(column, "a time above 0");
    return time_s;
  }
  throw InputError(at_ + ": no column of times, allowed: time_s, t_ms, t_us");
}

void TableRow::refuse(const std::string& column, const std::string& allowed) const {
  throw InputError(at_ + ": " + column + ": found \"" + text(column) + "\", allowed: " + allowed);
}

const std::string* TableRow::find(const std::string& column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  return found == columns_.end() ? nullptr : &fields_[static_cast<std::size_t>(found - columns_.begin())];
}

namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream text(line);
  for (std::string field; std::getline(text, field, ',');) {
    const std::size_t begin = field.find_first_not_of(" \t\r");
    const std::size_t end = field.find_last_not_of(" \t\r");
    fields.push_back(begin == std::string::npos ? "" : field.substr(begin, end - begin + 1));
  }
  return fields;
}

AddRow reader_of(const TableRow& row) {
  for (const auto reader : {aiconfigurator_table, own_table}) {
    if (const AddRow add = reader(row)) return add;
  }
  throw InputError(row.at() +
                   ": no table that is known by its columns, allowed: m, n, k; op, num_gpus, bytes; q_heads, "
                   "kv_heads; or a table of AIConfigurator (kvcap-calibrate import --help)");
}

// Which program measured the row, and on what: "VLLM 0.24.0 on NVIDIA H200"; empty if the row does not say.
std::string version_of(const TableRow& row) {
  std::string text;
  const auto add = [&](const char* column, const char* before) {
    if (row.has(column) && !row.text(column).empty()) text += (text.empty() ? "" : before) + row.text(column);
  };
  add("framework", "");
  add("version", " ");
  add("device", " on ");
  return text;
}

void read_table(const std::string& path, const ImportOptions& options, ImportedTimes* times) {
  std::string text = read_text(path);
  if (is_nccl_tests(text)) {
    text = csv_of_nccl_tests(path, text);
    times->versions.insert("nccl-tests");
  } else if (is_vllm_gemms(text)) {
    text = csv_of_vllm_gemms(path, text);
    times->versions.insert("vLLM's bench_fp8_gemm.py");
  }
  std::istringstream file(text);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = fields_of(line);
  for (const auto& [column, value] : options.where) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
      throw InputError(path + ": no column " + column + " (--where)");
    }
  }
  for (int64_t number = 2; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const TableRow row(path, number, columns, fields_of(line));
    const AddRow add = reader_of(row);
    const bool wanted =
        std::all_of(options.where.begin(), options.where.end(),
                    [&row](const auto& condition) { return row.text(condition.first) == condition.second; });
    if (!wanted) continue;
    add(row, times);
    if (const std::string version = version_of(row); !version.empty()) times->versions.insert(version);
  }
}

}  // namespace

std::string files_text(const ImportOptions& options) {
  std::string text;
  for (const std::string& table : options.tables) text += (text.empty() ? "" : ", ") + table;
  for (const auto& [column, value] : options.where) text.append(", ").append(column + "=" + value);
  return text;
}

ImportedTimes read_tables(const ImportOptions& options) {
  ImportedTimes times;
  for (const auto& [column, value] : options.where) times.selected.insert(column);
  for (const std::string& table : options.tables) read_table(table, options, &times);
  const Collectives& collectives = times.collectives;
  if (times.gemms.empty() && times.attention.empty() && collectives.all_reduce.empty() &&
      collectives.all_gather.empty() && collectives.all_to_all.empty()) {
    throw InputError("no row of " + files_text(options) + " can be used");
  }
  return times;
}

}  // namespace kvcap::calibration
