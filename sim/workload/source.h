// Sources of sessions: what is asked, before anyone has said when. One file each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

struct Source {
  std::vector<Session> sessions;  // in the order of the source; history_grows is not set yet
  std::vector<Turn> turns;        // time_s: arrival_s of the source, NaN where it says none
  int64_t bad_rows_skipped = 0;
  std::vector<std::string> notes;
};

// Reads session JSONL (traces/README.md), at most `most` good lines. `needs_arrivals`: every turn must have
// arrival_s. Throws InputError for a bad row, unless they are skipped, and for a file without sessions.
Source read_sessions(const SourceOptions& options, std::optional<int64_t> most, bool needs_arrivals);

// Draws chats from the tables of traces/chat.json. Session i is the same for every `count`.
Source generate_chats(int64_t count, uint64_t seed);

}  // namespace kvcap
