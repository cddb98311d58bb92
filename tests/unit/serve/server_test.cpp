// What kvcap serve answers, and whom.
#include "serve/server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/input_error.h"
#include "serve/access.h"
#include "serve/form.h"
#include "unit/programs.h"
#include "unit/web_client.h"

namespace kvcap::serve_server_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";
constexpr const char* kJson = "application/json";

TEST(ServeAccess, TokensAreLongAndNeverTheSame) {
  const std::string one = make_token();
  EXPECT_EQ(one.size(), 64U) << "256 bits";
  EXPECT_EQ(one.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(one, make_token());
}

TEST(ServeAccess, ComparesWholeSecrets) {
  EXPECT_TRUE(is_same_secret("abc", "abc"));
  for (const char* other : {"", "ab", "abd", "abcd", "xbc"})
    EXPECT_FALSE(is_same_secret("abc", other)) << other;
}

TEST(ServeAccess, KnowsItsOwnNames) {
  EXPECT_TRUE(is_own_host("127.0.0.1:80", 80));
  EXPECT_TRUE(is_own_host("localhost:80", 80));
  for (const char* host : {"", "127.0.0.1", "localhost", "127.0.0.1:8080", "evil.example:80",
                           "localhost.evil.example:80", "127.0.0.1:80.evil.example", "[::1]:80"})
    EXPECT_FALSE(is_own_host(host, 80)) << host;
}

class ServeServer : public testing::Test {
 protected:
  ServeServer()
      : folder_(fs::temp_directory_path() / ("kvcap_server_" + std::to_string(getpid()))),
        runs_({.program = endless_program(folder_), .folder = folder_, .most_waiting = 1}),
        server_({.port = 0,
                 .token = kToken,
                 .page = {.html = "<p>TOKEN TOKEN</p>", .script = "script", .style = "style"},
                 .program = kvcap_program(),
                 .scenarios = shipped_scenarios()},
                runs_) {}
  ~ServeServer() override { fs::remove_all(folder_); }

  std::string origin() const { return server_.address().substr(0, server_.address().find("/?")); }
  ClientAnswer ask(ClientRequest request, bool with_token = true) const {
    if (with_token) request.headers["X-Kvcap-Token"] = kToken;
    return ask_server(origin(), request);
  }
  ClientAnswer post(const std::string& path, const std::string& body) const {
    return ask({.method = "POST", .target = path, .headers = {{"Content-Type", kJson}}, .body = body});
  }

  // Makes the folder, too.
  static std::string endless_program(const fs::path& folder) {
    fs::create_directories(folder);
    const fs::path path = folder / "endless";
    std::ofstream(path) << "#!/bin/sh\nexec sleep 1000\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }

  const fs::path folder_;
  RunQueue runs_;
  const PageServer server_;
};

TEST_F(ServeServer, SendsThePageWithItsTokenToWhoHasIt) {
  EXPECT_EQ(server_.address(), "http://127.0.0.1:" + std::to_string(server_.port()) + "/?token=" + kToken);
  const ClientAnswer page = ask({.target = std::string("/?token=") + kToken}, false);
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, std::string("<p>") + kToken + " " + kToken + "</p>");
  EXPECT_EQ(page.headers.at("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(page.headers.at("Cache-Control"), "no-store");
  EXPECT_EQ(page.headers.at("Referrer-Policy"), "no-referrer");
  const std::string& policy = page.headers.at("Content-Security-Policy");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';")) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
  EXPECT_EQ(ask({.target = "/page.js"}).body, "script");
  EXPECT_EQ(ask({.target = "/page.css"}).headers.at("Content-Type"), "text/css; charset=utf-8");
}

TEST_F(ServeServer, RefusesEveryRequestWithoutTheToken) {
  for (const char* path :
       {"/", "/page.js", "/page.css", "/api/form", "/api/scenario?name=demo", "/api/runs", "/api/runs/1",
        "/runs/1/report", "/none", "/?token=", "/?token=0123456789abcdef", "/?Token=x"}) {
    const ClientAnswer answer = ask({.target = path}, false);
    EXPECT_EQ(answer.status, 403) << path;
    EXPECT_EQ(answer.body.find(kToken), std::string::npos) << path;
    // A person reads a line, the page's script JSON.
    const bool is_json = answer.headers.at("Content-Type") == kJson;
    EXPECT_EQ(is_json, std::string_view(path).starts_with("/api/")) << path;
  }
  // An address, which a link of another page can have, starts nothing.
  const ClientRequest start{.method = "POST",
                            .target = std::string("/api/runs?token=") + kToken,
                            .headers = {{"Content-Type", kJson}},
                            .body = "{}"};
  EXPECT_EQ(ask(start, false).status, 403);
}

TEST_F(ServeServer, RefusesNamesThatAreNotThisMachines) {
  for (const char* host : {"evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1"})
    EXPECT_EQ(ask({.target = "/api/form", .headers = {{"Host", host}}}).status, 403) << host;
  const std::string port = ":" + std::to_string(server_.port());
  EXPECT_EQ(ask({.target = "/api/runs", .headers = {{"Host", "localhost" + port}}}).status, 200);
}

TEST_F(ServeServer, ListensOnTheLoopbackInterfaceAlone) {
  char port[8];
  std::snprintf(port, sizeof port, ":%04X", static_cast<unsigned>(server_.port()));
  std::ifstream sockets("/proc/net/tcp");
  int found = 0;
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t at = line.find(port);
    const bool is_listening = line.find(" 00000000:0000 0A ") != std::string::npos;
    if (!is_listening || at == std::string::npos || at > 20) continue;
    ++found;
    EXPECT_NE(line.find(" 0100007F" + std::string(port)), std::string::npos) << line;
  }
  EXPECT_EQ(found, 1);
}

TEST_F(ServeServer, TakesBodiesOnlyAsBoundedJson) {
  const std::string body = R"({"policies": ["hcache"]})";
  const auto status = [&](const std::string& type, const std::string& text, bool is_chunked = false) {
    return ask({.method = "POST",
                .target = "/api/runs",
                .headers = {{"Content-Type", type}},
                .body = text,
                .is_chunked = is_chunked})
        .status;
  };
  EXPECT_EQ(status("text/plain", body), 415);
  EXPECT_EQ(status("application/x-www-form-urlencoded", body), 415);
  // The connection may be closed before the answer is read.
  const int of_chunked = status(kJson, body, true);
  EXPECT_TRUE(of_chunked == 411 || of_chunked == 0) << of_chunked;
  EXPECT_EQ(status(kJson, std::string(kMostBodyBytes + 1, ' ')), 413);
  EXPECT_EQ(status(kJson, "no JSON"), 422);
  EXPECT_EQ(status(kJson, "{}"), 422);
  EXPECT_EQ(status(kJson, body), 201);
  bool has_refused = false;  // one runs, soon, and one waits
  for (int more = 0; more < 3; ++more) has_refused = status(kJson, body) == 429 || has_refused;
  EXPECT_TRUE(has_refused);
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "PATCH"})
    EXPECT_EQ(ask({.method = method, .target = "/api/runs"}).status, 405) << method;
}

TEST_F(ServeServer, SendsNoFileButThoseOfItsRuns) {
  std::ofstream(folder_ / "secret") << "secret";
  for (const char* path :
       {"/secret", "/runs/../secret", "/runs/..%2fsecret/report", "/runs/1/report", "/runs/-1/report",
        "/runs/1/../../etc/passwd", "/runs//etc/passwd/report", "/runs/9999999999/report", "/api/runs/x",
        "/api/scenario?name=../../etc/passwd", "/api/scenario?name=%00"})
    EXPECT_EQ(ask({.target = path}).status, 404) << path;
}

TEST_F(ServeServer, OpensReportsByAKeyThatOpensNothingElse) {
  const std::string id = std::to_string(*runs_.add({"compare"}));
  const std::string address = Json::parse(ask({.target = "/api/runs/" + id}).body)["report"];
  const std::string key = address.substr(address.find('?'));
  EXPECT_EQ(address, "/runs/" + id + "/report" + key);
  EXPECT_EQ(key.find(kToken), std::string::npos);
  EXPECT_EQ(ask({.target = address}, false).status, 404) << "the run has no report";
  for (const char* path : {"/", "/api/form", "/api/runs", "/page.js"})
    EXPECT_EQ(ask({.target = path + key}, false).status, 403) << path;
  EXPECT_EQ(ask({.target = "/runs/1/report?key=x"}, false).status, 403);
}

TEST_F(ServeServer, ShowsACommandAndWhatItWouldRun) {
  const Json good =
      Json::parse(post("/api/command",
                       R"({"scenario": "demo", "policies": ["recompute", "hcache"], "replications": "2"})")
                      .body);
  EXPECT_EQ(good["command"], "kvcap compare demo --policies recompute,hcache --set replications=2");
  EXPECT_EQ(good["simulations"], 4);
  EXPECT_EQ(good["errors"], Json::array());
  const Json bad =
      Json::parse(post("/api/command", R"({"scenario": "demo", "policies": ["ideal"], "gpu": "h10"})").body);
  EXPECT_EQ(bad["command"], "kvcap compare demo --gpu h10 --policies ideal");
  ASSERT_EQ(bad["errors"].size(), 1U);
  EXPECT_EQ(bad["errors"][0]["input"], "gpu");
  EXPECT_NE(bad["errors"][0]["error"].get<std::string>().find("did you mean \"h100-sxm\"?"),
            std::string::npos);
  EXPECT_EQ(Json::parse(post("/api/command", "{}").body)["errors"][0]["input"], "policies");
}

TEST_F(ServeServer, ChecksTheRowsOfATraceBeforeARun) {
  const fs::path trace = folder_ / "chats.jsonl";
  std::ofstream(trace) << R"({"id": "a", "turns": [{"input_tokens": -5, "output_tokens": 3}]})" << '\n';
  const Json form = {{"scenario", "demo"}, {"policies", {"hcache"}}, {"workload", trace.string()}};
  const Json errors = Json::parse(post("/api/command", form.dump()).body)["errors"];
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0]["input"], "workload");
  EXPECT_EQ(errors[0]["error"], trace.string() +
                                    ":1: turns.0.input_tokens: found -5, allowed: an integer from 1 to "
                                    "10000000");
}

TEST_F(ServeServer, DescribesTheFormAndScenarios) {
  EXPECT_EQ(ask({.target = "/api/form"}).body, form_json(shipped_scenarios()));
  EXPECT_EQ(ask({.target = "/api/scenario?name=demo"}).body, scenario_values_json("demo"));
  EXPECT_EQ(ask({.target = "/api/scenario?name="}).body, scenario_values_json(""));
  EXPECT_EQ(ask({.target = "/api/runs"}).body, "[]");
  EXPECT_EQ(post("/api/runs/1/cancel", "{}").status, 404);
}

TEST_F(ServeServer, RefusesAPortThatIsTaken) {
  const PageServerOptions options{
      .port = server_.port(), .token = kToken, .page = {}, .program = "", .scenarios = {}};
  EXPECT_THROW(PageServer(options, runs_), InputError);
}

}  // namespace
}  // namespace kvcap::serve_server_test
