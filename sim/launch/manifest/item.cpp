#include "launch/manifest/item.h"

#include <algorithm>

#include "base/input_error.h"
#include "launch/values.h"

namespace kvcap {

constexpr std::size_t kMostMembers = 10'000, kMostVisits = 3'000'000;
constexpr int kDeepestMerge = 20;

void ManifestItem::visit() const {
  source_->visits += node_.size();
  if (source_->visits > kMostVisits) refuse("aliases that repeat millions of values", "a manifest");
}

std::string ManifestItem::place() const {
  const int line = node_.IsDefined() ? node_.Mark().line + 1 : 0;
  return source_->file + (line > 0 ? ":" + std::to_string(line) : "") + (path_.empty() ? "" : ": " + path_);
}

void ManifestItem::refuse(const std::string& found, const std::string& allowed) const {
  throw InputError("--from: " + place() + ": found " + found + ", allowed: " + allowed);
}

ManifestItem ManifestItem::member(const std::string& key, int depth) const {
  const std::string path = path_.empty() ? key : path_ + "." + key;
  const ManifestItem absent = inner(YAML::Node(YAML::NodeType::Undefined), path);
  if (!is_map() || depth > kDeepestMerge) return absent;
  visit();
  for (const auto& one : node_) {
    if (one.first.IsScalar() && one.first.Scalar() == key) return inner(one.second, path);
  }
  for (const auto& one : node_) {
    if (!one.first.IsScalar() || one.first.Scalar() != "<<") continue;
    const ManifestItem merged = inner(one.second, path_);
    if (merged.is_map()) return merged.member(key, depth + 1);
    for (const ManifestItem& map : merged.elements()) {
      const ManifestItem found = map.member(key, depth + 1);
      if (found.exists()) return inner(found.node_, path);
    }
  }
  return absent;
}

ManifestItem ManifestItem::at(const std::string& path) const {
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) return (*this)[path];
  return (*this)[path.substr(0, dot)].at(path.substr(dot + 1));
}

std::vector<std::pair<std::string, ManifestItem>> ManifestItem::members() const {
  std::vector<std::pair<std::string, ManifestItem>> all;
  if (!exists()) return all;
  if (!is_map()) refuse("a list or a text", "a map");
  visit();
  for (const auto& one : node_) {
    if (all.size() == kMostMembers) refuse("more than 10,000 members", "a manifest");
    if (!one.first.IsScalar()) refuse("a key that is not a scalar", "plain keys");
    const std::string& key = one.first.Scalar();
    all.emplace_back(key, inner(one.second, path_.empty() ? key : path_ + "." + key));
  }
  return all;
}

std::vector<ManifestItem> ManifestItem::elements() const {
  std::vector<ManifestItem> all;
  if (!exists()) return all;
  if (!node_.IsSequence()) refuse("a value that is not a list", "a list");
  visit();
  for (const YAML::Node& one : node_) {
    if (all.size() == kMostMembers) refuse("more than 10,000 elements", "a manifest");
    all.push_back(inner(one, path_ + "[" + std::to_string(all.size()) + "]"));
  }
  return all;
}

std::string ManifestItem::text(bool may_be_template) const {
  constexpr const char* kRendered = "its value, as helm template writes it";
  if (!exists()) return "";
  // {{ .Values.x }} is a map whose key is a map.
  if (is_map() && node_.size() > 0 && node_.begin()->first.IsMap()) {
    refuse("a placeholder {{ }} of a template", kRendered);
  }
  if (!node_.IsScalar()) refuse(is_map() ? "a map" : "a list", "a text");
  const std::string& text = node_.Scalar();
  if (!may_be_template && has_placeholder(text)) refuse("\"" + text + "\"", kRendered);
  return text;
}

bool ManifestItem::is_on() const {
  if (!exists()) return false;
  const std::string word = lower_case(text());
  const bool is_true = word == "true" || word == "yes" || word == "on";
  if (!is_true && word != "false" && word != "no" && word != "off") refuse("\"" + word + "\"", "true, false");
  return is_true;
}

int64_t ManifestItem::count(int64_t absent) const {
  if (!exists()) return absent;
  const std::string word = text();
  const bool is_count = !word.empty() && word.size() <= 9 &&
                        std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_count) refuse("\"" + word + "\"", "a whole number");
  return std::stoll(word);
}

}  // namespace kvcap
