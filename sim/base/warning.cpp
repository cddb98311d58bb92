#include "base/warning.h"

#include <cstdio>
#include <mutex>
#include <set>

namespace kvcap {

void warn(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(text).second) std::fprintf(stderr, "kvcap: warning: %s\n", text.c_str());
}

}  // namespace kvcap
