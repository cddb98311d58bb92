// KvCapacityModel: how the KV capacity is derived from GPU memory if it is not given.
#pragma once

#include <cstdint>

#include "base/text/names.h"

namespace kvcap {

// engine: as vLLM plans its memory, term by term.
// simple: the engine's share of memory minus the weights and the rows of one step in the widest layer; for
// systems described in papers.
// share_of_free: a share of the memory that weights and one step leave free (TensorRT-LLM's
// free_gpu_memory_fraction).
// static_share: a share of the memory that is free before the weights are loaded, minus the weights (SGLang's
// mem_fraction_static); steps use the rest.
enum class KvCapacityModel : uint8_t { engine, simple, share_of_free, static_share };
inline constexpr std::string_view kKvCapacityModelNames[] = {"engine", "simple", "share_of_free",
                                                             "static_share"};
constexpr Names names_of(KvCapacityModel) { return kKvCapacityModelNames; }

}  // namespace kvcap
