// Builds the sentences that summarise one or several results. Every name and number in them is computed from
// the results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/recorder.h"
#include "text/comparison.h"

namespace kvcap {

// These functions return paragraphs without line breaks. answers() returns the sentences that answer the
// question, the most important first; sentences() returns all sentences, beginning with the answers; the
// *_sentences() functions return those on one subject.
//
// The answers say first what is wrong with a setting (saturated, unserved turns, a run too short to tell),
// then which settings meet the targets and at what price, then the difference that decides. A setting with
// which something is wrong is never called better than another.
std::vector<std::string> answers(const Comparison& results);
std::vector<std::string> sentences(const Comparison& results);
// Like sentences(), but begins (after what is wrong) with the largest difference that the runs decide, for
// readers who see only the first sentence.
std::vector<std::string> headlined_sentences(const Comparison& results);
// Returns what is wrong, two more answers, and a line that counts the notes and assumptions left out.
// `more_assumptions`: further assumptions to count.
std::vector<std::string> brief_sentences(const Comparison& results, std::size_t more_assumptions = 0);
std::vector<std::string> latency_sentences(const Comparison& results);
std::vector<std::string> cache_sentences(const Comparison& results);
std::vector<std::string> resource_sentences(const Comparison& results);

// Returns "3 notes and 2 assumptions: --explain"; "" without any.
std::string left_out_text(std::size_t notes, std::size_t assumptions);
// Returns "2 notes of the file may not hold for the changed fields: --explain shows them"; "" without any.
std::string outdated_text(std::size_t notes);
// Return notes that no sentence contains, each once: the notes on details, and the outdated notes of the
// scenario file with their label.
std::vector<std::string> detail_notes(const Comparison& results);
std::vector<std::string> outdated_notes(const Comparison& results);

// Returns the notes that belong next to an answer, as sentences: those on assumed values, and on defaults
// that have changed since an earlier version of kvcap.
std::vector<std::string> assumptions(const std::vector<std::string>& notes);
// Returns the notes that even a brief answer contains: those on an engine version that is simulated as
// another version.
std::vector<std::string> version_texts(const std::vector<std::string>& notes);

// Returns "Answers of cacheblend differ: at least 15 % recomputed: F1 ...", or "" for a lossless policy.
std::string quality_text(const std::string& policy, const std::string& quality_note);

// Returns a difference with its unit: "42.0 ms lower", or "42 +-7 ms higher (not significant)" if its
// interval contains zero.
std::string difference_text(double difference, double half_width, std::string_view unit);

}  // namespace kvcap
