// Scraping: the scrapes of a server at intervals, one after the other into a log, until the time is over or
// the user ends it; and saved scrapes out of files.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "observe/http.h"
#include "observe/log.h"

namespace kvcap {

struct ScrapeOptions {
  double every_s = 5;
  double for_s = 0;  // 0: until `ends`
  HttpOptions http;
  std::function<bool()> ends;                          // asked several times a second
  std::function<void(const std::string&)> write_line;  // of the log; may be empty
};

// Throws InputError where the first scrape fails: nothing has been written then. Later ones that fail are
// noted.
ObservedLog scrape(const std::string& address, const ScrapeOptions& options);

// Files with one scrape each, or one log of an observation. Where a scrape states no time it is when the file
// was written last.
ObservedLog read_scrapes(const std::vector<std::string>& files);

}  // namespace kvcap
