// The work of one engine step: slices of prompts to prefill, and sequences that decode.
#pragma once

#include <cstdint>

namespace kvcap {

// A prefill slice: `new_tokens` prompt tokens, computed over `cached_tokens` whose keys and values exist.
struct PrefillChunk {
  int64_t new_tokens = 0;
  int64_t cached_tokens = 0;
};

// Sequences that decode in one step: one row per sequence, and one more row per draft token that it verifies.
struct Decodes {
  int64_t sequences = 0;
  int64_t context_tokens = 0;  // all sequences, including the step's rows
  int64_t drafts = 0;
  int64_t rows() const { return sequences + drafts; }
  // Returns the largest number of queries of a sequence if the drafts are spread evenly.
  int64_t queries() const { return sequences == 0 ? 1 : 1 + (drafts + sequences - 1) / sequences; }
};

}  // namespace kvcap
