// PythonNumbers: replaces Infinity, -Infinity and NaN, which Python's json module writes but JSON does not
// have, by null. SGLang's bench_serving writes Infinity for an unlimited request rate.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace kvcap {

// A stream buffer that returns the text of `from` with nulls for these numbers. It does not read ahead.
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
