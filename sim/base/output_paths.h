// Where a command may write, whatever is in the file. `option`: of the command line, named in the message.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace kvcap {

// Throws InputError where nothing lies behind a link: it ends at a name that is not there, or at itself.
void refuse_link_to_nothing(const std::string& option, const std::filesystem::path& path);

// Throws InputError where `path` is one of `inputs`; an input FILE#MEMBER is FILE.
void refuse_input(const std::string& option, const std::filesystem::path& path,
                  std::span<const std::string> inputs);

// Throws InputError where `path` is one of `inputs`, a folder, a socket, a disk, or a link that leads
// nowhere. Pipes and other devices take what is written. An input FILE#MEMBER is FILE. `option`: of the
// command line, named in the message.
void refuse_no_file(const std::string& option, const std::filesystem::path& path,
                    std::span<const std::string> inputs);

// Throws InputError for "/", however it is spelt: "$FOLDER/" is that where the variable is not set.
void refuse_root_folder(const std::string& option, const std::filesystem::path& folder);

// Throws InputError where both are one file, however they are spelt.
void refuse_one_path(const std::string& option, const std::filesystem::path& path,
                     const std::filesystem::path& other);

}  // namespace kvcap
