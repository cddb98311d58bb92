// Finds the files that a report may show: those that the user names, and those in folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kvcap {

struct FoundFile {
  std::filesystem::path path;
  std::string name;       // short: "demo" for demo/compare.json, "demo/restore" for demo/restore.json
  bool is_asked = false;  // true: given by its own path; false: found in a folder
};

// Returns `path` itself if it is a file, otherwise the *.json and results.sqlite files below it, ordered by
// path. Links that lead outside the folder are skipped, with a message in `skipped`. Throws InputError for a
// path that cannot be read.
std::vector<FoundFile> find_files(const std::string& path, std::vector<std::string>& skipped);

}  // namespace kvcap
