// Formats of the states of recurrent layers: those that an engine keeps by itself, and those that its flags
// set.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "launch/flags/flags.h"
#include "spec/model_spec.h"

namespace kvcap {

// Fields in the flag table. They stand for all groups of recurrent layers; every model of the catalogue that
// has one has it second.
inline constexpr std::string_view kStateBytes = "model.layer_groups.1.recurrent.state_bytes_per_element";
inline constexpr std::string_view kConvBytes = "model.layer_groups.1.recurrent.conv_bytes_per_element";

// Returns such a field's path for another group.
std::string of_group(std::string_view field, std::size_t group);

// Bytes per element that flags name; absent: the flag is auto or missing.
struct StateFlags {
  std::optional<double> state, conv;
};

// Returns the states of a group of recurrent layers in the formats that the engine keeps. `own` has those of
// the checkpoint. REQUIRES: `own` belongs to `model`.
RecurrentState with_formats(RecurrentState own, const ModelSpec& model, Stack engine,
                            const StateFlags& flags = {});

}  // namespace kvcap
