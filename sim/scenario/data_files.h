// Finds data files that are not part of the project: "$KVCAP_DATA/traces/x" in a scenario is the file
// traces/x of the data folder. The environment variable KVCAP_DATA gives the data folder; if it is not set,
// the data folder is `data` or `shared/data` in the scenario's folder or in one of its parents.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace kvcap {

inline constexpr std::string_view kDataPrefix = "$KVCAP_DATA/";

// Returns the path of the file that a scenario in `folder` names as `written`; nullopt if `written` begins
// with kDataPrefix and the file does not exist.
std::optional<std::string> find_data(const std::string& written, const std::filesystem::path& folder);

// Returns the second part of the error message for a missing file, after "found ...": where kvcap searched,
// and where the data come from.
std::string missing_data(const std::string& written);

}  // namespace kvcap
