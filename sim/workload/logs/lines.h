// The lines of a text file, plain or gzip, one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kvcap {

class LineReader {
 public:
  // Throws InputError where the file cannot be opened.
  explicit LineReader(const std::string& path);
  ~LineReader();

  // Sets `line` to the next line without its end (valid until the next call); false at the end of the
  // file. Throws InputError where the file or its compression is damaged.
  bool next(std::string_view& line);
  int64_t line_number() const;  // of the line last returned, from 1

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kvcap
