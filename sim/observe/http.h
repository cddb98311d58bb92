// One page by HTTP or HTTPS, for as long as a scrape may take.
#pragma once

#include <string>

namespace kvcap {

struct HttpAddress {
  std::string server;  // "http://127.0.0.1:8000"
  std::string path;    // "/metrics", with a query where there is one
};

// Whether the text is an address and not the name of a file.
bool is_http_address(const std::string& text);

// An address without a path means /metrics. Throws InputError.
HttpAddress parse_http_address(const std::string& text);

struct HttpAnswer {
  std::string body;
  std::string error;  // empty: the page is there
};

// Where an answer to `from` leads that names this Location. Throws InputError for what is no address.
HttpAddress redirected(const HttpAddress& from, const std::string& location);

struct HttpOptions {
  double timeout_s = 10;         // for all of it: names, connections, redirections, the whole answer
  bool allow_redirects = false;  // to another host, port or scheme; within one server always
};

HttpAnswer http_get(const HttpAddress& address, const HttpOptions& options);

}  // namespace kvcap
