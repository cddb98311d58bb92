#include "observe/http.h"

#include <httplib.h>

#include <charconv>
#include <chrono>

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
    case httplib::Error::Canceled:
      return "the answer is larger than " + std::to_string(kMostPageBytes / 1'000'000) +
             " MB, or not there after " + format_number(timeout_s) + " s";
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLServerVerification:
      return "the server's certificate is not accepted";
    case httplib::Error::ExceedRedirectCount:
      return "too many redirections";
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

HttpAnswer http_get(const HttpAddress& address, double timeout_s) {
  const auto timeout = std::chrono::microseconds(static_cast<int64_t>(1e6 * timeout_s));
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  httplib::Client client(address.server);
  if (!client.is_valid()) return {"", "not an address that can be connected to"};
  client.set_connection_timeout(timeout);
  client.set_read_timeout(timeout);
  client.set_follow_location(true);
  HttpAnswer answer;
  const auto take = [&](const char* data, std::size_t size) {
    answer.body.append(data, size);
    return answer.body.size() <= kMostPageBytes && std::chrono::steady_clock::now() < deadline;
  };
  const httplib::Result result =
      client.Get(address.path, {{"Accept", "text/plain;version=0.0.4"}, {"User-Agent", "kvcap"}}, take);
  if (!result) {
    answer.error = reason_of(result.error(), timeout_s);
  } else if (result->status != 200) {
    answer.error = "the server answers with status " + std::to_string(result->status) + ", expected 200";
  }
  return answer;
}

}  // namespace kvcap
