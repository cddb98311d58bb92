#include "cost/engine_memory.h"

namespace kvcap {

EngineMemory engine_memory(EngineVersion version) {
  constexpr double kSortBytes = 4 + 4 + 8 + 2 * 8 + 4;
  constexpr double kPivotBytes = 4 + 4 + 4;
  const bool sorts = version < EngineVersion{0, 17};
  const bool is_lean = version < EngineVersion{0, 18};
  return {.sampler_bytes_per_logit = sorts ? kSortBytes : kPivotBytes,
          .sampler_row_per_multiprocessor = !sorts,
          .runtime_bytes = (is_lean ? 0.13 : 0.25) * kGiB,
          .group_bytes = 0.42 * kGiB,
          .fuses_all_reduces = !is_lean,
          .charges_graphs = version >= EngineVersion{0, 21} && version < EngineVersion{0, 26}};
}

}  // namespace kvcap
