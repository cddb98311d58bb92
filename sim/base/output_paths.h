// Checks the paths that a command writes to, without looking into existing files. `option` is the
// command-line option that messages name.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace kvcap {

// Throws InputError for a link to a missing name or to itself.
void refuse_link_to_nothing(const std::string& option, const std::filesystem::path& path);

// Throws InputError if `path` is one of `inputs`; an input FILE#MEMBER counts as FILE.
void refuse_input(const std::string& option, const std::filesystem::path& path,
                  std::span<const std::string> inputs);

// Throws InputError if `path` is one of `inputs`, a folder, a socket, a disk, or a link that leads nowhere.
// Pipes and other devices are allowed. An input FILE#MEMBER counts as FILE.
void refuse_no_file(const std::string& option, const std::filesystem::path& path,
                    std::span<const std::string> inputs);

// Throws InputError for "/", however it is spelt: "$FOLDER/" is "/" if the variable is not set.
void refuse_root_folder(const std::string& option, const std::filesystem::path& folder);

// Throws InputError if both paths are the same file, however they are spelt.
void refuse_one_path(const std::string& option, const std::filesystem::path& path,
                     const std::filesystem::path& other);

}  // namespace kvcap
