// Random operations on the block pool and on a pool with a record of every block: the same hits, the same
// sums and the same blocks evicted in the same order, after every operation.
#include <gtest/gtest.h>

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reference/literal_pool.h"
#include "state/kv_pool.h"

namespace kvcap::kv_pool_random_test {
namespace {

using reference::Chain;
using reference::Chains;
using reference::Level;
using reference::LiteralPool;
using reference::Token;

// What both pools call a block that was evicted: its text and first token or, where it mixes texts, its key.
using BlockName = std::pair<Key, int64_t>;

std::vector<BlockName> names_of(const std::vector<BlockRun>& runs, int64_t block_size) {
  std::vector<BlockName> names;
  for (const BlockRun& run : runs) {
    for (int64_t i = 0; i < run.blocks; ++i) names.push_back({run.text, run.first + i * block_size});
  }
  return names;
}

class Twins {
 public:
  Twins(uint64_t seed, int64_t block_size, int64_t blocks, bool caching, const Retention& retention)
      : dice_(seed),
        size_(block_size),
        retention_(retention),
        pool_({.blocks = blocks,
               .layout = {.groups = {{KvRule::all, 0, block_size}},
                          .group_layers = 1,
                          .unit_tokens = block_size},
               .caching = caching,
               .retention = retention,
               .now_s = [this] { return now_s_; }}),
        literal_(blocks, caching) {
    pool_.on_eviction([this](std::size_t, const BlockRun& run, int64_t priority) {
      for (int64_t i = run.blocks; i-- > 0;) {
        evicted_.push_back({run.text, run.first + i * size_});
        priorities_.push_back(priority);
      }
    });
    for (int64_t left = between(2, 4); left > 0; --left) lengths_.push_back(between(1, 7 * size_ + 3));
  }

  void run(int operations) {
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("operation " + std::to_string(i));
      now_s_ += static_cast<double>(between(0, 2));
      literal_.set_time(now_s_);
      if (between(0, 2) == 0) {
        literal_.expire();
        pool_.expire();
      }
      const int64_t which = between(0, 9);
      if (which < 3 || requests_.empty()) {
        admit();
      } else if (which < 6) {
        grow(*any());
      } else if (which < 8) {
        name(*any());
      } else {
        const auto leaves = any();
        give_back(*leaves);
        requests_.erase(leaves);
      }
      compare();
      if (i % 7 == 0) check();
    }
    for (Request& request : requests_) {
      give_back(request);
      compare();
    }
    requests_.clear();
    check();
    // Everything leaves: the whole order of eviction.
    KvHolding all;
    while (pool_.free() > 0) {
      const int64_t blocks = between(1, pool_.free());
      pool_.take_loaded((all.blocks() + blocks) * size_, all);
      for (int64_t i = 0; i < blocks; ++i) literal_.take();
      compare();
    }
  }
  std::size_t evictions() const { return evicted_.size(); }
  int64_t hits() const { return hits_; }
  int64_t duplicates() const { return duplicates_; }

 private:
  struct Request {
    int64_t tokens = 0;
    int64_t prompt_blocks = 0;
    std::vector<BlockRun> runs;
    std::vector<Chain> chains;
    KvHolding holding;
    std::vector<LiteralPool::Block> blocks;
  };
  using Requests = std::list<Request>;

  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(dice_() % static_cast<uint64_t>(high - low + 1));
  }
  Requests::iterator any() { return std::next(requests_.begin(), between(0, std::ssize(requests_) - 1)); }

  // Some texts in a row: whole ones, first parts, and now and then a later part or one cut in two.
  Request prompt() {
    Request request;
    std::vector<TextRun> texts;
    for (int64_t left = between(1, 4); left > 0; --left) {
      const auto text = static_cast<Key>(between(0, std::ssize(lengths_) - 1));
      const int64_t length = lengths_[text];
      const int64_t first = between(0, 9) == 0 ? between(0, length - 1) : 0;
      const int64_t tokens = between(0, 1) == 0 ? length - first : between(1, length - first);
      const int64_t cut = between(0, 3) == 0 ? between(0, tokens) : tokens;
      texts.push_back({text, first, cut});
      texts.push_back({text, first + cut, tokens - cut});
    }
    std::vector<Token> tokens;
    for (const TextRun& text : texts) {
      for (int64_t i = 0; i < text.tokens; ++i) tokens.push_back({text.text, text.first + i});
    }
    request.tokens = std::ssize(tokens);
    request.prompt_blocks =
        between(0, 1) == 0 ? request.tokens / size_ + 1 : between(0, request.tokens / size_ + 1);
    request.runs = block_runs(texts, size_);
    request.chains = chains_.of(tokens, size_);
    const std::vector<BlockName> names = names_of(request.runs, size_);
    EXPECT_EQ(names.size(), request.chains.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto [known, is_new] = names_.try_emplace(request.chains[i], names[i]);
      EXPECT_TRUE(is_new || known->second == names[i]) << "two names for one block";
    }
    return request;
  }

  void admit() {
    Request request = prompt();
    if (testing::Test::HasFailure()) return;
    const int64_t blocks = (request.tokens + size_ - 1) / size_;
    const int64_t most = between(0, 1) == 0 ? (request.tokens - 1) / size_ : between(0, blocks);
    int64_t unheld = 0;
    for (const Chain chain : request.chains) {
      const LiteralPool::Block block = literal_.find(chain);
      if (block == LiteralPool::kNoBlock || std::ssize(request.blocks) == most) break;
      request.blocks.push_back(block);
      if (literal_.is_free(block)) ++unheld;
    }
    const KvHits hits = pool_.find(request.runs, most * size_);
    ASSERT_EQ(hits.tokens, std::ssize(request.blocks) * size_);
    ASSERT_EQ(hits.unheld, unheld);
    if (blocks - std::ssize(request.blocks) > literal_.free() - unheld) return;
    hits_ += std::ssize(request.blocks);
    for (std::size_t i = 0; i < request.blocks.size(); ++i) {
      literal_.hold(request.blocks[i], prompt_level(static_cast<int64_t>(i)));
    }
    pool_.hold(request.runs, hits.tokens, request.holding);
    compare();
    requests_.push_back(std::move(request));
    grow(requests_.back());
    if (between(0, 1) == 0) name(requests_.back());
  }

  void grow(Request& request) {
    const int64_t missing = (request.tokens + size_ - 1) / size_ - std::ssize(request.blocks);
    const int64_t blocks = std::min(between(0, 1) == 0 ? missing : between(0, missing), literal_.free());
    for (int64_t i = 0; i < blocks; ++i) request.blocks.push_back(literal_.take());
    pool_.take_loaded((request.holding.blocks() + blocks) * size_, request.holding);
  }

  void name(Request& request) {
    const int64_t full = std::min(std::ssize(request.blocks), std::ssize(request.chains));
    const int64_t named = between(0, 2) > 0 ? full : between(0, full);
    for (int64_t i = 0; i < named; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (literal_.chain_of(request.blocks[at]) == reference::kNoChain &&
          literal_.find(request.chains[at]) != LiteralPool::kNoBlock) {
        ++duplicates_;
      }
      const Level decode{retention_.decode_priority, retention_.decode_duration_s};
      const Level level = i < request.prompt_blocks ? prompt_level(i).value_or(Level()) : decode;
      literal_.name(request.blocks[at], request.chains[at], level);
    }
    // The answer begins in the last block of the prompt.
    pool_.name(request.runs, named * size_, request.holding, request.prompt_blocks * size_ - size_ / 2);
  }

  std::optional<Level> prompt_level(int64_t block) const {
    for (const RetentionRange& range : retention_.ranges) {
      const int64_t token = block * size_;
      if (token < range.from_token || token >= range.to_token.value_or(token + 1)) continue;
      return Level{range.priority, range.duration_s};
    }
    return {};
  }

  void give_back(Request& request) {
    literal_.give_back(request.blocks);
    request.blocks.clear();
    pool_.give_back(request.holding);
    EXPECT_EQ(request.holding.blocks(), 0);
  }

  void compare() {
    ASSERT_EQ(pool_.free(), literal_.free());
    ASSERT_EQ(pool_.cached(), literal_.cached());
    ASSERT_EQ(pool_.held(), literal_.held());
    for (const Request& request : requests_) ASSERT_EQ(request.holding.blocks(), std::ssize(request.blocks));
    ASSERT_EQ(evicted_.size(), literal_.evicted().size());
    for (; compared_ < evicted_.size(); ++compared_) {
      ASSERT_EQ(evicted_[compared_], names_.at(literal_.evicted()[compared_])) << "eviction " << compared_;
      ASSERT_EQ(priorities_[compared_], literal_.evicted_priorities()[compared_]) << "eviction " << compared_;
    }
  }

  void check() {
    std::vector<const KvHolding*> holdings;
    for (const Request& request : requests_) holdings.push_back(&request.holding);
    pool_.check(holdings);
  }

  std::mt19937_64 dice_;
  int64_t size_;
  Retention retention_;
  double now_s_ = 0;
  KvPool pool_;
  LiteralPool literal_;
  Chains chains_;
  std::map<Chain, BlockName> names_;
  std::vector<int64_t> lengths_;  // of the texts
  Requests requests_;
  std::vector<BlockName> evicted_;
  std::vector<int64_t> priorities_;
  std::size_t compared_ = 0;
  int64_t hits_ = 0, duplicates_ = 0;
};

struct Setting {
  int64_t block_size, blocks;
  bool caching;
  int64_t retained = 0;  // blocks at the beginning of each sequence
  bool has_priorities = false;

  Retention retention() const {
    if (retained > 0) return {.ranges = {{.to_token = retained * block_size, .priority = kMaxPriority}}};
    if (!has_priorities) return {};
    // The second range begins and ends within blocks.
    return {.ranges = {{.to_token = 2 * block_size, .priority = 80, .duration_s = 40},
                       {.from_token = 3 * block_size - block_size / 2,
                        .to_token = 5 * block_size + 1,
                        .priority = 10,
                        .duration_s = 7},
                       {.from_token = 7 * block_size, .priority = 36}},
            .decode_priority = 20,
            .decode_duration_s = 25};
  }
};
std::string called(const Setting& setting) {
  return "Of" + std::to_string(setting.blocks) + "BlocksOf" + std::to_string(setting.block_size) +
         (setting.caching ? "Tokens" : "TokensWithoutNames") +
         (setting.retained > 0 ? std::to_string(setting.retained) + "Retained" : "") +
         (setting.has_priorities ? "WithPriorities" : "");
}
std::ostream& operator<<(std::ostream& out, const Setting& setting) { return out << called(setting); }

class KvPoolAtRandom : public testing::TestWithParam<Setting> {};

TEST_P(KvPoolAtRandom, DoesWhatARecordOfEveryBlockDoes) {
  const Setting setting = GetParam();
  std::size_t evictions = 0;
  int64_t hits = 0, duplicates = 0;
  for (uint64_t seed = 1; seed <= 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Twins twins(seed, setting.block_size, setting.blocks, setting.caching, setting.retention());
    twins.run(150);
    evictions += twins.evictions();
    hits += twins.hits();
    duplicates += twins.duplicates();
  }
  // The sequences reach what they are there to reach.
  EXPECT_EQ(evictions > 1000, setting.caching);
  EXPECT_EQ(hits > 1000, setting.caching);
  EXPECT_EQ(duplicates > 200, setting.caching);
}

INSTANTIATE_TEST_SUITE_P(Pools, KvPoolAtRandom,
                         testing::Values(Setting{1, 12, true}, Setting{1, 40, true}, Setting{1, 400, true},
                                         Setting{4, 10, true}, Setting{4, 40, true}, Setting{4, 400, true},
                                         Setting{16, 12, true}, Setting{16, 60, true}, Setting{4, 40, false},
                                         Setting{1, 40, true, 3}, Setting{4, 10, true, 1},
                                         Setting{4, 40, true, 2}, Setting{16, 60, true, 4},
                                         Setting{1, 40, true, 0, true}, Setting{4, 40, true, 0, true},
                                         Setting{16, 12, true, 0, true}, Setting{16, 60, true, 0, true}),
                         [](const testing::TestParamInfo<Setting>& test) { return called(test.param); });

}  // namespace
}  // namespace kvcap::kv_pool_random_test
