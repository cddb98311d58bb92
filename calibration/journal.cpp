#include "calibration/journal.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
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

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

Sample sample_of(const Json& json, bool minima) {
  const double median_s = json.at("median_s");
  return {.time_s = json.at(minima ? "min_s" : "median_s"),
          .median_s = median_s,
          .min_s = json.at("min_s"),
          .spread = json.at("spread"),
          .batches = json.at("batches"),
          .low_s = json.value("low_s", median_s),
          .high_s = json.value("high_s", median_s)};
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
        first_date_.clear();
      } else {
        samples_[json.at("key")] = sample_of(json, minima_);
        add_date(json.value("date", ""));
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
  const bool measured = std::ssize(samples_) > resumed_;
  if (measured && stop_at_ && std::chrono::steady_clock::now() >= *stop_at_) throw BudgetSpent(key);
  Sample sample = measure();
  sample.time_s = minima_ ? sample.min_s : sample.median_s;
  samples_[key] = sample;
  write_line(Json{
      {"key", key},
      {"median_s", sample.median_s},
      {"min_s", sample.min_s},
      {"spread", sample.spread},
      {"batches", sample.batches},
      {"low_s", sample.low_s},
      {"high_s", sample.high_s},
      {"date",
       today()}}.dump());
  add_date(today());
  return sample;
}

void Journal::add_date(const std::string& date) {
  if (date.empty()) return;
  if (first_date_.empty()) first_date_ = last_date_ = date;
  first_date_ = std::min(first_date_, date);
  last_date_ = std::max(last_date_, date);
}

std::string Journal::dates() const {
  if (first_date_ == last_date_) return first_date_.empty() ? "" : "on " + first_date_;
  return "from " + first_date_ + " to " + last_date_;
}

std::optional<Journal::Time> end_of(std::optional<double> budget_s) {
  constexpr double kEndless_s = 1e9;
  if (!budget_s || *budget_s > kEndless_s) return std::nullopt;
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<Journal::Time::duration>(std::chrono::duration<double>(*budget_s));
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
