// The engine's stories, on a World that is simple enough to follow by hand.
#include "serving/instance.h"

#include <gtest/gtest.h>

#include "laws/machines.h"
#include "serving/fleet.h"
#include "unit/fake_world.h"

namespace kvcap {
namespace {

using laws::one_turn;
using laws::scenario;

// One turn per entry, all without history, arriving at their times.
struct Ask {
  double arrival_s;
  uint32_t input_tokens, output_tokens;
};
Workload asks(const std::vector<Ask>& list) {
  Workload workload;
  for (const Ask& ask : list) {
    workload.sessions.push_back(
        {.first_turn = static_cast<uint32_t>(workload.turns.size()), .turn_count = 1});
    workload.turns.push_back({ask.input_tokens, ask.output_tokens, ask.arrival_s});
  }
  return workload;
}

class Engine {
 public:
  Engine(const Scenario& scenario, const Workload& workload, World& world)
      : machine_(scenario, workload),
        store_(machine_.tiers()),
        recorder_(static_cast<int64_t>(workload.turns.size())) {
    const LinkObserver observer = [](Resource, double, double, double) {};
    if (workload.warm_start) {
      for (std::size_t i = 0; i < workload.sessions.size(); ++i) {
        if (workload.sessions[i].context_tokens > 0) store_.preload(i, workload.sessions[i].context_tokens);
      }
    }
    Fleet fleet(
        {.world = &world,
         .stores = {&store_, 1},
         .make_restorer =
             [&](std::size_t) {
               return make_restorer(scenario.fidelity, world.node(0), machine_.idle_rates(), observer, nullptr);
             },
         .instance = {
             .workload = &workload,
             .cost = &machine_.cost(),
             .policy = &machine_.policy(),
             .recorder = &recorder_,
             .route = [this](Tier from, Tier to) -> const Route& { return machine_.route(from, to); },
             .serving = scenario.serving,
             .kv_capacity_tokens = machine_.kv_capacity_tokens(),
             .max_model_len = machine_.max_model_len(),
             .fidelity = scenario.fidelity,
             .check_invariants = true}});
    world.run([&](double now_s) { return fleet.advance(now_s); });
    RunFacts facts;
    facts.scenario_json = "{}";
    facts.duration_s = fleet.ended_s();
    result = recorder_.finish(facts);
  }

  RunResult result;
  const CostModel& cost() const { return machine_.cost(); }

 private:
  Machine machine_;
  NodeStore store_;
  Recorder recorder_;
};

Engine serve(const Scenario& scenario, const Workload& workload) {
  FakeWorld world;
  return Engine(scenario, workload, world);
}

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

// Where no two lanes share a link the simple World and SimGrid must tell the same story.
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
}  // namespace kvcap
