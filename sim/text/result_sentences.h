// Sentences that summarise the numbers of one or several results. Every name and figure in them is computed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/recorder.h"
#include "text/comparison.h"

namespace kvcap {

// Return paragraphs without line breaks: everything that is said, its verdict first, or the sentences on one
// subject. The verdict of several settings compares the one with the least p99 TTFT with the next one.
std::vector<std::string> sentences(const Comparison& results);
std::vector<std::string> latency_sentences(const Comparison& results);
std::vector<std::string> cache_sentences(const Comparison& results);
std::vector<std::string> resource_sentences(const Comparison& results);

// Returns the notes that belong next to an answer, as sentences: defaults that moved, and assumed values.
std::vector<std::string> assumptions(const std::vector<std::string>& notes);

// Returns a difference with its unit: "42.0 ms lower", or "42 +-7 ms higher (not significant)" if its
// interval contains zero.
std::string difference_text(double difference, double half_width, std::string_view unit);

}  // namespace kvcap
