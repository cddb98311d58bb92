// Divides turns into several calls of the model, one per chunk of the prompt: LangChain's MapReduce and
// MapRerank, the RAG baselines of CacheBlend 7.1.
//
// A prompt consists of chunks followed by the question. The prompt of a map call is one chunk and the
// question. All map calls of a turn arrive when the turn would have arrived. Their output depends on the
// kind:
//   reduce    summaries of map_tokens each. One more call answers the turn: its prompt is all summaries and
//             the question, and it arrives when the last map call has ended.
//   rerank    an answer and a score of map_tokens each. The turn ends when the last map call has ended and
//             the best answer is chosen.
#pragma once

#include "workload/workload.h"

namespace kvcap {

enum class MapKind : uint8_t { reduce, rerank };

struct MapOptions {
  MapKind kind = MapKind::reduce;
  uint32_t map_tokens = 1;
};

// Returns the workload with divided turns: each call is a session of one turn, and `calls` maps it to its
// turn. Turns without pieces remain one call. Throws InputError if summaries exceed 32 bits, and for sessions
// with several turns or a context. REQUIRES: the workload is not divided yet, and its pieces are texts.
Workload divided_into_calls(const Workload& asked, const MapOptions& options);

}  // namespace kvcap
