// ManifestItem: a value of a YAML manifest and its place in the file. An absent member is an item for which
// exists() is false.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kvcap {

class ManifestItem {
 public:
  // A document of a file.
  ManifestItem(const YAML::Node& document, const std::string& file)
      : ManifestItem(document, std::make_shared<Source>(Source{.file = file}), "") {}

  ManifestItem(const ManifestItem&) = default;
  // Assigning a YAML::Node would change the document.
  ManifestItem& operator=(const ManifestItem&) = delete;

  // False if the value is absent or null.
  bool exists() const { return node_.IsDefined() && !node_.IsNull(); }
  bool is_map() const { return node_.IsDefined() && node_.IsMap(); }
  // Returns the member with this key; also searches merged maps ("<<").
  ManifestItem operator[](const std::string& key) const { return member(key, 0); }
  // "modelArtifacts.name"
  ManifestItem at(const std::string& path) const;
  std::vector<std::pair<std::string, ManifestItem>> members() const;
  std::vector<ManifestItem> elements() const;

  // "a.yaml:9: spec.containers[0].args[3]"
  std::string place() const;
  // Returns the scalar's text; empty if it does not exist. Throws InputError for lists, maps and, unless
  // `may_be_template`, placeholders of templates.
  std::string text(bool may_be_template = false) const;
  bool is_on() const;
  int64_t count(int64_t absent) const;
  [[noreturn]] void refuse(const std::string& found, const std::string& allowed) const;

 private:
  struct Source {
    std::string file;
    std::size_t visits = 0;  // number of values visited; limited because aliases may repeat values many times
  };

  ManifestItem(const YAML::Node& node, std::shared_ptr<Source> source, std::string path)
      : node_(node), source_(std::move(source)), path_(std::move(path)) {}
  // Returns a value inside this one.
  ManifestItem inner(const YAML::Node& node, std::string path) const {
    return {node, source_, std::move(path)};
  }
  ManifestItem member(const std::string& key, int depth) const;
  // Throws InputError if the document's values were visited too often.
  void visit() const;

  YAML::Node node_;
  std::shared_ptr<Source> source_;
  std::string path_;
};

}  // namespace kvcap
