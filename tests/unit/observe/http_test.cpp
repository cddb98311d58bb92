#include "observe/http.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "base/input_error.h"
#include "unit/raw_server.h"

namespace kvcap {
namespace {

struct TimedAnswer {
  HttpAnswer answer;
  double seconds = 0;
};

TimedAnswer asked(const std::string& address, const HttpOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  TimedAnswer one{http_get(parse_http_address(address), options)};
  one.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return one;
}

constexpr const char* kHead = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n";

std::string redirection(const std::string& location) {
  return "HTTP/1.1 302 Found\r\nLocation: " + location + "\r\nContent-Length: 0\r\n\r\n";
}

TEST(HttpGet, ReadsAWholeAnswer) {
  const std::string answer = kHead + std::string("hello");
  const RawServer server(answer, answer.size(), 0);
  const HttpAnswer got = http_get(parse_http_address(server.address()), {});
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got.body, "hello");
}

TEST(HttpGet, KeepsWhatAServerSaysWithAnErrorStatus) {
  const std::string answer = "HTTP/1.1 422 No\r\nContent-Length: 6\r\n\r\nno\nyes";
  const RawServer server(answer, answer.size(), 0);
  const HttpAnswer got = http_get(parse_http_address(server.address()), {});
  EXPECT_EQ(got.status, 422);
  EXPECT_EQ(got.error, "the server answers with status 422, expected 200");
  EXPECT_EQ(got.body, "no\nyes");
}

// A byte before each pause: reads go on, and the answer never ends.
TEST(HttpGet, EndsAtTheTimeoutWhereverTheAnswerStalls) {
  const std::string answer = kHead + std::string("hello");
  const std::size_t head = std::string(kHead).size();
  for (const std::size_t at_once : {std::size_t{0}, std::size_t{10}, std::size_t{30}, head, head + 2}) {
    const RawServer server(answer, at_once, 0.2);
    const TimedAnswer one = asked(server.address(), {.timeout_s = 0.5});
    EXPECT_NE(one.answer.error.find("within 0.500 s"), std::string::npos)
        << at_once << ": " << one.answer.error << one.answer.body;
    EXPECT_GT(one.seconds, 0.4) << at_once;
    EXPECT_LT(one.seconds, 2) << at_once;
  }
}

TEST(HttpGet, EndsAtTheTimeoutWhereNobodyAccepts) {
  const int busy = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(busy, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(busy, 0), 0);
  getsockname(busy, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string server = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  int waiting[4];  // which fill the queue of connections
  for (int& one : waiting) {
    one = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    [[maybe_unused]] const int connected = connect(one, reinterpret_cast<sockaddr*>(&address), size);
  }
  const TimedAnswer one = asked(server, {.timeout_s = 0.3});
  EXPECT_NE(one.answer.error.find("within 0.300 s"), std::string::npos) << one.answer.error;
  EXPECT_LT(one.seconds, 2);
  for (const int fd : waiting) ::close(fd);
  ::close(busy);
}

// The library that reads it matches it with a regular expression, which goes as deep as the line is long.
TEST(HttpGet, OfAStatusLineOrHeadersWithoutEndIsAnError) {
  const std::string line = "HTTP/1.1 200 " + std::string(2'000'000, 'a') + "\r\n\r\n";
  std::string headers = "HTTP/1.1 200 OK\r\n";
  while (headers.size() < 2'000'000) headers += "A: " + std::string(10'000, 'b') + "\r\n";
  for (const std::string& answer : {line, headers, std::string(2'000'000, 'x'), std::string("\r\n")}) {
    const RawServer server(answer, answer.size(), 0);
    const TimedAnswer one = asked(server.address(), {.timeout_s = 5});
    EXPECT_NE(one.answer.error, "") << answer.substr(0, 20);
    EXPECT_EQ(one.answer.body, "");
    EXPECT_LT(one.seconds, 10);
  }
}

TEST(HttpGet, LeavesNoProcessBehind) {
  const auto children = [] {
    std::ifstream list("/proc/self/task/" + std::to_string(getpid()) + "/children");
    return std::string(std::istreambuf_iterator<char>(list), {});
  };
  const std::string before = children(), answer = kHead + std::string("hello");
  const RawServer server(answer, answer.size(), 0), silent(answer, 0, 1);
  EXPECT_EQ(http_get(parse_http_address(server.address()), {}).body, "hello");
  EXPECT_NE(http_get(parse_http_address(silent.address()), {.timeout_s = 0.1}).error, "");
  EXPECT_EQ(children(), before);
}

TEST(HttpGet, FollowsToAnotherServerOnlyWhereThatIsAllowed) {
  const std::string answer = kHead + std::string("hello");
  const RawServer other(answer, answer.size(), 0);
  const std::string away = redirection(other.address() + "/metrics");
  const RawServer server(away, away.size(), 0);
  const HttpAddress address = parse_http_address(server.address());
  EXPECT_EQ(http_get(address, {}).error, "the server redirects to " + other.address() +
                                             "/metrics, which is another host or port; give that "
                                             "address, or --allow-redirects");
  EXPECT_EQ(other.connections(), 0);
  EXPECT_EQ(http_get(address, {.allow_redirects = true}).body, "hello");
  EXPECT_EQ(other.connections(), 1);
}

TEST(HttpGet, EndsWhereRedirectionsGoRound) {
  const std::string round = redirection("/metrics");
  const RawServer server(round, round.size(), 0);
  EXPECT_EQ(http_get(parse_http_address(server.address()), {}).error,
            "the server redirects more than 5 times");
  EXPECT_EQ(server.connections(), 6);
}

TEST(HttpGet, RefusesRedirectionsToOtherProtocols) {
  const std::string file = redirection("file:///etc/passwd");
  const RawServer server(file, file.size(), 0);
  const HttpAnswer got = http_get(parse_http_address(server.address()), {.allow_redirects = true});
  EXPECT_TRUE(got.error.starts_with("the server redirects to an invalid address: ")) << got.error;
}

TEST(Redirected, ReadsALocationAsBrowsersDo) {
  const HttpAddress from{"https://host:1", "/a/b?c=/d"};
  const auto to = [&](const char* location) {
    const HttpAddress one = redirected(from, location);
    return one.server + " " + one.path;
  };
  EXPECT_EQ(to("/x"), "https://host:1 /x");
  EXPECT_EQ(to("x?y=http://z"), "https://host:1 /a/x?y=http://z");
  EXPECT_EQ(to("?e"), "https://host:1 /a/b?e");
  EXPECT_EQ(to("//other/x#y"), "https://other /x");
  EXPECT_EQ(to("http://host:1/x"), "http://host:1 /x");
  EXPECT_THROW(redirected(from, "ftp://host/x"), InputError);
  EXPECT_THROW(redirected(from, "http://"), InputError);
}

}  // namespace
}  // namespace kvcap
