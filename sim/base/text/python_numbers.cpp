#include "base/text/python_numbers.h"

#include <cctype>
#include <iterator>
#include <sstream>

namespace kvcap {

// Gives a word, which `first` begins, or null for it.
void PythonNumbers::read_word(char first) {
  given_ = first;
  for (int_type next = from_.sgetc(); next != traits_type::eof() && std::isalpha(next);
       next = from_.snextc()) {
    given_ += traits_type::to_char_type(next);
  }
  if (given_ == "NaN" || given_ == "Infinity" || given_ == "-Infinity") given_ = "null";
}

std::streambuf::int_type PythonNumbers::underflow() {
  const int_type next = from_.sbumpc();
  if (next == traits_type::eof()) return next;
  const char one = traits_type::to_char_type(next);
  given_ = one;
  if (in_string_) {
    in_string_ = is_escaped_ || one != '"';
    is_escaped_ = !is_escaped_ && one == '\\';
  } else if (one == '"') {
    in_string_ = true;
  } else if (one == 'N' || one == 'I' || one == '-') {
    read_word(one);
  }
  setg(given_.data(), given_.data(), given_.data() + given_.size());
  return traits_type::to_int_type(given_.front());
}

std::string with_nulls_for_python_numbers(std::string_view text) {
  std::stringbuf from{std::string(text)};
  PythonNumbers numbers(from);
  return {std::istreambuf_iterator<char>(&numbers), {}};
}

}  // namespace kvcap
