#include "text/titles.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "base/float_values.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "metrics/quantity.h"

namespace kvcap {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// Fields whose titles do not follow from their paths.
constexpr std::array<Pair, 14> kFields = {
    {{"policy.name", "policy"},
     {"hardware.gpu.count", "GPUs"},
     {"hardware.ssd.count", "SSDs"},
     {"hardware.nic.count", "NICs"},
     {"fleet.replicas", "replicas"},
     {"hardware.pcie.h2d_bandwidth_bytes_per_s", "PCIe bandwidth to the GPU"},
     {"hardware.pcie.d2h_bandwidth_bytes_per_s", "PCIe bandwidth from the GPU"},
     {"workload.arrivals.sessions_per_s", "session rate"},
     {"workload.arrivals.requests_per_s", "request rate"},
     {"workload.arrivals.concurrency", "active sessions"},
     {"workload.think_time.mean_s", "mean think time"},
     {"workload.sessions", "sessions"},
     {"serving.tensor_parallel_size", "tensor parallel size"},
     {"serving.kv_capacity_tokens", "KV capacity"}}};
constexpr std::array<Pair, 11> kWords = {{{"ssd", "SSD"},
                                          {"dram", "DRAM"},
                                          {"cxl", "CXL"},
                                          {"gpu", "GPU"},
                                          {"pcie", "PCIe"},
                                          {"nvlink", "NVLink"},
                                          {"nic", "NIC"},
                                          {"hbm", "GPU memory"},
                                          {"remote", "remote storage"},
                                          {"kv", "KV"},
                                          {"slo", "target"}}};
// Sections whose names add nothing to the rest of the path.
constexpr std::array<std::string_view, 4> kSections = {"hardware", "policy", "workload", "arrivals"};

std::vector<std::string_view> split(std::string_view text, std::string_view at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(at);
    if (end != 0) parts.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

template <std::size_t kSize>
std::string_view found(const std::array<Pair, kSize>& table, std::string_view name) {
  for (const auto& [one, title] : table)
    if (one == name) return title;
  return {};
}

const UnitEnding* ending_of(std::string_view path) {
  for (const UnitEnding& one : unit_endings())
    if (path.ends_with(one.ending)) return &one;
  return nullptr;
}

// Returns the path without the unit at its end ("capacity" for "capacity_bytes"), because the value shows the
// unit.
std::string_view without_unit(std::string_view path) {
  const UnitEnding* unit = ending_of(path);
  if (!unit || unit->ending == "tokens" || unit->ending.size() >= path.size()) return path;
  std::string_view rest = path.substr(0, path.size() - unit->ending.size());
  while (rest.ends_with('_')) rest.remove_suffix(1);
  return rest.empty() || rest.ends_with('.') ? path : rest;
}

std::string in_unit(const Unit& unit, double value, double half_width, const std::string& symbol) {
  const std::string text = format_interval(unit.scale * value, unit.scale * half_width);
  return symbol.empty() ? text : text + " " + symbol;
}

bool is_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string metric_title(std::string_view name) {
  const Quantity* row = find_quantity(name);
  return row ? row->title : std::string(name);
}

std::string metric_text(std::string_view name, double value, double half_width) {
  const Quantity* row = find_quantity(name);
  return row ? in_unit(row->unit, value, half_width, std::string(row->unit.symbol))
             : format_interval(value, half_width);
}

std::string column_title(std::string_view name) {
  const Quantity* row = find_quantity(name);
  const std::string title = metric_title(name);
  return row && !row->unit.symbol.empty() ? title + " (" + std::string(row->unit.symbol) + ")" : title;
}

std::string number_in_unit(std::string_view name, double value) {
  const Quantity* row = find_quantity(name);
  return format_number(row ? row->unit.scale * value : value);
}

std::string difference_unit(std::string_view unit) { return unit == "%" ? "points" : std::string(unit); }

std::string metric_change_text(std::string_view name, double change, double half_width) {
  const Quantity* row = find_quantity(name);
  return row ? in_unit(row->unit, change, half_width, difference_unit(row->unit.symbol))
             : format_interval(change, half_width);
}

std::string field_title(std::string_view path) {
  if (const std::string_view title = found(kFields, path); !title.empty()) return std::string(title);
  constexpr std::string_view kServing = "serving.";
  if (path.starts_with(kServing)) return std::string(path.substr(kServing.size()));
  std::vector<std::string> words;
  const std::vector<std::string_view> names = split(without_unit(path), ".");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i + 1 < names.size() && std::find(kSections.begin(), kSections.end(), names[i]) != kSections.end())
      continue;
    double place = 0;
    if (names[i] == "tiers" && i + 1 < names.size() && is_number(names[i + 1], place)) {
      words.push_back("tier " + std::to_string(static_cast<int>(place) + 1));
      ++i;
      continue;
    }
    for (std::string_view word : split(names[i], "_")) {
      const std::string_view title = found(kWords, word);
      words.emplace_back(title.empty() ? word : title);
    }
  }
  return words.empty() ? std::string(path) : joined(words, " ");
}

std::string field_text(std::string_view path, std::string_view value) {
  double number = 0;
  return is_number(value, number) && ending_of(path) ? field_text(path, number) : std::string(value);
}

std::string field_text(std::string_view path, double value) {
  const UnitEnding* unit = ending_of(path);
  if (!unit) return format_number(value);
  return format_number(unit->unit.scale * value) + " " + std::string(unit->unit.symbol);
}

std::string step_text(std::string_view step) {
  const std::vector<std::string_view> words = split(step, " ");
  if (words.size() != 4 || words[2] != "->") return std::string(step);
  return field_title(words[0]) + " " + field_text(words[0], words[1]) + " -> " +
         field_text(words[0], words[3]);
}

std::string change_title(std::string_view change) {
  const std::size_t at = change.find('=');
  if (at == std::string_view::npos) return std::string(change);
  const std::string_view path = change.substr(0, at), value = change.substr(at + 1);
  if (path == "policy.name" || path == "policy") return std::string(value);
  const std::string title = field_title(path), text = field_text(path, value);
  const UnitEnding* unit = ending_of(path);
  if (unit && title == unit->unit.symbol) return text;
  if (!path.ends_with(".count") && path != "fleet.replicas") return title + " " + text;
  return text + " " + (text == "1" && title.ends_with('s') ? title.substr(0, title.size() - 1) : title);
}

std::string without_paths(std::string_view note) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  constexpr std::array<std::string_view, 5> kRoots = {"serving.", "hardware.", "policy.", "workload.",
                                                      "fleet."};
  std::string text;
  while (!note.empty()) {
    std::string_view word = note.substr(0, std::min(note.size(), note.find_first_not_of(kLetters)));
    while (word.ends_with('.')) word.remove_suffix(1);
    const bool is_field = std::any_of(kRoots.begin(), kRoots.end(), [&](std::string_view root) {
      return word.size() > root.size() && word.starts_with(root);
    });
    if (is_field) {
      text += field_title(word);
    } else {
      text += word.find('.') == std::string_view::npos ? std::string(word) : metric_title(word);
    }
    note.remove_prefix(word.size());
    const std::size_t next = note.find_first_of(kLetters.substr(0, kLetters.size() - 1));
    text += note.substr(0, std::min(note.size(), next));
    note.remove_prefix(std::min(note.size(), next));
  }
  return text;
}

}  // namespace kvcap
