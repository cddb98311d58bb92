// Python's json module writes numbers that JSON does not have: Infinity, -Infinity and NaN. SGLang's
// bench_serving does for a request rate without a limit.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace kvcap {

// The text of another buffer with null for these. It reads no further ahead than the character that it gives.
class PythonNumbers : public std::streambuf {
 public:
  explicit PythonNumbers(std::streambuf& from) : from_(from) {}

 protected:
  int_type underflow() override;

 private:
  void read_word(char first);

  std::streambuf& from_;
  bool in_string_ = false, is_escaped_ = false;
  std::string given_;
};

std::string with_nulls_for_python_numbers(std::string_view text);

}  // namespace kvcap
