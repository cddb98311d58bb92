#include "base/text/units.h"

#include <charconv>
#include <cmath>
#include <span>

namespace kvcap {
namespace {

struct Suffix {
  std::string_view text;
  double factor;
};
constexpr Suffix kCounts[] = {{"", 1},        {"k", 1e3},        {"m", 1e6},
                              {"g", 1e9},     {"t", 1e12},       {"K", 1024},
                              {"M", 1048576}, {"G", 1073741824}, {"T", 1099511627776}};
constexpr Suffix kBytes[] = {{"B", 1},         {"KB", 1e3},         {"MB", 1e6},
                             {"GB", 1e9},      {"TB", 1e12},        {"KiB", 1024},
                             {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776}};
constexpr Suffix kSeconds[] = {{"", 1},     {"us", 1e-6}, {"ms", 1e-3}, {"s", 1},
                               {"min", 60}, {"h", 3600},  {"d", 86400}};

std::optional<double> factor_of(std::string_view text, std::span<const Suffix> suffixes) {
  for (const Suffix& one : suffixes) {
    if (text == one.text) return one.factor;
  }
  return std::nullopt;
}

std::optional<double> factor_of(std::string_view text, UnitOf unit) {
  constexpr std::string_view kPerSecond = "/s";
  switch (unit) {
    case UnitOf::count:
      return factor_of(text, kCounts);
    case UnitOf::bytes:
      if (const std::optional<double> factor = factor_of(text, kBytes)) return factor;
      return factor_of(text, kCounts);
    case UnitOf::bytes_per_s:
      if (text.ends_with(kPerSecond)) text.remove_suffix(kPerSecond.size());
      return factor_of(text, UnitOf::bytes);
    case UnitOf::seconds:
      return factor_of(text, kSeconds);
    case UnitOf::milliseconds:
      if (text.empty()) return 1;
      if (const std::optional<double> seconds = factor_of(text, kSeconds)) return 1e3 * *seconds;
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

UnitOf unit_of(std::string_view name) {
  if (name.ends_with("bytes_per_s")) return UnitOf::bytes_per_s;
  if (name.ends_with("bytes")) return UnitOf::bytes;
  if (name.ends_with("_ms")) return UnitOf::milliseconds;
  const bool is_rate = name.ends_with("per_s");
  return name.ends_with("_s") && !is_rate ? UnitOf::seconds : UnitOf::count;
}

std::optional<double> number_with_unit(std::string_view text, UnitOf unit) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::optional<double> factor = factor_of(rest, unit);
  if (!factor) return std::nullopt;
  return number * *factor;
}

}  // namespace kvcap
