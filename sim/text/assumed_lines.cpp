#include "text/assumed_lines.h"

#include <algorithm>
#include <set>

#include "base/text/note.h"

namespace kvcap {
namespace {

// Removes digits and points, to recognize notes of replications that differ only in their numbers; of these,
// only one is shown.
std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  return text;
}

bool holds(const std::string& note) {
  const NoteKind kind = kind_of(note);
  return qualifies_answer(kind) || kind == NoteKind::detail;
}

}  // namespace

AssumedLines assumed_lines(const std::vector<std::string>& notes) {
  AssumedLines found;
  std::set<std::string> seen;
  for (const std::string& note : notes)
    if (holds(note) && seen.insert(without_digits(note)).second) found.lines.push_back(note);
  std::stable_partition(found.lines.begin(), found.lines.end(),
                        [](const std::string& note) { return qualifies_answer(kind_of(note)); });
  if (found.lines.size() > kMostAssumedLines) {
    found.more = found.lines.size() - kMostAssumedLines;
    found.lines.resize(kMostAssumedLines);
  }
  return found;
}

}  // namespace kvcap
