// NoteKind: what a note on a result is about. A label at the beginning of the note states the kind, so that
// files keep it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvcap {

// outdated: a note in the scenario file that may no longer hold, because command-line options changed fields
// of the same object. no_effect: an option that has no effect because of the other options.
enum class NoteKind : uint8_t {
  assumption,
  other_version,
  moved_default,
  newer_scenario,
  unsized_bill,
  price,
  outdated,
  no_effect,
  detail
};

// The labels of the kinds, in order. A note of the kind `detail` has no label.
inline constexpr std::array<std::string_view, 9> kNoteLabels = {"assumed: ",
                                                                "simulated as another version: ",
                                                                "default moved since kvcap ",
                                                                "the scenario was written by kvcap ",
                                                                "bills all ",
                                                                "priced: ",
                                                                "written before fields were changed: ",
                                                                "no effect: ",
                                                                ""};

// End of the note about a policy whose restored prompts do not share steps with other requests.
inline constexpr std::string_view kOwnSteps =
    " computes restored prompts in steps of their own (policy.preload=layerwise)";

// Returns a note of this kind.
inline std::string noted(NoteKind kind, std::string_view text) {
  return std::string(kNoteLabels[static_cast<std::size_t>(kind)]).append(text);
}

inline NoteKind kind_of(std::string_view note) {
  std::size_t kind = 0;
  while (!note.starts_with(kNoteLabels[kind])) ++kind;
  return static_cast<NoteKind>(kind);
}

// True iff notes of this kind are needed to judge a printed result: what was assumed, an engine version
// simulated as another, defaults that changed, and a scenario of a newer kvcap.
constexpr bool qualifies_answer(NoteKind kind) { return kind <= NoteKind::newer_scenario; }

}  // namespace kvcap
