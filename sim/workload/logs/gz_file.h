// Reads plain and gzip files, and compresses texts to gzip.
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
  // Throws InputError if the file cannot be opened.
  explicit GzFile(const std::string& path);
  ~GzFile();

  // Fills `buffer` with the next bytes of the file and returns their number; 0 at the end of the file. Throws
  // InputError if the file or its compression is damaged.
  std::size_t read(std::span<char> buffer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Buffer of a std::istream over a plain or gzip file, for parsing JSON. Throws InputError through the stream
// for a damaged file and for a string longer than 64 MiB, which the parser would keep in memory.
class GzStreambuf : public std::streambuf {
 public:
  explicit GzStreambuf(const std::string& path);

  int64_t line_number() const;  // line of the byte that was read last, from 1

 protected:
  int_type underflow() override;

 private:
  void follow_strings(std::string_view part);

  std::string path_;
  GzFile file_;
  std::vector<char> buffer_;
  std::size_t since_quote_ = 0;  // bytes since the last unescaped quote
  int64_t lines_before_ = 0;     // lines that ended before the buffer
};

// Returns the text as gzip. The header contains no name and no time, so equal texts give equal bytes.
std::string gzip(std::string_view text);

}  // namespace kvcap
