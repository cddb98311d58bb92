// No eviction: an external process cleans the tier, as with vLLM's file tier and Mooncake's SSDs
// (docs/features/kv_offloading_usage.md@0078e9d, docs/source/design/store/ssd-offload.md@3b5a594).
#include "state/eviction.h"

namespace kvcap {
namespace {

class NoEviction : public Eviction {
 public:
  void enter(Slot, Key) override {}
  void leave(Slot, bool) override {}
  void touch(Slot) override {}
  void renew(Slot) override {}
  Slot victim() override { return kNoSlot; }
  void hold(Slot) override {}
  void release(Slot) override {}
};

}  // namespace

std::unique_ptr<Eviction> make_none() { return std::make_unique<NoEviction>(); }

}  // namespace kvcap
