#include "unit/metrics_server.h"

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace kvcap {

struct MetricsServer::State {
  httplib::Server server;
  std::atomic<int> served = 0;
  int port = 0;
  std::thread thread;
};

MetricsServer::MetricsServer(std::function<ServedPage(int request)> page)
    : state_(std::make_unique<State>()) {
  State* const state = state_.get();
  state->server.new_task_queue = [] { return new httplib::ThreadPool(1); };
  state->server.Get("/metrics",
                    [state, page = std::move(page)](const httplib::Request&, httplib::Response& answer) {
                      const ServedPage one = page(state->served);
                      std::this_thread::sleep_for(std::chrono::duration<double>(one.delay_s));
                      answer.status = one.status;
                      answer.set_content(one.body, "text/plain; version=0.0.4; charset=utf-8");
                      ++state->served;
                    });
  state->server.Get(
      "/moved", [](const httplib::Request&, httplib::Response& answer) { answer.set_redirect("/metrics"); });
  state->port = state->server.bind_to_any_port("127.0.0.1");
  state->thread = std::thread([state] { state->server.listen_after_bind(); });
}

MetricsServer::~MetricsServer() { stop(); }

std::string MetricsServer::address() const { return "http://127.0.0.1:" + std::to_string(state_->port); }

int MetricsServer::served() const { return state_->served; }

bool MetricsServer::wait_until_served(int requests) const {
  for (int i = 0; i < 3000; ++i) {
    if (state_->served >= requests) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

void MetricsServer::stop() {
  if (!state_->thread.joinable()) return;
  // A server that is not listening yet would not hear of it.
  while (!state_->server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  state_->server.stop();
  state_->thread.join();
}

}  // namespace kvcap
