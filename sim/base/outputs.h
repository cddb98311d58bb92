// What a command may write over: nothing that it reads itself, and no file that kvcap did not write.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace kvcap {

// Whether the file begins as something that kvcap writes: a result, a page, a timeline, requests, sessions.
// What people write for kvcap (scenarios, sweeps, plans, profiles, models) is none of these; an empty file
// holds nothing to lose.
bool is_own_output(const std::filesystem::path& path);

// Throws InputError where `path` is one of `inputs`, or a regular file that is there and not kvcap's.
// `option`: of the command line, named in the message.
void refuse_to_replace(const std::string& option, const std::filesystem::path& path,
                       std::span<const std::string> inputs);

// The same for the files `names` in a folder, whose logs and tables are kvcap's if a result lies beside them.
void refuse_to_replace_in(const std::string& option, const std::filesystem::path& folder,
                          std::span<const std::string> names, std::span<const std::string> inputs);

}  // namespace kvcap
