// Turns as several calls of the model, one a chunk of their prompts: LangChain's MapReduce and MapRerank, the
// RAG baselines of CacheBlend 7.1.
//
// A prompt is chunks and what stands after them, the question. Each map call's prompt is one chunk and the
// question. They arrive together when the turn would have; what the calls of a turn generate is not its
// answer but
//   reduce    the summaries, of map_tokens each, that one more call answers from: its prompt is all of
//             them and the question, and it arrives when the last map call has ended;
//   rerank    an answer each and a score of map_tokens; the best one is picked when the last has ended.
#pragma once

#include "workload/workload.h"

namespace kvcap {

enum class MapKind : uint8_t { reduce, rerank };

struct MapOptions {
  MapKind kind = MapKind::reduce;
  uint32_t map_tokens = 1;
};

// The workload with its turns divided: each call a session of one turn, `calls` saying whose. Turns without
// pieces stay one call. Throws InputError where summaries exceed 32 bits.
// REQUIRES: a workload with pieces that are texts, not divided yet.
Workload divided_into_calls(const Workload& asked, const MapOptions& options);

}  // namespace kvcap
