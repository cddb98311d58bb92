#include "observe/http.h"

#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/input_error.h"
#include "metrics/format.h"

namespace kvcap {
namespace {

constexpr std::size_t kMostPageBytes = 64'000'000;

std::string reason_of(httplib::Error error, double timeout_s) {
  switch (error) {
    case httplib::Error::Connection:
      return "no connection: no server listens at this address, or the host does not exist";
    case httplib::Error::ConnectionTimeout:
      return "no connection within " + format_number(timeout_s) + " s";
    case httplib::Error::Read:
      return "the server did not answer, or not within " + format_number(timeout_s) + " s";
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLServerVerification:
      return "the server's certificate is not accepted";
    default:
      return httplib::to_string(error);
  }
}

}  // namespace

bool is_http_address(const std::string& text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

HttpAddress parse_http_address(const std::string& text) {
  const auto refuse = [&](const std::string& what) {
    throw InputError("address: found \"" + text + "\"" + what +
                     ", allowed: http://HOST[:PORT][/PATH] or https://...");
  };
  if (!is_http_address(text)) refuse("");
  const std::size_t begin = text.find("://") + 3;
  const std::size_t slash = text.find_first_of("/?", begin);
  const std::string host = text.substr(begin, slash - begin);
  if (host.empty() || host.find_first_of(" \t@\"<>\\") != std::string::npos) refuse("");
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && host.find(']', colon) == std::string::npos;
  if (has_port) {
    int port = 0;
    const auto [end, error] = std::from_chars(host.data() + colon + 1, host.data() + host.size(), port);
    if (error != std::errc() || end != host.data() + host.size() || port < 1 || port > 65535)
      refuse(" with the port \"" + host.substr(colon + 1) + "\"");
  }
  std::string path = slash == std::string::npos ? "" : text.substr(slash);
  if (path.empty() || path == "/") path = "/metrics";
  if (path.front() == '?') path = "/metrics" + path;
  return {text.substr(0, begin) + host, path};
}

namespace {

// Scheme, host and port, so that "http://Host" and "http://host:80" are one.
std::string origin_of(const std::string& server) {
  std::string origin = server;
  for (char& letter : origin) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const std::size_t host = origin.find("://") + 3;
  const std::size_t colon = origin.rfind(':');
  const bool has_port = colon >= host && origin.find(']', colon) == std::string::npos;
  return has_port ? origin : origin + (origin.starts_with("https") ? ":443" : ":80");
}

// One exchange after the other until there is an answer that leads no further. It outlives http_get() where a
// name server or a connection keeps it waiting.
class Exchange {
 public:
  Exchange(HttpAddress address, const HttpOptions& options)
      : options_(options),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(options.timeout_s))),
        address_(std::move(address)) {}

  void run() {
    HttpAnswer answer;
    for (int redirections = 0;; ++redirections) {
      std::string location;
      answer = ask(location);
      if (location.empty()) break;
      if (redirections == kMostRedirections) {
        answer = {"", "more than " + std::to_string(kMostRedirections) + " redirections"};
        break;
      }
      answer.error = follow(location);
      if (!answer.error.empty()) break;
    }
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    ended_.notify_all();
  }

  HttpAnswer wait() {
    std::unique_lock lock(mutex_);
    const auto has_ended = [this] { return answer_.has_value(); };
    if (ended_.wait_until(lock, deadline_, has_ended)) return *answer_;
    is_late_ = true;
    // stop() itself waits while names are looked up and connections are made. Else all is over at once.
    if (client_) std::thread([client = client_] { client->stop(); }).detach();
    ended_.wait_for(lock, std::chrono::milliseconds(200), has_ended);
    return {"", "no whole answer within " + format_number(options_.timeout_s) + " s"};
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kMostRedirections = 5;

  HttpAnswer ask(std::string& location) {
    const std::chrono::microseconds left =
        std::chrono::duration_cast<std::chrono::microseconds>(deadline_ - Clock::now());
    const auto client = std::make_shared<httplib::Client>(address_.server);
    if (!client->is_valid()) return {"", "not an address that can be connected to"};
    client->set_connection_timeout(left);
    client->set_read_timeout(left);
    client->set_write_timeout(left);
    {
      const std::lock_guard lock(mutex_);
      if (is_late_ || left.count() <= 0) return {"", "late"};
      client_ = client;
    }
    HttpAnswer answer;
    bool is_too_large = false;
    const auto take = [&](const char* data, std::size_t size) {
      answer.body.append(data, size);
      is_too_large = answer.body.size() > kMostPageBytes;
      return !is_too_large && !is_late_;
    };
    const httplib::Result result =
        client->Get(address_.path, {{"Accept", "text/plain;version=0.0.4"}, {"User-Agent", "kvcap"}}, take);
    if (is_too_large) {
      answer.error = "the answer is larger than " + std::to_string(kMostPageBytes / 1'000'000) + " MB";
    } else if (!result) {
      answer.error = reason_of(result.error(), options_.timeout_s);
    } else if (is_redirection(result->status) && result->has_header("Location")) {
      location = result->get_header_value("Location");
    } else if (result->status != 200) {
      answer.error = "the server answers with status " + std::to_string(result->status) + ", expected 200";
    }
    return answer;
  }

  static bool is_redirection(int status) {
    return (status >= 301 && status <= 303) || status == 307 || status == 308;
  }

  // Says why not, or nothing.
  std::string follow(const std::string& location) {
    try {
      const HttpAddress next = redirected(address_, location);
      if (!options_.allow_redirects && origin_of(next.server) != origin_of(address_.server)) {
        return "the server redirects to " + next.server + next.path +
               ", which is another host or port, allowed: that address itself, or --allow-redirects";
      }
      address_ = next;
      return "";
    } catch (const InputError& error) {
      return "the server redirects to no page: " + std::string(error.what());
    }
  }

  HttpOptions options_;
  Clock::time_point deadline_;
  HttpAddress address_;  // of the next question
  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<HttpAnswer> answer_;
  std::shared_ptr<httplib::Client> client_;
  std::atomic<bool> is_late_ = false;
};

}  // namespace

HttpAddress redirected(const HttpAddress& from, const std::string& whole) {
  const std::string location = whole.substr(0, whole.find('#'));
  const std::size_t scheme = location.find("://");
  const bool is_relative = scheme == std::string::npos || location.find_first_of("/?") < scheme;
  HttpAddress to;
  if (location.starts_with("//")) {
    to = parse_http_address(from.server.substr(0, from.server.find("//")) + location);
  } else if (!is_relative) {
    to = parse_http_address(location);
  } else {
    const std::string path = from.path.substr(0, from.path.find('?'));
    const bool is_query = location.starts_with('?');
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    to = {from.server, (location.starts_with('/') ? "" : is_query ? path : folder) + location};
  }
  return to;
}

HttpAnswer http_get(const HttpAddress& address, const HttpOptions& options) {
  const auto exchange = std::make_shared<Exchange>(address, options);
  std::thread([exchange] { exchange->run(); }).detach();
  return exchange->wait();
}

}  // namespace kvcap
