// Finds the files of a folder that a report can show.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kvcap {

struct FoundFile {
  std::filesystem::path path;
  std::string name;       // short: "demo" for demo/compare.json, "demo/restore" for demo/restore.json
  bool is_asked = false;  // given by its own path, not found in a folder
};

// Returns `path` itself, or the *.json and results.sqlite files below it, in order of path. Throws InputError
// if there are none.
std::vector<FoundFile> find_files(const std::string& path, std::vector<std::string>& skipped);

}  // namespace kvcap
