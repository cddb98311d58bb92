// A Prometheus server on the loopback interface that has scraped pages: it answers query_range as the real
// one does, for selectors with = and =~ and for timestamp().
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "unit/web_server.h"

namespace kvcap {

struct StoredScrape {
  std::map<std::string, std::string> target;  // labels of the scraped server
  double unix_s = 0;
  std::string page;  // empty: the scrape failed
};

class PrometheusServer {
 public:
  explicit PrometheusServer(std::vector<StoredScrape> scrapes);

  std::string address() const { return server_.address(); }
  // Answers every further query so; no query may be under way.
  void answer_with(const WebAnswer& answer) { other_answer_ = answer; }
  // The Authorization header of the last query.
  std::string authorization() const { return server_.requests().back().authorization; }
  std::size_t queries() const { return server_.requests().size(); }

 private:
  WebAnswer answer(const WebRequest& request) const;

  std::vector<StoredScrape> scrapes_;
  std::optional<WebAnswer> other_answer_;
  WebServer server_;
};

// The JSON that this server would answer.
std::string query_range(const std::vector<StoredScrape>& scrapes, const std::string& query, double start_s,
                        double end_s, double step_s);

}  // namespace kvcap
