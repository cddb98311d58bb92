// Adds the conversions of doubles to and from text that the standard library of Debian's Emscripten lacks.
// The build of the page includes this file before all others.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace std {

// Writes the shortest of 15 to 17 digits that reads back as the same number.
inline to_chars_result to_chars(char* first, char* last, double value) {
  char text[40];
  int length = 0;
  for (int digits = 15; digits <= 17; ++digits) {
    length = snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, nullptr) == value) break;
  }
  if (last - first < length) return {last, errc::value_too_large};
  memcpy(first, text, static_cast<size_t>(length));
  return {first + length, errc()};
}

inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  char text[400];
  const size_t length = static_cast<size_t>(last - first) < sizeof text - 1
                            ? static_cast<size_t>(last - first)
                            : sizeof text - 1;
  if (length == 0 || *first == '+' || *first == ' ') return {first, errc::invalid_argument};
  memcpy(text, first, length);
  text[length] = '\0';
  char* end = nullptr;
  const double number = strtod(text, &end);
  if (end == text) return {first, errc::invalid_argument};
  value = number;
  return {first + (end - text), errc()};
}

}  // namespace std
