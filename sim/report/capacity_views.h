// A capacity (kvcap.capacity/1) as sentences and as a table: the highest load that meets the targets, and
// what is served below and beyond it.
#pragma once

#include <string>
#include <vector>

#include "report/report_data.h"

namespace kvcap {

std::vector<std::string> capacity_sentences(const Json& capacity);

// A row a load of the curve; columns of rejected, failed and truncated turns only where there are any. The
// first column and the last are words.
struct CapacityTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};
CapacityTable capacity_table(const Json& capacity);

}  // namespace kvcap
