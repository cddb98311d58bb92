// Sha256: computes the SHA-256 digest (FIPS 180-4) of bytes, which is the same on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvcap {

class Sha256 {
 public:
  void add(std::string_view bytes);
  // Returns the digest of all added bytes as 64 hexadecimal digits. REQUIRES: add() is not called afterwards.
  std::string hex();

 private:
  void block(const unsigned char* bytes);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> open_{};  // the block that is not full yet
  std::size_t open_bytes_ = 0;
  uint64_t all_bytes_ = 0;
};

std::string sha256(std::string_view bytes);
// Returns the digest of a file's contents; throws std::system_error if it cannot be read.
std::string sha256_of_file(const std::string& path);

}  // namespace kvcap
