// The GPU's blocks as a scheduler sees them: many steps at once are as many single ones.
#include "state/kv_pool.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

namespace kvcap::kv_pool_test {
namespace {

constexpr int64_t kBlock = 4;

GroupPoolOptions options(std::vector<KvGroup> groups, int64_t blocks) {
  return {.blocks = blocks,
          .layout = {.groups = std::move(groups), .group_layers = 1, .unit_tokens = kBlock},
          .step_tokens = 64};
}

// Prompts of several lengths that have just been computed, in a pool with little room; then decode steps.
class Decoding {
 public:
  Decoding(const std::vector<KvGroup>& groups, unsigned seed) : pool_(options(groups, 400)) {
    pool_.on_eviction([this](const BlockRun& run) {
      gone_ += std::to_string(run.text) + ":" + std::to_string(run.first) + " ";
    });
    std::mt19937 dice(seed);
    for (Key text = 1; text <= 30 && holdings_.size() < 8; ++text) {
      const auto tokens = static_cast<int64_t>(1 + dice() % 60);
      const TextRun run{text, 0, tokens};
      KvHolding holding;
      EXPECT_TRUE(pool_.grow(0, tokens, holding));
      pool_.name(block_runs(std::span(&run, 1), kBlock), tokens, holding);
      if (text % 3 == 0) {
        pool_.give_back(holding);
        continue;
      }
      holdings_.push_back(std::move(holding));
      growths_.push_back({&holdings_.back(), tokens});
    }
  }

  void at_once(int64_t steps) { pool_.grow_by_steps(growths_, steps); }
  void one_by_one(int64_t steps) {
    for (int64_t step = 0; step < steps; ++step) {
      for (const KvGrowth& one : growths_) {
        ASSERT_TRUE(pool_.grow(one.computed + step, one.computed + step + 1, *one.holding));
      }
    }
  }
  // Takes what is left, and so says in which order it leaves.
  std::string order_of_eviction() {
    KvHolding all;
    for (int64_t tokens = kBlock; pool_.grow(tokens - kBlock, tokens, all); tokens += kBlock) {
    }
    return gone_;
  }
  int64_t free() const { return pool_.free(); }

 private:
  KvPool pool_;
  std::deque<KvHolding> holdings_;
  std::vector<KvGrowth> growths_;
  std::string gone_;
};

TEST(KvPool, ManyStepsAtOnceAreAsManySingleOnes) {
  const KvGroup all{KvRule::all, 0, kBlock}, window{KvRule::window, 7, kBlock},
      chunk{KvRule::chunk, 12, kBlock}, state{KvRule::checkpoint, 0, kBlock};
  // The first group reports what leaves.
  const std::vector<std::vector<KvGroup>> models = {
      {all}, {window, all}, {window, window, all}, {chunk, all}, {state, all}};
  for (const std::vector<KvGroup>& groups : models) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      Decoding at_once(groups, seed), one_by_one(groups, seed);
      at_once.at_once(17);
      one_by_one.one_by_one(17);
      ASSERT_EQ(at_once.free(), one_by_one.free());
      const std::string order = at_once.order_of_eviction();
      ASSERT_EQ(order, one_by_one.order_of_eviction());
      ASSERT_FALSE(order.empty());
    }
  }
}

}  // namespace
}  // namespace kvcap::kv_pool_test
