#include "workload/logs/sniff.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/python_numbers.h"
#include "workload/logs/gz_file.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::size_t kLookedAtBytes = 1 << 16;

// Collects the keys of a JSON text that may be cut at any byte.
class Keys : public nlohmann::json_sax<Json> {
 public:
  explicit Keys(std::vector<std::string>& keys) : keys_(keys) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ < kDeepest; }
  bool end_object() override { return --depth_ > 0; }
  bool start_array(std::size_t) override { return ++depth_ < kDeepest; }
  bool end_array() override { return --depth_ > 0; }
  bool key(std::string& name) override {
    if (depth_ == 1) outer_ = name;
    if (depth_ <= 2) keys_.push_back(depth_ == 1 ? name : outer_ + "." + name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  static constexpr int kDeepest = 100;
  std::vector<std::string>& keys_;
  int depth_ = 0;
  std::string outer_;
};

std::vector<std::string> keys_of(std::string_view object) {
  std::vector<std::string> names;
  Keys keys(names);
  Json::sax_parse(with_nulls_for_python_numbers(object), &keys, Json::input_format_t::json, false);
  return names;
}

// Returns the names in a CSV's first line, with any known separator.
std::vector<std::string> columns_of(std::string_view line) {
  constexpr std::string_view kAround = " \"\r";
  std::vector<std::string> names;
  while (true) {
    const std::size_t end = line.find_first_of(",;\t");
    const std::string_view field = line.substr(0, end);
    const std::size_t first = field.find_first_not_of(kAround);
    const std::size_t last = field.find_last_not_of(kAround);
    names.emplace_back(first == std::string_view::npos ? "" : field.substr(first, last - first + 1));
    if (end == std::string_view::npos) return names;
    line.remove_prefix(end + 1);
  }
}

}  // namespace

bool FileBeginning::has_key(std::string_view key) const {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool FileBeginning::has_keys(std::initializer_list<std::string_view> all) const {
  return std::all_of(all.begin(), all.end(), [this](std::string_view key) { return has_key(key); });
}

bool FileBeginning::has_key_ending(std::string_view ending) const {
  return std::any_of(keys.begin(), keys.end(),
                     [ending](const std::string& key) { return key.ends_with(ending); });
}

bool FileBeginning::has_column(std::string_view column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

FileBeginning beginning_of(std::string_view text) {
  FileBeginning beginning;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return beginning;  // UTF-16: lines.cpp rejects it
  const std::size_t start = text.find_first_not_of(kBlank);
  if (start == std::string_view::npos) return beginning;
  text.remove_prefix(start);
  beginning.is_array = text.front() == '[';
  beginning.is_object = text.front() == '{';
  if (beginning.is_object) {
    beginning.keys = keys_of(text);
  } else if (beginning.is_array) {
    const std::size_t first = text.find_first_not_of(kBlank, 1);
    if (first != std::string_view::npos && text[first] == '{') {
      beginning.item_keys = keys_of(text.substr(first));
    }
  } else {
    beginning.columns = columns_of(text.substr(0, text.find('\n')));
  }
  return beginning;
}

void refuse_array_of_objects(const std::string& path, const FileBeginning& beginning) {
  if (beginning.item_keys.empty()) return;
  throw InputError(path + ": found an array of objects, allowed: one object per line (jq -c '.[]')");
}

FileBeginning beginning_of_file(const std::string& path) {
  refuse_read_once(path, "; give its format with --format");
  std::string text(kLookedAtBytes, ' ');
  GzFile file(path);
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const std::size_t more = file.read(std::span(text).subspan(bytes));
    if (more == 0) break;
    bytes += more;
  }
  text.resize(bytes);
  return beginning_of(text);
}

}  // namespace kvcap
