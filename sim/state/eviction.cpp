#include "state/eviction.h"

#include "base/check.h"

namespace kvcap {

std::unique_ptr<Eviction> make_eviction(EvictionKind kind) {
  switch (kind) {
    case EvictionKind::lru:
      return make_lru();
    case EvictionKind::lfu:
      return make_lfu();
    case EvictionKind::fifo:
      return make_fifo();
    case EvictionKind::s3_fifo:
      return make_s3_fifo();
    case EvictionKind::next_use:
    case EvictionKind::belady:
      return make_next_use();
    case EvictionKind::score:
      return make_score();
  }
  KVCAP_BUG("an eviction that is not handled");
}

}  // namespace kvcap
