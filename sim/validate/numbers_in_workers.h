// Runs jobs in parallel workers that return numbers.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "plan/workers.h"

namespace kvcap {

using NumbersJob = std::function<std::vector<double>(std::size_t job, std::atomic<int64_t>& done_units)>;

// Returns the numbers of each job, in order.
inline std::vector<std::vector<double>> numbers_in_workers(std::size_t jobs, const NumbersJob& numbers_of,
                                                           const WorkerOptions& options = {}) {
  const std::vector<std::string> messages = run_in_workers(
      jobs,
      [&](std::size_t job, std::atomic<int64_t>& done_units) {
        const std::vector<double> numbers = numbers_of(job, done_units);
        return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
      },
      options);
  std::vector<std::vector<double>> all;
  for (const std::string& bytes : messages) {
    all.emplace_back(bytes.size() / sizeof(double));
    std::memcpy(all.back().data(), bytes.data(), bytes.size());
  }
  return all;
}

}  // namespace kvcap
