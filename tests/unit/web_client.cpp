#include "unit/web_client.h"

#include <httplib.h>

namespace kvcap {

ClientAnswer ask_server(const std::string& server, const ClientRequest& request) {
  httplib::Client client(server);
  client.set_read_timeout(30);
  httplib::Request sent;
  sent.method = request.method;
  sent.path = request.target;
  for (const auto& [name, value] : request.headers) sent.set_header(name.c_str(), value);
  httplib::Result result = [&] {
    if (!request.is_chunked) {
      sent.body = request.body;
      return client.send(sent);
    }
    const auto content = [&](std::size_t, httplib::DataSink& sink) {
      sink.write(request.body.data(), request.body.size());
      sink.done();
      return true;
    };
    return client.Post(request.target.c_str(), sent.headers, content,
                       request.headers.at("Content-Type").c_str());
  }();
  if (!result) return {};
  return {.status = result->status,
          .body = result->body,
          .headers = {result->headers.begin(), result->headers.end()}};
}

}  // namespace kvcap
