// Sentences that summarise the numbers of one or several results. Every name and figure in them is computed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/recorder.h"
#include "metrics/result.h"

namespace kvcap {

// One result and the name of its column.
struct Setting {
  std::string label;
  const RunResult* result = nullptr;
};

// Returns the notes that belong next to an answer, as sentences: defaults that moved, and assumed values.
std::vector<std::string> assumptions(const std::vector<std::string>& notes);

// Returns paragraphs without line breaks.
std::vector<std::string> sentences(const std::vector<Setting>& settings,
                                   const std::vector<Difference>& differences);

// Returns the comparison of the setting with the least p99 TTFT with the next one, and what it stores;
// undecided if the interval of their difference contains zero. "" with fewer than two settings that can be
// built.
std::string headline(const std::vector<Setting>& settings, const std::vector<Difference>& differences);

// Return the sentences of one subject, as paragraphs without line breaks.
std::vector<std::string> latency_sentences(const std::vector<Setting>& settings,
                                           const std::vector<Difference>& differences);
std::vector<std::string> cache_sentences(const std::vector<Setting>& settings);
std::vector<std::string> resource_sentences(const std::vector<Setting>& settings);

// Returns a difference with its unit: "42.0 ms lower", or "42 +-7 ms higher (cannot tell)" if its interval
// contains zero.
std::string difference_text(double difference, double half_width, std::string_view unit);

}  // namespace kvcap
