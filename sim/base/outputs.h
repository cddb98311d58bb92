// Checks that a command overwrites neither its own inputs nor a file that kvcap did not write.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/output_paths.h"

namespace kvcap {

// True iff the file begins like an output of kvcap (a result, a page, a timeline, requests, sessions) or is
// empty. Files that users write for kvcap (scenarios, sweeps, plans, profiles, models) and logs of
// observations do not count. `beginning`: the first bytes of the new output if they identify kvcap, else
// empty.
bool is_own_output(const std::filesystem::path& path, std::string_view beginning = {});

// Throws as refuse_no_file() does, and for an existing regular file that kvcap did not write.
void refuse_to_replace(const std::string& option, const std::filesystem::path& path,
                       std::span<const std::string> inputs, std::string_view beginning = {});

// Throws InputError if one of the files `names` in a folder may not be replaced. Logs and tables count as
// kvcap's if the folder holds a result; pipes are refused.
void refuse_to_replace_in(const std::string& option, const std::filesystem::path& folder,
                          std::span<const std::string> names, std::span<const std::string> inputs);

}  // namespace kvcap
