// Places: records which file, --set or sweep each field of the resolved scenario came from, so that messages
// name what the user can change and relative paths start from the right folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

class Places {
 public:
  // Records that `file` holds everything at and below `path` ("" is the root); discards earlier records
  // there.
  void add_file(std::string_view path, const std::string& file, const std::filesystem::path& folder,
                bool is_reference);
  // Records that --set or a sweep, which messages call `place`, set the field at `path` and thereby created
  // everything at and below `created`: `path` itself, or the first object on the way to it that did not
  // exist.
  void add_override(std::string_view path, std::string_view created, const std::string& place,
                    const std::filesystem::path& folder, const std::string& text);

  // Returns "chat.json: serving.max_num_seqs", "--set seed=x" or, for the root, "chat.json".
  std::string at(std::string_view path) const;
  // Returns the folder that a relative path at `path` starts from.
  std::filesystem::path folder(std::string_view path) const;
  // Returns the text that --set or a sweep gave for exactly this field, or null.
  const std::string* text(std::string_view path) const;
  // True iff --set or a sweep set the field.
  bool is_override(std::string_view path) const;
  // True iff the field comes from a model, hardware or policy file that the scenario refers to.
  bool is_reference(std::string_view path) const;

 private:
  struct Origin {
    std::string path, place;
    std::filesystem::path folder;
    bool is_reference = false;
    std::string overridden;  // path of the field that was set; empty for files
    std::string text;        // its new value
  };
  const Origin& origin(std::string_view path) const;
  void forget(std::string_view path);

  std::vector<Origin> origins_;
};

// Returns "a.b" for "a" and "b", and "b" for "" and "b".
std::string below(std::string_view path, std::string_view name);

}  // namespace kvcap
