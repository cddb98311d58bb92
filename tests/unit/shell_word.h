// A path as one word of a shell's command, whatever spaces the checkout and the temporary folder have.
#pragma once

#include <filesystem>
#include <string>

namespace kvcap {

inline std::string shell_word(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

}  // namespace kvcap
