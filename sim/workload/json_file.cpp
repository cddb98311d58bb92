#include "workload/json_file.h"

#include <algorithm>
#include <istream>

#include "base/input_error.h"
#include "base/json_error.h"
#include "workload/gz_file.h"

namespace kvcap {

using Json = nlohmann::json;

namespace {

constexpr std::size_t kDeepest = 100;

// One document, as its parser goes through it.
class JsonDocument : public nlohmann::json_sax<Json> {
 public:
  JsonDocument(const std::string& path, const std::vector<std::string_view>& left_out)
      : path_(path), left_out_(left_out) {}

  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (left_out_depth_ > 0) return true;
    is_left_out_ = std::find(left_out_.begin(), left_out_.end(), name) != left_out_.end();
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    throw InputError(path_ + ": " + json_reason(error.what()));
  }

 private:
  // Where the value now stands; nothing where it is left out.
  Json* add(Json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
    return &((*open_.back())[key_] = std::move(value));
  }
  bool put(Json value) {
    if (left_out_depth_ == 0 && !is_left_out_) add(std::move(value));
    if (left_out_depth_ == 0) is_left_out_ = false;
    return true;
  }
  bool open(Json value) {
    if (open_.size() + left_out_depth_ >= kDeepest)
      throw InputError(path_ + ": " + std::string(kNestedTooDeep));
    if (left_out_depth_ > 0 || is_left_out_) {
      ++left_out_depth_;
    } else {
      open_.push_back(add(std::move(value)));
    }
    is_left_out_ = false;
    return true;
  }
  bool close() {
    if (left_out_depth_ > 0) {
      --left_out_depth_;
    } else {
      open_.pop_back();
    }
    return true;
  }

  const std::string& path_;
  const std::vector<std::string_view>& left_out_;
  Json root_;
  std::vector<Json*> open_;  // arrays and objects that have not ended
  std::string key_;
  bool is_left_out_ = false;        // the value that comes
  std::size_t left_out_depth_ = 0;  // arrays and objects within one that is
};

}  // namespace

void for_each_json_document(const std::string& path, const std::vector<std::string_view>& left_out,
                            const std::function<void(const Json&)>& take) {
  GzStreambuf buffer(path);
  std::istream stream(&buffer);
  stream.exceptions(std::istream::badbit);  // what the buffer throws comes through
  while ((stream >> std::ws) && stream.peek() != std::istream::traits_type::eof()) {
    JsonDocument document(path, left_out);
    Json::sax_parse(stream, &document, Json::input_format_t::json, false);
    take(document.take());
  }
}

std::vector<Json> read_json_documents(const std::string& path,
                                      const std::vector<std::string_view>& left_out) {
  std::vector<Json> documents;
  for_each_json_document(path, left_out, [&](const Json& document) { documents.push_back(document); });
  return documents;
}

BadRows for_each_entry(const std::string& file, const std::string& path, const Json& array, BadRow on_bad_row,
                       const std::function<bool(const Json&)>& take) {
  BadRows bad;
  if (!array.is_array())
    throw InputError(file + ": " + path + ": found " + shown_in_row(array) + ", allowed: an array");
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::string place = file + ": " + path + "." + std::to_string(i);
    try {
      if (!array[i].is_object()) bad_value("the entry", array[i], "an object");
      if (!take(array[i])) break;
    } catch (const BadRowError& error) {
      count_bad_row(place + ": " + error.reason, on_bad_row, bad);
    } catch (const Json::exception& error) {
      count_bad_row(place + ": " + json_reason(error.what()), on_bad_row, bad);
    }
  }
  return bad;
}

}  // namespace kvcap
