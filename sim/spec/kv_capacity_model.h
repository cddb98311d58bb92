#pragma once

#include <cstdint>

namespace kvcap {

// How the KV capacity follows from GPU memory where it is not given. engine: as vLLM plans it, term by term.
// simple: the memory's share without weights and the rows of one step in the widest layer; for systems that
// are not vLLM. share_of_free: a share of what weights and these rows leave free (TensorRT-LLM's
// free_gpu_memory_fraction).
enum class KvCapacityModel : uint8_t { engine, simple, share_of_free };

}  // namespace kvcap
