#include "calibration/machine_facts.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace kvcap::calibration {

std::string numa_text(std::string bus_id, const std::filesystem::path& devices) {
  std::transform(bus_id.begin(), bus_id.end(), bus_id.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  std::ifstream file(devices / bus_id / "numa_node");
  int node = -1;
  if (!(file >> node) || node < 0) return "";
  return "NUMA node " + std::to_string(node);
}

namespace {

// Returns the name of a link: the word of the row "GPU<from>" in the column of GPU `to`; "?" if there is
// none.
std::string link_name(const std::string& topology, int64_t from, int64_t to) {
  std::istringstream lines(topology);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != "GPU" + std::to_string(from)) continue;
    const std::vector<std::string> row(std::istream_iterator<std::string>(words), {});
    const auto columns = std::ssize(row);
    // The line of column names has no X for the GPU itself.
    if (std::max(from, to) < columns && row[static_cast<std::size_t>(from)] == "X") {
      return row[static_cast<std::size_t>(to)];
    }
  }
  return "?";
}

}  // namespace

std::string links_text(const std::string& topology, int64_t count,
                       const std::function<bool(int64_t, int64_t)>& has_peer_access) {
  std::string text = "links between GPUs:";
  for (int64_t from = 0; from < count; ++from) {
    text += (from == 0 ? " GPU" : ", GPU") + std::to_string(from);
    for (int64_t to = 0; to < count; ++to) {
      text += " " + (from == to ? "X" : link_name(topology, from, to));
      if (from != to && !has_peer_access(from, to)) text += " (no peer access)";
    }
  }
  return text;
}

}  // namespace kvcap::calibration
