// The arguments with which kvcap_soak runs one of its cases again, as it prints them beside a finding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::soak {

std::string scenario_hint(uint64_t number);
std::string edge_hint(std::string_view bytes);
std::string plan_hint(uint64_t number);

// The scenario or plan that is run by such arguments. Throws std::invalid_argument where they are no hint.
std::string hinted_text(const std::vector<std::string>& arguments);

// Of the digits of edge_hint(). Throws std::invalid_argument where they are not pairs of hexadecimal digits.
std::string bytes_of(std::string_view hex);

}  // namespace kvcap::soak
