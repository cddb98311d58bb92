#include "observe/prometheus.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/input_error.h"
#include "base/text/plain_text.h"
#include "base/text/utf8.h"

namespace kvcap {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

bool begins_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}
bool is_in_a_name(char c) { return begins_a_name(c) || (c >= '0' && c <= '9'); }

// Parses one line.
class Line {
 public:
  Line(std::string_view text, const std::string& place, int64_t number)
      : whole_(text), rest_(text), place_(place), number_(number) {}

  MetricSample sample(bool timestamps_are_s) {
    MetricSample one;
    one.name = name("a metric's name");
    skip_blanks();
    if (take('{')) read_labels(one);
    one.value = number(word(), "a number");
    // The text after a # is an exemplar.
    const std::string_view timestamp = word();
    if (timestamp.empty() || timestamp.front() == '#') return one;
    one.unix_s = number(timestamp, "a timestamp") * (timestamps_are_s ? 1 : 1e-3);
    if (!std::isfinite(*one.unix_s)) refuse("a timestamp");
    const std::string_view more = word();
    if (!more.empty() && more.front() != '#') refuse("nothing after the timestamp");
    return one;
  }

 private:
  [[noreturn]] void refuse(const std::string& allowed) const {
    throw InputError(place_ + ":" + std::to_string(number_) + ": found \"" + beginning(whole_, 60) +
                     "\", allowed: " + allowed + ", as in NAME{LABEL=\"VALUE\"} NUMBER [TIMESTAMP]");
  }

  void skip_blanks() {
    const std::size_t begin = rest_.find_first_not_of(kBlank);
    rest_.remove_prefix(begin == std::string_view::npos ? rest_.size() : begin);
  }
  bool take(char letter) {
    if (rest_.empty() || rest_.front() != letter) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string name(const std::string& what) {
    skip_blanks();
    std::size_t end = 0;
    while (end < rest_.size() && (end == 0 ? begins_a_name(rest_[end]) : is_in_a_name(rest_[end]))) ++end;
    if (end == 0) refuse(what);
    std::string found(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return found;
  }
  void read_labels(MetricSample& one) {
    while (true) {
      skip_blanks();
      if (take('}')) return;
      std::string key = name("a label's name or }");
      skip_blanks();
      if (!take('=')) refuse("= after a label's name");
      skip_blanks();
      if (!take('"')) refuse("a label's value in quotes");
      one.labels.emplace_back(std::move(key), quoted());
      skip_blanks();
      if (!take(',') && (rest_.empty() || rest_.front() != '}')) refuse(", or } after a label");
    }
  }
  // Reads the value of a label up to its closing quote.
  std::string quoted() {
    std::string value;
    while (!rest_.empty()) {
      const char letter = rest_.front();
      rest_.remove_prefix(1);
      if (letter == '"') return valid_utf8(value);
      if (letter != '\\') {
        value += letter;
        continue;
      }
      if (rest_.empty()) break;
      value += rest_.front() == 'n' ? '\n' : rest_.front();
      rest_.remove_prefix(1);
    }
    refuse("a closing quote");
  }
  std::string_view word() {
    skip_blanks();
    const std::string_view found = rest_.substr(0, rest_.find_first_of(kBlank));
    rest_.remove_prefix(found.size());
    return found;
  }
  double number(std::string_view text, const std::string& what) const {
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_whole = !text.empty() && end == text.data() + text.size();
    // Digits beyond the range of a double are a valid number.
    if (!is_whole || (error != std::errc() && error != std::errc::result_out_of_range)) refuse(what);
    return value;
  }

  std::string_view whole_, rest_;
  const std::string& place_;
  int64_t number_;
};

// Returns the last line, which is "# EOF" in OpenMetrics, the newer format with timestamps in seconds.
std::string_view last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  return trimmed(text.substr(text.rfind('\n') + 1));
}

}  // namespace

std::string_view MetricSample::label(std::string_view key) const {
  for (const auto& label : labels) {
    if (label.first == key) return label.second;
  }
  return {};
}

std::vector<MetricSample> parse_metrics(std::string_view text, const std::string& place) {
  const bool is_open_metrics = last_line(text) == "# EOF";
  std::vector<MetricSample> samples;
  int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    samples.push_back(Line(line, place, number).sample(is_open_metrics));
  }
  return samples;
}

}  // namespace kvcap
