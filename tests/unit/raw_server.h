// A server that answers every connection with bytes that the test chooses, at the pace that it chooses.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace kvcap {

class RawServer {
 public:
  // Waits before each byte behind the first `at_once`, and then before it closes.
  RawServer(std::string answer, std::size_t at_once, double pause_s)
      : answer_(std::move(answer)), at_once_(at_once), pause_s_(pause_s) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(socket_, reinterpret_cast<sockaddr*>(&address), size);
    listen(socket_, 8);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~RawServer() {
    ends_ = true;
    thread_.join();
    ::close(socket_);
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_; }

 private:
  void serve() {
    while (!ends_) {
      pollfd waiting{socket_, POLLIN, 0};
      if (poll(&waiting, 1, 20) <= 0) continue;
      const int client = accept(socket_, nullptr, nullptr);
      ++connections_;
      char request[4096];
      [[maybe_unused]] const ssize_t read = recv(client, request, sizeof request, 0);
      send(client, answer_.data(), at_once_, MSG_NOSIGNAL);
      for (std::size_t i = at_once_; i < answer_.size() && !ends_; ++i) {
        std::this_thread::sleep_for(std::chrono::duration<double>(pause_s_));
        if (send(client, &answer_[i], 1, MSG_NOSIGNAL) < 0) break;
      }
      std::this_thread::sleep_for(std::chrono::duration<double>(pause_s_));
      ::close(client);
    }
  }

  std::string answer_;
  std::size_t at_once_;
  double pause_s_;
  int socket_ = -1;
  int port_ = 0;
  std::atomic<bool> ends_ = false;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

}  // namespace kvcap
