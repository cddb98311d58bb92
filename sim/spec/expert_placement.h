// ExpertPlacement: how engines that serve one model together as a group divide its experts, and how tokens
// reach them. Each engine is a data-parallel rank with tensor_parallel_size GPUs, requests of its own and all
// attention layers. The group has G = ranks * tensor_parallel_size GPUs.
//
//   tensor parallel   every GPU has 1/G of the width of every expert
//   expert parallel   every GPU has count/G whole experts
//
// The tokens of all ranks pass through a layer's experts together. vLLM's options: --data-parallel-size is
// `ranks`, --enable-expert-parallel is `expert_parallel`, --all2all-backend is `exchange`.
#pragma once

#include <cstdint>
#include <optional>

#include "base/text/names.h"

namespace kvcap {

// allgather_reducescatter, vLLM's default: every GPU receives the tokens of all ranks, and the outputs of its
// experts are summed on the ranks that sent the tokens. all_to_all (DeepEP): each GPU that has some of a
// token's experts receives the token once and returns one result.
enum class ExpertExchange : uint8_t { allgather_reducescatter, all_to_all };
inline constexpr std::string_view kExpertExchangeNames[] = {"allgather_reducescatter", "all_to_all"};
constexpr Names names_of(ExpertExchange) { return kExpertExchangeNames; }

struct ExpertPlacement {
  int64_t ranks = 1;
  bool expert_parallel = false;
  ExpertExchange exchange = ExpertExchange::allgather_reducescatter;
  // Token-expert pairs on the fullest GPU divided by the mean over all GPUs. If absent, this is derived as if
  // tokens chose their experts at random.
  std::optional<double> imbalance;

  bool is_spread() const { return ranks > 1 || expert_parallel; }
};

}  // namespace kvcap
