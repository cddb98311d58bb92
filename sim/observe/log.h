// The log of an observation ("schema": "kvcap.observed/1"): JSON, a line each, so that it is whole whenever
// the observation ends. The first line says what was observed; then a line a scrape, of what it said or why
// it failed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "observe/snapshot.h"

namespace kvcap {

struct FailedScrape {
  double unix_s = 0;
  std::string reason;
};

struct ObservedLog {
  std::string address;            // as the user gave it
  double every_s = 0;             // between scrapes; 0: nobody scraped at intervals
  std::vector<Snapshot> samples;  // in order of time, all of one engine; at least one
  std::vector<FailedScrape> failures;
  std::vector<std::string> notes;  // on the reading of the log
};

// Lines with their ends. The header is that of the first scrape.
std::string log_header(const std::string& address, double every_s, const Snapshot& first);
std::string log_line(const Snapshot& snapshot);
std::string log_line(const FailedScrape& failure);

// Whether the text is such a log.
bool is_observed_log(std::string_view text);

// A last line that is not whole is left out, with a note. Throws InputError with the line.
ObservedLog parse_observed_log(std::string_view text, const std::string& place);

// Samples in order of time. Throws InputError where two engines are mixed.
void put_in_order(ObservedLog& log, const std::string& place);

}  // namespace kvcap
