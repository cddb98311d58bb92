// A small HTTP server on the loopback interface, for what scrapes servers.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace kvcap {

struct ServedPage {
  std::string body;
  int status = 200;
  double delay_s = 0;
};

class MetricsServer {
 public:
  // `page` answers the requests for /metrics one after the other, from 0 on; /moved leads there.
  explicit MetricsServer(std::function<ServedPage(int request)> page);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  std::string address() const;  // "http://127.0.0.1:12345"
  int served() const;
  // Until so many requests were answered; false after half a minute.
  bool wait_until_served(int requests) const;
  // As a server that dies.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kvcap
