#include "calibration/journal.h"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/text/print.h"

namespace kvcap::calibration {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "kvcap.measurements/1";

std::string first_line(const std::string& identity) {
  return Json{{"schema", kSchema}, {"identity", identity}}.dump();
}

}  // namespace

Journal::Journal(std::filesystem::path path, const std::string& identity, bool minima)
    : path_(std::move(path)), minima_(minima) {
  bool going_on = false;
  {
    std::ifstream old(path_);
    std::string line;
    going_on = std::getline(old, line) && line == first_line(identity);
    while (going_on && std::getline(old, line)) {
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_discarded()) continue;  // incomplete last line of a stopped run
      if (json.contains("finished")) {
        going_on = false;
        samples_.clear();
      } else {
        samples_[json.at("key")] = {json.at(minima_ ? "min_s" : "median_s"), json.at("median_s"),
                                    json.at("min_s"), json.at("spread"), json.at("batches")};
      }
    }
  }
  resumed_ = static_cast<int64_t>(samples_.size());
  if (!going_on) keep_other();
  errno = 0;
  file_.open(path_, going_on ? std::ios::app : std::ios::trunc);
  if (going_on) {
    write_line("");  // ends an incomplete line
  } else {
    write_line(first_line(identity));
  }
}

void Journal::keep_other() {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path_, none) || std::filesystem::file_size(path_, none) == 0) return;
  int number = 0;
  do {
    kept_ = path_;
    kept_ += "." + std::to_string(++number);
  } while (std::filesystem::exists(kept_));
  std::filesystem::rename(path_, kept_);
}

Sample Journal::sample(const std::string& key, const std::function<Sample()>& measure) {
  const auto known = samples_.find(key);
  if (known != samples_.end()) return known->second;
  Sample sample = measure();
  sample.time_s = minima_ ? sample.min_s : sample.median_s;
  samples_[key] = sample;
  write_line(Json{{"key", key},
                  {"median_s", sample.median_s},
                  {"min_s", sample.min_s},
                  {"spread", sample.spread},
                  {"batches", sample.batches}}
                 .dump());
  return sample;
}

void Journal::finish() { write_line(Json{{"finished", true}}.dump()); }

void Journal::write_line(const std::string& line) {
  file_ << line << '\n' << std::flush;
  if (!file_) throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), path_.string());
}

void tell_kept(const Journal& journal) {
  if (journal.kept().empty()) return;
  tell("kvcap-calibrate: the measurements of another run or machine are kept in " + journal.kept().string());
}

}  // namespace kvcap::calibration
