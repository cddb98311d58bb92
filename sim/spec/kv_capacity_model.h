#pragma once

#include <cstdint>

#include "base/text/names.h"

namespace kvcap {

// How the KV capacity follows from GPU memory where it is not given. engine: as vLLM plans it, term by term.
// simple: the memory's share without weights and the rows of one step in the widest layer; for systems that
// papers describe. share_of_free: a share of what weights and one step leave free (TensorRT-LLM's
// free_gpu_memory_fraction). static_share: a share of what is free before the weights come, without them
// (SGLang's mem_fraction_static); steps use the rest.
enum class KvCapacityModel : uint8_t { engine, simple, share_of_free, static_share };
inline constexpr std::string_view kKvCapacityModelNames[] = {"engine", "simple", "share_of_free",
                                                             "static_share"};
constexpr Names names_of(KvCapacityModel) { return kKvCapacityModelNames; }

}  // namespace kvcap
