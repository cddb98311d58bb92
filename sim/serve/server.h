// PageServer: the HTTP server of kvcap serve, on the loopback interface only. Every request needs the token.
// The server sends only the page, the data of the form, and the results of its own runs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/embedded_pages.h"
#include "serve/run_queue.h"

namespace kvcap {

inline constexpr std::size_t kMostBodyBytes = 65'536;

struct PageServerOptions {
  int port = 0;  // 0: any free port
  std::string token;
  EmbeddedPage page;
  std::string program;                 // kvcap, which checks commands
  std::vector<std::string> scenarios;  // that may be started from
};

class PageServer {
 public:
  // Starts to answer requests. REQUIRES: `runs` outlives the server. Throws InputError if the port is taken.
  PageServer(PageServerOptions options, RunQueue& runs);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  int port() const;
  std::string address() const;  // "http://127.0.0.1:12345/?token=..."

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kvcap
