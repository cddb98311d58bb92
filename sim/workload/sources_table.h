// The table of sources: what workload.source.kind may be. A reader or a generator is one file and one row
// here; the scenario's fields, messages, help, kvcap trace and kvcap show read the table.
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
  std::optional<int64_t> sessions;  // how many are wanted; absent: all, or as many as a generator makes
  uint64_t seed = 1;
  bool needs_arrivals = false;  // each turn has to have arrival_s
};

// Whether a source says how long users think: none of its sessions, some, all.
enum class ThinkTimes : uint8_t { none, some, all };

struct SourceRow {
  std::string_view name;
  std::string_view summary;  // one line
  bool is_generated = false;
  bool has_arrivals = false;  // its sessions may say when they arrive
  bool has_columns = false;   // the options' columns say which one holds what
  // What the format says of the input of a later turn; automatic: nothing.
  InputIs input_is = InputIs::new_tokens;
  ThinkTimes think_times = ThinkTimes::none;
  // Throws InputError as make_workload does.
  Source (*open)(const SourceRequest& request) = nullptr;
  // Whether a file that begins so is of this kind; null where no file is.
  bool (*sniff)(const FileBeginning& beginning) = nullptr;
};

std::span<const SourceRow> source_table();
std::span<const std::string_view> source_names();
// REQUIRES: the name is in the table.
const SourceRow& source_row(std::string_view name);

// The kind of a file: the first row that knows its beginning; session JSONL where none does. Throws
// InputError where it cannot be read, and for a log of other columns.
const SourceRow& guess_source(const std::string& path);

}  // namespace kvcap
