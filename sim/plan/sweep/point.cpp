#include "plan/sweep/point.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "base/build_id.h"
#include "base/files.h"
#include "base/input_error.h"
#include "base/sha256.h"
#include "metrics/recorder.h"
#include "metrics/serialize.h"

namespace kvcap {

std::vector<Metric> metric_columns() { return Recorder(0).finish({}).metrics; }

std::string PointKeys::key(const Scenario& scenario) {
  Sha256 hash;
  hash.add(scenario.resolved_json);
  const SourceOptions& source = scenario.workload.source;
  for (const std::string& path : {source.path, source.token_counts, source.hash_ids}) {
    hash.add("\n");
    if (path.empty()) continue;
    refuse_read_once(path, ", and a sweep reads it several times; allowed: a file");
    const auto [digest, is_new] = digests_.try_emplace(path);
    try {
      if (is_new) digest->second = sha256_of_file(path);
    } catch (const std::system_error& error) {
      throw InputError(path + ": cannot be read: " + error.code().message());
    }
    hash.add(digest->second);
  }
  return hash.hex();
}

const std::string& program_build() {
  static const std::string build = [] {
    const std::string id = linker_build_id();
    return "kvcap " KVCAP_VERSION " " + (id.empty() ? sha256_of_file("/proc/self/exe") : id).substr(0, 12);
  }();
  return build;
}

PointCache::PointCache(std::string folder) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  std::string build = program_build();
  std::replace(build.begin(), build.end(), ' ', '-');
  folder_ += "/" + build;
}

std::string PointCache::file(const std::string& key) const {
  return folder_ + "/" + key.substr(0, 2) + "/" + key;
}

bool PointCache::find(const std::string& key, RunResult& result) const {
  if (folder_.empty()) return false;
  std::ifstream stream(file(key), std::ios::binary);
  if (!stream) return false;
  try {
    result = deserialize(std::string{std::istreambuf_iterator<char>(stream), {}});
    return true;
  } catch (const std::runtime_error&) {
    return false;  // a disk that lost what it had been given
  }
}

void PointCache::keep(const std::string& key, const RunResult& result) const {
  if (folder_.empty()) return;
  const std::filesystem::path path = file(key);
  std::filesystem::create_directories(path.parent_path());
  write_file(path, serialize(result));
}

}  // namespace kvcap
