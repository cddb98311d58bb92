#include "commands/bearer_token.h"

#include <algorithm>
#include <cstdlib>

#include "base/input_error.h"

namespace kvcap {

std::string bearer_token(const char* variable) {
  const char* const value = std::getenv(variable);
  std::string token = value ? value : "";
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  const auto is_printable = [](unsigned char letter) { return letter > ' ' && letter < 127; };
  if (std::all_of(token.begin(), token.end(), is_printable)) return token;
  throw InputError(
      std::string(variable) +
      ": found a blank or another character that a token cannot contain, allowed: a bearer token");
}

}  // namespace kvcap
