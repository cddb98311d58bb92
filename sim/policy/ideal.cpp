// Ideal: all history is on the GPU, at no cost and without taking memory. It bounds what loads cost under the
// engine's own schedule, as in HCache's figures; it does not bound policies that schedule prompts
// differently.
#include "policy/table.h"

namespace kvcap {
namespace {

class Ideal : public Policy {
 public:
  Ideal() { set_traits({.reuse = Reuse::everything}); }
};

}  // namespace

std::unique_ptr<Policy> make_ideal(const PolicyInputs&) { return std::make_unique<Ideal>(); }

}  // namespace kvcap
