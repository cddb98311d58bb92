#include "spec/engine_version.h"

#include <charconv>

namespace kvcap {

std::optional<EngineVersion> parse_engine_version(std::string_view text) {
  EngineVersion version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  if (minor.ec != std::errc() || version.major < 0 || version.minor < 0) return std::nullopt;
  if (minor.ptr != end && *minor.ptr != '.') return std::nullopt;
  return version;
}

}  // namespace kvcap
