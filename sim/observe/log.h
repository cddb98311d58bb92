// The log of an observation ("schema": "kvcap.observed/1"): one JSON object per line, so that the log is
// valid whenever the observation ends. The first line describes the observed server; each further line
// contains one scrape or its error.
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
  std::string address;            // as given by the user
  double every_s = 0;             // interval between scrapes; 0: no fixed interval
  std::vector<Snapshot> samples;  // samples in order of time, of one engine; at least one
  std::vector<FailedScrape> failures;
  std::vector<std::string> notes;  // notes on reading the log
};

// Return lines of a log, including the line ends. The header describes the server according to its first
// scrape.
std::string log_header(const std::string& address, double every_s, const Snapshot& first);
std::string log_line(const Snapshot& snapshot);
std::string log_line(const FailedScrape& failure);

// True iff the text is a log of an observation.
bool is_observed_log(std::string_view text);

// Parses a log. Omits an incomplete last line, with a note. Throws InputError with the line number.
ObservedLog parse_observed_log(std::string_view text, const std::string& place);

// Sorts the samples by time. Throws InputError if they mix two engines.
void put_in_order(ObservedLog& log, const std::string& place);

}  // namespace kvcap
