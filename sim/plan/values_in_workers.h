// Runs jobs in workers that return plain values, such as numbers.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "plan/workers.h"

namespace kvcap {

template <class T>
using ValuesJob = std::function<std::vector<T>(std::size_t job, std::atomic<int64_t>& done_units)>;

// Returns the values of each job, in order. Throws as run_in_workers() does.
template <class T>
std::vector<std::vector<T>> values_in_workers(std::size_t jobs, const ValuesJob<T>& values_of,
                                              const WorkerOptions& options = {}) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::vector<std::string> messages = run_in_workers(
      jobs,
      [&](std::size_t job, std::atomic<int64_t>& done_units) {
        const std::vector<T> values = values_of(job, done_units);
        return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
      },
      options);
  std::vector<std::vector<T>> all;
  for (const std::string& bytes : messages) {
    all.emplace_back(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(all.back().data(), bytes.data(), bytes.size());
  }
  return all;
}

}  // namespace kvcap
