// Who may ask kvcap serve: programs that know its token, under an address of this machine.
#pragma once

#include <string>
#include <string_view>

namespace kvcap {

// Returns 256 random bits as 64 hexadecimal digits.
std::string make_token();

// True iff the texts are the same. Takes as long for every text of a length.
bool is_same_secret(std::string_view one, std::string_view other);

// True iff a request's Host header names this server: 127.0.0.1:port or localhost:port. Other names lead to
// this machine only if someone else's DNS says so.
bool is_own_host(std::string_view host, int port);

}  // namespace kvcap
