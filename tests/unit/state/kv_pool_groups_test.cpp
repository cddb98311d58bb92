// The pool that groups of layers share: what a request drops while it runs, what is found of a prompt, and
// that both are what a pool does that asks every group for every token.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "reference/literal_groups.h"
#include "state/kv_pool.h"

namespace kvcap::kv_pool_groups_test {
namespace {

using reference::LiteralGroups;
using reference::LiteralRequest;
using reference::Token;

constexpr KvGroup kAll{KvRule::all, 0, 4};
constexpr KvGroup window(int64_t tokens) { return {KvRule::window, tokens, 4}; }

KvLayout layout_of(std::vector<KvGroup> groups, int64_t unit) {
  return {.groups = std::move(groups), .group_layers = 1, .page_bytes = 1, .unit_tokens = unit};
}

class Pool {
 public:
  explicit Pool(int64_t blocks, std::vector<KvGroup> groups, Checkpoints checkpoints = Checkpoints::align)
      : pool_({.blocks = blocks, .layout = layout_of(std::move(groups), 4), .checkpoints = checkpoints}) {}

  // A request for the first `tokens` tokens of a text, in steps that end as given.
  KvHolding run(Key text, int64_t tokens, const std::vector<int64_t>& ends) {
    const std::vector<BlockRun> chain = chain_of(text, tokens);
    KvHolding holding;
    int64_t computed = found(text, tokens);
    pool_.hold(chain, computed, holding);
    for (int64_t end : ends) {
      EXPECT_TRUE(pool_.grow(computed, end, holding));
      pool_.name(chain, end, holding);
      computed = end;
    }
    return holding;
  }
  void leave(KvHolding holding) { pool_.give_back(holding); }
  int64_t found(Key text, int64_t tokens) const {
    return pool_.find(chain_of(text, tokens), tokens - 1).tokens;
  }
  KvPool& operator*() { return pool_; }
  KvPool* operator->() { return &pool_; }

 private:
  static std::vector<BlockRun> chain_of(Key text, int64_t tokens) {
    const TextRun run{text, 0, tokens};
    return block_runs(std::span(&run, 1), 4);
  }
  KvPool pool_;
};

// 12 tokens in steps of 4, with a window of 5: the token behind 8 sees the tokens 4 to 8, so that block 0 is
// dropped before the third step. 3 blocks of the full group and 2 of the sliding one are held.
TEST(KvPoolOfGroups, DropsWhatFellOutOfTheWindowBeforeItTakesBlocks) {
  Pool pool(6, {kAll, window(5)});
  KvHolding holding = pool.run(1, 12, {4, 8});
  EXPECT_EQ(holding.blocks(), 4);
  EXPECT_TRUE(pool->grow(8, 12, holding));
  EXPECT_EQ(holding.blocks(), 5);
  EXPECT_EQ(pool->free(), 1);
  EXPECT_EQ(pool->cached(), 1);  // under its name
}

// What the window covers before the boundary at 12 are the tokens 8 to 11. Blocks 0 and 1 of the sliding
// group are not needed; and 8 tokens are found as long as its block 1 stays.
TEST(KvPoolOfGroups, FindsAPromptWhereTheWindowIsThere) {
  Pool pool(12, {kAll, window(5)});
  pool.leave(pool.run(1, 13, {4, 8, 12, 13}));
  EXPECT_EQ(pool.found(1, 13), 12);
  EXPECT_EQ(pool.found(1, 12), 8);
  EXPECT_EQ(pool.found(1, 4), 0);
  EXPECT_EQ(pool->find({}, 100).tokens, 0);
}

// 3 + 3 blocks, of which block 0 of the sliding group was dropped first. Two further blocks take its room and
// that of the full group's last one: 8 tokens can be found, for which block 1 of the sliding group is there.
TEST(KvPoolOfGroups, DroppedBlocksAreTheFirstToLeave) {
  Pool pool(6, {kAll, window(5)});
  pool.leave(pool.run(1, 12, {4, 8, 12}));
  EXPECT_EQ(pool.found(1, 13), 12);
  pool.leave(pool.run(2, 4, {4}));
  EXPECT_EQ(pool.found(1, 13), 8);
  EXPECT_EQ(pool.found(1, 8), 0);  // 4 tokens would need block 0
}

TEST(KvPoolOfGroups, AStateIsFoundOnlyWhereAStepEnded) {
  Pool pool(20, {kAll, {KvRule::checkpoint, 0, 4}});
  pool.leave(pool.run(1, 15, {8, 12, 15}));
  EXPECT_EQ(pool.found(1, 20), 12);
  EXPECT_EQ(pool.found(1, 12), 8);
  EXPECT_EQ(pool.found(1, 8), 0);  // no state after 4 tokens
  Pool every(20, {kAll, {KvRule::checkpoint, 0, 4}}, Checkpoints::all);
  every.leave(every.run(1, 15, {8, 12, 15}));
  EXPECT_EQ(every.found(1, 8), 4);
  // The step that ends at 10 leaves a state there, which goes on to 13: none after 12 tokens.
  Pool inside(20, {kAll, {KvRule::checkpoint, 0, 4}});
  inside.leave(inside.run(1, 13, {8, 10, 13}));
  EXPECT_EQ(inside.found(1, 13), 8);
}

// Of 100 tokens in steps of 8: 25 blocks of the full group; 5 - 1 + 8 tokens of the window, which are 3
// blocks and one more where they begin inside of a block; a state and a checkpoint.
TEST(KvPoolOfGroups, KnowsHowManyBlocksASequenceHoldsAtMost) {
  const KvGroup state{KvRule::checkpoint, 0, 4};
  const KvPoolOptions options{
      .blocks = 100, .layout = layout_of({kAll, window(5), state}, 4), .step_tokens = 8};
  EXPECT_EQ(KvPool(options).most_blocks(100), 25 + 4 + 2);
  EXPECT_EQ(KvPool(options).most_blocks(4), 3);
}

// Without checkpoints nothing is found, and a sequence has one state.
TEST(KvPoolOfGroups, KeepsNothingOfAModelWithoutCheckpoints) {
  Pool pool(20, {kAll, {KvRule::checkpoint, 0, 4}}, Checkpoints::none);
  KvHolding holding = pool.run(1, 20, {8, 20});
  EXPECT_EQ(holding.blocks(), 5 + 1);
  pool.leave(std::move(holding));
  EXPECT_EQ(pool->cached(), 0);
  EXPECT_EQ(pool.found(1, 20), 0);
}

TEST(KvPoolOfGroupsDeathTest, StopsWhenSomebodyHoldsWhatNobodyKnows) {
  Pool pool(8, {kAll, window(5)});
  const KvHolding known = pool.run(1, 4, {4}), unknown = pool.run(2, 4, {4});
  pool->check(std::vector<const KvHolding*>{&known, &unknown});
  EXPECT_DEATH(pool->check(std::vector<const KvHolding*>{&known}), "bug: INV-BLOCKS is broken");
}

// ---- at random ----

struct Model {
  const char* name;
  std::vector<KvGroup> groups;
  int64_t unit;
  Checkpoints checkpoints = Checkpoints::align;
};

std::vector<KvGroup> with(KvGroup first, int64_t count, KvGroup others) {
  std::vector<KvGroup> groups{first};
  groups.insert(groups.end(), static_cast<std::size_t>(count), others);
  return groups;
}

const Model kModels[] = {
    {"one_of_each", {kAll, window(6)}, 4},
    {"six_that_slide", with(kAll, 6, window(9)), 4},
    {"longer_blocks", with({KvRule::all, 0, 8}, 5, window(11)), 4},
    {"windows_alone", {window(7), window(13)}, 4},
    {"chunks_alone", {{KvRule::chunk, 16, 4}, {KvRule::chunk, 12, 4}}, 4},
    {"chunks", with(kAll, 3, {KvRule::chunk, 16, 4}), 4},
    {"long_blocks_and_chunks", with({KvRule::all, 0, 8}, 1, {KvRule::chunk, 12, 4}), 4},
    {"states_where_steps_end", with(kAll, 3, {KvRule::checkpoint, 0, 4}), 4},
    {"states_everywhere", with(kAll, 3, {KvRule::checkpoint, 0, 4}), 4, Checkpoints::all},
    {"states_and_windows", {kAll, window(6), {KvRule::checkpoint, 0, 4}}, 4},
};

class KvPoolOfGroupsAtRandom : public testing::TestWithParam<Model> {
 protected:
  struct Running {
    std::vector<TextRun> texts;
    std::vector<BlockRun> chain;
    int64_t tokens = 0;
    int64_t computed = 0;
    KvHolding holding;
    LiteralRequest literal;
  };

  int64_t draw(int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(dice_); }

  // A prompt that begins as others do, and a tail of its own or of a few.
  std::unique_ptr<Running> prompt() {
    auto one = std::make_unique<Running>();
    const int64_t shared = draw(2);
    one->texts = {{static_cast<Key>(1 + draw(2)), 0, 1 + draw(30)},
                  {static_cast<Key>(10 + shared), 0, draw(20)}};
    if (draw(3) == 0) one->texts.push_back({next_text_++, 0, 1 + draw(12)});
    for (const TextRun& text : one->texts) one->tokens += text.tokens;
    one->chain = block_runs(one->texts, GetParam().unit);
    return one;
  }
  static std::vector<Token> tokens_of(const Running& one) {
    std::vector<Token> tokens;
    for (const TextRun& text : one.texts) {
      for (int64_t i = 0; i < text.tokens; ++i) tokens.push_back({text.text, text.first + i});
    }
    return tokens;
  }

  std::mt19937 dice_;
  Key next_text_ = 1000;
};

TEST_P(KvPoolOfGroupsAtRandom, DoesWhatAPoolDoesThatAsksForEveryToken) {
  int64_t hits = 0, evictions = 0, refusals = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    dice_.seed(seed);
    const int64_t per_group = 10 + draw(20);
    const int64_t blocks = per_group * std::ssize(GetParam().groups);
    KvPool pool({.blocks = blocks,
                 .layout = layout_of(GetParam().groups, GetParam().unit),
                 .checkpoints = GetParam().checkpoints,
                 .step_tokens = 16});
    std::vector<LiteralGroups::Evicted> evicted;
    pool.on_eviction([&](std::size_t group, const BlockRun& run, int64_t) {
      for (int64_t i = run.blocks; i-- > 0;) {
        evicted.push_back({group, {run.text, run.first + (i + 1) * GetParam().unit - 1}});
      }
    });
    LiteralGroups literal(blocks, GetParam().groups, GetParam().checkpoints);
    std::vector<std::unique_ptr<Running>> running;
    for (int step = 0; step < 150; ++step) {
      if (running.size() < 4 && draw(2) == 0) {
        auto one = prompt();
        const std::vector<Token> tokens = tokens_of(*one);
        const KvHits found = pool.find(one->chain, one->tokens - 1);
        const LiteralGroups::Hits expected = literal.find(tokens, one->tokens - 1);
        ASSERT_EQ(found.tokens, expected.tokens) << "seed " << seed << ", step " << step;
        ASSERT_EQ(found.unheld, expected.unheld);
        hits += found.tokens > 0;
        pool.hold(one->chain, found.tokens, one->holding);
        one->literal = literal.begin(tokens, found.tokens);
        one->computed = found.tokens;
        running.push_back(std::move(one));
      }
      for (std::size_t i = 0; i < running.size();) {
        Running& one = *running[i];
        const int64_t left = one.tokens - one.computed;
        const int64_t end = one.computed + std::min(left, 1 + draw(draw(1) == 0 ? 0 : 15));
        const bool fits = left > 0 && pool.grow(one.computed, end, one.holding);
        if (left > 0) {
          ASSERT_EQ(fits, literal.compute(one.literal, end));
        }
        if (fits) {
          pool.name(one.chain, end, one.holding);
          one.computed = end;
          ++i;
        } else {
          refusals += left > 0;
          pool.give_back(one.holding);
          literal.give_back(one.literal);
          running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
        }
        ASSERT_EQ(pool.free(), literal.pool().free());
        ASSERT_EQ(pool.cached(), literal.pool().cached());
      }
      std::vector<const KvHolding*> all;
      for (const auto& one : running) all.push_back(&one->holding);
      pool.check(all);
    }
    // The last token of a block that several texts share is that of one of them.
    const auto expected = literal.evicted();
    ASSERT_EQ(evicted.size(), expected.size());
    for (std::size_t i = 0; i < evicted.size(); ++i) {
      ASSERT_EQ(evicted[i].group, expected[i].group);
      if (evicted[i].last.index >= GetParam().unit - 1) {
        ASSERT_EQ(evicted[i].last, expected[i].last);
      }
    }
    evictions += std::ssize(evicted);
  }
  EXPECT_GT(hits, 100);
  EXPECT_GT(evictions, 1000);
  EXPECT_GT(refusals, 10);
}

INSTANTIATE_TEST_SUITE_P(Of, KvPoolOfGroupsAtRandom, testing::ValuesIn(kModels),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace kvcap::kv_pool_groups_test
