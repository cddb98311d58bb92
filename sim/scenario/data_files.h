// Data that are not part of the project: "$KVCAP_DATA/traces/x" in a scenario is the file traces/x of the
// data folder. That is the environment variable KVCAP_DATA; without it, `data` or `shared/data` in the
// scenario's folder or in one above it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace kvcap {

inline constexpr std::string_view kDataPrefix = "$KVCAP_DATA/";

// The file that `written` means in a scenario of `folder`; nothing where `written` begins with kDataPrefix
// and there is no such file.
std::optional<std::string> find_data(const std::string& written, const std::filesystem::path& folder);

// Where it was looked for, and where the data come from: one line that follows "found ...".
std::string missing_data(const std::string& written);

}  // namespace kvcap
