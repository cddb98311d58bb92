// Parses all JSON texts from users. A key that occurs twice in an object is an error, whereas the library
// silently keeps the last value; nesting deeper than 100 levels is an error, too. Only loaders include this
// header, to keep the library out of other modules.
#pragma once

#include <algorithm>
#include <cstdint>
#include <istream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <streambuf>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text/json_error.h"

namespace kvcap {

// An error in a JSON text: its reason and its position, without the name of the file.
struct JsonFault {
  static constexpr std::size_t kNowhere = 0, kHere = SIZE_MAX;

  std::string reason;
  std::size_t byte = kNowhere;  // counted from 1; kHere: the last byte that the parser read
  bool is_refused_json = true;  // false: the text is not JSON at all
};

// Builds a document from a parser's events. Throws JsonFault.
template <class Json>
class JsonDocument final : public nlohmann::json_sax<Json> {
 public:
  // Omits members with the names `left_out` at every level.
  explicit JsonDocument(std::span<const std::string_view> left_out = {}) : left_out_(left_out) {}

  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(typename Json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::value_t::object); }
  bool start_array(std::size_t) override { return open(Json::value_t::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (left_out_depth_ > 0) return true;
    is_left_out_ =
        !left_out_.empty() && std::find(left_out_.begin(), left_out_.end(), name) != left_out_.end();
    if (is_left_out_) return true;
    Open& object = open_.back();
    const auto [member, is_new] = emplace(object, name);
    if (!is_new) throw JsonFault{repeated_key(path(), name), JsonFault::kHere};
    object.key = &member->first;
    object.value = &member->second;
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) override {
    constexpr int kFirstIdOfOtherErrors = 200;  // such as a number beyond the range of doubles
    throw JsonFault{json_reason(error.what()), error.id < kFirstIdOfOtherErrors ? byte : JsonFault::kNowhere,
                    false};
  }

 private:
  // An array or object that is still open.
  struct Open {
    typename Json::array_t* elements = nullptr;
    typename Json::object_t* members = nullptr;
    const std::string* key = nullptr;            // key of the current member
    Json* value = nullptr;                       // value of the current member
    std::unordered_set<std::string> names = {};  // keys of all members, if there are many
  };

  // An ordered object compares a new key with all its keys; objects with many keys use a set instead.
  auto emplace(Open& object, const std::string& name) {
    constexpr std::size_t kFewKeys = 64, kMostKeys = 100'000;
    if constexpr (std::is_same_v<Json, nlohmann::ordered_json>) {
      auto& members = *object.members;
      if (members.size() >= kFewKeys) {
        if (object.names.empty()) {
          for (const auto& member : members) object.names.insert(member.first);
        }
        if (members.size() > kMostKeys) {
          throw JsonFault{"an object has more than 100,000 keys, allowed: at most 100,000"};
        }
        const bool is_new = object.names.insert(name).second;
        if (is_new) static_cast<typename Json::object_t::Container&>(members).emplace_back(name, Json());
        return std::pair(std::prev(members.end()), is_new);
      }
    }
    return object.members->emplace(name, Json());
  }

  std::string path() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const Open& one = open_[i];
      path +=
          (path.empty() ? "" : ".") + (one.elements ? std::to_string(one.elements->size() - 1) : *one.key);
    }
    return path;
  }
  template <class Value>
  Json* add(Value&& value) {
    if (open_.empty()) return &(root_ = std::forward<Value>(value));
    const Open& one = open_.back();
    if (one.elements) return &one.elements->emplace_back(std::forward<Value>(value));
    return &(*one.value = std::forward<Value>(value));
  }
  template <class Value>
  bool put(Value&& value) {
    if (left_out_depth_ == 0 && !is_left_out_) add(std::forward<Value>(value));
    if (left_out_depth_ == 0) is_left_out_ = false;
    return true;
  }
  bool open(typename Json::value_t type) {
    constexpr std::size_t kDeepest = 100;
    if (open_.size() + left_out_depth_ >= kDeepest) throw JsonFault{std::string(kNestedTooDeep)};
    if (left_out_depth_ > 0 || is_left_out_) {
      ++left_out_depth_;
    } else {
      Json* added = add(type);
      open_.push_back({.elements = added->template get_ptr<typename Json::array_t*>(),
                       .members = added->template get_ptr<typename Json::object_t*>()});
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

  std::span<const std::string_view> left_out_;
  Json root_;
  std::vector<Open> open_;
  bool is_left_out_ = false;        // omit the next value
  std::size_t left_out_depth_ = 0;  // open arrays and objects inside an omitted value
};

// A stream buffer over a text that counts the bytes read.
class CountedText : public std::streambuf {
 public:
  explicit CountedText(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // only read, never written
    setg(begin, begin, begin + text.size());
  }
  std::size_t read_bytes() const { return static_cast<std::size_t>(gptr() - eback()); }
};

// Parses a text. Throws JsonFault, with the position if it is known.
template <class Json>
Json read_json(std::string_view text) {
  try {
    JsonDocument<Json> document;
    Json::sax_parse(text, &document);
    return document.take();
  } catch (const JsonFault& fault) {
    if (fault.byte != JsonFault::kHere) throw;
  }
  // The parser reports positions only of errors that it finds itself. To locate the others, parse again one
  // byte at a time.
  CountedText counted(text);
  std::istream stream(&counted);
  try {
    JsonDocument<Json> document;
    Json::sax_parse(stream, &document);
    return document.take();
  } catch (const JsonFault& fault) {
    throw JsonFault{fault.reason, counted.read_bytes(), fault.is_refused_json};
  }
}

// Parses a text. Throws InputError: "file:line:column: reason".
template <class Json>
Json read_json(std::string_view text, const std::string& file) {
  try {
    return read_json<Json>(text);
  } catch (const JsonFault& fault) {
    throw InputError(json_place(text, fault.byte, file) + fault.reason);
  }
}

}  // namespace kvcap
