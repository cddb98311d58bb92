// Scrapes a server at intervals into a log, for a given time or until the user stops it; also reads saved
// scrapes from files.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "observe/http.h"
#include "observe/log.h"

namespace kvcap {

struct ScrapeOptions {
  double every_s = 5;
  double for_s = 0;  // 0: until `ends` returns true
  HttpOptions http;
  std::function<bool()> ends;                          // true: stop; called several times per second
  std::function<void(const std::string&)> write_line;  // appends to the log; may be empty
};

double unix_now_s();

// Scrapes the server at `address`. If the first scrape fails, throws InputError and writes nothing; later
// failures are recorded in the log.
ObservedLog scrape(const std::string& address, const ScrapeOptions& options);

// Reads files with one scrape each, one log of an observation, or saved answers of Prometheus. A scrape
// without a timestamp gets the modification time of its file.
ObservedLog read_scrapes(const std::vector<std::string>& files);

}  // namespace kvcap
