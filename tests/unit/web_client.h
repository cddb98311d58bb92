// One request by HTTP, with the headers that a test chooses.
#pragma once

#include <map>
#include <string>

namespace kvcap {

struct ClientRequest {
  std::string method = "GET";
  std::string target;  // "/path?query"
  std::map<std::string, std::string> headers = {};
  std::string body = {};
  bool is_chunked = false;  // sends the body without its length
};

struct ClientAnswer {
  int status = 0;  // 0: no answer
  std::string body;
  std::map<std::string, std::string> headers;
};

// `server`: "http://127.0.0.1:12345".
ClientAnswer ask_server(const std::string& server, const ClientRequest& request);

}  // namespace kvcap
