#include "cost/engine_memory.h"

namespace kvcap {

EngineMemory engine_memory(EngineVersion version) {
  constexpr double kSortBytes = 4 + 4 + 8 + 2 * 8 + 4;
  constexpr double kPivotBytes = 4 + 4 + 4;
  const bool sorts = version < EngineVersion{0, 17};
  const bool is_lean = version < EngineVersion{0, 18};
  const bool estimates = version >= EngineVersion{0, 21};
  const bool has_two_runners = version >= EngineVersion{0, 26} && version < EngineVersion{0, 29};
  constexpr double kSecondRunner = 0.56;
  const double planned = !estimates ? 0 : version >= EngineVersion{0, 29} ? kSecondRunner : 1;
  return {.sampler_bytes_per_logit = sorts ? kSortBytes : kPivotBytes,
          .sampler_row_per_multiprocessor = !sorts,
          .runtime_bytes = (is_lean ? 0.13 : 0.25) * kGiB,
          .group_bytes = 0.42 * kGiB,
          .fuses_all_reduces = !is_lean,
          .planned_graphs_of_dense = has_two_runners ? 0 : planned,
          .planned_graphs = planned};
}

}  // namespace kvcap
