// Compares the scheduler under `engine: sglang` with SGLang's own, written out pass by pass: what every step
// computes of which request, every hit, every retraction, the order of the queue and new_token_ratio are
// equal.
//
// Two things of SGLang are not simulated: its radix cache evicts whole nodes, and prompts of one step do not
// find each other. So no case of the exact comparisons evicts, or has prompts of one wave that share more
// than an earlier wave has computed; a third test bounds the difference where they do.
#include "reference/literal_sglang.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "engine/versions/engines.h"
#include "reference/dice.h"
#include "unit/scheduled_engine.h"

namespace kvcap::reference::literal_sglang_test {
namespace {

struct Asked {
  int64_t step = 0;  // of its wave, during which it arrives
  std::vector<TextRun> prompt;
  int64_t output = 1;
};

// Requests in waves, each of which begins when the engine is idle.
struct Drawn {
  SglangOptions options;
  std::vector<std::vector<Asked>> waves;
};

Key answer_of(int64_t number) { return scheduled_engine::Engine::answer_of(static_cast<int>(number)); }

// cached: a radix cache for all that is ever computed. uncached: a small pool without one. pressed: a small
// pool with one, and prompts that share what no request has computed yet.
enum class Kind { cached, uncached, pressed };

class Generator {
 public:
  Generator(uint64_t number, Kind kind)
      : dice_(number), caches_(kind != Kind::uncached), is_pressed_(kind == Kind::pressed) {}

  Drawn draw() {
    SglangOptions& options = drawn_.options;
    options.page_size = dice_.chance(0.5) ? 1 : 16;
    options.disable_radix_cache = !caches_;
    options.max_running_requests = dice_.between(1, 12);
    options.enable_mixed_chunk = dice_.chance(0.3);
    if (options.enable_mixed_chunk || dice_.chance(0.6)) {
      options.chunked_prefill_size = 16 * dice_.between(2, 12);
    }
    if (!caches_) options.init_new_token_ratio = static_cast<double>(dice_.pick({0, 1, 7, 10})) / 10;
    answers_are_long_ = !caches_ && dice_.chance(0.5);
    const int64_t waves = caches_ ? dice_.between(2, 5) : dice_.between(5, 15);
    for (int64_t i = 0; i < waves; ++i) add_wave();
    options.max_prefill_tokens = dice_.chance(0.5) ? 16384 : longest_ + dice_.between(0, 200);
    options.max_total_num_tokens = pages(is_large() ? all_ : dice_.between(longest_, 3 * longest_));
    return drawn_;
  }

 private:
  void add_wave() {
    std::vector<Asked>& wave = drawn_.waves.emplace_back();
    int64_t step = 0;
    const int64_t requests = dice_.between(1, caches_ ? 24 : 12);
    const Key shared = next_text_++;
    std::vector<std::vector<TextRun>> earlier = known_;  // a wave finds only what ended before it
    for (int64_t i = 0; i < requests; ++i) {
      if (dice_.chance(answers_are_long_ ? 0.9 : 0.4)) step += dice_.between(0, 12);
      std::vector<TextRun> prompt;
      if (caches_ && !earlier.empty() && dice_.chance(0.7)) {
        prompt = front_of(earlier[static_cast<std::size_t>(dice_.between(0, std::ssize(earlier) - 1))]);
      }
      if (is_pressed_ && dice_.chance(0.3)) prompt.push_back({shared, 0, dice_.between(1, 60)});
      prompt.push_back({next_text_++, 0, dice_.between(1, dice_.chance(0.3) ? 200 : 40)});
      int64_t output = dice_.chance(0.2) ? 1 : dice_.between(1, dice_.chance(0.3) ? 90 : 20);
      if (answers_are_long_) output = dice_.between(30, 150);
      std::vector<TextRun> whole = prompt;
      whole.push_back({answer_of(number_++), 0, output});
      known_.push_back(whole);
      int64_t tokens = 0;
      for (const TextRun& run : whole) tokens += run.tokens;
      // Alone in the pool it fits, and its decode has a page.
      longest_ = std::max(longest_, tokens + 3 * drawn_.options.page_size);
      all_ += tokens + 4 * drawn_.options.page_size;
      wave.push_back({step, prompt, output});
    }
  }

  // A front of a sequence, of the whole pages that were computed: its last token was not.
  std::vector<TextRun> front_of(std::vector<TextRun> runs) {
    int64_t left = -1;
    for (const TextRun& run : runs) left += run.tokens;
    left -= left % drawn_.options.page_size;
    if (dice_.chance(0.4)) left = dice_.between(0, left);
    for (TextRun& run : runs) {
      run.tokens = std::min(run.tokens, left);
      left -= run.tokens;
    }
    std::erase_if(runs, [](const TextRun& run) { return run.tokens == 0; });
    return runs;
  }

  bool is_large() const { return caches_ && !is_pressed_; }

  int64_t pages(int64_t tokens) const {
    const int64_t page = drawn_.options.page_size;
    return (tokens + page - 1) / page * page;
  }

  Dice dice_;
  bool caches_, is_pressed_;
  bool answers_are_long_ = false;
  Drawn drawn_;
  std::vector<std::vector<TextRun>> known_;
  Key next_text_ = 1'000'000;
  int64_t number_ = 0, longest_ = 1, all_ = 0;
};

scheduled_engine::Settings settings(const SglangOptions& options) {
  scheduled_engine::Settings with;
  with.serving = options_of(EngineKind::sglang);
  with.serving.async_scheduling = false;
  with.serving.block_size = options.page_size;
  with.serving.max_num_seqs = options.max_running_requests;
  with.serving.chunked_prefill = options.chunked_prefill_size.has_value();
  with.serving.max_num_batched_tokens = options.chunked_prefill_size.value_or(options.max_prefill_tokens);
  with.serving.reserved_output_share = options.init_new_token_ratio;
  with.serving.prefix_caching = !options.disable_radix_cache;
  if (options.enable_mixed_chunk) with.serving.schedule = StepOrder::mixed;
  return with;
}

KvPoolOptions pool(const SglangOptions& options) {
  return {.blocks = options.max_total_num_tokens / options.page_size,
          .layout = {.groups = {{.block_tokens = options.page_size}}, .unit_tokens = options.page_size},
          .caching = !options.disable_radix_cache};
}

std::string describe(const SglangOptions& options) {
  std::ostringstream text;
  text << options.max_total_num_tokens << " tokens in pages of " << options.page_size << ", "
       << options.max_running_requests << " requests, chunks of " << options.chunked_prefill_size.value_or(-1)
       << ", " << options.max_prefill_tokens << " tokens of prompts, ratio " << options.init_new_token_ratio
       << (options.enable_mixed_chunk ? ", mixed" : "")
       << (options.disable_radix_cache ? ", no radix cache" : "");
  return text.str();
}

std::string told(const std::vector<SglangSlice>& slices) {
  std::ostringstream text;
  for (const SglangSlice& one : slices) {
    text << one.request << ":" << one.first << "+" << one.tokens << (one.yields ? "! " : " ");
  }
  return text.str();
}

// The engine with the functions of the literal scheduler.
class EngineSide {
 public:
  explicit EngineSide(const SglangOptions& options) : engine_(settings(options), pool(options)) {}

  void add(int64_t, const std::vector<TextRun>& prompt, const TextRun& answer) {
    engine_.ask(prompt, answer.tokens);
  }
  std::vector<SglangSlice> begin_pass() {
    plan_ = engine_.plan();
    std::vector<SglangSlice> slices;
    for (const Slice& one : plan_.slices) {
      slices.push_back({static_cast<int64_t>(one.request->number), one.first, one.tokens, one.yields});
    }
    std::sort(slices.begin(), slices.end());
    return slices;
  }
  void end_pass() { engine_.finish(plan_); }
  std::vector<int64_t> waiting() {
    std::vector<int64_t> numbers;
    for (const RequestPtr& one : engine_.scheduler().waiting()) {
      numbers.push_back(static_cast<int64_t>(one->number));
    }
    return numbers;
  }
  double new_token_ratio() { return engine_.scheduler().output_share(); }

 private:
  scheduled_engine::Engine engine_;
  StepPlan plan_;
};

struct Sums {
  int64_t requests = 0, steps = 0, hits = 0, computed = 0, retractions = 0;
};

// Serves the requests with one of the two. A request that arrives during a step waits when it ends.
template <class Side>
class Run {
 public:
  Run(const Drawn& drawn, Sums& sums) : drawn_(drawn), sums_(sums), side_(drawn.options) { arrive(); }

  bool is_over() const { return wave_ == drawn_.waves.size(); }
  std::vector<SglangSlice> begin_step() {
    ++sums_.steps;
    ++step_;
    const std::vector<SglangSlice> slices = side_.begin_pass();
    is_idle_ = slices.empty();
    for (const SglangSlice& slice : slices) {
      sums_.computed += slice.tokens;
      if (runs_.insert(slice.request).second && known_.insert(slice.request).second)
        sums_.hits += slice.first;
    }
    return slices;
  }
  void end_step() {
    arrive();
    side_.end_pass();
    for (const int64_t number : side_.waiting()) {
      is_idle_ = false;
      sums_.retractions += static_cast<int64_t>(runs_.erase(number));
    }
    if (!is_idle_ || next_ < drawn_.waves[wave_].size()) return;
    ++wave_;
    next_ = 0;
    step_ = 0;
    if (!is_over()) arrive();
  }
  Side& side() { return side_; }

 private:
  void arrive() {
    const std::vector<Asked>& wave = drawn_.waves[wave_];
    for (; next_ < wave.size() && wave[next_].step <= step_; ++next_) {
      const int64_t number = sums_.requests++ - first_;
      side_.add(number, wave[next_].prompt, {answer_of(number), 0, wave[next_].output});
    }
  }

  const Drawn& drawn_;
  Sums& sums_;
  Side side_;
  int64_t first_ = sums_.requests;
  std::size_t wave_ = 0, next_ = 0;
  int64_t step_ = 0;  // of the wave
  bool is_idle_ = false;
  std::set<int64_t> runs_, known_;  // since the last retraction, and ever
};

void compare(const Drawn& drawn, Sums& sums) {
  Sums literal_sums;
  Run<LiteralSglang> literal(drawn, literal_sums);
  Run<EngineSide> engine(drawn, sums);
  while (!literal.is_over() && !testing::Test::HasFailure()) {
    SCOPED_TRACE("step " + std::to_string(literal_sums.steps));
    const std::vector<SglangSlice> expected = literal.begin_step();
    EXPECT_EQ(told(engine.begin_step()), told(expected));
    if (!expected.empty()) {
      EXPECT_NEAR(engine.side().new_token_ratio(), literal.side().new_token_ratio(), 1e-9);
    }
    literal.end_step();
    engine.end_step();
    EXPECT_EQ(engine.side().waiting(), literal.side().waiting());
  }
  EXPECT_TRUE(drawn.options.disable_radix_cache || literal.side().evicted_tokens() == 0);
}

Sums compare_all(uint64_t first, uint64_t cases, Kind kind) {
  Sums sums;
  for (uint64_t number = first; number < first + cases && !testing::Test::HasFailure(); ++number) {
    const Drawn drawn = Generator(number, kind).draw();
    SCOPED_TRACE("case " + std::to_string(number) + ": " + describe(drawn.options));
    compare(drawn, sums);
  }
  return sums;
}

TEST(LiteralSglangLaws, EveryStepComputesWhatSglangsDoesAndFindsItsHits) {
  const Sums sums = compare_all(1, 100, Kind::cached);
  EXPECT_GT(sums.requests, 4000);
  EXPECT_GT(sums.hits, 100000);
}

TEST(LiteralSglangLaws, PoolsWithoutPrefixCacheAdmitAndRetractWhatSglangDoes) {
  const Sums sums = compare_all(1001, 100, Kind::uncached);
  EXPECT_GT(sums.requests, 6000);
  EXPECT_GT(sums.retractions, 60);
}

template <class Side>
void serve(const Drawn& drawn, Sums& sums) {
  Run<Side> run(drawn, sums);
  while (!run.is_over()) {
    run.begin_step();
    run.end_step();
  }
}

// Both serve the same requests, each at its own pace. Prompts of one step find each other only in the engine.
TEST(LiteralSglangLaws, SmallPoolsWithAPrefixCacheHaveNearlyTheHitsAndStepsOfSglang) {
  Sums literal, engine;
  for (uint64_t number = 2001; number < 2061; ++number) {
    const Drawn drawn = Generator(number, Kind::pressed).draw();
    serve<LiteralSglang>(drawn, literal);
    serve<EngineSide>(drawn, engine);
  }
  EXPECT_EQ(engine.requests, literal.requests);
  EXPECT_GT(literal.hits, 30000);
  EXPECT_NEAR(static_cast<double>(engine.hits), 1.04 * static_cast<double>(literal.hits),
              0.02 * static_cast<double>(literal.hits));
  EXPECT_NEAR(static_cast<double>(engine.steps), static_cast<double>(literal.steps),
              0.005 * static_cast<double>(literal.steps));
}

}  // namespace
}  // namespace kvcap::reference::literal_sglang_test
