#include "base/outputs.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "base/input_error.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

// Returns the first 64 KiB of a file, plain or gzip: enough to identify its writer.
std::string beginning_of(const fs::path& path) {
  constexpr unsigned kBytes = 1 << 16;
  std::string text(kBytes, '\0');
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  const int bytes = file ? gzread(file.get(), text.data(), kBytes) : -1;
  // A file that cannot be read must not be replaced.
  if (bytes < 0) return "?";
  text.resize(static_cast<std::size_t>(bytes));
  return text;
}

// Returns the part of the field "schema" between "kvcap." and the version; empty for other texts.
std::string_view schema_of(std::string_view text) {
  constexpr std::string_view kBefore = "\"kvcap.";
  const std::size_t field = text.find("\"schema\"");
  if (field == std::string_view::npos) return {};
  const std::size_t begin = text.find(kBefore, field);
  // Only a colon and spaces may separate the field's name from its value.
  if (begin == std::string_view::npos ||
      text.substr(field + 8, begin - field - 8).find_first_not_of(" :\n\t") != std::string_view::npos) {
    return {};
  }
  text.remove_prefix(begin + kBefore.size());
  return text.substr(0, text.find_first_of("/\""));
}

[[noreturn]] void refuse_strange(const std::string& option, const fs::path& path) {
  throw InputError(option + ": " + path.string() +
                   " already exists and was not written by kvcap; choose another file or remove it");
}

}  // namespace

bool is_own_output(const fs::path& path, std::string_view beginning) {
  const std::string text = beginning_of(path);
  if (text.empty() || (!beginning.empty() && text.starts_with(beginning))) return true;
  const std::string_view schema = schema_of(text);
  if (!schema.empty()) {
    // Files that people wrote or that were recorded from a server cannot be regenerated.
    constexpr std::array<std::string_view, 7> kIrreplaceable = {"scenario", "sweep",  "plan",    "hardware",
                                                                "model",    "prices", "observed"};
    return std::find(kIrreplaceable.begin(), kIrreplaceable.end(), schema) == kIrreplaceable.end();
  }
  for (const char* head : {"session,turn,arrival_s,", "input,setting,metric,value,half_width\n"}) {
    if (text.starts_with(head)) return true;
  }
  if (text.starts_with("# kvcap: ")) return true;
  if (text.starts_with(R"({"displayTimeUnit":"ms","otherData":{"title":)")) return true;
  if (text.starts_with(R"({"id":)") && text.find(R"("turns":)") != std::string::npos) return true;
  const bool is_page = text.starts_with("<!doctype html>") || text.starts_with("<!DOCTYPE html>");
  return is_page && text.find("kvcap") != std::string::npos;
}

void refuse_to_replace(const std::string& option, const fs::path& path, std::span<const std::string> inputs,
                       std::string_view beginning) {
  std::error_code none;
  refuse_no_file(option, path, inputs);
  if (fs::is_regular_file(path, none) && !is_own_output(path, beginning)) refuse_strange(option, path);
}

void refuse_to_replace_in(const std::string& option, const fs::path& folder,
                          std::span<const std::string> names, std::span<const std::string> inputs) {
  std::error_code none;
  const auto has_result = [&] {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      const fs::path path = folder / name;
      return path.extension() == ".json" && fs::is_regular_file(path, none) && is_own_output(path);
    });
  };
  for (const std::string& name : names) {
    const fs::path path = folder / name;
    refuse_input(option, path, inputs);
    refuse_link_to_nothing(option, path);
    // A pipe or a folder of this name would cause an error only at the end; a device accepts the output.
    const fs::file_status status = fs::status(path, none);
    if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_character_file(status))
      refuse_strange(option, path);
    if (!fs::is_regular_file(status)) continue;
    const bool says_whose = path.extension() == ".json" || path.extension() == ".csv";
    if (says_whose ? !is_own_output(path) : !has_result()) refuse_strange(option, path);
  }
}

}  // namespace kvcap
