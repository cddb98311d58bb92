// Loads and saves of an engine, on a World that is simple enough to follow by hand.
#include <cmath>

#include "unit/served_workload.h"

namespace kvcap::instance_loads_test {
namespace {

using namespace served_workload;

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

// Its weights take most of a step of request 0, so all its steps take nearly the same time.
double decode_step_s() {
  const Engine alone = serve(caching("recompute"), asks({{0, 64, 200}}));
  const TurnRecord& decodes = alone.result.turns[0];
  return (decodes.e2el_s - decodes.ttft_s) / 199;
}

// The load begins when the running step has ended, and the next step computes both requests.
TEST(Instance, RunsARequestInTheStepThatHasWaitedForItsLoad) {
  const double load_s = 4000 * 524288 / 26e9;
  const auto ttft_s = [](const KeepingOptions& keeping) {
    return serve(caching("kv_offload"), one_decodes_one_loads(), keeping).result.turns[1].ttft_s;
  };
  const Engine engine = serve(caching("kv_offload"), one_decodes_one_loads(), {.load = LoadMode::blocking});
  const double step_s = decode_step_s();
  const double rest_s = step_s - std::fmod(0.5 - engine.result.turns[0].ttft_s, step_s);
  const double both_s = engine.result.turns[1].ttft_s - rest_s - load_s;
  EXPECT_GT(both_s, step_s);
  EXPECT_LT(both_s, 1.8 * step_s);
  // All copies have been made before they have been enqueued.
  EXPECT_NEAR(ttft_s({.load = LoadMode::blocking, .load_enqueue_s = load_s + 1}) -
                  ttft_s({.load = LoadMode::blocking}),
              1, 1e-6);
  EXPECT_EQ(ttft_s({.load = LoadMode::blocking, .load_enqueue_s = load_s / 2}),
            ttft_s({.load = LoadMode::blocking}));
}

// The first answer after the load of session 1, which ends in the middle of a step of session 0.
double ttft_beside_s(bool async, const KeepingOptions& keeping) {
  Scenario beside = caching("kv_offload");
  beside.serving.async_scheduling = async;
  return serve(beside, one_decodes_one_loads(), keeping).result.turns[1].ttft_s;
}

TEST(Instance, LearnsOfALoadOneStepLaterAndTwoWhereStepsArePlannedAhead) {
  const double step_s = decode_step_s();
  EXPECT_NEAR(ttft_beside_s(false, {.polled_loads = true}) - ttft_beside_s(false, {}), step_s, 0.02 * step_s);
  EXPECT_NEAR(ttft_beside_s(true, {.polled_loads = true}) - ttft_beside_s(true, {}), 2 * step_s,
              0.04 * step_s);
}

TEST(Instance, AsksForLoadsAtOnceWhereNoStepRuns) {
  Workload loads_alone = one_decodes_one_loads();
  loads_alone.turns[1].time_s = 100;
  const auto load_s = [&](const KeepingOptions& keeping) {
    return serve(caching("kv_offload"), loads_alone, keeping).result.turns[1].ttft_s;
  };
  EXPECT_DOUBLE_EQ(load_s({.polled_loads = true}), load_s({}));
}

constexpr KeepingOptions prefetching(PrefetchOnArrival how) {
  return {.prefetch_on_arrival = how, .loads_first_tier_only = true};
}

// As one_decodes_one_loads(), but the DRAM is full of the context of a session between the two.
Workload one_loads_from_ssd(double at_s) {
  Workload workload = one_decodes_one_loads();
  workload.sessions.push_back(workload.sessions[1]);
  workload.sessions[2].first_turn = 2;
  workload.turns[1].time_s = 0.1;
  workload.turns.push_back({64, 1, at_s});
  return workload;
}

TEST(Instance, MovesAContextToDramOnceTheSchedulerHasLookedItUp) {
  constexpr double kBytes = 4000 * 524288.0;
  Scenario tiered = caching("kv_offload");
  tiered.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 1.5 * kBytes}, {.kind = Tier::ssd}};
  const auto serve_with = [&](const Workload& workload, PrefetchOnArrival how) {
    return serve(tiered, workload, prefetching(how)).result;
  };
  const Workload alone = one_loads_from_ssd(100);
  const RunResult looked_up = serve_with(alone, PrefetchOnArrival::at_lookup);
  const RunResult on_arrival = serve_with(alone, PrefetchOnArrival::wait);
  EXPECT_EQ(looked_up.turns[2].tier_hit_tokens[index(Tier::dram)], 4000U);
  EXPECT_DOUBLE_EQ(looked_up.turns[2].ttft_s, on_arrival.turns[2].ttft_s);
  // Beside another request the lookup waits for the end of a step, and its answer for the end of the next
  // one.
  const Workload beside = one_loads_from_ssd(0.5);
  const double late_s = serve_with(beside, PrefetchOnArrival::at_lookup).turns[2].ttft_s -
                        serve_with(beside, PrefetchOnArrival::wait).turns[2].ttft_s;
  const double steps = late_s / decode_step_s();
  EXPECT_NEAR(steps, std::round(steps), 0.05);
  EXPECT_GE(std::round(steps), 1);
  EXPECT_LE(std::round(steps), 2);
}

TEST(Instance, WaitsForAPrefetchNoLongerThanTheLeastOfItsTimeouts) {
  Scenario tiered = caching("kv_offload");
  tiered.hardware.ssd->count = 1;
  tiered.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 1.5 * 4000 * 524288.0}, {.kind = Tier::ssd}};
  const auto wait_s = [&](double timeout_s, double per_token_s, double max_s) {
    KeepingOptions keeping = prefetching(PrefetchOnArrival::timeout);
    keeping.prefetch_timeout_s = timeout_s;
    keeping.prefetch_timeout_s_per_token = per_token_s;
    keeping.prefetch_timeout_max_s = max_s;
    const TurnRecord turn = serve(tiered, one_loads_from_ssd(100), keeping).result.turns[2];
    return turn.ttft_s - turn.service_ttft_s;
  };
  // The prompt has 4,064 tokens. One SSD would take 0.3 s.
  EXPECT_NEAR(wait_s(0.01, 1e-5, 1), 0.01 + 4064 * 1e-5, 1e-6);
  EXPECT_NEAR(wait_s(0.01, 1e-5, 0.03), 0.03, 1e-6);
}

TEST(Instance, PrefetchesNoFewerTokensThanTheMinimum) {
  Scenario tiered = caching("kv_offload");
  tiered.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 1.5 * 4000 * 524288.0}, {.kind = Tier::ssd}};
  const auto found = [&](int64_t min_tokens) {
    KeepingOptions keeping = prefetching(PrefetchOnArrival::wait);
    keeping.prefetch_min_tokens = min_tokens;
    return serve(tiered, one_loads_from_ssd(100), keeping).result.turns[2].tier_hit_tokens[index(Tier::dram)];
  };
  EXPECT_EQ(found(4000), 4000U);
  EXPECT_EQ(found(4001), 0U);
}

TEST(Instance, BeginsNoPrefetchWhileOthersTakeTheCapacity) {
  // DRAM holds two contexts: those of the sessions 0 and 1, until 2 and 3 come, together or one after the
  // other.
  Scenario tiered = caching("kv_offload");
  tiered.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 2.2 * 4000 * 524288.0}, {.kind = Tier::ssd}};
  const auto found = [&](int64_t capacity_tokens, double last_s) {
    KeepingOptions keeping = prefetching(PrefetchOnArrival::wait);
    keeping.prefetch_capacity_tokens = capacity_tokens;
    Workload workload;
    workload.warm_start = true;
    for (uint32_t i = 0; i < 4; ++i) {
      workload.sessions.push_back(
          {.first_turn = i, .turn_count = 1, .context_tokens = 4000, .history_grows = false});
      workload.turns.push_back({64, 1, i < 2 ? 50.0 * i : 100});
    }
    workload.turns[3].time_s = last_s;
    const std::vector<TurnRecord> turns = serve(tiered, workload, keeping).result.turns;
    return std::pair(turns[2].tier_hit_tokens[index(Tier::dram)],
                     turns[3].tier_hit_tokens[index(Tier::dram)]);
  };
  using Tokens = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(found(1, 100), Tokens(4000, 0));
  // The first one counts with its whole prompt of 4,064 tokens, until it waits no more.
  EXPECT_EQ(found(4064, 100), Tokens(4000, 0));
  EXPECT_EQ(found(4065, 100), Tokens(4000, 4000));
  EXPECT_EQ(found(1, 150), Tokens(4000, 4000));
  EXPECT_EQ(found(0, 150), Tokens(0, 0));
}

TEST(Instance, DoesNotLookForWhatTheGpuHas) {
  // Both turns of a session: the second one's context is on the GPU and, saved, on the SSD.
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 2}};
  workload.turns = {{1024, 16, 0}, {64, 1, 10}};
  const auto ttft_s = [&](const KeepingOptions& keeping) {
    return serve(caching("kv_offload"), workload, keeping).result.turns[1].ttft_s;
  };
  EXPECT_DOUBLE_EQ(ttft_s(prefetching(PrefetchOnArrival::at_lookup)), ttft_s({}));
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

}  // namespace
}  // namespace kvcap::instance_loads_test
