// What the scheduler plans where drafts are verified: slots, ends inside a step, plans made ahead.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/scheduler/scheduler.h"

namespace kvcap::speculative_scheduler_test {
namespace {

constexpr int64_t kBlock = 4;  // tokens

struct Settings {
  ServingOptions serving = {.max_num_seqs = 8, .max_num_batched_tokens = 64, .async_scheduling = false};
  SequenceTokens tokens;
};

class Engine : private Admitter {
 public:
  Engine(const Settings& with, int64_t blocks)
      : pool_(KvPoolOptions{.blocks = blocks,
                            .layout = {.groups = {{.block_tokens = kBlock}}, .unit_tokens = kBlock}}),
        settings_(with),
        scheduler_(settings_.serving, with.tokens, pool_, *this) {}

  Request& ask(int64_t prompt_tokens, int64_t output_tokens) {
    auto request = std::make_unique<Request>();
    request->number = next_++;
    request->input_tokens = prompt_tokens;
    request->output_tokens = output_tokens;
    const Key key = 10 + static_cast<Key>(next_);
    const std::vector<TextRun> texts = {{key, 0, prompt_tokens}, {key + 1000, 0, output_tokens}};
    request->chain = block_runs(texts, pool_.unit_tokens());
    Request& asked = *request;
    scheduler_.add(std::move(request));
    return asked;
  }
  StepPlan plan() {
    StepPlan step;
    scheduler_.plan(step);
    check();
    return step;
  }
  // "0:8+4!": four tokens behind the first 8 of request 0, and at least one is sampled.
  static std::string told(const StepPlan& step) {
    std::string text;
    for (const Slice& slice : step.slices) {
      if (!text.empty()) text += ' ';
      text += std::to_string(static_cast<int64_t>(slice.request->number)) + ":" +
              std::to_string(slice.first) + "+" + std::to_string(slice.tokens);
      if (slice.yields) text += '!';
    }
    return text;
  }
  // All slices yield so many tokens, if they have as many rows.
  void finish(const StepPlan& step, int64_t tokens) {
    for (const Slice& slice : step.slices) {
      const int64_t yielded = scheduler_.finish(slice, std::min(tokens, 1 + slice.drafts));
      if (yielded > 0 && Scheduler::ended(*slice.request)) scheduler_.remove(*slice.request);
    }
    check();
  }
  std::string step(int64_t tokens = 1) {
    const StepPlan now = plan();
    finish(now, tokens);
    return told(now);
  }
  KvPool& pool() { return pool_; }
  Scheduler& scheduler() { return scheduler_; }

 private:
  Admitted admit(Request& request, const Fits& fits) override {
    const Found found{.gpu = pool_.find(request.chain, request.known_tokens() - 1)};
    if (!fits(found)) return {Outcome::waits};
    return {Outcome::runs, found.gpu.tokens, found.gpu.tokens};
  }
  void preempted(Request&) override {}
  void check() {
    scheduler_.check();
    pool_.check(scheduler_.holdings());
  }

  KvPool pool_;
  Settings settings_;
  Scheduler scheduler_;
  int next_ = 0;
};

Settings drafting(int64_t drafts, int64_t lookahead = 0) {
  return {.tokens = {.draft_tokens = drafts, .lookahead_tokens = lookahead}};
}

TEST(SpeculativeScheduler, ComputesDraftsBehindADecodeAndKeepsThoseThatAreAccepted) {
  Engine engine(drafting(3), 100);
  Request& request = engine.ask(8, 20);
  EXPECT_EQ(engine.step(), "0:0+8!");
  EXPECT_EQ(request.generated, 1);
  EXPECT_EQ(engine.step(3), "0:8+4!");  // two drafts and a token of its own
  EXPECT_EQ(request.generated, 4);
  EXPECT_EQ(request.computed, 11);
  EXPECT_EQ(engine.step(1), "0:11+4!");
  EXPECT_EQ(engine.step(4), "0:12+4!");
  EXPECT_EQ(engine.step(4), "0:16+4!");
  EXPECT_EQ(request.generated, 13);
}

TEST(SpeculativeScheduler, YieldsNothingBeyondTheEndOfTheAnswer) {
  Engine engine(drafting(3), 100);
  Request& request = engine.ask(8, 3);
  engine.step();
  const StepPlan last = engine.plan();
  EXPECT_EQ(Engine::told(last), "0:8+4!");
  EXPECT_EQ(engine.scheduler().finish(last.slices[0], 4), 2);
  EXPECT_TRUE(Scheduler::ended(request));
  EXPECT_EQ(request.computed, 10);  // the last token never is
  engine.scheduler().remove(request);
  EXPECT_EQ(engine.pool().held(), 0);
}

TEST(SpeculativeScheduler, CountsOnAllDraftsOfTheStepBeforeAndTakesRejectedOnesBack) {
  Engine engine(drafting(3), 100);
  Request& request = engine.ask(8, 20);
  engine.step();
  StepPlan first = engine.plan(), second = engine.plan();
  EXPECT_EQ(Engine::told(second), "0:12+4!");
  engine.finish(first, 2);
  second.settle();
  EXPECT_EQ(Engine::told(second), "0:10+4!");
  EXPECT_EQ(second.context_tokens, 14);
  StepPlan third = engine.plan();
  engine.finish(second, 4);
  third.settle();
  EXPECT_EQ(Engine::told(third), "0:14+4!");
  EXPECT_EQ(request.generated, 7);
}

// One step is sure to yield the last token; of two the first may be the last.
TEST(SpeculativeScheduler, PlansNoStepForWhoIsSureToEndBeforeIt) {
  Engine engine(drafting(3), 100);
  Request& request = engine.ask(8, 3);
  engine.step();
  StepPlan first = engine.plan(), second = engine.plan(), third = engine.plan();
  EXPECT_EQ(Engine::told(second), "0:12+4!");
  EXPECT_TRUE(third.empty());
  EXPECT_EQ(engine.scheduler().finish(first.slices[0], 2), 2);
  second.lose(request);
  EXPECT_TRUE(second.empty());
  EXPECT_EQ(second.lost.sequences, 1);
  EXPECT_EQ(second.lost.rows(), 4);
  EXPECT_EQ(second.lost.context_tokens, 14);  // 10 computed, and 4 rows
  EXPECT_EQ(second.drafts, 0);
}

TEST(SpeculativeScheduler, CutsDraftsAtTheBudgetAndAtTheLongestSequence) {
  Settings options = drafting(3);
  options.serving.max_num_batched_tokens = 6;
  Engine narrow(options, 100);
  narrow.ask(2, 20);
  narrow.ask(2, 20);
  EXPECT_EQ(narrow.step(), "0:0+2! 1:0+2!");
  EXPECT_EQ(narrow.step(), "0:2+4! 1:2+2!");
  options = drafting(3);
  options.tokens.max_model_len = 12;  // the row of its last token is never computed
  Engine shorter(options, 100);
  shorter.ask(8, 4);
  EXPECT_EQ(shorter.step(), "0:0+8!");
  EXPECT_EQ(shorter.step(), "0:8+3!");
  EXPECT_EQ(shorter.step(), "0:9+2!");
  EXPECT_EQ(shorter.step(), "0:10+1!");
}

TEST(SpeculativeScheduler, WaitsForTheStepWhereItsDraftsReachTheLongestSequence) {
  Settings options = drafting(3);
  options.tokens.max_model_len = 12;
  Engine engine(options, 100);
  engine.ask(8, 4);
  engine.step();
  StepPlan first = engine.plan();
  EXPECT_EQ(Engine::told(first), "0:8+3!");
  EXPECT_TRUE(engine.plan().empty());  // with both drafts 11 rows are computed, and the 12th never is
  engine.finish(first, 1);
  EXPECT_EQ(engine.step(), "0:9+2!");
}

// 8 + 3 tokens of the prompt's step need 3 blocks; 8 + 4 + 3 of the next one need 4.
TEST(SpeculativeScheduler, HoldsSlotsForWhatADrafterWritesAhead) {
  Engine engine(drafting(3, 3), 100);
  Request& request = engine.ask(8, 20);
  engine.step();
  EXPECT_EQ(request.holding.blocks(), 3);
  engine.step();
  EXPECT_EQ(request.holding.blocks(), 4);
  Engine without(drafting(3), 100);
  Request& other = without.ask(8, 20);
  without.step();
  EXPECT_EQ(other.holding.blocks(), 2);
  without.step();
  EXPECT_EQ(other.holding.blocks(), 3);
}

// Blocks of 4: each prompt of 8 holds two; with its drafts the first needs a third one, which the second has.
TEST(SpeculativeScheduler, PreemptsForDraftsAndKeepsTheTokensOfTheStepInFlight) {
  Engine engine(drafting(3), 6);
  Request& first = engine.ask(8, 20);
  Request& second = engine.ask(8, 20);
  engine.step();
  StepPlan now = engine.plan();
  EXPECT_EQ(Engine::told(now), "0:8+4! 1:8+4!");
  StepPlan next = engine.plan();
  EXPECT_EQ(Engine::told(next), "0:12+4!");
  EXPECT_TRUE(next.preempted);
  EXPECT_EQ(second.phase, RequestPhase::waiting);
  EXPECT_EQ(second.orphans, 1);
  engine.finish(now, 3);
  EXPECT_EQ(second.generated, 4);
  EXPECT_EQ(second.orphans, 0);
  EXPECT_EQ(first.generated, 4);
  EXPECT_EQ(first.drafts_ahead, 3);
}

// The last of 8 + 5 tokens is never computed; 3 drafts stand behind the last row, and 3 of a step planned
// ahead.
TEST(SpeculativeScheduler, KnowsTheMostSlotsOfASequence) {
  Settings options = drafting(3);
  const auto most = [&] { return Engine(options, 100).scheduler().most_slots(13); };
  EXPECT_EQ(most(), 15);
  options.serving.async_scheduling = true;
  EXPECT_EQ(most(), 18);
  options.tokens.lookahead_tokens = 3;
  EXPECT_EQ(most(), 21);
  options.tokens.max_model_len = 14;
  EXPECT_EQ(most(), 14);
  options = drafting(0);
  EXPECT_EQ(most(), 12);
}

TEST(SpeculativeScheduler, ReservesSlotsForDraftsWhereAnswersAreReserved) {
  Settings options = drafting(3);
  options.serving.admission = Admission::reserve_output;
  // 8 + 5 - 1 + 3 = 15 tokens: 4 blocks each.
  Engine roomy(options, 8), tight(options, 7);
  for (Engine* engine : {&roomy, &tight}) {
    engine->ask(8, 5);
    engine->ask(8, 5);
  }
  EXPECT_EQ(roomy.step(), "0:0+8! 1:0+8!");
  EXPECT_EQ(tight.step(), "0:0+8!");
}

// A block of generated tokens is known once its tokens are, not when drafts fill it.
TEST(SpeculativeScheduler, NamesBlocksOfTokensThatAreKnown) {
  Engine engine(drafting(3), 100);
  Request& request = engine.ask(8, 20);
  engine.step();
  StepPlan step = engine.plan();
  EXPECT_EQ(engine.pool().named_tokens(request.holding), 8);
  engine.finish(step, 4);  // 13 tokens known, 12 computed
  EXPECT_EQ(engine.pool().named_tokens(request.holding), 12);
}

}  // namespace
}  // namespace kvcap::speculative_scheduler_test
