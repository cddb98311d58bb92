// What a command may write over: nothing that it reads itself, and no file that kvcap did not write.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/output_paths.h"

namespace kvcap {

// Whether the file begins as something that kvcap writes: a result, a page, a timeline, requests, sessions.
// What people write for kvcap (scenarios, sweeps, plans, profiles, models) is none of these, nor is the log
// of an observation; an empty file holds nothing to lose. `beginning`: of what is about to be written, where
// that says whose it is; or empty.
bool is_own_output(const std::filesystem::path& path, std::string_view beginning = {});

// What refuse_no_file() throws, and InputError for a regular file that is there and not kvcap's.
void refuse_to_replace(const std::string& option, const std::filesystem::path& path,
                       std::span<const std::string> inputs, std::string_view beginning = {});

// The same for the files `names` in a folder, whose logs and tables are kvcap's if a result lies beside them;
// no pipe stands for one of them.
void refuse_to_replace_in(const std::string& option, const std::filesystem::path& folder,
                          std::span<const std::string> names, std::span<const std::string> inputs);

}  // namespace kvcap
