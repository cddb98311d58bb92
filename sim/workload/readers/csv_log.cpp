// Reads any request log in CSV or JSONL, with columns that the user names or with kvcap's own column names.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/input_error.h"
#include "workload/logs/csv.h"
#include "workload/logs/log_columns.h"
#include "workload/logs/request_log.h"
#include "workload/logs/sniff.h"
#include "workload/readers/likely_columns.h"

namespace kvcap {
namespace {

LogColumns own_columns() {
  LogColumns columns;
  constexpr std::pair<LogField, std::string_view> kOwn[] = {
      {kArrival, "arrival_s"}, {kInput, "input_tokens"}, {kOutput, "output_tokens"}, {kSession, "session"},
      {kTtft, "ttft_s"},       {kE2el, "e2el_s"},        {kPrompt, "prompt_id"},     {kId, "id"}};
  for (const auto& [field, name] : kOwn) columns[field].name = name;
  return columns;
}

// True iff the field is not empty and not a word for a missing value.
bool says_number(const LogRow& row, std::size_t field) {
  if (!row.says(field)) return false;
  for (std::string_view nothing : {"null", "NULL", "None", "nan", "NaN"}) {
    if (row.text(field) == nothing) return false;
  }
  return true;
}

// True iff the file is JSONL. `mapped`: the user has named the columns.
bool begins_as_json(const std::string& path, bool mapped) {
  const FileBeginning beginning = beginning_of_file(path);
  refuse_array_of_objects(path, beginning);
  const bool is_named = beginning.has_column("input_tokens") || beginning.has_column("output_tokens");
  if (!mapped && beginning.columns.size() > 1 && !is_named) {
    throw unknown_columns(path, "a CSV with the columns", beginning.columns);
  }
  return beginning.is_object;
}

// Index of the column request_id, which kvcap reads where its own column id is missing.
constexpr std::size_t kRequestId = kLogFields;

// Converts rows to requests with the given columns and time units.
class LogReader {
 public:
  LogReader(const SourceOptions& options, std::optional<int64_t> most)
      : options_(options),
        mapped_(!options.columns.empty()),
        columns_(mapped_ ? parse_log_columns(options.columns) : own_columns()),
        clock_(columns_[kArrival].name, columns_[kArrival].unit),
        log_(most) {}

  Source read();

 private:
  // Returns the columns to read. kvcap's own columns may be absent; columns that the user names may not.
  std::vector<LogColumn> wanted() const;
  void take(const LogRow& row);
  bool has(const LogRow& row, LogField field) const {
    return !columns_[field].name.empty() && row.says(field);
  }
  double duration_s(const LogRow& row, LogField field);
  std::string_view id_of(const LogRow& row) const {
    return has(row, kId) ? row.text(kId) : row.says(kRequestId) ? row.text(kRequestId) : std::string_view();
  }
  std::vector<Piece> prompt_of(const LogRow& row, uint32_t input_tokens);

  const SourceOptions& options_;
  bool mapped_;
  LogColumns columns_;
  LogClock clock_;
  RequestLog log_;
  std::map<std::string, uint64_t, std::less<>> prompts_;
  std::vector<uint32_t> prompt_tokens_;  // length of the shortest request per prompt
  int64_t differ_ = 0;  // requests whose length differs from that of earlier requests with the same prompt
  int64_t alone_ = 0;   // requests without a session, in a log with sessions
  bool has_sessions_ = false;
};

std::vector<LogColumn> LogReader::wanted() const {
  std::vector<LogColumn> wanted;
  for (std::size_t i = 0; i < kLogFields; ++i) {
    const bool always = i == kInput || i == kArrival;
    const bool somewhere = mapped_ || i == kOutput;
    const Need need = always ? Need::every_row : somewhere ? Need::some_row : Need::never;
    wanted.push_back({columns_[i].name, need});
    if (columns_[i].name.empty()) wanted.back().need = Need::never;
  }
  wanted.push_back({mapped_ ? "" : "request_id", Need::never});
  return wanted;
}

double LogReader::duration_s(const LogRow& row, LogField field) {
  if (!has(row, field)) return NAN;
  const MappedColumn& column = columns_[field];
  const std::optional<TimeUnit> unit = column.unit ? column.unit : unit_of_name(column.name);
  return row.duration_s(field, unit.value_or(TimeUnit::s));
}

std::vector<Piece> LogReader::prompt_of(const LogRow& row, uint32_t input_tokens) {
  if (!has(row, kPrompt)) return {};
  auto found = prompts_.find(row.text(kPrompt));
  if (found == prompts_.end()) {
    found = prompts_.emplace(row.text(kPrompt), prompt_tokens_.size()).first;
    prompt_tokens_.push_back(input_tokens);
  }
  uint32_t& shared = prompt_tokens_[found->second];
  differ_ += input_tokens != shared;
  shared = std::min(shared, input_tokens);
  return {{found->second, input_tokens}};
}

void LogReader::take(const LogRow& row) {
  LoggedRequest request;
  if (says_number(row, kOutput)) request.output_tokens = row.tokens(kOutput, 0);
  if (request.output_tokens == 0) {
    log_.add(request);  // counts it as left out
    return;
  }
  request.row = row.line();
  request.id = id_of(row);
  request.input_tokens = row.tokens(kInput);
  if (!columns_[kArrival].name.empty()) request.time_ns = row.time_ns(kArrival, clock_);
  request.measured = {duration_s(row, kTtft), duration_s(row, kE2el)};
  if (has(row, kSession)) {
    has_sessions_ = true;
    log_.add_turn(row.text(kSession), request);
  } else {
    ++alone_;
    std::vector<Piece> pieces = prompt_of(row, request.input_tokens);
    log_.add(request, std::move(pieces));
  }
}

Source LogReader::read() {
  log_.count_repeated_ids();
  for (LogField field : {kArrival, kTtft, kE2el}) {
    const std::string_view unit = columns_[field].unit ? "" : other_unit_of_name(columns_[field].name);
    if (!unit.empty()) {
      throw InputError(options_.path + ": " + columns_[field].name + ": found the unit " + std::string(unit) +
                       ", allowed: s, ms, us, ns (NAME:ms gives the unit)");
    }
  }
  const std::vector<LogColumn> columns = wanted();
  const auto take_row = [&](const LogRow& row) {
    take(row);
    return true;
  };
  // A pipe can be read only once, so the kind determines its format.
  const bool is_json = std::filesystem::is_regular_file(options_.path)
                           ? begins_as_json(options_.path, mapped_)
                           : options_.kind == "jsonl";
  const BadRows bad = is_json
                          ? for_each_json_row(options_.path, options_.on_bad_row, columns, take_row)
                          : for_each_csv_row(options_.path, options_.on_bad_row, columns, mapped_, take_row);
  log_.cut_pieces(prompt_tokens_);
  Source source = log_.finish(options_.path, bad);
  if (differ_ > 0) {
    source.notes.push_back(count_of(differ_, "request") + (differ_ == 1 ? " has" : " have") +
                           " a different input length than earlier requests with the same prompt: equal "
                           "prompts share their first tokens, up to the shortest length");
  }
  if (!clock_.note().empty()) source.notes.push_back(clock_.note());
  for (LogField field : {kTtft, kE2el}) {
    const MappedColumn& column = columns_[field];
    if (column.name.empty() || column.unit || unit_of_name(column.name)) continue;
    source.notes.push_back(column.name + " is read as seconds: no unit is given");
  }
  if (has_sessions_ && alone_ > 0) {
    source.notes.push_back(count_of(alone_, "request") + " without a session's name " +
                           (alone_ == 1 ? "is a session of its own" : "are sessions of their own"));
  }
  return source;
}

}  // namespace

Source read_csv(const SourceOptions& options, std::optional<int64_t> most) {
  return LogReader(options, most).read();
}

}  // namespace kvcap
