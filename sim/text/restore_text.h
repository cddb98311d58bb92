// Writes the text of one or more restorations (kvcap.restore/1 documents).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kvcap {

// Returns a table of the distinct ways to restore: policies that restore alike at every length share a row,
// and are listed below the table. Several documents differ only in the context's length; their table has a
// column per length.
std::string restore_table(const std::vector<nlohmann::ordered_json>& documents);
// Returns the notes on the machine and on the rows of this table.
std::string restore_notes(const std::vector<nlohmann::ordered_json>& documents);

}  // namespace kvcap
