// The table of eviction orders. A new order needs a file of its own, and its name, constructor and row here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/text/names.h"

namespace kvcap {

class Eviction;

enum class EvictionKind : uint8_t {
  lru,
  lfu,
  fifo,
  s3_fifo,
  arc,
  sharded_lru,
  next_use,
  score,
  belady,
  none
};

std::unique_ptr<Eviction> make_lru();
std::unique_ptr<Eviction> make_lfu();
std::unique_ptr<Eviction> make_fifo();
std::unique_ptr<Eviction> make_s3_fifo();
std::unique_ptr<Eviction> make_arc();
std::unique_ptr<Eviction> make_sharded_lru();
std::unique_ptr<Eviction> make_next_use();
std::unique_ptr<Eviction> make_score();
std::unique_ptr<Eviction> make_none();

struct EvictionRow {
  EvictionKind kind;
  std::string_view name;
  std::string_view summary;  // what is evicted first from a full tier
  std::unique_ptr<Eviction> (*make)();
  bool scores = false;       // needs the scores that weigh() sets
  bool clairvoyant = false;  // needs the future uses of the workload, so it is only a bound
  bool by_object = false;    // evicts pages regardless of the contexts that they belong to
};

// Rows in the order of the enumeration.
inline constexpr std::array kEvictions = {
    EvictionRow{EvictionKind::lru, "lru", "the least recently used", make_lru},
    EvictionRow{EvictionKind::lfu, "lfu", "the least often used", make_lfu},
    EvictionRow{EvictionKind::fifo, "fifo", "the oldest", make_fifo},
    EvictionRow{EvictionKind::s3_fifo, "s3_fifo",
                "the oldest of a small queue, from which a second use moves entries to the main queue",
                make_s3_fifo},
    EvictionRow{EvictionKind::arc, "arc",
                "the least recently used, among those used once or those used again, whichever return less "
                "often after eviction (vLLM)",
                make_arc},
    EvictionRow{.kind = EvictionKind::sharded_lru,
                .name = "sharded_lru",
                .summary = "the least recently used in one of 1,024 shards, taken in turn (Mooncake Store)",
                .make = make_sharded_lru,
                .by_object = true},
    EvictionRow{EvictionKind::next_use, "next_use",
                "one that no waiting request needs, else the one needed last (needs look_ahead)",
                make_next_use},
    EvictionRow{.kind = EvictionKind::score,
                .name = "score",
                .summary = "the entry with the lowest score, unless the new entry has a lower one",
                .make = make_score,
                .scores = true},
    EvictionRow{.kind = EvictionKind::belady,
                .name = "belady",
                .summary = "the one that the workload needs last (a bound: it knows the future)",
                .make = make_next_use,
                .clairvoyant = true},
    EvictionRow{EvictionKind::none, "none", "nothing, so that a full tier accepts no more", make_none},
};
inline constexpr auto kEvictionNames = [] {
  std::array<std::string_view, kEvictions.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kEvictions[i].name;
  return names;
}();
constexpr Names names_of(EvictionKind) { return kEvictionNames; }

constexpr const EvictionRow& eviction_row(EvictionKind kind) {
  return kEvictions[static_cast<std::size_t>(kind)];
}
static_assert([] {
  for (std::size_t i = 0; i < kEvictions.size(); ++i) {
    if (kEvictions[i].kind != static_cast<EvictionKind>(i)) return false;
  }
  return true;
}());

}  // namespace kvcap
