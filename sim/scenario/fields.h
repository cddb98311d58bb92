// The table of fields: describe() passes each field of a scenario, model or hardware profile to a
// FieldVisitor, which reads, writes or lists it.
#pragma once

#include <string_view>

#include "base/field_visitor.h"
#include "scenario/scenario.h"

namespace kvcap {

// Describe the three kinds of files that a user writes. The files of fields/ describe the structs inside
// them.
void describe(FieldVisitor& visitor, Scenario& scenario);
void describe(FieldVisitor& visitor, ModelSpec& model);
void describe(FieldVisitor& visitor, HardwareProfile& hardware);

inline constexpr std::string_view kScenarioSchema = "kvcap.scenario/1";
inline constexpr std::string_view kModelSchema = "kvcap.model/1";
inline constexpr std::string_view kHardwareSchema = "kvcap.hardware/1";

}  // namespace kvcap
