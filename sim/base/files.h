// Whole files in and out, in a world of full disks, foreign links and endless files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace kvcap {

// A file, pipe or device up to its end. Throws InputError, which begins with `path`, where it cannot be read
// or has more than `most_bytes`; no more than those are read.
std::string read_file(const std::filesystem::path& path, int64_t most_bytes);

// InputError for a regular file of more than `most_bytes`.
void refuse_larger(const std::filesystem::path& path, int64_t most_bytes);

// Writes under a new name in the same folder, then renames: whoever looks sees the old file or the new one,
// and what was written in vain is removed again. A link is followed, a pipe or a device is written to as it
// is. Throws std::system_error that names `path`.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace kvcap
