// The engine's stories, on a World that is simple enough to follow by hand.
#include "engine/instance.h"

#include <gtest/gtest.h>

#include <numeric>

#include "engine/step_time.h"
#include "fleet/fleet.h"
#include "laws/machines.h"
#include "unit/fake_world.h"

namespace kvcap::instance_test {
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
  Engine(const Scenario& scenario, const Workload& workload, World& world, const KeepingOptions& keeping = {})
      : machine_(scenario, workload),
        step_time_(machine_.step_time(scenario.serving)),
        store_(machine_.tiers()),
        recorder_(static_cast<int64_t>(workload.turns.size())) {
    const LinkObserver observer = [](Resource, double, double, double) {};
    if (workload.warm_start) {
      for (std::size_t i = 0; i < workload.sessions.size(); ++i) {
        const Key key = context_text(workload, static_cast<uint32_t>(i));
        const int64_t tokens = workload.sessions[i].context_tokens;
        if (tokens > 0 && !store_.find(key)) store_.preload(key, tokens);
      }
    }
    const EngineModel model{
        .serving = &scenario.serving,
        .keeping = &keeping,
        .cost = &machine_.cost(),
        .step_time = &step_time_,
        .policy = &machine_.policy(),
        .route = [this](Tier from, Tier to) -> const Route& { return machine_.route(from, to); },
        .kv_layout = &machine_.kv_layout(),
        .kv_capacity_tokens = machine_.kv_capacity_tokens(),
        .max_model_len = machine_.max_model_len()};
    Fleet fleet({.world = &world,
                 .stores = {&store_, 1},
                 .make_restorer =
                     [&](std::size_t) {
                       return make_restorer(scenario.fidelity, world.node(0), machine_.idle_rates(), observer,
                                            nullptr);
                     },
                 .instance = {.engine = &model,
                              .workload = &workload,
                              .recorder = &recorder_,
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
  // To write so many tokens to the SSD.
  double save_s(int64_t tokens) const {
    const Policy& policy = machine_.policy();
    const Route& route = machine_.route(Tier::hbm, Tier::ssd);
    return route.latency_s +
           route.seconds(static_cast<double>(tokens) * policy.traits().stored_bytes_per_token,
                         policy.save_requests(tokens));
  }

 private:
  Machine machine_;
  StepTime step_time_;
  NodeStore store_;
  Recorder recorder_;
};

Engine serve(const Scenario& scenario, const Workload& workload, const KeepingOptions& keeping = {}) {
  FakeWorld world;
  return Engine(scenario, workload, world, keeping);
}

// An engine of today: a prefix cache, and steps that are planned ahead where a test says so.
Scenario caching(const std::string& policy, int64_t kv_tokens = 0) {
  Scenario result = scenario(policy);
  result.serving.prefix_caching = true;
  if (kv_tokens > 0) result.serving.kv_capacity_tokens = kv_tokens;
  return result;
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

// ---- loads ----

// Session 0 decodes while session 1 loads 4,000 tokens.
Workload one_decodes_one_loads() {
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 1},
                       {.first_turn = 1, .turn_count = 1, .context_tokens = 4000, .history_grows = false}};
  workload.turns = {{64, 200, 0}, {64, 1, 0.5}};
  workload.warm_start = true;
  return workload;
}

TEST(Instance, LetsOthersComputeWhileAContextIsLoadedOrLetsAllWait) {
  const double load_s = 4000 * 524288 / 26e9;
  const Engine parked = serve(caching("kv_offload"), one_decodes_one_loads());
  const Engine blocking = serve(caching("kv_offload"), one_decodes_one_loads(), {.load = LoadMode::blocking});
  const auto e2el_s = [](const Engine& engine) { return engine.result.turns[0].e2el_s; };
  // One step of request 0 has request 1's prompt beside it, now at a shorter context.
  EXPECT_NEAR(e2el_s(blocking) - e2el_s(parked), load_s, 1e-4);
  EXPECT_NEAR(blocking.result.turns[1].load_s, load_s, 1e-6);
  EXPECT_NEAR(parked.result.turns[1].load_s, load_s, 1e-6);
}

TEST(Instance, LoadsADocumentOnceForAllWhoWaitForIt) {
  Workload workload;
  for (uint32_t i = 0; i < 3; ++i) {
    workload.sessions.push_back({.first_turn = i, .turn_count = 1, .context_tokens = 4000, .document = 0});
    workload.turns.push_back({64, 1, 0.01 * i});
  }
  workload.warm_start = true;
  const double document_bytes = 4000 * 524288.0;
  const Engine engine = serve(caching("kv_offload"), workload);
  EXPECT_NEAR(engine.result.number("read_bytes.ssd"), document_bytes, 1);
  EXPECT_EQ(engine.result.turns[2].hit_tokens, 4000U);
  // What is no KV yet when it has been loaded is found by nobody: request 2 comes while it is projected.
  workload.turns[2].time_s = 0.06;
  Scenario projecting = caching("hcache");
  projecting.policy.split = Split::hidden_only;
  const Engine projects = serve(projecting, workload);
  EXPECT_NEAR(projects.result.number("read_bytes.ssd"), document_bytes / 2, 1);
  // Where nobody may find what another has brought back, nobody waits for it.
  const Engine inexact = serve(caching("kv_offload"), workload, {.exact = false});
  EXPECT_NEAR(inexact.result.number("read_bytes.ssd"), 3 * document_bytes, 1);
  for (const TurnRecord& turn : inexact.result.turns) EXPECT_LT(turn.ttft_s - turn.service_ttft_s, 0.03);
}

TEST(Instance, DelaysATurnByTheLookUpOfTheIndexAndNoMore) {
  for (const uint32_t others : {0U, 1U}) {
    // Alone, and while another request decodes.
    std::vector<Ask> list = {{5, 500, 1}};
    if (others > 0) list.insert(list.begin(), {0, 64, 1000});
    const Engine at_once = serve(caching("recompute"), asks(list));
    const Engine looks_up = serve(caching("recompute"), asks(list), {.lookup_s = 0.2});
    const TurnRecord& without = at_once.result.turns[others];
    const TurnRecord& with = looks_up.result.turns[others];
    const double step_s = others * 0.02;
    EXPECT_NEAR(with.ttft_s, without.ttft_s + 0.2, 1e-9 + step_s);
    EXPECT_NEAR(with.service_ttft_s, without.service_ttft_s + 0.2, 1e-9 + step_s);
    EXPECT_FLOAT_EQ(with.lookup_s, 0.2F);
  }
}

// Little's law: the mean number of turns x the duration is the sum of their latencies. The engine sees the
// third turn when the first one's last step ends, after it has admitted the second.
TEST(Instance, CountsATurnThatComesDuringAStepBesideThoseWhoWaitedThen) {
  Scenario ahead = caching("recompute");
  ahead.serving.async_scheduling = true;
  for (int i = 0; i < 20; ++i) {
    // The last step lasts from 0.271 to 0.280 s; in some cases the index answers the second turn within it.
    const double third_s = 0.261 + 0.001 * i;
    const Workload workload = asks({{0, 64, 21}, {third_s - 0.106, 64, 5}, {third_s, 64, 5}});
    const RunResult result = serve(ahead, workload, {.lookup_s = 0.1}).result;
    double inside = 0, latencies_s = 0;
    for (const auto& [name, means] : result.series) {
      if (name != "waiting" && name != "running") continue;
      inside += std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size());
    }
    for (const TurnRecord& turn : result.turns) latencies_s += turn.e2el_s;
    EXPECT_NEAR(inside * result.number("duration"), latencies_s, 1e-6) << third_s;
  }
}

// A request that is preempted though it runs alone, because a parked one holds blocks, makes room for that.
TEST(Instance, ServesAParkedRequestWhenTheOnlyOneThatRanIsPreempted) {
  int64_t preemptions = 0;
  for (const double arrival_s : {0.44, 0.46, 0.48, 0.50, 0.52, 0.54}) {
    Workload workload;
    workload.sessions = {{.first_turn = 0, .turn_count = 1},
                         {.first_turn = 1, .turn_count = 1, .context_tokens = 4000, .history_grows = false}};
    // Request 0 has some ten blocks when request 1 comes, which needs 260 of 270 and loads 250; it has more
    // when they have arrived.
    workload.turns = {{100, 250, 0}, {160, 1, arrival_s}};
    workload.warm_start = true;
    const Engine engine = serve(caching("kv_offload", 270 * 16), workload);
    EXPECT_EQ(engine.result.number("completed"), 2);
    preemptions += static_cast<int64_t>(engine.result.number("preemptions"));
  }
  EXPECT_GT(preemptions, 0);
}

// ---- saves ----

// Request 0 leaves 512 tokens, of which 511 have been computed: 32 of 40 blocks. Request 1 needs as many.
TEST(Instance, GivesBlocksToOthersWhenTheyHaveBeenSaved) {
  const Workload workload = asks({{0, 511, 1}, {0.001, 500, 1}});
  const auto first_s = [](const Engine& engine) { return engine.cost().prefill_s({511, 0}) - 0.001; };
  const auto own_s = [](const Engine& engine) { return engine.cost().prefill_s({500, 0}); };
  const Engine keeps = serve(caching("kv_offload", 640), workload);
  EXPECT_NEAR(keeps.result.turns[1].ttft_s, first_s(keeps) + keeps.save_s(512) + own_s(keeps), 1e-9);
  // What is copied from elsewhere holds nobody up.
  const Engine copies = serve(caching("kv_offload", 640), workload, {.keeps_kv = false});
  EXPECT_NEAR(copies.result.turns[1].ttft_s, first_s(copies) + own_s(copies), 1e-9);
  // Saved as they become full: 31 blocks.
  const Engine steps = serve(caching("kv_offload", 640), workload, {.save_at = SaveAt::step});
  EXPECT_NEAR(steps.result.turns[1].ttft_s, first_s(steps) + steps.save_s(496) + own_s(steps), 1e-9);
}

TEST(Instance, SavesFullBlocksOfPromptsAloneWhereItIsToldSo) {
  const auto written = [](const KeepingOptions& keeping) {
    const Engine engine = serve(caching("kv_offload"), asks({{0, 500, 100}, {5, 64, 1}}), keeping);
    return engine.result.number("written_bytes.ssd") / 524288;
  };
  // 599 computed tokens: 37 blocks; of the prompt 31. What the last request leaves is on its way at the end.
  EXPECT_NEAR(written({.save_at = SaveAt::step}), 592, 1e-6);
  EXPECT_NEAR(written({.save_at = SaveAt::step, .save_generated = false}), 496, 1e-6);
  EXPECT_NEAR(written({.save_at = SaveAt::turn_end}), 600, 1e-6);
}

TEST(Instance, SavesAContextThatEnoughTurnsHaveLeft) {
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 3}, {.first_turn = 3, .turn_count = 1}};
  workload.turns = {{500, 100, 0}, {100, 100, 1}, {100, 100, 1}, {1, 1, 100}};
  for (const SaveAt save_at : {SaveAt::turn_end, SaveAt::step}) {
    const auto written = [&](int64_t after) {
      return serve(caching("kv_offload"), workload, {.save_at = save_at, .store_after_hits = after})
                 .result.number("written_bytes.ssd") /
             524288;
    };
    const bool whole = save_at == SaveAt::turn_end;
    EXPECT_NEAR(written(0), whole ? 1000 : 992, 1e-6);  // all of it, once
    EXPECT_NEAR(written(2), whole ? 1000 : 992, 1e-6);
    EXPECT_EQ(written(3), 0);
  }
}

TEST(Instance, SavesWhatThePrefixCacheEvicts) {
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 2}, {.first_turn = 2, .turn_count = 1}};
  workload.turns = {{320, 1, 0}, {20, 1, 5}, {480, 1, 1}};
  const Engine engine = serve(caching("kv_offload", 640), workload, {.save_at = SaveAt::eviction});
  // 20 blocks are cached when request 1 needs 30 of 40: the last ten go, and the text as far as they reach.
  EXPECT_NEAR(engine.result.number("written_bytes.ssd"), 320 * 524288.0, 1);
  const auto& turns = engine.result.turns;
  const auto again =
      std::find_if(turns.begin(), turns.end(), [](const TurnRecord& one) { return one.turn == 1; });
  EXPECT_EQ(again->hit_tokens, 320U);
  EXPECT_EQ(again->tier_hit_tokens[index(Tier::hbm)], 160U);
  EXPECT_EQ(again->tier_hit_tokens[index(Tier::ssd)], 160U);
}

// Two sessions leave 400 tokens each, of 512 KiB.
struct Written {
  double dram = 0, ssd = 0;
};
Written written_by_two(double dram_tokens, bool inclusive, WriteMode write) {
  constexpr double kTokenBytes = 524288;
  Scenario tiered = scenario("kv_offload");
  tiered.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = dram_tokens * kTokenBytes},
                         {.kind = Tier::ssd}};
  tiered.policy.inclusive = inclusive;
  tiered.policy.write = write;
  // The last turn, which finds nothing and leaves too much for DRAM, waits until all is written.
  const RunResult result = laws::run(tiered, asks({{0, 300, 100}, {10, 300, 100}, {60, 1, 1}}));
  return {result.number("written_bytes.dram") / kTokenBytes,
          result.number("written_bytes.ssd") / kTokenBytes};
}

TEST(Instance, CountsTheBytesThatEachTierIsWritten) {
  // Room for both: the nearest tier alone is written.
  Written written = written_by_two(1000, false, WriteMode::back);
  EXPECT_NEAR(written.dram, 800, 1e-6);
  EXPECT_EQ(written.ssd, 0);
  // Room for one: the first moves down when the second is saved.
  written = written_by_two(500, false, WriteMode::back);
  EXPECT_NEAR(written.dram, 800, 1e-6);
  EXPECT_NEAR(written.ssd, 400, 1e-6);
  // Each is written to both tiers at once, and leaves DRAM at no cost.
  written = written_by_two(500, true, WriteMode::through);
  EXPECT_NEAR(written.dram, 800, 1e-6);
  EXPECT_NEAR(written.ssd, 800, 1e-6);
}

// Three sessions take turns in a DRAM that holds one and a half of their contexts, so that every load from
// the one SSD displaces what has grown since it was last there.
RunResult in_turns(double dram_bytes, bool inclusive, WriteMode write, double ssd_bytes) {
  Scenario tiered = scenario("kv_offload");
  tiered.hardware.ssd->count = 1;
  tiered.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = dram_bytes},
                         {.kind = Tier::ssd, .capacity_bytes = ssd_bytes}};
  tiered.policy.inclusive = inclusive;
  tiered.policy.write = write;
  Workload workload;
  for (uint32_t s = 0; s < 3; ++s) {
    workload.sessions.push_back({.first_turn = 4 * s, .turn_count = 4});
    for (uint32_t t = 0; t < 4; ++t) {
      workload.turns.push_back({.input_tokens = 600, .output_tokens = 8, .time_s = t == 0 ? 10.0 * s : 30});
    }
  }
  return laws::run(tiered, workload);
}

TEST(Instance, LoadsNoSlowerBecauseOfWhatTheLoadDisplacesFromDram) {
  constexpr double kTokenBytes = 524288;
  const RunResult no_dram = in_turns(kTokenBytes, true, WriteMode::back, 4e12);
  for (bool inclusive : {false, true}) {
    for (WriteMode write : {WriteMode::back, WriteMode::through, WriteMode::eager}) {
      // The smaller SSD is full from the second turns on.
      for (double ssd_bytes : {4e12, 8000 * kTokenBytes}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(write)) +
                     (inclusive ? ", inclusive, " : ", exclusive, ") + std::to_string(ssd_bytes));
        const RunResult run = in_turns(3000 * kTokenBytes, inclusive, write, ssd_bytes);
        EXPECT_GT(run.number("hit_tokens.ssd"), 1000);
        EXPECT_GE(run.number("token_hit_rate"), no_dram.number("token_hit_rate"));
        ASSERT_EQ(run.turns.size(), no_dram.turns.size());
        for (std::size_t i = 0; i < run.turns.size(); ++i) {
          EXPECT_LE(run.turns[i].load_s, no_dram.turns[i].load_s * (1 + 1e-6)) << "turn " << i;
        }
      }
    }
  }
}

TEST(Instance, CountsTheBytesThatWaitToBeWrittenAtOneTime) {
  // Each of two saves of 400 tokens has ended long before the next begins.
  const RunResult result =
      laws::run(scenario("kv_offload"), asks({{0, 300, 100}, {10, 300, 100}, {60, 1, 1}}));
  EXPECT_NEAR(result.number("saves_waiting_bytes"), 400 * 524288.0, 1);
}

// Two all-reduces of 500 rows of 8,192 bytes in each of 32 layers.
TEST(Instance, KeepsNvlinkBusyForTwoAllReducesALayer) {
  Scenario two = scenario("recompute");
  two.hardware.gpu.count = 2;
  two.hardware.nvlink = Nvlink{300e9, 8e-6};
  two.serving.tensor_parallel_size = 2;
  const RunResult result = laws::run(two, asks({{0, 500, 1}}));
  const double one_s = 500 * 8192 / 300e9 + 8e-6;
  EXPECT_NEAR(result.number("utilization.nvlink") * result.number("duration"), 2 * 32 * one_s, 1e-9);
}

TEST(Instance, CountsTheTokensOfAHitThatTakePartInTheTurn) {
  Scenario important = scenario("hyperinfer");
  important.policy.tiers = {{.kind = Tier::dram}};
  const RunResult result = laws::run(important, one_turn(1000, 64));
  EXPECT_EQ(result.number("hit_tokens.dram"), 1000);
  EXPECT_EQ(result.number("used_tokens.dram"), 1000 - 750);
}

TEST(Instance, LeavesNothingOutOfWhatThePrefixCacheHas) {
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 2}, {.first_turn = 2, .turn_count = 1}};
  workload.turns = {{320, 1, 0}, {20, 1, 5}, {480, 1, 1}};
  const Engine engine = serve(caching("as_like", 640), workload);
  const auto& turns = engine.result.turns;
  const auto again =
      std::find_if(turns.begin(), turns.end(), [](const TurnRecord& one) { return one.turn == 1; });
  // Half of its history is still cached, half is loaded; this policy uses all that it finds.
  EXPECT_EQ(again->tier_hit_tokens[index(Tier::hbm)], 160U);
  EXPECT_EQ(again->tier_used_tokens[index(Tier::hbm)], 160U);
  EXPECT_EQ(again->tier_used_tokens[index(Tier::ssd)], 160U);
}

// What is evicted of a chain that has ended is not taken for the one that began anew.
TEST(Instance, DoesNotFindTheOldChainOfAHistoryThatLostItsFront) {
  Scenario window = caching("kv_offload", 1280);
  window.serving.max_model_len = 1000;
  window.serving.max_num_seqs = 1;
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 3},
                       {.first_turn = 3, .turn_count = 1},
                       {.first_turn = 4, .turn_count = 1}};
  workload.turns = {{300, 300, 0}, {50, 100, 1}, {200, 100, 6}, {100, 890, 9}, {64, 50, 9.5}};
  const Engine engine = serve(window, workload, {.save_at = SaveAt::eviction});
  // 47 blocks of the session are cached when its third turn arrives and loses its front; request 1, which
  // decodes, has 62 of 80 blocks in the end. While the last request is served the old ones reach the SSD.
  const auto& turns = engine.result.turns;
  const auto cut =
      std::find_if(turns.begin(), turns.end(), [](const TurnRecord& one) { return one.turn == 2; });
  EXPECT_EQ(cut->history_tokens, 375U);
  EXPECT_GT(cut->ttft_s - cut->service_ttft_s, 1);  // waits for request 1
  EXPECT_EQ(cut->hit_tokens, 0U);
}

TEST(Instance, GoesOnWhenTheFirstOfSeveralBlockingSavesHasEnded) {
  // Requests 0 and 1 end in one step, and the GPU waits for both saves; request 2 waits for their blocks.
  const Engine engine = serve(caching("kv_offload", 640), asks({{0, 256, 1}, {0, 256, 1}, {0.001, 500, 1}}),
                              {.blocking_save = true});
  EXPECT_EQ(engine.result.number("completed"), 3);
  const double saves_s = 2 * engine.save_s(257);
  EXPECT_NEAR(engine.result.turns[2].service_ttft_s, engine.cost().prefill_s({500, 0}), 1e-9);
  EXPECT_GT(engine.result.turns[2].ttft_s, saves_s + engine.cost().prefill_s({500, 0}));
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
