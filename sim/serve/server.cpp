#include "serve/server.h"

#include <httplib.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "base/input_error.h"
#include "base/text/utf8.h"
#include "serve/access.h"
#include "serve/checks.h"
#include "serve/child.h"
#include "serve/command.h"
#include "serve/form.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;
using httplib::Request;
using httplib::Response;

constexpr const char* kLoopback = "127.0.0.1";
constexpr const char* kJson = "application/json";
constexpr const char* kReports = "/runs/";
constexpr std::size_t kThreads = 16;
constexpr std::chrono::seconds kLongestCheck{20};

// The page of the form loads scripts and styles only from its own files.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// A report contains its script inline. The sandbox has no origin, so the script can reach neither the form
// nor the server.
constexpr const char* kReportPolicy =
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'";

void answer(Response& response, int status, const std::string& json) {
  response.status = status;
  response.set_content(json, kJson);
}

// What the page asks gets JSON; who opens an address in a browser reads a line.
void refuse(const Request& request, Response& response, int status, const std::string& why) {
  if (request.path.starts_with("/api/"))
    return answer(response, status, Json{{"error", valid_utf8(why)}}.dump());
  response.status = status;
  response.set_content(valid_utf8(why) + "\n", "text/plain; charset=utf-8");
}

void answer_page(Response& response, const char* policy, const std::string& text) {
  response.set_header("Content-Security-Policy", policy);
  response.set_content(text, "text/html; charset=utf-8");
}

int64_t id_of(const Request& request) { return std::stoll(request.matches[1].str()); }

// Returns the page with every TOKEN replaced by the token.
std::string with_token(std::string_view html, const std::string& token) {
  constexpr std::string_view kPlace = "TOKEN";
  std::string page(html);
  for (std::size_t at = 0; (at = page.find(kPlace, at)) != std::string::npos; at += token.size())
    page.replace(at, kPlace.size(), token);
  return page;
}

// Returns the last line of stderr, without the program's name at its beginning.
std::string message_of(std::string errors) {
  while (errors.ends_with('\n')) errors.pop_back();
  errors.erase(0, errors.rfind('\n') + 1);
  constexpr std::string_view kName = "kvcap: ";
  return errors.starts_with(kName) ? errors.substr(kName.size()) : errors;
}

}  // namespace

struct PageServer::State {
  State(PageServerOptions given, RunQueue& of_page) : options(std::move(given)), runs(of_page) {}

  // Returns the status and the reason for refusing a request; {0, ""} if it is to be answered.
  std::pair<int, std::string> refusal(const Request& request) const;
  bool knows_token(const Request& request) const;
  void add_pages();
  void add_form();
  void add_runs();
  Json checked(const std::string& answers);
  Tried tried(const std::vector<std::string>& words, std::chrono::steady_clock::time_point deadline);

  const PageServerOptions options;
  const std::string report_key = make_token();
  RunQueue& runs;
  std::mutex checking;  // allows one check of a command, or one loading of a scenario, at a time
  std::atomic<bool> is_ending = false;
  httplib::Server server;
  int port = 0;
  std::thread thread;
};

// Requests from the script of the page carry the token in a header; requests that the browser makes by itself
// carry it in the address. The script of a report can read the report's address, which therefore contains a
// key that is valid only for reports instead of the token.
bool PageServer::State::knows_token(const Request& request) const {
  if (request.path.starts_with(kReports) && is_same_secret(request.get_param_value("key"), report_key))
    return true;
  if (is_same_secret(request.get_header_value("X-Kvcap-Token"), options.token)) return true;
  return request.method == "GET" && is_same_secret(request.get_param_value("token"), options.token);
}

std::pair<int, std::string> PageServer::State::refusal(const Request& request) const {
  if (!is_own_host(request.get_header_value("Host"), port))
    return {403, "the address must begin with http://127.0.0.1:" + std::to_string(port)};
  if (!knows_token(request))
    return {403, "the token is missing or wrong; open the address that kvcap serve printed"};
  if (request.method != "GET" && request.method != "POST") return {405, "allowed: GET and POST"};
  if (request.method == "GET") return {};
  if (request.get_header_value("Content-Type") != kJson)
    return {415, std::string("allowed: a body of the type ") + kJson};
  // Bodies that are compressed or of unknown length are refused, because the size limit cannot be enforced
  // for them.
  if (!request.has_header("Content-Length") || request.has_header("Transfer-Encoding") ||
      request.has_header("Content-Encoding"))
    return {411, "allowed: an uncompressed body with Content-Length"};
  return {};
}

void PageServer::State::add_pages() {
  server.Get("/", [this](const Request&, Response& response) {
    answer_page(response, kPagePolicy, with_token(options.page.html, options.token));
  });
  server.Get("/page.js", [this](const Request&, Response& response) {
    response.set_content(std::string(options.page.script), "text/javascript; charset=utf-8");
  });
  server.Get("/page.css", [this](const Request&, Response& response) {
    response.set_content(std::string(options.page.style), "text/css; charset=utf-8");
  });
  server.Get(R"(/runs/(\d{1,9})/report)", [this](const Request& request, Response& response) {
    const std::optional<std::string> page = runs.report(id_of(request));
    if (!page) return refuse(request, response, 404, "there is no such report");
    answer_page(response, kReportPolicy, *page);
  });
}

// Tries a command without running its simulations.
Tried PageServer::State::tried(const std::vector<std::string>& words,
                               std::chrono::steady_clock::time_point deadline) {
  std::vector<std::string> dry = words;
  dry.insert(dry.end(), {"--dry-run", "--json"});
  std::string output, errors;
  const ChildEnd end =
      run_child(options.program, dry,
                {.on_output = [&](std::string_view text) { output += text; },
                 .on_errors = [&](std::string_view text) { errors += text; },
                 .is_stopped = [&] { return is_ending || std::chrono::steady_clock::now() > deadline; }});
  if (end.was_stopped) return {.error = "the check of the command took too long"};
  if (end.exit_code == 0) return {.output = output};
  const std::string error = valid_utf8(message_of(errors));
  return {.error = error.empty() ? "the command failed and did not say why" : error};
}

// Returns {"command", "errors": [{"input", "error"}]}, and of a form without errors what would run.
Json PageServer::State::checked(const std::string& answers) {
  const std::lock_guard lock(checking);
  const auto deadline = std::chrono::steady_clock::now() + kLongestCheck;
  const CheckedForm form = check_form(answers, options.scenarios, [&](const std::vector<std::string>& words) {
    return tried(words, deadline);
  });
  Json reply = form.would_run.empty() ? Json::object() : Json::parse(form.would_run);
  if (!form.command.empty()) reply["command"] = form.command;
  reply["errors"] = Json::array();
  for (const FormError& one : form.errors)
    reply["errors"].push_back({{"input", one.input}, {"error", valid_utf8(one.text)}});
  return reply;
}

void PageServer::State::add_form() {
  server.Get("/api/form", [this](const Request&, Response& response) {
    answer(response, 200, form_json(options.scenarios));
  });
  server.Get("/api/scenario", [this](const Request& request, Response& response) {
    const std::string name = request.get_param_value("name");
    const auto& known = options.scenarios;
    if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end())
      return refuse(request, response, 404, "there is no such scenario");
    const std::lock_guard lock(checking);
    answer(response, 200, scenario_values_json(name));
  });
  server.Post("/api/command", [this](const Request& request, Response& response) {
    answer(response, 200, checked(request.body).dump());
  });
}

void PageServer::State::add_runs() {
  server.Get("/api/runs",
             [this](const Request&, Response& response) { answer(response, 200, runs.list_json()); });
  server.Post("/api/runs", [this](const Request& request, Response& response) {
    try {
      const std::optional<int64_t> id = runs.add(command_words(request.body, options.scenarios));
      if (!id)
        return refuse(request, response, 429,
                      "too many runs are waiting; cancel one, or wait until one has ended");
      answer(response, 201, Json{{"id", *id}}.dump());
    } catch (const AnswerError& error) {
      refuse(request, response, 422, error.what());
    }
  });
  server.Get(R"(/api/runs/(\d{1,9}))", [this](const Request& request, Response& response) {
    const std::string run = runs.run_json(id_of(request));
    if (run.empty()) return refuse(request, response, 404, "there is no such run");
    Json json = Json::parse(run);
    json["report"] = kReports + request.matches[1].str() + "/report?key=" + report_key;
    answer(response, 200, json.dump());
  });
  server.Post(R"(/api/runs/(\d{1,9})/cancel)", [this](const Request& request, Response& response) {
    if (!runs.cancel(id_of(request)))
      return refuse(request, response, 404, "there is no such run, or it has ended");
    answer(response, 200, "{}");
  });
}

PageServer::PageServer(PageServerOptions options, RunQueue& runs)
    : state_(std::make_unique<State>(std::move(options), runs)) {
  State& state = *state_;
  httplib::Server& server = state.server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_payload_max_length(kMostBodyBytes);
  server.set_keep_alive_timeout(1);
  server.set_read_timeout(5);
  // Replaces the library's default SO_REUSEPORT, which would let a second server share the port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_default_headers({{"Cache-Control", "no-store"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"Referrer-Policy", "no-referrer"},
                              {"X-Content-Type-Options", "nosniff"}});
  server.set_pre_routing_handler([&state](const Request& request, Response& response) {
    const auto [status, why] = state.refusal(request);
    if (status == 0) return httplib::Server::HandlerResponse::Unhandled;
    refuse(request, response, status, why);
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_error_handler([](const Request& request, Response& response) {
    if (response.body.empty())
      refuse(request, response, response.status, "the request is not one that the page sends");
  });
  server.set_exception_handler([](const Request& request, Response& response, std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const InputError& error) {
      refuse(request, response, 422, error.what());
    } catch (const std::exception& error) {
      refuse(request, response, 500, error.what());
    }
  });
  state.add_pages();
  state.add_form();
  state.add_runs();
  const int asked = state.options.port;
  const bool is_bound = asked == 0 ? (state.port = server.bind_to_any_port(kLoopback)) > 0
                                   : server.bind_to_port(kLoopback, state.port = asked);
  if (!is_bound)
    throw InputError("--port: found " + std::to_string(asked) +
                     ", which another program uses, allowed: a free one");
  state.thread = std::thread([&state] { state.server.listen_after_bind(); });
  // stop() has no effect on a server that does not listen yet.
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

PageServer::~PageServer() {
  state_->is_ending = true;
  state_->server.stop();
  state_->thread.join();
}

int PageServer::port() const { return state_->port; }

std::string PageServer::address() const {
  return std::string("http://") + kLoopback + ":" + std::to_string(port()) +
         "/?token=" + state_->options.token;
}

}  // namespace kvcap
