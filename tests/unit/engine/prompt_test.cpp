// The parts of prompts: pieces, or chunks of them, and what a store has of them.
#include "engine/prompt.h"

#include <gtest/gtest.h>

#include <set>

namespace kvcap::prompt_test {
namespace {

// One prompt of 150 and 64 tokens in pieces, 16 without, and an answer that completes 30 more.
Workload one_prompt() {
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 1});
  workload.turns.push_back({.input_tokens = 230, .output_tokens = 20});
  workload.pieces = {{7, 150}, {8, 64}, {9, 30}};
  workload.piece_begin = {0, 3};
  return workload;
}

TEST(Prompt, HasItsPiecesAsParts) {
  const Pieces pieces = pieces_of(one_prompt(), 0, Match::prefix);
  ASSERT_EQ(pieces.prompt.size(), 2U);
  EXPECT_EQ(pieces.prompt[0].key, 7U);
  EXPECT_EQ(pieces.prompt[0].tokens, 150);
  EXPECT_EQ(pieces.prompt[0].node_tokens, 150);
  ASSERT_EQ(pieces.answer.size(), 1U);
  EXPECT_EQ(pieces.answer[0].key, 9U);
}

TEST(Prompt, HasChunksOfItsPiecesAsParts) {
  const Pieces pieces = pieces_of(one_prompt(), 0, Match::prefix, 64);
  // 150 = 64 + 64 + 22, and 64 is one chunk.
  ASSERT_EQ(pieces.prompt.size(), 4U);
  const int64_t tokens[] = {64, 64, 22, 64}, first[] = {0, 64, 128, 0}, node[] = {150, 150, 150, 64};
  std::set<Key> keys;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pieces.prompt[i].tokens, tokens[i]);
    EXPECT_EQ(pieces.prompt[i].first_token, first[i]);
    EXPECT_EQ(pieces.prompt[i].node_tokens, node[i]);
    keys.insert(pieces.prompt[i].key);
  }
  EXPECT_EQ(keys.size(), 4U);
  EXPECT_EQ(pieces.prompt[0].key, 7U);  // the first chunk has its piece's key
  EXPECT_EQ(pieces.answer.size(), 1U);
}

TEST(Prompt, IsFoundUpToTheFirstChunkThatIsMissing) {
  const std::vector<Part> prompt = pieces_of(one_prompt(), 0, Match::prefix, 64).prompt;
  Store store({{.kind = Tier::dram, .capacity_bytes = 1e6, .bytes_per_token = 1}});
  for (std::size_t i : {0U, 1U, 3U}) store.preload(prompt[i].key, prompt[i].tokens);
  EXPECT_EQ(find_parts(store, prompt, Match::prefix).all_tokens(), 128);
  EXPECT_EQ(find_parts(store, prompt, Match::chunk).all_tokens(), 192);
}

// Chunks of 64, 64 and 22 tokens of the first piece, then 64 of the second.
TEST(Prompt, IsLedByWhatIsFoundUpToTheFirstMiss) {
  const std::vector<Part> prompt = pieces_of(one_prompt(), 0, Match::chunk, 64).prompt;
  const auto leading = [&](std::vector<std::size_t> there, int64_t resident, int64_t most = 1000) {
    Store store({{.kind = Tier::dram, .capacity_bytes = 1e6, .bytes_per_token = 1}});
    for (const std::size_t i : there) store.preload(prompt[i].key, prompt[i].tokens);
    return find_parts(store, prompt, Match::chunk, resident).leading_tokens(prompt, resident, most);
  };
  EXPECT_EQ(leading({0, 1, 2, 3}, 0), 214);
  EXPECT_EQ(leading({0, 1, 2, 3}, 0, 150), 150);
  EXPECT_EQ(leading({0, 1, 2, 3}, 0, 140), 140);
  EXPECT_EQ(leading({0, 2, 3}, 0), 64);
  EXPECT_EQ(leading({1, 2, 3}, 0), 0);
  EXPECT_EQ(leading({1, 3}, 80), 128);  // the GPU has the first 80 tokens
  EXPECT_EQ(leading({3}, 150), 214);
}

Part part(Key key, int64_t tokens) {
  Part part;
  part.key = key;
  part.tokens = tokens;
  return part;
}

// States stored every 64 tokens, blocks of 16. Two parts of 100 tokens are stored: 200 = 3 x 64 + 8.
TEST(Prompt, IsFoundUpToAStoredState) {
  const std::vector<Part> prompt = {part(7, 100), part(8, 100), part(9, 50)};
  Store store({{.kind = Tier::dram, .capacity_bytes = 1e6, .bytes_per_token = 1}});
  store.preload(7, 100);
  store.preload(8, 100);
  const FoundEnds ends{.block_tokens = 16, .checkpoint_tokens = 64};
  EXPECT_EQ(find_parts(store, prompt, Match::prefix, 0, ends).all_tokens(), 192);
  // What the GPU has goes up to 150; nothing ends between 150 and the state at 192 but that.
  EXPECT_EQ(find_parts(store, prompt, Match::prefix, 150, ends).all_tokens(), 42);
  EXPECT_EQ(find_parts(store, prompt, Match::prefix, 192, ends).all_tokens(), 0);
  EXPECT_EQ(find_parts(store, prompt, Match::prefix, 0, {.block_tokens = 16}).all_tokens(), 192);
  EXPECT_EQ(
      find_parts(store, prompt, Match::prefix, 0, {.block_tokens = 1, .checkpoint_tokens = 150}).all_tokens(),
      150);
}

// The last turn left a state in the last block of what it stored: 100 = 6 x 16 + 4.
TEST(Prompt, OfASessionIsFoundUpToWhereItsLastTurnEnded) {
  Store store({{.kind = Tier::dram, .capacity_bytes = 1e6, .bytes_per_token = 1}});
  store.preload(7, 100);
  const FoundEnds ends{.block_tokens = 16, .checkpoint_tokens = 64};
  EXPECT_EQ(find_parts(store, {part(7, 100)}, Match::session, 0, ends).all_tokens(), 96);
  EXPECT_EQ(find_parts(store, {part(7, 120)}, Match::session, 0, ends).all_tokens(), 96);
  // Stored is more than this turn's history, as after a retry: the state within it is that at 64.
  EXPECT_EQ(find_parts(store, {part(7, 90)}, Match::session, 0, ends).all_tokens(), 64);
}

}  // namespace
}  // namespace kvcap::prompt_test
