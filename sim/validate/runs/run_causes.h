// Which assumption most likely makes a simulation differ from a server: a table of conditions on the
// evidence, the likelier ones first. The first that holds for a group of figures is its cause.
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
  std::string id;                   // of the row of the table
  std::vector<FigureGroup> groups;  // that it explains
  std::string field;                // of the scenario, that states the assumption
  std::string text;                 // one or two sentences with the evidence
};

std::vector<Cause> likely_causes(const RunEvidence& evidence, const Outside& outside);

// Ids of the table's rows, in their order.
std::vector<std::string_view> cause_ids();

}  // namespace kvcap
