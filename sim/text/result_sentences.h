// Sentences that summarise the numbers of one or several results. Every name and figure in them is computed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/recorder.h"
#include "text/comparison.h"

namespace kvcap {

// Return paragraphs without line breaks: the sentences that answer the question, the most important first;
// everything that is said, beginning with these; or the sentences on one subject.
//
// An answer says first what is wrong with a setting (saturated, unserved turns, a run too short to tell),
// then who meets the targets and at what price, then the difference that decides. What is wrong with a
// setting forbids every sentence that calls it better than another.
std::vector<std::string> answers(const Comparison& results);
std::vector<std::string> sentences(const Comparison& results);
// Everything that is said, for a reader who sees the first sentence first: after what is wrong it begins with
// the largest difference that the runs decide.
std::vector<std::string> headlined_sentences(const Comparison& results);
// What is wrong, two more answers, and a line that counts the notes and assumptions left out;
// `more_assumptions` are others.
std::vector<std::string> brief_sentences(const Comparison& results, std::size_t more_assumptions = 0);
std::vector<std::string> latency_sentences(const Comparison& results);
std::vector<std::string> cache_sentences(const Comparison& results);
std::vector<std::string> resource_sentences(const Comparison& results);

// Returns "3 notes and 2 assumptions: --explain"; "" without any.
std::string left_out_text(std::size_t notes, std::size_t assumptions);
// Returns "2 notes of the file may not hold for the changed fields: --explain shows them"; "" without any.
std::string outdated_text(std::size_t notes);
// Returns the notes that no sentence says, each once; the outdated ones of the file's author, with their
// label.
std::vector<std::string> detail_notes(const Comparison& results);
std::vector<std::string> outdated_notes(const Comparison& results);

// Returns the notes that belong next to an answer, as sentences: defaults that moved, and assumed values.
std::vector<std::string> assumptions(const std::vector<std::string>& notes);
// Returns those of them that even a brief answer says: the engine version that stands for another.
std::vector<std::string> version_texts(const std::vector<std::string>& notes);

// Returns "Answers of cacheblend differ: at least 15 % recomputed: F1 ...", or "" for a lossless policy.
std::string quality_text(const std::string& policy, const std::string& quality_note);

// Returns a difference with its unit: "42.0 ms lower", or "42 +-7 ms higher (not significant)" if its
// interval contains zero.
std::string difference_text(double difference, double half_width, std::string_view unit);

}  // namespace kvcap
