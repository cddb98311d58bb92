// Access control of kvcap serve: the server answers only requests that carry its token and whose Host header
// is a loopback address with its port.
#pragma once

#include <string>
#include <string_view>

namespace kvcap {

// Returns 256 random bits as 64 hexadecimal digits.
std::string make_token();

// True iff the texts are equal. Takes the same time for all texts of one length, so timing reveals nothing.
bool is_same_secret(std::string_view one, std::string_view other);

// True iff a request's Host header names this server: 127.0.0.1:port or localhost:port. Refusing other names
// prevents DNS rebinding.
bool is_own_host(std::string_view host, int port);

}  // namespace kvcap
