#include "launch/yaml_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/input_error.h"

namespace kvcap {
namespace {

// Limits of what is read, because aliases may form cycles or repeat one node many times.
constexpr int kMaxNodes = 100'000, kDeepest = 50;

// Unquoted words that are Booleans in YAML 1.1 and in PyYAML, with which the engines read files.
constexpr std::string_view kTrue[] = {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"};
constexpr std::string_view kFalse[] = {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"};

bool is_one_of(const std::string& word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

class Flattener {
 public:
  explicit Flattener(std::string file) : file_(std::move(file)) {}

  void take(const std::string& key, const YAML::Node& node, int line, int depth) {
    if (++nodes_ > kMaxNodes || depth > kDeepest) {
      fail(line, "found more than " + std::to_string(kMaxNodes) + " values or " + std::to_string(kDeepest) +
                     " levels, allowed: a configuration");
    }
    if (node.IsMap()) return take_members(key, node, depth);
    if (node.IsSequence()) return take_list(key, node, line, depth);
    if (!node.IsScalar()) return;  // null: the engine's default
    const std::string& word = node.Scalar();
    const bool is_true = is_one_of(word, kTrue), is_boolean = is_true || is_one_of(word, kFalse);
    if (is_boolean && !is_quoted(node)) {
      entries.push_back({key, {is_true ? "true" : "false"}, true, line});
    } else {
      entries.push_back({key, {word}, false, line});
    }
  }

  std::vector<YamlEntry> entries;

 private:
  [[noreturn]] void fail(int line, const std::string& reason) const {
    throw InputError(file_ + ":" + std::to_string(line) + ": " + reason);
  }

  void take_members(const std::string& prefix, const YAML::Node& map, int depth) {
    for (const auto& member : map) {
      const int line = member.first.Mark().line + 1;
      if (!member.first.IsScalar()) fail(line, "found a key that is not a scalar, allowed: plain keys");
      const std::string& name = member.first.Scalar();
      const std::string key = prefix.empty() ? name : prefix + "." + name;
      take(name == "<<" ? prefix : key, member.second, line, depth + 1);
    }
  }

  void take_list(const std::string& key, const YAML::Node& list, int line, int depth) {
    YamlEntry words{key, {}, false, line};
    for (const YAML::Node& element : list) {
      if (element.IsScalar()) {
        words.values.push_back(element.Scalar());
      } else {
        take(key, element, line, depth + 1);
      }
    }
    if (!words.values.empty()) entries.push_back(std::move(words));
  }

  std::string file_;
  int nodes_ = 0;
};

}  // namespace

static std::vector<YamlEntry> entries_of(std::string_view text, const std::string& file) {
  const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
  if (documents.empty()) return {};
  if (documents.size() > 1) {
    throw InputError(file + ": found " + std::to_string(documents.size()) + " YAML documents, allowed: one");
  }
  if (documents[0].IsNull()) return {};
  if (!documents[0].IsMap())
    throw InputError(file + ": the top level is not a YAML mapping; write one \"key: value\" per line");
  Flattener flattener(file);
  flattener.take("", documents[0], 1, 0);
  return std::move(flattener.entries);
}

std::vector<YamlEntry> parse_yaml(std::string_view text, const std::string& file) {
  try {
    return entries_of(text, file);
  } catch (const YAML::Exception& error) {
    throw InputError(file + ":" + std::to_string(std::max(0, error.mark.line) + 1) +
                     ": not valid YAML: " + error.msg);
  }
}

}  // namespace kvcap
