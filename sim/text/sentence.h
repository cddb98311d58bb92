// Sentence: a text with placeholders and the condition under which it is said. Tables of sentences list what
// kvcap can say about a subject, such as a pair of results.
//
// A row applies if the subject has every metric that the row reads and the row's condition holds. Its text
// contains placeholders in braces, which the subject's table of placeholders fills: "{one} is bound by
// {resource} (busy {busy} of the time)."
//
// A subject is a struct S with two free functions: places_of(const S&) returns its table of placeholders, and
// knows(const S&, metric) tells whether it has a metric.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace kvcap {

template <class Subject>
struct Sentence {
  std::string_view text;
  bool (*when)(const Subject&) = nullptr;     // null: always
  std::array<std::string_view, 2> metrics{};  // "": none
};

template <class Subject>
struct PlaceOfText {
  std::string_view name;
  std::string (*text)(const Subject&);
};

// Returns the text with every placeholder in braces replaced by what `fill` returns for its name.
std::string filled(std::string_view text, const std::function<std::string(std::string_view)>& fill);

// Joins the texts that are not empty with spaces.
std::string paragraph_of(const std::vector<std::string>& texts);

template <class Subject>
bool applies(const Sentence<Subject>& row, const Subject& subject) {
  const bool is_known = std::all_of(row.metrics.begin(), row.metrics.end(), [&](std::string_view metric) {
    return metric.empty() || knows(subject, metric);
  });
  return is_known && (!row.when || row.when(subject));
}

template <class Subject>
std::string said(const Sentence<Subject>& row, const Subject& subject) {
  return filled(row.text, [&](std::string_view name) {
    for (const PlaceOfText<Subject>& place : places_of(subject))
      if (place.name == name) return place.text(subject);
    KVCAP_CHECK(!"a sentence names a place that its subject lacks");
    return std::string();
  });
}

// Returns the text of the first row that applies; "" if none does.
template <class Subject, std::size_t kRows>
std::string first_said(const Sentence<Subject> (&rows)[kRows], const Subject& subject) {
  for (const Sentence<Subject>& row : rows)
    if (applies(row, subject)) return said(row, subject);
  return "";
}

// Returns the texts of all rows that apply.
template <class Subject, std::size_t kRows>
std::vector<std::string> all_said(const Sentence<Subject> (&rows)[kRows], const Subject& subject) {
  std::vector<std::string> texts;
  for (const Sentence<Subject>& row : rows)
    if (applies(row, subject)) texts.push_back(said(row, subject));
  return texts;
}

}  // namespace kvcap
