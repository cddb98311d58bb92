// Declarations that the tables of fields share: the sections of a scenario, and FieldSpecs of common kinds.
//
// Functions `describe` are never in an anonymous namespace, because FieldVisitor finds them by
// argument-dependent lookup.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "scenario/fields.h"

namespace kvcap {

void describe(FieldVisitor& visitor, Gpu& gpu);
void describe(FieldVisitor& visitor, Sampling& sampling);
void describe(FieldVisitor& visitor, ServingOptions& serving);
void describe(FieldVisitor& visitor, FleetOptions& fleet);
void describe(FieldVisitor& visitor, WorkloadOptions& workload);
void describe(FieldVisitor& visitor, PolicyOptions& policy);

namespace field_specs {

inline constexpr double kMaxReplicas = 1024;

// Smallest value above 0 and largest value of a unit. They are far beyond any machine, but sums and products
// of a simulation stay in the range of its numbers.
struct UnitRange {
  std::string_view unit;
  double min = 0, max = 0;
};
inline constexpr UnitRange kUnitRanges[] = {{"s", 1e-12, kMaxYears_s}, {"ms", 1e-9, 1e3 * kMaxYears_s},
                                            {"1/s", 1e-9, 1e9},        {"bytes", 1, 1e18},
                                            {"bytes/s", 1, 1e15},      {"flop/s", 1e6, 1e21}};
inline constexpr UnitRange kOtherRange = {"", 1e-6, 1e12};

constexpr const UnitRange& range_of(std::string_view unit) {
  const auto* found = std::find_if(std::begin(kUnitRanges), std::end(kUnitRanges),
                                   [unit](const UnitRange& one) { return one.unit == unit; });
  return found == std::end(kUnitRanges) ? kOtherRange : *found;
}

constexpr FieldSpec count(std::string_view meaning, std::string_view unit = {}) {
  return {.meaning = meaning, .unit = unit, .min = 1, .max = kMaxCount};
}
constexpr FieldSpec required_count(std::string_view meaning) {
  return {.meaning = meaning, .min = 1, .max = kMaxCount, .required = true};
}
// Overrides the unit's upper bound. The unit's bound applies to links, because SimGrid stores their bytes per
// second as integers; GPU memory is not passed to SimGrid.
constexpr FieldSpec up_to(double max, FieldSpec spec) {
  spec.max = max;
  return spec;
}

constexpr FieldSpec positive(std::string_view meaning, std::string_view unit, bool required = true) {
  const UnitRange& range = range_of(unit);
  return {.meaning = meaning, .unit = unit, .min = range.min, .max = range.max, .required = required};
}
// `absent`, `fallback`: as in FieldSpec.
constexpr FieldSpec positive_or_absent(std::string_view meaning, std::string_view unit,
                                       std::string_view absent, DefaultValue fallback = {}) {
  FieldSpec spec = positive(meaning, unit, false);
  spec.absent = absent;
  spec.fallback = fallback;
  return spec;
}
constexpr FieldSpec not_negative(std::string_view meaning, std::string_view unit,
                                 std::string_view absent = {}) {
  return {.meaning = meaning, .unit = unit, .min = 0, .max = range_of(unit).max, .absent = absent};
}
constexpr FieldSpec amortization() {
  return positive("period over which a purchase is written off", "years", false);
}
constexpr FieldSpec price_date() {
  return {.meaning = "date of the price: 2026, 2026-03 or 2026-03-31; empty: not known"};
}
constexpr FieldSpec variation(std::string_view meaning) {
  return {.meaning = meaning, .min = 1e-3, .max = 1e3};
}
constexpr FieldSpec element_bytes(std::string_view meaning, std::string_view absent = {}) {
  return {.meaning = meaning, .unit = "bytes", .min = 0.125, .max = 8, .absent = absent};
}
constexpr FieldSpec share(std::string_view meaning, std::string_view absent = {}) {
  return {.meaning = meaning, .min = kMinShare, .max = 1, .absent = absent};
}

}  // namespace field_specs
}  // namespace kvcap
