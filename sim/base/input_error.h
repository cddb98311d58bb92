// InputError: an error in the user's input. It is thrown only while inputs are loaded; the program then
// prints it as one line and exits with code 2.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kvcap {

// The message is the whole line that the user sees: place (file, field path or line), what was found, what is
// allowed, and the nearest valid name if there is one.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Returns the candidate with the least edit distance to `name` if that is a likely typing error, else the
// shortest one that contains every word of `name` ("ttft_ms" for "ttft"), else an empty view.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

// Returns "; did you mean \"x\"?" for the nearest candidate, or "" if none is near.
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace kvcap
