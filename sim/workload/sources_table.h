// The table of all sources has one row for each value of workload.source.kind. Each reader or generator is
// one file and one row. The scenario's fields, error messages, help texts, `kvcap trace` and `kvcap show` use
// this table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "workload/logs/sniff.h"
#include "workload/options.h"
#include "workload/source.h"

namespace kvcap {

struct SourceRequest {
  const SourceOptions& options;
  std::optional<int64_t> sessions;  // number of sessions; absent: all, or the generator's default
  uint64_t seed = 1;
  bool needs_arrivals = false;  // each turn must have an arrival time
};

// Which sessions of a source have think times.
enum class ThinkTimes : uint8_t { none, some, all };

struct SourceRow {
  std::string_view name;
  std::string_view summary;  // one line
  bool is_generated = false;
  bool has_arrivals = false;  // its sessions may have arrivals
  bool has_columns = false;   // supports the option `columns`
  // What a later turn's input counts in this format; automatic: the format does not define it.
  InputIs input_is = InputIs::new_tokens;
  ThinkTimes think_times = ThinkTimes::none;
  // Throws InputError as make_workload does.
  Source (*open)(const SourceRequest& request) = nullptr;
  // True iff a file that begins like this is of this kind; null if the kind is never guessed.
  bool (*sniff)(const FileBeginning& beginning) = nullptr;
};

std::span<const SourceRow> source_table();
std::span<const std::string_view> source_names();
// REQUIRES: the name is in the table.
const SourceRow& source_row(std::string_view name);

// Returns the kind of a file: the first row whose `sniff` accepts its beginning, else session JSONL. Throws
// InputError if the file cannot be read, and for a log with unknown columns.
const SourceRow& guess_source(const std::string& path);

}  // namespace kvcap
