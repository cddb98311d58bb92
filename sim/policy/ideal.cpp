// Ideal: a bound for which all history is on the GPU, at no cost and without taking memory. Policies that
// load contexts under the engine's own schedule cannot be faster (as in HCache's figures), but policies that
// schedule prompts differently can.
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
