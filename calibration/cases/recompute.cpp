// recompute: stores nothing; one step prefills everything.
#include "calibration/cases/context.h"

namespace kvcap::calibration {
namespace {

class Recompute : public CaseContext {
 public:
  Recompute(const CaseSetup& setup, int64_t number) : CaseContext(setup, number) {
    for (int64_t layer = 0; layer < layers(); ++layer) add_layer(false);
  }
  Part step_part(int64_t layer) const override {
    return {.rows = all_tokens(), .kv = kv_[static_cast<std::size_t>(layer)]};
  }
};

}  // namespace

Contexts recompute(const CaseSetup& setup) { return contexts_of<Recompute>(setup); }

}  // namespace kvcap::calibration
