#include "base/text/warning.h"

#include <mutex>
#include <set>

#include "base/text/print.h"

namespace kvcap {

void warn(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(text).second) tell("kvcap: warning: " + text);
}

}  // namespace kvcap
