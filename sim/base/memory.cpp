#include "base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "base/input_error.h"

namespace kvcap {
namespace {

std::string gigabytes(double bytes) {
  char text[40];
  std::snprintf(text, sizeof text, bytes < 10e9 ? "%.1f GB" : "%.0f GB", bytes / 1e9);
  return text;
}

}  // namespace

int64_t memory_bytes() {
  int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    bytes = std::min(bytes, static_cast<int64_t>(limit.rlim_cur));
  }
  // Limit of the control group, which a container sees at this path; "max" if there is no limit.
  int64_t group = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> group && group > 0) bytes = std::min(bytes, group);
  return bytes;
}

void refuse_beyond_memory(const std::string& what, int64_t count, double bytes_of_one) {
  const auto most = static_cast<double>(memory_bytes());
  const double bytes = bytes_of_one * static_cast<double>(count);
  if (bytes <= most) return;
  throw InputError(what + ": found " + std::to_string(count) + ", which take " + gigabytes(bytes) +
                   " of memory or more, allowed: at most " +
                   std::to_string(static_cast<int64_t>(most / bytes_of_one)) + " in the " + gigabytes(most) +
                   " that this process may take");
}

}  // namespace kvcap
