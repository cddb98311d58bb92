#include "scenario/hugging_face/hf_config.h"

#include "base/input_error.h"
#include "scenario/fields.h"

namespace kvcap {

// True iff the value lists numbers of experts: for text and for images (ERNIE 4.5 VL), or per layer
// (Hunyuan). The first entry is used.
static bool is_list_of_experts(std::string_view key, const Json& value) {
  const bool may = key.find("moe") != std::string_view::npos || key.find("expert") != std::string_view::npos;
  return may && value.is_array() && !value.empty();
}

const Json* HfConfig::find(std::initializer_list<std::string_view> keys) const {
  const Json* first = nullptr;
  for (const Json* object : {&json_, &defaults_}) {
    for (std::string_view key : keys) {
      read_.insert(std::string(key));
      const auto found = object->find(key);
      if (!first && found != object->end() && !found->is_null()) first = &*found;
    }
  }
  return first;
}

bool HfConfig::is_true(std::string_view key) const {
  const Json* found = find({key});
  return found && found->is_boolean() && found->get<bool>();
}

int64_t HfConfig::integer(std::initializer_list<std::string_view> keys, int64_t otherwise) const {
  const Json* found = find(keys);
  if (!found) return otherwise;
  if (is_list_of_experts(*keys.begin(), *found)) found = &found->front();
  if (!found->is_number_integer() || *found < 0 || *found > kMaxInteger) {
    fail(*keys.begin(), shown(*found), "an integer from 0");
  }
  return found->get<int64_t>();
}

int64_t HfConfig::required(std::initializer_list<std::string_view> keys) const {
  if (!find(keys)) throw InputError(place_ + ": " + std::string(*keys.begin()) + ": missing, required");
  return integer(keys, 0);
}

int64_t HfConfig::positive(std::initializer_list<std::string_view> keys) const {
  const int64_t value = required(keys);
  if (value < 1) fail(*keys.begin(), std::to_string(value), "an integer of at least 1");
  return value;
}

std::string HfConfig::text(std::string_view key) const {
  const Json* found = find({key});
  return found && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> HfConfig::texts(std::string_view key, int64_t expected) const {
  const Json* found = find({key});
  std::vector<std::string> list;
  if (!found) return list;
  if (!found->is_array() || static_cast<int64_t>(found->size()) != expected) {
    fail(key, found->is_array() ? std::to_string(found->size()) + " entries" : shown(*found),
         "a list of num_hidden_layers = " + std::to_string(expected) + " texts");
  }
  for (const Json& entry : *found) {
    if (!entry.is_string()) fail(key, shown(entry), "texts");
    list.push_back(entry.get<std::string>());
  }
  return list;
}

std::vector<int64_t> HfConfig::integers(std::string_view key) const {
  const Json* found = find({key});
  std::vector<int64_t> list;
  if (!found) return list;
  if (!found->is_array()) fail(key, shown(*found), "a list of integers");
  for (const Json& entry : *found) {
    if (!entry.is_number_integer()) fail(key, shown(entry), "integers");
    list.push_back(entry.get<int64_t>());
  }
  return list;
}

const Json* HfConfig::object(std::string_view key) const {
  const Json* found = find({key});
  if (found && !found->is_object()) fail(key, shown(*found), "an object");
  return found;
}

void HfConfig::fail(std::string_view key, const std::string& found, const std::string& allowed) const {
  throw InputError(place_ + ": " + std::string(key) + ": found " + found + ", allowed: " + allowed);
}

std::vector<std::string> HfConfig::unread() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json_.items()) {
    if (!value.is_null() && !read_.contains(key)) keys.push_back(key);
  }
  return keys;
}

}  // namespace kvcap
