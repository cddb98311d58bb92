// Divides each turn into several model calls, one per chunk of its prompt, as LangChain's MapReduce and
// MapRerank do. CacheBlend uses both as RAG baselines (section 7.1).
//
// A prompt consists of chunks followed by the question. The prompt of a map call is one chunk and the
// question. All map calls of a turn arrive when the turn would have arrived. Their output depends on the
// kind:
//   reduce    a summary of map_tokens. One more call answers the turn: its prompt is all summaries and the
//             question, and it arrives when the last map call has ended.
//   rerank    an answer of the turn's output_tokens and a score of map_tokens. The turn ends when the last
//             map call has ended and the best answer is chosen.
#pragma once

#include "workload/workload.h"

namespace kvcap {

enum class MapKind : uint8_t { reduce, rerank };

struct MapOptions {
  MapKind kind = MapKind::reduce;
  uint32_t map_tokens = 1;
};

// Returns the workload with its turns divided into calls. Each call is a session of one turn, and `calls`
// maps it to the turn that it belongs to. A turn without pieces remains one call. Throws InputError if the
// token count of a turn's last call exceeds 32 bits, and for sessions with several turns or a context.
// REQUIRES: the workload is not divided yet, and its piece_keys are PieceKeys::text.
Workload divided_into_calls(const Workload& asked, const MapOptions& options);

}  // namespace kvcap
