// How a file begins: what its kind is known by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

struct FileBeginning {
  bool is_array = false, is_object = false;
  // Of the first object that begins the file, as far as it stands within its first 64 KiB: its keys, and
  // those of the objects in it as "usage.prompt_tokens".
  std::vector<std::string> keys;
  std::vector<std::string> item_keys;  // the same of the first object of an array
  std::vector<std::string> columns;    // of the first line of what is neither an array nor an object

  bool has_key(std::string_view key) const;
  bool has_keys(std::initializer_list<std::string_view> all) const;
  bool has_column(std::string_view column) const;
  // Whether some key ends so, whatever it stands in.
  bool has_key_ending(std::string_view ending) const;
};

FileBeginning beginning_of(std::string_view text);
// Throws InputError where the file is an array of objects, for readers of an object a line.
void refuse_array_of_objects(const std::string& path, const FileBeginning& beginning);
// Throws InputError where it cannot be read, or only once.
FileBeginning beginning_of_file(const std::string& path);

}  // namespace kvcap
