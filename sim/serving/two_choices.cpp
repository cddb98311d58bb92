// The less loaded of two nodes drawn at random (Mitzenmacher, "The power of two choices in randomized load
// balancing", IEEE TPDS 2001).
#include "serving/router.h"

namespace kvcap {

std::optional<std::size_t> choose_two_choices(RouterCall& call) {
  const std::optional<std::size_t> one = choose_random(call), other = choose_random(call);
  return one && call.nodes[*other].turns < call.nodes[*one].turns ? other : one;
}

}  // namespace kvcap
