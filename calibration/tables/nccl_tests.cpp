#include <sstream>

#include "base/input_error.h"
#include "calibration/tables/tables.h"

namespace kvcap::calibration {
namespace {

// The collective is named by the program: in the file's name, or in what the file quotes.
std::string operation_of(const std::string& path, const std::string& text) {
  for (const char* op : {"all_reduce", "all_gather", "alltoall"}) {
    if (text.find(std::string(op) + "_perf") != std::string::npos) return op;
  }
  for (const char* op : {"all_reduce", "all_gather", "alltoall"}) {
    if (path.substr(path.find_last_of('/') + 1).find(op) != std::string::npos) return op;
  }
  throw InputError(
      path +
      ": nccl-tests' output without the program's name, allowed: all_reduce_perf, all_gather_perf or "
      "alltoall_perf in the text or in the file's name");
}

}  // namespace

bool is_nccl_tests(const std::string& text) {
  return text.find("out-of-place") != std::string::npos && text.find("busbw") != std::string::npos;
}

// Rows: size, count, type, redop, root, then time, algbw, busbw and #wrong out of place and in place. Engines
// reduce in place.
std::string csv_of_nccl_tests(const std::string& path, const std::string& text) {
  const std::string op = operation_of(path, text);
  std::istringstream lines(text);
  int64_t ranks = 0;
  std::string rows;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "#") {
      if (words >> first && first == "Rank") ++ranks;
      continue;
    }
    std::string word, before, time_us;
    int count = 1;
    for (; words >> word; ++count) {
      if (count == 9) time_us = word;
    }
    if (count != 13 || first.find_first_not_of("0123456789") != std::string::npos || first == "0") continue;
    rows += op + "," + std::to_string(ranks) + "," + first + "," + time_us + "\n";
  }
  return "op,num_gpus,bytes,t_us\n" + rows;
}

}  // namespace kvcap::calibration
