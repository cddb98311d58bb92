#include "soak/hints.h"

#include <cstdio>
#include <stdexcept>

#include "soak/edge_values.h"
#include "soak/plans.h"
#include "soak/scenario_generator.h"

namespace kvcap::soak {

std::string scenario_hint(uint64_t number) { return "1 " + std::to_string(number); }

std::string edge_hint(std::string_view bytes) {
  std::string hint = "edge ";
  char digits[3];
  for (const char byte : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    hint += digits;
  }
  return hint;
}

std::string plan_hint(uint64_t number) { return "plans 1 " + std::to_string(number); }

std::string bytes_of(std::string_view hex) {
  if (hex.size() % 2 != 0 || hex.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
    throw std::invalid_argument("found \"" + std::string(hex) + "\", allowed: pairs of hexadecimal digits");
  }
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

std::string hinted_text(const std::vector<std::string>& arguments) {
  const auto is = [&](std::size_t size, const char* first) {
    return arguments.size() == size && arguments[0] == first;
  };
  if (is(2, "1")) return scenario_json(std::stoull(arguments[1]));
  if (is(2, "edge")) return edge_scenario(bytes_of(arguments[1]));
  if (is(3, "plans") && arguments[1] == "1") return plan_json(std::stoull(arguments[2]));
  throw std::invalid_argument("these arguments do not run one case again");
}

}  // namespace kvcap::soak
