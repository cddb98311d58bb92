// The bytes of a file, plain or gzip, and gzip's own form of a text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

class GzFile {
 public:
  // Throws InputError where the file cannot be opened.
  explicit GzFile(const std::string& path);
  ~GzFile();

  // Fills as much of `buffer` as the file has left; 0 at its end. Throws InputError where the file or its
  // compression is damaged.
  std::size_t read(std::span<char> buffer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The same as the buffer of a std::istream that a JSON text is read from. Errors pass through it as
// InputError; so does a string without end, which its parser would gather in memory.
class GzStreambuf : public std::streambuf {
 public:
  explicit GzStreambuf(const std::string& path);

  int64_t line_number() const;  // of the byte that was read last, from 1

 protected:
  int_type underflow() override;

 private:
  void follow_strings(std::string_view part);

  std::string path_;
  GzFile file_;
  std::vector<char> buffer_;
  std::size_t since_quote_ = 0;  // bytes
  int64_t lines_before_ = 0;     // that ended before the buffer begins
};

// The same bytes for the same text: no name and no time is written.
std::string gzip(std::string_view text);

}  // namespace kvcap
