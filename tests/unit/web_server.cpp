#include "unit/web_server.h"

#include <httplib.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

namespace kvcap {

struct WebServer::State {
  std::vector<WebRequest> requests;
  mutable std::mutex mutex;
  httplib::Server server;
  int port = 0;
  std::thread thread;
};

WebServer::WebServer(std::function<WebAnswer(const WebRequest&)> answer) : state_(std::make_unique<State>()) {
  State* const state = state_.get();
  state->server.new_task_queue = [] { return new httplib::ThreadPool(1); };
  const auto reply = [state, answer = std::move(answer)](const httplib::Request& request,
                                                         httplib::Response& response) {
    const std::lock_guard lock(state->mutex);
    state->requests.push_back({.path = request.path,
                               .parameters = {request.params.begin(), request.params.end()},
                               .authorization = request.get_header_value("Authorization")});
    const WebAnswer one = answer(state->requests.back());
    response.status = one.status;
    if (one.status >= 301 && one.status <= 308) {
      response.set_header("Location", one.body);
    } else {
      response.set_content(one.body, "application/json");
    }
  };
  state->server.Get(".*", reply);
  state->port = state->server.bind_to_any_port("127.0.0.1");
  state->thread = std::thread([state] { state->server.listen_after_bind(); });
}

WebServer::~WebServer() {
  // A server that is not listening yet would not hear of it.
  while (!state_->server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  state_->server.stop();
  state_->thread.join();
}

std::string WebServer::address() const { return "http://127.0.0.1:" + std::to_string(state_->port); }

std::vector<WebRequest> WebServer::requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->requests;
}

}  // namespace kvcap
