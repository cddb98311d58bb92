#include "plan/sweep/finished_runs.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/files.h"
#include "base/input_error.h"
#include "base/sha256.h"

namespace kvcap {
namespace {

// The last bytes of each stored result. A file that does not end with them was truncated.
constexpr std::string_view kWhole = "\nwhole";

}  // namespace

FinishedRuns::FinishedRuns(const std::string& out_folder, bool resume)
    : folder_(out_folder.empty() ? "" : out_folder + "/.finished"), resume_(resume) {}

std::string FinishedRuns::key_of(const Scenario& scenario) const {
  if (!is_on()) return "";
  try {
    return keys_.key(scenario);
  } catch (const InputError&) {
    folder_.clear();
    return "";
  }
}

std::string FinishedRuns::get(const std::string& key, const std::function<std::string()>& compute) const {
  if (!is_on()) return compute();
  Sha256 hash;
  hash.add(program_build() + "\n" + key);
  const std::filesystem::path file = std::filesystem::path(folder_) / hash.hex();
  if (resume_) {
    std::ifstream stream(file, std::ios::binary);
    std::string kept{std::istreambuf_iterator<char>(stream), {}};
    if (kept.ends_with(kWhole)) return kept.erase(kept.size() - kWhole.size());
  }
  std::string result = compute();
  std::filesystem::create_directories(folder_);
  write_file(file, result + std::string(kWhole));
  return result;
}

bool FinishedRuns::has_some() const {
  std::error_code none;
  return is_on() &&
         std::filesystem::directory_iterator(folder_, none) != std::filesystem::directory_iterator();
}

void FinishedRuns::discard() const {
  std::error_code none;
  if (is_on()) std::filesystem::remove_all(folder_, none);
}

}  // namespace kvcap
