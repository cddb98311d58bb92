// Places: which file, --set or sweep a field of the resolved scenario came from, so that a message about it
// names what the user can change, and relative paths are taken from the right folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

class Places {
 public:
  // Everything at and below `path` ("" is the root) is what `file` holds. Forgets what was below `path`.
  void add_file(std::string_view path, const std::string& file, const std::filesystem::path& folder,
                bool is_reference);
  // The field at `path` was set from outside, which messages call `place`, and with it everything at and
  // below `created`: `path` itself, or the first object on the way to it that was not there before.
  void add_override(std::string_view path, std::string_view created, const std::string& place,
                    const std::filesystem::path& folder, const std::string& text);

  // "chat.json: serving.max_num_seqs", "--set seed=x" or, for the root, "chat.json".
  std::string at(std::string_view path) const;
  // The folder that a relative path written at `path` starts from.
  std::filesystem::path folder(std::string_view path) const;
  // What was written for the field at `path` itself where it was set from outside; else null.
  const std::string* text(std::string_view path) const;
  // True for what was set from outside.
  bool is_override(std::string_view path) const;
  // True for what came from a model, hardware or policy file that the scenario refers to.
  bool is_reference(std::string_view path) const;

 private:
  struct Origin {
    std::string path, place;
    std::filesystem::path folder;
    bool is_reference = false;
    std::string overridden;  // the field that was set; empty for files
    std::string text;        // to this
  };
  const Origin& origin(std::string_view path) const;
  void forget(std::string_view path);

  std::vector<Origin> origins_;
};

// "a" and "b" make "a.b"; "" and "b" make "b".
std::string below(std::string_view path, std::string_view name);

}  // namespace kvcap
