// Steps, admission, restorations and the prefix cache of an engine, on a World that is simple enough to
// follow by hand.
#include "unit/served_workload.h"

namespace kvcap::instance_test {
namespace {

using namespace served_workload;

TEST(Instance, AnswersATurnInPrefillAndDecodeSteps) {
  const Engine engine = serve(scenario("recompute"), asks({{1.0, 500, 3}}));
  const TurnRecord& turn = engine.result.turns[0];
  const double prefill_s = engine.cost().prefill_s({500, 0});
  EXPECT_NEAR(turn.ttft_s, prefill_s, 1e-9);
  EXPECT_NEAR(turn.service_ttft_s, prefill_s, 1e-9);
  // two more tokens over 501 and 502 tokens of context
  EXPECT_NEAR(turn.e2el_s,
              prefill_s + engine.cost().decode_step_s(1, 501) + engine.cost().decode_step_s(1, 502), 1e-9);
}

// The second prompt is tokenized when the first one is; the API server has both at once.
TEST(Instance, TokenizesOnePromptAfterAnother) {
  Scenario busy = scenario("recompute");
  busy.serving.request_overhead_s = 0.5;
  busy.serving.request_overhead_s_per_token = 1e-3;
  const Engine engine = serve(busy, asks({{0, 100, 1}, {0.05, 200, 1}}));
  const double first_s = engine.cost().prefill_s({100, 0});
  const double second_s = engine.cost().prefill_s({200, 0});
  EXPECT_NEAR(engine.result.turns[0].ttft_s, 0.1 + 0.5 + first_s, 1e-9);
  EXPECT_NEAR(engine.result.turns[1].ttft_s, (0.1 + 0.2 - 0.05) + 0.5 + second_s, 1e-9);
}

// Of the prompt's token and of two that follow, 32,000 logits each.
TEST(Instance, FiltersTheLogitsOfEveryTokenThatItDraws) {
  Scenario greedy = scenario("recompute");
  Scenario drawn = greedy;
  drawn.serving.sampling = Sampling{.top_p = 0.9};
  EXPECT_EQ(serve(drawn, asks({{0, 100, 3}})).result.turns[0].e2el_s,
            serve(greedy, asks({{0, 100, 3}})).result.turns[0].e2el_s)
      << "no kernel, no time";
  drawn.serving.sampling->method = SamplerKernel::sort;
  const SamplerTime time = sampler_time(SamplerKernel::sort);
  EXPECT_NEAR(serve(drawn, asks({{0, 100, 3}})).result.turns[0].e2el_s -
                  serve(greedy, asks({{0, 100, 3}})).result.turns[0].e2el_s,
              3 * (time.fixed_s + 32000 * time.per_logit_s), 1e-9);
}

TEST(Instance, SplitsALongPromptIntoStepsOfTheTokenBudget) {
  Scenario chunked = scenario("recompute");
  chunked.serving.max_num_batched_tokens = 256;
  const Engine engine = serve(chunked, asks({{0, 600, 1}}));
  const CostModel& cost = engine.cost();
  // 256 + 256 + 88 tokens
  const double expected_s = 32 * (cost.prefill_layer_s({256, 0}) + cost.prefill_layer_s({256, 256}) +
                                  cost.prefill_layer_s({88, 512})) +
                            cost.head_s(1);
  EXPECT_NEAR(engine.result.turns[0].ttft_s, expected_s, 1e-9);
}

TEST(Instance, KeepsDecodingWhileAPromptIsPrefilledInChunks) {
  Scenario chunked = scenario("recompute");
  chunked.serving.max_num_batched_tokens = 128;
  const Engine engine = serve(chunked, asks({{0, 100, 200}, {0.5, 4000, 1}}));
  // No gap of the first turn is longer than one step of 128 rows over 4,000 cached tokens.
  const double longest_s =
      32 * (engine.cost().linear_layer_s(128) + engine.cost().attention_layer_s({127, 4000}) +
            engine.cost().decode_attention_layer_s(1).fixed_s +
            300 * engine.cost().decode_attention_layer_s(1).per_context_token_s) +
      engine.cost().head_s(2);
  EXPECT_LE(engine.result.number("p99_itl_ms") / 1e3, longest_s * 1.01);
}

TEST(Instance, AdmitsNoMoreThanItsSequencesAndInOrder) {
  Scenario narrow = scenario("recompute");
  narrow.serving.max_num_seqs = 1;
  const Engine engine = serve(narrow, asks({{0, 100, 50}, {0.01, 100, 50}, {0.02, 100, 50}}));
  const auto& turns = engine.result.turns;
  for (std::size_t i = 1; i < turns.size(); ++i) {
    const double admitted_s = turns[i].arrival_s + turns[i].ttft_s - turns[i].service_ttft_s;
    EXPECT_NEAR(admitted_s, turns[i - 1].arrival_s + turns[i - 1].e2el_s, 1e-9);
  }
}

TEST(Instance, PreemptsTheLastAdmittedWhenMemoryRunsOutAndFinishesIt) {
  Scenario tight = scenario("recompute");
  tight.serving.kv_capacity_tokens = 1600;
  const Engine engine = serve(tight, asks({{0, 700, 600}, {0.001, 700, 600}}));
  EXPECT_GE(engine.result.number("preemptions"), 1);
  EXPECT_EQ(engine.result.number("completed"), 2);
  EXPECT_LT(engine.result.turns[0].e2el_s, engine.result.turns[1].e2el_s);
}

TEST(Instance, RefusesATurnThatCanNeverFitAndEndsItsSession) {
  Scenario small = scenario("recompute");
  small.serving.kv_capacity_tokens = 1000;
  Workload workload = asks({{0, 2000, 10}, {1, 100, 10}});
  workload.turns.push_back({50, 5, 1});
  workload.sessions[0] = {.first_turn = 0, .turn_count = 1};
  workload.sessions[1] = {.first_turn = 1, .turn_count = 2};
  const Engine engine = serve(small, workload);
  EXPECT_EQ(engine.result.number("rejected"), 1);
  EXPECT_EQ(engine.result.number("completed"), 2);
}

// The offered load counts turns that never arrive, with the histories that they would have.
TEST(Instance, RecordsTheTurnsThatNeverArriveWithTheirHistories) {
  Scenario small = scenario("recompute");
  small.serving.max_queued_turns = 0;
  small.serving.max_num_seqs = 1;
  Workload workload = asks({{0, 100, 500}});
  workload.turns.insert(workload.turns.end(), {{50, 5, 0.1}, {60, 7, 1}, {70, 9, 1}});
  workload.sessions.push_back({.first_turn = 1, .turn_count = 3, .context_tokens = 40});
  const Engine engine = serve(small, workload);
  EXPECT_EQ(engine.result.number("rejected"), 3);
  const auto& turns = engine.result.turns;
  ASSERT_EQ(turns.size(), 4U);
  EXPECT_EQ(turns[1].history_tokens, 40U);
  EXPECT_EQ(turns[2].history_tokens, 95U);
  EXPECT_EQ(turns[3].history_tokens, 162U);
  EXPECT_EQ(turns[3].input_tokens, 70U);
  small.serving.max_model_len = 200;
  EXPECT_EQ(serve(small, workload).result.turns[3].history_tokens, 81U) << "half, to fit the window";
}

TEST(Instance, DropsTheOldestHalfOfAHistoryThatOutgrowsTheWindow) {
  Scenario window = scenario("kv_offload");
  window.serving.max_model_len = 1000;
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 3});
  workload.turns = {{300, 300, 0}, {50, 100, 1}, {200, 100, 1}};
  const Engine engine = serve(window, workload);
  const auto& turns = engine.result.turns;
  EXPECT_EQ(turns[1].history_tokens, 600U);
  EXPECT_EQ(turns[1].hit_tokens, 600U);
  // 750 + 200 + 100 > 1000: half of 750 is kept, and what was stored is void
  EXPECT_EQ(turns[2].history_tokens, 375U);
  EXPECT_EQ(turns[2].hit_tokens, 0U);
  EXPECT_EQ(engine.result.number("completed"), 3);
}

// Prompts that the source gives as a whole cannot lose their history; their answers end at the window.
TEST(Instance, EndsTheAnswerToAWholePromptAtTheWindow) {
  Scenario window = scenario("recompute");
  window.serving.max_model_len = 1000;
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 2, .history_grows = false});
  workload.turns = {{700, 500, 0}, {800, 100, 1}};
  workload.pieces = {{7, 700}, {7, 700}, {8, 100}};
  workload.piece_begin = {0, 1, 3};
  const Engine engine = serve(window, workload);
  // 700 + 500 > 1000: 300 tokens are answered, and the session goes on.
  EXPECT_EQ(engine.result.turns[0].output_tokens, 300U);
  EXPECT_TRUE(engine.result.turns[0].truncated);
  EXPECT_EQ(engine.result.turns[1].output_tokens, 100U);
  EXPECT_EQ(engine.result.number("truncated"), 1);
  EXPECT_EQ(engine.result.number("completed"), 2);

  window.serving.overflow = Overflow::reject;
  EXPECT_EQ(serve(window, workload).result.number("rejected"), 2) << "the session's other turn as well";
}

TEST(Instance, RestoresBeforeItPrefills) {
  const Engine engine = serve(scenario("kv_offload"), one_turn(2000, 100));
  const double load_s = 2000 * 524288 / 26e9;
  EXPECT_NEAR(engine.result.turns[0].ttft_s, load_s + engine.cost().prefill_s({100, 2000}), 1e-9);
  EXPECT_NEAR(engine.result.turns[0].load_s, load_s, 1e-6);
}

// A restoration's computation goes first on the GPU: the others' steps are longer by exactly its seconds.
TEST(Instance, HoldsStepsUpByTheSecondsThatRestorationsCompute) {
  // Session 0 decodes 400 tokens; session 1 brings 4,000 tokens back meanwhile.
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 1},
                       {.first_turn = 1, .turn_count = 1, .context_tokens = 4000, .history_grows = false}};
  workload.turns = {{64, 400, 0}, {64, 1, 0.5}};
  workload.warm_start = true;
  for (Fidelity fidelity : {Fidelity::request, Fidelity::layer}) {
    Scenario projecting = scenario("hcache");
    projecting.policy.split = Split::hidden_only;
    projecting.fidelity = fidelity;
    Scenario loading = projecting;
    loading.policy.name = "kv_offload";
    const Engine with = serve(projecting, workload);
    const Engine without = serve(loading, workload);
    const double compute_s = 32 * with.cost().project_kv_layer_s(4000);
    EXPECT_NEAR(with.result.turns[0].e2el_s - without.result.turns[0].e2el_s, compute_s, 0.002 * compute_s);
  }
}

TEST(Instance, CountsWhatFoundTokensSpareTheGpusAndWhatBringingThemBackCosts) {
  const auto saved_s = [](const Engine& engine) { return 3600 * engine.result.number("saved_gpu_hours"); };
  const Engine loads = serve(scenario("kv_offload"), one_turn(4096, 100, 5));
  const double prefill_s = static_cast<double>(loads.cost().model().num_hidden_layers) *
                           loads.cost().prefill_layer_s({.new_tokens = 4096, .cached_tokens = 0});
  EXPECT_NEAR(saved_s(loads), prefill_s, 1e-12);  // loading computes nothing
  const Engine projects = serve(scenario("hcache"), one_turn(4096, 100, 5));
  EXPECT_GT(saved_s(projects), 0.5 * prefill_s);
  EXPECT_LT(saved_s(projects), 0.95 * prefill_s);  // projections
  EXPECT_EQ(saved_s(serve(scenario("recompute"), one_turn(4096, 100, 5))), 0);
  EXPECT_NEAR(saved_s(serve(scenario("ideal"), one_turn(4096, 100, 5))), prefill_s, 1e-12);
  // Fused: the new tokens' prefill beside the loads is no part of what was brought back.
  Scenario preloads = scenario("kv_offload");
  preloads.policy.preload = Preload::layerwise;
  EXPECT_NEAR(saved_s(serve(preloads, one_turn(4096, 100, 5))), prefill_s, 1e-9 * prefill_s);
}

// ---- steps ----

TEST(Instance, ComputesAPromptThatArrivesDuringAStepInTheNextOneOrIfItPlansAheadInTheOneAfter) {
  // Request 1 comes while the prompt of request 0 is computed.
  const Workload workload = asks({{0, 100, 20}, {0.001, 100, 1}});
  for (const bool async : {false, true}) {
    Scenario planning = caching("recompute");
    planning.serving.async_scheduling = async;
    const Engine engine = serve(planning, workload);
    const CostModel& cost = engine.cost();
    const StepTime step(cost, {});
    const std::vector<PrefillChunk> prompt = {{100, 0}};
    const int64_t context_tokens = async ? 102 : 101;
    double expected_s = cost.prefill_s({100, 0}) - 0.001 + step.mixed_s(prompt, 1, context_tokens, 2);
    if (async) expected_s += cost.decode_step_s(1, 101);
    EXPECT_NEAR(engine.result.turns[1].ttft_s, expected_s, 1e-9);
  }
}

TEST(Instance, AddsTheHostsTimeToAStepOrHidesItUnderTheGpus) {
  // The GPU computes the prompt in some 30 ms and decodes in some 9 ms; the host takes 10 ms and 1 ms a
  // sequence.
  for (const bool async : {false, true}) {
    Scenario slow = caching("recompute");
    slow.serving.async_scheduling = async;
    slow.serving.step_overhead_s = 0.010;
    slow.serving.step_overhead_per_sequence_s = 0.001;
    const Engine engine = serve(slow, asks({{0, 500, 3}}));
    const double prefill_s = engine.cost().prefill_s({500, 0});
    const double decodes_s = engine.cost().decode_step_s(1, 501) + engine.cost().decode_step_s(1, 502);
    ASSERT_GT(prefill_s, 0.011);
    ASSERT_LT(decodes_s, 2 * 0.011);
    const TurnRecord& turn = engine.result.turns[0];
    EXPECT_NEAR(turn.ttft_s, prefill_s + (async ? 0 : 0.011), 1e-9);
    EXPECT_NEAR(turn.e2el_s - turn.ttft_s, async ? 2 * 0.011 : decodes_s + 2 * 0.011, 1e-9);
  }
}

// Two wait in both steps of the first request, one in the second's.
TEST(Instance, TakesTimeOfEveryStepForEachRequestThatWaits) {
  Scenario slow = caching("recompute");
  slow.serving.async_scheduling = false;
  slow.serving.max_num_seqs = 1;
  slow.serving.waiting_overhead_s = 0.01;
  const Engine engine = serve(slow, asks({{0, 500, 2}, {0, 500, 1}, {0, 500, 1}}));
  const double prefill_s = engine.cost().prefill_s({500, 0});
  const double decode_s = engine.cost().decode_step_s(1, 501);
  const std::vector<TurnRecord>& turns = engine.result.turns;
  EXPECT_NEAR(turns[0].ttft_s, prefill_s + 0.02, 1e-9);
  EXPECT_NEAR(turns[0].e2el_s - turns[0].ttft_s, decode_s + 0.02, 1e-9);
  EXPECT_NEAR(turns[1].ttft_s - turns[0].e2el_s, prefill_s + 0.01, 1e-9);
  EXPECT_NEAR(turns[2].ttft_s - turns[1].ttft_s, prefill_s, 1e-9);
}

TEST(Instance, PutsARequestIntoTheQueueAfterTheTimeOfTheApi) {
  Scenario slow = caching("recompute");
  slow.serving.request_overhead_s = 0.25;
  const Engine engine = serve(slow, asks({{1, 500, 1}, {2, 500, 40}, {2.3, 100, 1}}));
  const double prefill_s = engine.cost().prefill_s({500, 0});
  EXPECT_NEAR(engine.result.turns[0].ttft_s, 0.25 + prefill_s, 1e-9);
  EXPECT_NEAR(engine.result.turns[0].service_ttft_s, prefill_s, 1e-9);
  // While request 1 decodes, too: no run of steps hides the date at which request 2 joins.
  EXPECT_GT(engine.result.turns[2].ttft_s, 0.25);
  EXPECT_LT(engine.result.turns[2].ttft_s,
            0.25 + 3 * engine.cost().decode_step_s(1, 540) + engine.cost().prefill_s({100, 0}));
}

TEST(InstanceDeathTest, StopsWhenTimeGoesBack) {
  class BackwardWorld : public FakeWorld {
    void run(std::function<double(double)> loop) override {
      loop(2.0);
      loop(1.0);
    }
  };
  BackwardWorld world;
  EXPECT_DEATH(Engine(scenario("recompute"), asks({{10, 500, 3}}), world), "bug: INV-CLOCK is broken");
}

// ---- the prefix cache ----

// Growing sessions about one document, one after the other.
TEST(Instance, FindsADocumentThatAnotherSessionHasGrownOn) {
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 2, .context_tokens = 100, .document = 0},
                       {.first_turn = 2, .turn_count = 1, .context_tokens = 100, .document = 0}};
  workload.turns = {{50, 30, 0}, {10, 5, 1}, {50, 30, 5}};
  const Engine engine = serve(caching("recompute"), workload);
  const auto& turns = engine.result.turns;
  EXPECT_EQ(turns[0].hit_tokens, 0U);
  // 100 + 50 + 30 tokens, of which the last was never computed: 11 blocks of 16.
  EXPECT_EQ(turns[1].history_tokens, 180U);
  EXPECT_EQ(turns[1].hit_tokens, 176U);
  // The document's six full blocks; the seventh goes on with the other session's text.
  EXPECT_EQ(turns[2].hit_tokens, 96U);
}

TEST(Instance, FindsTheBlocksOfItsParentOnEveryBranch) {
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 4}};
  workload.turns = {{100, 60, 0}, {40, 50, 1}, {40, 50, 2}, {10, 5, 3}};
  workload.parents = {kNoParent, 0, 0, 2};
  const Engine engine = serve(caching("recompute"), workload);
  const auto& turns = engine.result.turns;
  // 159 tokens were computed: nine blocks. The first branch computes the last one, and so the second finds
  // all of its parent's ten blocks, and none of the first branch.
  EXPECT_EQ(turns[1].hit_tokens, 144U);
  EXPECT_EQ(turns[2].hit_tokens, 160U);
  // Behind the second branch: 160 + 40 + 49 tokens, of which 15 blocks are full.
  EXPECT_EQ(turns[3].hit_tokens, 240U);
}

TEST(Instance, BeginsANewChainWithAHistoryThatLostItsFront) {
  Scenario window = caching("recompute");
  window.serving.max_model_len = 1000;
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 4});
  workload.turns = {{300, 300, 0}, {50, 100, 1}, {200, 100, 1}, {20, 5, 1}};
  const Engine engine = serve(window, workload);
  const auto& turns = engine.result.turns;
  EXPECT_EQ(turns[1].hit_tokens, 592U);  // 599 of 600 were computed
  // 750 + 200 + 100 > 1000: half of 750 is kept, behind nothing.
  EXPECT_EQ(turns[2].history_tokens, 375U);
  EXPECT_EQ(turns[2].hit_tokens, 0U);
  EXPECT_EQ(turns[3].history_tokens, 675U);
  EXPECT_EQ(turns[3].hit_tokens, 672U);
}

// ---- the real World ----

// Where no two lanes share a link the simple World and SimGrid must tell the same story.
TEST(Instance, TellsTheSameStoryOnTheFakeWorldAndOnSimGrid) {
  for (const std::string policy : {"recompute", "kv_offload", "hcache"}) {
    const Workload workload = laws::chats(60, 0.2);
    Scenario wide = scenario(policy);
    wide.hardware.ssd->count = 16;  // reading and writing at PCIe's speed, the SSDs have room for both
    const Engine fake = serve(wide, workload);
    const RunResult real = laws::run(wide, workload);
    ASSERT_EQ(fake.result.turns.size(), real.turns.size());
    for (std::size_t i = 0; i < real.turns.size(); ++i) {
      ASSERT_NEAR(fake.result.turns[i].ttft_s, real.turns[i].ttft_s, 1e-6) << policy << " turn " << i;
      ASSERT_EQ(fake.result.turns[i].hit_tokens, real.turns[i].hit_tokens);
    }
  }
}

}  // namespace
}  // namespace kvcap::instance_test
