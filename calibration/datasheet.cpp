#include "calibration/datasheet.h"

#include <cctype>
#include <utility>

namespace kvcap::calibration {
namespace {

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

using Known = std::pair<std::string_view, double>;

template <std::size_t size>
std::optional<double> first_in(std::string_view gpu_name, const Known (&known)[size]) {
  for (const auto& [part, value] : known) {
    if (has_words(gpu_name, part)) return value;
  }
  return std::nullopt;
}

}  // namespace

bool has_words(std::string_view name, std::string_view part) {
  for (std::size_t at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if ((at == 0 || !is_of_word(name[at - 1])) && (end == name.size() || !is_of_word(name[end]))) return true;
  }
  return false;
}

std::optional<double> datasheet_flops(std::string_view gpu_name) {
  static constexpr Known kPeaks[] = {{"B200", 2250e12},
                                     {"H200", 989e12},
                                     {"GH200", 989e12},
                                     {"H100 NVL", 835e12},
                                     {"H100 PCIe", 756e12},
                                     {"H100", 989e12},
                                     {"A100", 312e12},
                                     {"A30", 165e12},
                                     {"A40", 149.7e12},
                                     {"L40S", 362e12},
                                     {"L20", 119.5e12},
                                     {"RTX 4090", 165.2e12},
                                     {"RTX PRO 6000 Blackwell", 467.8e12}};
  return first_in(gpu_name, kPeaks);
}

std::optional<double> engine_efficiency(std::string_view gpu_name) {
  static constexpr Known kEfficiencies[] = {{"H200", 0.60}, {"GH200", 0.60}, {"H100", 0.60}, {"A100", 0.54}};
  return first_in(gpu_name, kEfficiencies);
}

}  // namespace kvcap::calibration
