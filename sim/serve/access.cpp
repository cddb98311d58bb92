#include "serve/access.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace kvcap {

std::string make_token() {
  std::array<unsigned char, 32> bytes;
  // getrandom() never returns fewer bytes than asked for up to 256.
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::system_error(errno, std::generic_category(), "random numbers");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4U];
    token += kDigits[byte & 15U];
  }
  return token;
}

bool is_same_secret(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned char differences = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    differences = static_cast<unsigned char>(differences | (one[i] ^ other[i]));
  return differences == 0;
}

bool is_own_host(std::string_view host, int port) {
  const std::string end = ":" + std::to_string(port);
  return host == "127.0.0.1" + end || host == "localhost" + end;
}

}  // namespace kvcap
