// Fetches one page by HTTP or HTTPS within a time limit.
#pragma once

#include <string>

namespace kvcap {

struct HttpAddress {
  std::string server;  // "http://127.0.0.1:8000"
  std::string path;    // "/metrics", with the query if given
};

// True iff the text is an address and not a file name.
bool is_http_address(const std::string& text);

// Parses an address with or without a path. Throws InputError.
HttpAddress parse_http_address(const std::string& text, const std::string& default_path = "/metrics");

struct HttpAnswer {
  std::string body;   // also if the status is an error
  std::string error;  // empty: success
  int status = 0;     // 0: no answer
};

// Returns the target of a redirect: `location`, relative to the redirecting address `from`. Throws InputError
// if the target is not an address.
HttpAddress redirected(const HttpAddress& from, const std::string& location);

struct HttpOptions {
  double timeout_s = 10;         // total: name lookup, connections, redirects and the whole answer
  bool allow_redirects = false;  // follows redirects to another host, port or scheme
  std::string bearer_token;      // sent only to the host, port and scheme of the address; empty: none
  std::string accept = "text/plain;version=0.0.4";
};

HttpAnswer http_get(const HttpAddress& address, const HttpOptions& options);

}  // namespace kvcap
