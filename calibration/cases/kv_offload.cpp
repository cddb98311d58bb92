// kv_offload: loads KV of every layer, then prefills the new tokens.
#include "calibration/cases/context.h"

namespace kvcap::calibration {
namespace {

class KvOffload : public CaseContext {
 public:
  KvOffload(const CaseSetup& setup, int64_t number) : CaseContext(setup, number) {
    for (int64_t layer = 0; layer < layers(); ++layer) add_layer(true);
  }

 private:
  std::vector<Stage> stages(int64_t layer) override {
    return {{.load = load_kv(static_cast<std::size_t>(layer))}};
  }
};

}  // namespace

Contexts kv_offload(const CaseSetup& setup) { return contexts_of<KvOffload>(setup); }

}  // namespace kvcap::calibration
