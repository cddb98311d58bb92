#include "observe/http.h"

#include <fcntl.h>
#include <httplib.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/input_error.h"
#include "base/text/format.h"

namespace kvcap {
namespace {

constexpr std::size_t kMostPageBytes = 64'000'000;
constexpr double kLongestTimeout_s = 1e6;

std::string too_large() {
  return "the answer is larger than " + std::to_string(kMostPageBytes / 1'000'000) + " MB";
}

std::string reason_of(httplib::Error error, double timeout_s) {
  switch (error) {
    case httplib::Error::Connection:
      return "no connection: no server listens at this address, or the host does not exist";
    case httplib::Error::ConnectionTimeout:
      return "no connection within " + format_number(timeout_s) + " s";
    case httplib::Error::Read:
      return "the server closed the connection or did not answer within " + format_number(timeout_s) + " s";
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

HttpAddress parse_http_address(const std::string& text, const std::string& default_path) {
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
  if (path.empty() || path == "/") path = default_path;
  if (path.front() == '?') path = default_path + path;
  return {text.substr(0, begin) + host, path};
}

namespace {

// Returns scheme, host and port, so that "http://Host" and "http://host:80" are equal.
std::string origin_of(const std::string& server) {
  std::string origin = server;
  for (char& letter : origin) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const std::size_t host = origin.find("://") + 3;
  const std::size_t colon = origin.rfind(':');
  const bool has_port = colon >= host && origin.find(']', colon) == std::string::npos;
  return has_port ? origin : origin + (origin.starts_with("https") ? ":443" : ":80");
}

using Clock = std::chrono::steady_clock;

bool is_redirection(int status) { return (status >= 301 && status <= 303) || status == 307 || status == 308; }

// Sends one request. Sets `location` to the redirect target, if there is one.
HttpAnswer ask(const HttpAddress& address, const HttpOptions& options, std::string& location) {
  const auto timeout = std::chrono::microseconds(static_cast<int64_t>(1e6 * options.timeout_s));
  httplib::Client client(address.server);
  if (!client.is_valid()) return {.error = "the address is not valid"};
  client.set_connection_timeout(timeout);
  client.set_read_timeout(timeout);
  client.set_write_timeout(timeout);
  HttpAnswer answer;
  bool is_too_large = false;
  const auto take = [&](const char* data, std::size_t size) {
    answer.body.append(data, size);
    is_too_large = answer.body.size() > kMostPageBytes;
    return !is_too_large;
  };
  httplib::Headers headers = {{"Accept", options.accept}, {"User-Agent", "kvcap"}};
  if (!options.bearer_token.empty()) headers.emplace("Authorization", "Bearer " + options.bearer_token);
  const httplib::Result result = client.Get(address.path, headers, take);
  if (result) answer.status = result->status;
  if (is_too_large || !result) {
    answer = {.error = is_too_large ? too_large() : reason_of(result.error(), options.timeout_s)};
  } else if (is_redirection(result->status) && result->has_header("Location")) {
    location = result->get_header_value("Location");
  } else if (result->status != 200) {
    answer.error = "the server answers with status " + std::to_string(result->status) + ", expected 200";
  }
  return answer;
}

// Sets `address` to the redirect target. Returns the error, or an empty string.
std::string follow(const std::string& location, const HttpOptions& options, HttpAddress& address) {
  try {
    const HttpAddress next = redirected(address, location);
    if (!options.allow_redirects && origin_of(next.server) != origin_of(address.server)) {
      return "the server redirects to " + next.server + next.path +
             ", which is another host or port; give that address, or --allow-redirects";
    }
    address = next;
    return "";
  } catch (const InputError& error) {
    return "the server redirects to an invalid address: " + std::string(error.what());
  }
}

HttpAnswer ask_until_answered(HttpAddress address, HttpOptions options) {
  constexpr int kMostRedirections = 5;
  const std::string first_origin = origin_of(address.server);
  for (int redirections = 0;; ++redirections) {
    std::string location;
    HttpAnswer answer = ask(address, options, location);
    if (location.empty()) return answer;
    if (redirections == kMostRedirections)
      return {.error = "the server redirects more than " + std::to_string(kMostRedirections) + " times"};
    const std::string error = follow(location, options, address);
    if (!error.empty()) return {.error = error};
    if (origin_of(address.server) != first_origin) options.bearer_token.clear();
  }
}

// ---- the child process that sends the requests ----

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
}

// Writes the status and the error on one line each, then the body.
[[noreturn]] void answer_in_child(int fd, const HttpAddress& address, const HttpOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr rlim_t kMostBytes = rlim_t{2} << 30U;  // address space, which endless headers would exhaust
  const rlimit limit{kMostBytes, kMostBytes};
  setrlimit(RLIMIT_DATA, &limit);
#endif
  HttpAnswer answer;
  try {
    answer = ask_until_answered(address, options);
  } catch (const std::exception&) {  // out of memory
    answer = {.error = too_large()};
  }
  std::replace(answer.error.begin(), answer.error.end(), '\n', ' ');
  write_all(fd, std::to_string(answer.status) + "\n" + answer.error + "\n");
  write_all(fd, answer.body);
  _exit(0);
}

// Parses the text that answer_in_child() wrote. If the answer was broken, the child may have written nothing.
HttpAnswer answer_of_child(const std::string& text) {
  const std::size_t status_end = text.find('\n');
  const std::size_t error_end =
      status_end == std::string::npos ? status_end : text.find('\n', status_end + 1);
  HttpAnswer answer;
  if (error_end == std::string::npos) return {.error = "the answer is not HTTP"};
  std::from_chars(text.data(), text.data() + status_end, answer.status);
  answer.error = text.substr(status_end + 1, error_end - status_end - 1);
  answer.body = text.substr(error_end + 1);
  return answer;
}

// Reads until the other end is closed; returns nothing if the deadline passes first.
std::optional<std::string> read_until(int fd, Clock::time_point deadline) {
  std::string text;
  std::vector<char> buffer(1 << 16);
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{fd, POLLIN, 0};
    const int ready =
        left > 0 ? ::poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left, 1'000'000))) : 0;
    if (left <= 0) return std::nullopt;
    if (ready <= 0) continue;
    const ssize_t bytes = ::read(fd, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
}

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

// A child process sends the request, because it can be killed at any moment: the HTTP library limits only the
// time of single reads, cannot be stopped during a name lookup, and uses more stack for longer status lines.
HttpAnswer http_get(const HttpAddress& address, const HttpOptions& options) {
  const Clock::time_point deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(std::min(options.timeout_s, kLongestTimeout_s)));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {.error = std::strerror(errno)};
  const pid_t child = ::fork();
  if (child == 0) answer_in_child(ends[1], address, options);
  const int error = errno;
  ::close(ends[1]);
  const std::optional<std::string> text =
      child > 0 ? read_until(ends[0], deadline) : std::optional<std::string>();
  ::close(ends[0]);
  if (child < 0) return {.error = std::strerror(error)};
  ::kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!text) return {.error = "no complete answer within " + format_number(options.timeout_s) + " s"};
  return answer_of_child(*text);
}

}  // namespace kvcap
