// Formats one or more restorations (kvcap.restore/1 documents) as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kvcap {

// Returns a table with a row per distinct way to restore. Policies with equal times and schedules at every
// length share a row and are listed below the table. Several documents may differ only in the context's
// length; their table has a column per length.
std::string restore_table(const std::vector<nlohmann::ordered_json>& documents);
// Returns the notes on the machine and on the rows of this table.
std::string restore_notes(const std::vector<nlohmann::ordered_json>& documents);

}  // namespace kvcap
