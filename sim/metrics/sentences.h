// What the numbers of one or several results say, in sentences. Every name and figure is computed.
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

// What notes say that belongs beside an answer, as sentences: defaults that moved, what is assumed because
// nothing states it.
std::vector<std::string> assumptions(const std::vector<std::string>& notes);

// Paragraphs without line breaks.
std::vector<std::string> sentences(const std::vector<Setting>& settings,
                                   const std::vector<Difference>& differences);

// The setting with the least p99 TTFT against the next, and what it stores; that it cannot be told where the
// interval of their difference includes zero. "" where there are not two that somebody could build.
std::string headline(const std::vector<Setting>& settings, const std::vector<Difference>& differences);

// The same by subject. Paragraphs as above.
std::vector<std::string> latency_sentences(const std::vector<Setting>& settings,
                                           const std::vector<Difference>& differences);
std::vector<std::string> cache_sentences(const std::vector<Setting>& settings);
std::vector<std::string> resource_sentences(const std::vector<Setting>& settings);

// "42.0 ms lower", "42 +-7 ms higher (cannot tell)": a difference with its unit, and that its interval
// includes zero where it does.
std::string difference_text(double difference, double half_width, std::string_view unit);

}  // namespace kvcap
