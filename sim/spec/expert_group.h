// ExpertGroup: the GPUs that share a model's routed experts.
//
// Under data parallel attention every rank (a group of tensor_parallel_size GPUs) serves requests of its own,
// but has only a part of the routed experts: all ranks together have them once, and compute each layer's
// experts for the tokens of all. Each GPU has whole experts (expert parallel), or a slice of every expert's
// width (vLLM without --enable-expert-parallel). The others' tokens come and go in one of two ways:
//
//   all_gather   every rank gets all tokens, and their results are reduced and scattered (vLLM's default,
//                allgather_reducescatter)
//   all_to_all   a token goes to the GPUs of its experts alone (DeepEP, pplx)
//
// A dense model's ranks share nothing.
#pragma once

#include <cstdint>
#include <optional>

namespace kvcap {

enum class ExpertExchange : uint8_t { all_gather, all_to_all };

struct ExpertGroup {
  int64_t data_parallel_size = 1;
  bool expert_parallel = false;
  ExpertExchange exchange = ExpertExchange::all_gather;
  // Rows of the busiest GPU's experts over the mean. Absent: tokens choose their experts at random.
  std::optional<double> imbalance;

  // Tensor parallelism alone divides every expert.
  bool is_plain() const { return data_parallel_size == 1 && !expert_parallel; }
};

}  // namespace kvcap
