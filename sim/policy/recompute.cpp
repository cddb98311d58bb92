// Recomputation: keeps nothing; every turn prefills its whole prompt.
#include "policy/table.h"

namespace kvcap {
namespace {

class Recompute : public Policy {
 public:
  explicit Recompute(const CostModel& cost) : layers_(cost.model().num_hidden_layers) {}
  Schedule schedule(int64_t, Tier) const override { return {.recompute_layers = layers_}; }

 private:
  int64_t layers_;
};

}  // namespace

std::unique_ptr<Policy> make_recompute(const PolicyInputs& inputs) {
  return std::make_unique<Recompute>(*inputs.cost);
}

}  // namespace kvcap
