// Command-line arguments with which kvcap_soak repeats one of its cases; it prints them with each finding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::soak {

std::string scenario_hint(uint64_t number);
std::string edge_hint(std::string_view bytes);
std::string plan_hint(uint64_t number);

// Returns the scenario or plan that such arguments run. Throws std::invalid_argument if they are not a hint.
std::string hinted_text(const std::vector<std::string>& arguments);

// Returns the bytes encoded by the digits of edge_hint(). Throws std::invalid_argument if `hex` is not pairs
// of hexadecimal digits.
std::string bytes_of(std::string_view hex);

}  // namespace kvcap::soak
