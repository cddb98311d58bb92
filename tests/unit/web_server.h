// An HTTP server on the loopback interface whose answers a test computes from the requests.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kvcap {

struct WebRequest {
  std::string path;
  std::map<std::string, std::string> parameters;
  std::string authorization;
};

struct WebAnswer {
  std::string body;  // of a status from 301 to 308: the address that it leads to
  int status = 200;
};

class WebServer {
 public:
  explicit WebServer(std::function<WebAnswer(const WebRequest&)> answer);
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  std::string address() const;  // "http://127.0.0.1:12345"
  std::vector<WebRequest> requests() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kvcap
