// NoteKind: what a note on a result is about. A label at the beginning of the note states the kind, so that
// files keep it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvcap {

// outdated: a note that a file's author wrote before options changed fields beside it. no_effect: an option
// that changes nothing beside the others.
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

// Those of `detail` have no label.
inline constexpr std::array<std::string_view, 9> kNoteLabels = {"assumed: ",
                                                                "simulated as another version: ",
                                                                "default moved since kvcap ",
                                                                "the scenario was written by kvcap ",
                                                                "bills all ",
                                                                "priced: ",
                                                                "written before fields were changed: ",
                                                                "no effect: ",
                                                                ""};

// The end of a note on a policy whose prompts do not share steps.
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

// True iff notes of this kind belong next to an answer: what was assumed, the engine version
// that stands for another, and defaults that moved.
constexpr bool qualifies_answer(NoteKind kind) { return kind <= NoteKind::newer_scenario; }

}  // namespace kvcap
