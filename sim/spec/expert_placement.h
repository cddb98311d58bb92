// ExpertPlacement: how a group of engines that serve one model together spreads its experts, and how tokens
// reach them. Each engine, a data-parallel rank, has tensor_parallel_size GPUs, its own requests and the
// whole attention; the group has G = ranks * tensor_parallel_size GPUs.
//
//   tensor parallel   every GPU has 1/G of the width of every expert
//   expert parallel   every GPU has count/G whole experts
//
// Either way a layer's tokens of all ranks go through the layer's experts together. vLLM's names: ranks is
// --data-parallel-size, expert_parallel --enable-expert-parallel, exchange --all2all-backend.
#pragma once

#include <cstdint>
#include <optional>

#include "base/text/names.h"

namespace kvcap {

// allgather_reducescatter, vLLM's default: every GPU gets the tokens of all ranks, and the outputs of its
// experts are summed where the tokens came from. all_to_all (DeepEP): a token goes to the GPUs that have
// its experts, once to each, and comes back from each.
enum class ExpertExchange : uint8_t { allgather_reducescatter, all_to_all };
inline constexpr std::string_view kExpertExchangeNames[] = {"allgather_reducescatter", "all_to_all"};
constexpr Names names_of(ExpertExchange) { return kExpertExchangeNames; }

struct ExpertPlacement {
  int64_t ranks = 1;
  bool expert_parallel = false;
  ExpertExchange exchange = ExpertExchange::allgather_reducescatter;
  // Token-expert pairs of the fullest GPU over the mean of all GPUs. Absent: what comes of tokens that each
  // pick their experts at random.
  std::optional<double> imbalance;

  bool is_spread() const { return ranks > 1 || expert_parallel; }
};

}  // namespace kvcap
