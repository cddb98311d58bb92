// Finds the assumption that most likely makes a simulation differ from a server. A table lists possible
// causes, the most likely first, each with a condition on the evidence. The cause of a group of figures is
// the first row whose condition holds for that group.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "validate/runs/run_evidence.h"

namespace kvcap {

enum class FigureGroup : uint8_t { hit_rate, ttft, itl };
inline constexpr std::string_view kFigureGroupNames[] = {"token hit rate", "TTFT", "ITL"};

struct Outside {
  bool hit_rate = false, ttft = false, itl = false;
};

struct Cause {
  std::string id;                   // row of the table
  std::vector<FigureGroup> groups;  // groups of figures that it explains
  std::string field;                // scenario field of the assumption
  std::string text;                 // one or two sentences with the evidence
};

std::vector<Cause> likely_causes(const RunEvidence& evidence, const Outside& outside);

// Returns the ids of the table's rows, in their order.
std::vector<std::string_view> cause_ids();

}  // namespace kvcap
