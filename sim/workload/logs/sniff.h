// FileBeginning: the keys or columns at the beginning of a file, by which its format is recognised.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

struct FileBeginning {
  bool is_array = false, is_object = false;
  // Keys of the file's first object and of the objects in it ("usage.prompt_tokens"), as far as they are
  // within the file's first 64 KiB.
  std::vector<std::string> keys;
  std::vector<std::string> item_keys;  // keys of an array's first object
  std::vector<std::string> columns;    // names in the first line of other files

  bool has_key(std::string_view key) const;
  bool has_keys(std::initializer_list<std::string_view> all) const;
  bool has_column(std::string_view column) const;
  // True iff a key ends with `ending`, at any depth.
  bool has_key_ending(std::string_view ending) const;
};

FileBeginning beginning_of(std::string_view text);
// Throws InputError if the file is an array of objects; for readers of one object per line.
void refuse_array_of_objects(const std::string& path, const FileBeginning& beginning);
// Throws InputError if the file cannot be read, or can be read only once (a pipe).
FileBeginning beginning_of_file(const std::string& path);

}  // namespace kvcap
