// Laws that hold for every policy of the table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text/format.h"
#include "cost/cost_model.h"
#include "laws/machines.h"
#include "metrics/serialize.h"

namespace kvcap::laws::policy_laws_test {
namespace {

class EveryPolicy : public testing::TestWithParam<std::string_view> {
 protected:
  std::string policy() const { return std::string(GetParam()); }
  // Policies that omit tokens load less than they hit, and may be faster than ideal.
  bool lossless() const { return Machine(scenario(policy()), 1000, 1000).quality_note().empty(); }
};

INSTANTIATE_TEST_SUITE_P(Table, EveryPolicy, testing::ValuesIn(policy_names().begin(), policy_names().end()),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(EveryPolicy, LosesNoTurn) {
  const Workload workload = chats(150, 0.2);
  const RunResult result = run(scenario(policy()), workload);
  EXPECT_EQ(result.number("completed") + result.number("rejected"),
            static_cast<double>(workload.turns.size()));
  EXPECT_EQ(result.turns.size(), workload.turns.size());
  EXPECT_EQ(result.number("rejected"), 0);
}

TEST_P(EveryPolicy, LosesNoTurnWhenMemoryAndStoreAreTight) {
  Scenario tight = scenario(policy());
  tight.serving.kv_capacity_tokens = 12000;
  tight.serving.max_model_len = 6000;
  tight.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 3e9},
                        {.kind = Tier::ssd, .capacity_bytes = 6e9}};
  const Workload workload = chats(150, 1.0, 5, 2);
  const RunResult result = run(tight, workload);
  EXPECT_EQ(result.number("completed") + result.number("rejected"),
            static_cast<double>(workload.turns.size()));
  if (result.number("kv_buffer.reserved_bytes") == 0) {  // reserved blocks are never missing later
    EXPECT_GT(result.number("preemptions"), 0) << "the case is meant to be tight";
  }
  for (Tier tier : {Tier::dram, Tier::ssd}) {
    EXPECT_LE(result.number("peak_stored_bytes." + std::string(name(tier))), tier == Tier::dram ? 3e9 : 6e9);
  }
}

// Batching time is the time that other turns add to a prefill: 0 for a single turn, and otherwise a part of
// the prefill.
TEST_P(EveryPolicy, BatchesNothingWhereTurnsAreAlone) {
  Scenario one_by_one = scenario(policy());
  Workload workload = chats(30, 0.2);
  for (std::size_t i = 0; i < workload.sessions.size(); ++i) {
    workload.turns[workload.sessions[i].first_turn].time_s = 20'000.0 * static_cast<double>(i);
  }
  const std::vector<RunResult> runs = run_all({{one_by_one, workload}, {one_by_one, chats(150, 1)}});
  const double prefill_ms = runs[0].number("ttft_breakdown_ms.prefill");
  EXPECT_LE(runs[0].number("mean_batching_ms"), 1e-3 * prefill_ms);
  // A policy that restores during the prefill may hide batching time.
  const bool is_plain = policy() == "recompute" || policy() == "kv_offload" || policy() == "hcache";
  EXPECT_GE(runs[1].number("mean_batching_ms"), is_plain ? 0.5 : 0);
  EXPECT_LE(runs[1].number("mean_batching_ms"), runs[1].number("ttft_breakdown_ms.prefill"));
}

TEST_P(EveryPolicy, RepeatsItself) {
  const Case one{scenario(policy()), chats(100, 0.3)};
  const std::vector<RunResult> runs = run_all({one, one});
  EXPECT_EQ(serialize(runs[0]), serialize(runs[1]));
}

TEST_P(EveryPolicy, ReadsWhatItHits) {
  if (!lossless()) return;
  const RunResult result = run(scenario(policy()), chats(150, 0.2));
  if (result.number("stored_bytes_per_token") == 0) return;  // nothing is read
  // bytes read = hit tokens x stored bytes per token, less the tokens that adaptive computes instead
  const double stored_bytes = result.number("hit_tokens.ssd") * result.number("stored_bytes_per_token");
  EXPECT_LE(result.number("read_bytes.ssd"), stored_bytes * (1 + 1e-9));
  if (policy() == "adaptive") return;
  EXPECT_NEAR(result.number("read_bytes.ssd"), stored_bytes, 1e-9 * stored_bytes);
}

TEST_P(EveryPolicy, ObeysLittlesLaw) {
  const RunResult result = run(scenario(policy()), chats(150, 0.3));
  double time_in_system_s = 0;
  for (const TurnRecord& turn : result.turns) time_in_system_s += turn.e2el_s;
  const auto mean_of = [&](std::string_view name) {
    for (const auto& [series, values] : result.series) {
      if (series == name)
        return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    }
    return std::nan("");
  };
  // Little's law: mean number in the system = arrival rate x mean time in it
  const double expected = time_in_system_s / result.number("duration");
  EXPECT_NEAR(mean_of("waiting") + mean_of("running"), expected, 0.01 * expected);
}

TEST_P(EveryPolicy, AnswersAFirstTurnAsFastAsItsPlainPrefill) {
  Scenario one = scenario(policy());
  const RunResult result = run(one, one_turn(0, 700, 5));
  const CostModel cost(one.model, one.hardware, 1);
  EXPECT_NEAR(result.turns[0].ttft_s, cost.prefill_s({700, 0}), 1e-6);
}

TEST_P(EveryPolicy, IsNoFasterThanIdealForOneTurn) {
  if (!lossless()) return;
  for (uint32_t tokens : {100U, 1000U, 8000U}) {
    const std::vector<RunResult> runs =
        run_all({{scenario("ideal"), one_turn(tokens, 64)}, {scenario(policy()), one_turn(tokens, 64)}});
    EXPECT_GE(runs[1].turns[0].ttft_s, runs[0].turns[0].ttft_s - 1e-9) << tokens;
  }
}

TEST_P(EveryPolicy, IsNoFasterThanIdealInTheMeanUnderLoad) {
  if (!lossless()) return;
  const Workload workload = chats(300, 0.25);
  const std::vector<RunResult> runs =
      run_all({{scenario("ideal"), workload}, {scenario(policy()), workload}});
  EXPECT_GE(runs[1].number("mean_ttft_ms"), runs[0].number("mean_ttft_ms") - 1e-9);
}

TEST_P(EveryPolicy, IsNoSlowerOnFasterHardwareForOneTurn) {
  const auto faster = [&](auto change) {
    Scenario better = scenario(policy());
    change(better.hardware);
    return Case{better, one_turn(3000, 64)};
  };
  const std::vector<RunResult> runs = run_all({
      faster([](HardwareProfile&) {}),
      faster([](HardwareProfile& hardware) { hardware.gpu.peak_flops *= 1.3; }),
      faster([](HardwareProfile& hardware) { hardware.gpu.memory_bandwidth_bytes_per_s *= 1.3; }),
      faster([](HardwareProfile& hardware) { hardware.pcie.h2d_bandwidth_bytes_per_s *= 1.3; }),
      faster([](HardwareProfile& hardware) { hardware.ssd->count *= 2; }),
      faster([](HardwareProfile& hardware) { hardware.ssd->read_bandwidth_bytes_per_s *= 1.3; }),
  });
  for (std::size_t i = 1; i < runs.size(); ++i) {
    EXPECT_LE(runs[i].turns[0].ttft_s, runs[0].turns[0].ttft_s + 1e-9) << "change " << i;
  }
}

TEST_P(EveryPolicy, HitsEverythingSeenWithAnInfiniteStore) {
  const Workload workload = chats(100, 0.1);
  Scenario everything = scenario(policy());
  everything.policy.save_at =
      SaveAt::turn_end;  // stacks save whole blocks during computation, possibly of prompts only
  everything.policy.load_min_tokens = 1;
  const RunResult result = run(everything, workload);
  if (policy() == "recompute") {
    EXPECT_EQ(result.number("token_hit_rate"), 0);
    return;
  }
  double history = 0;
  double prompt = 0;
  for (const TurnRecord& turn : result.turns) {
    history += turn.history_tokens;
    prompt += turn.history_tokens + turn.input_tokens;
  }
  EXPECT_NEAR(result.number("token_hit_rate"), history / prompt, 1e-12);
}

TEST_P(EveryPolicy, BreaksTtftDownIntoPartsThatAddUp) {
  const RunResult result = run(scenario(policy()), chats(150, 0.3));
  double sum_ms = 0;
  for (const char* part : {"queue", "lookup", "load", "restore_compute", "prefill"}) {
    const double part_ms = result.number(std::string("ttft_breakdown_ms.") + part);
    EXPECT_GE(part_ms, -1e-9) << part;
    sum_ms += part_ms;
  }
  EXPECT_NEAR(sum_ms, result.number("mean_ttft_ms"), 1e-9 * sum_ms);
}

TEST_P(EveryPolicy, KeepsContextsOnTheGpuWhenThereIsATierForThem) {
  Scenario with_hbm = scenario(policy());
  // A policy that saves what the prefix cache evicts has no own part of GPU memory.
  if (with_preset(with_hbm.policy).save_at == SaveAt::eviction) return;
  with_hbm.policy.tiers = {{.kind = Tier::hbm, .capacity_bytes = 8e9}, {.kind = Tier::ssd}};
  const RunResult result = run(with_hbm, chats(100, 0.1));
  EXPECT_GT(result.number("hit_tokens.hbm"), 0);
  EXPECT_LE(result.number("peak_stored_bytes.hbm"), 8e9);
}

TEST_P(EveryPolicy, ServesWithTensorParallelism) {
  Scenario group = scenario(policy());
  group.hardware.gpu.count = 4;
  group.hardware.nvlink = Nvlink{.bandwidth_bytes_per_s = 300e9, .latency_s = 0};
  group.serving.tensor_parallel_size = 4;
  const Workload workload = chats(60, 0.1);
  const std::vector<RunResult> runs = run_all({{scenario(policy()), workload}, {group, workload}});
  EXPECT_EQ(runs[1].number("completed"), static_cast<double>(workload.turns.size()));
  EXPECT_LT(runs[1].number("mean_ttft_ms"), runs[0].number("mean_ttft_ms"));
  EXPECT_GT(runs[1].number("utilization.nvlink"), 0);
}

// ---- fidelity ----

// Returns timestamped arrivals so far apart that no turn's end delays the next arrival.
Workload timestamped(int64_t sessions) {
  Workload workload = chats(sessions, 0.3, 9);
  workload.absolute_times = true;
  for (const Session& session : workload.sessions) {
    double arrival_s = workload.turns[session.first_turn].time_s;
    for (uint32_t t = 1; t < session.turn_count; ++t) {
      arrival_s += 60;
      workload.turns[session.first_turn + t].time_s = arrival_s;
    }
  }
  return workload;
}

TEST_P(EveryPolicy, AgreesAcrossFidelitiesOnTimestampedArrivals) {
  const Workload workload = timestamped(150);
  Scenario by_request = scenario(policy());
  Scenario by_layer = by_request;
  by_layer.fidelity = Fidelity::layer;
  const std::vector<RunResult> runs = run_all({{by_request, workload}, {by_layer, workload}});
  // Blocks of answers that are saved as they fill are saved at the end of a run of steps; at layer fidelity
  // each run is one step.
  const PolicyOptions options = with_preset(by_request.policy);
  const bool in_lumps = options.save_at == SaveAt::step && options.save_generated.value_or(true);
  for (const char* same : {"hit_tokens.ssd", "read_bytes.ssd", "completed"}) {
    EXPECT_EQ(runs[0].number(same), runs[1].number(same)) << same;
  }
  EXPECT_NEAR(runs[0].number("written_bytes.ssd"), runs[1].number("written_bytes.ssd"),
              (in_lumps ? 1e-3 : 0) * runs[1].number("written_bytes.ssd"));
  EXPECT_NEAR(runs[0].number("mean_ttft_ms"), runs[1].number("mean_ttft_ms"),
              (in_lumps ? 0.04 : 0.01) * runs[1].number("mean_ttft_ms"));
  EXPECT_NEAR(runs[0].number("mean_itl_ms"), runs[1].number("mean_itl_ms"),
              0.01 * runs[1].number("mean_itl_ms"));
}

// True iff a policy's loads wait for results of computation. Other restorations load meanwhile, which one
// transfer per restoration cannot represent.
bool loads_wait(const Machine& machine, int64_t tokens) {
  if (machine.policy().traits().reuse != Reuse::stored) return false;
  const Hit hit{.tier = Tier::ssd, .tokens = tokens};
  Context context{.history_tokens = tokens, .new_tokens = 64};
  context.use[index(Tier::ssd)] = machine.policy().use({tokens, 0, tokens});
  const Restoration restoration = machine.policy().restore(context, {&hit, 1}, machine.idle_rates());
  return std::any_of(restoration.work.begin(), restoration.work.end(),
                     [](const LayerWork& work) { return work.waits; });
}

// With eight concurrent turns the restorations' work accumulates on the GPU, and steps wait for all of it.
TEST_P(EveryPolicy, AgreesAcrossFidelitiesWhenTurnsCrowd) {
  Workload crowd;
  crowd.warm_start = true;
  for (uint32_t s = 0; s < 8; ++s) {
    crowd.sessions.push_back(
        {.first_turn = s, .turn_count = 1, .context_tokens = 1500, .history_grows = false});
    crowd.turns.push_back({.input_tokens = 64, .output_tokens = 20, .time_s = 0.01 * s});
  }
  for (int64_t ssds : {1, 4}) {
    Scenario by_request = scenario(policy());
    by_request.model = llama_2_13b();
    by_request.hardware.gpu.memory_bytes = 1e12;
    by_request.hardware.ssd->count = ssds;
    if (loads_wait(Machine(by_request, crowd), 1500)) return;
    Scenario by_layer = by_request;
    by_layer.fidelity = Fidelity::layer;
    const std::vector<RunResult> runs = run_all({{by_request, crowd}, {by_layer, crowd}});
    for (const char* same : {"mean_ttft_ms", "p99_ttft_ms", "mean_e2el_ms"}) {
      EXPECT_NEAR(runs[0].number(same), runs[1].number(same), 0.03 * runs[1].number(same))
          << same << ", SSDs: " << ssds;
    }
  }
}

TEST_P(EveryPolicy, AgreesAcrossFidelitiesInAClosedLoopWithEviction) {
  Scenario by_request = scenario(policy());
  by_request.policy.tiers = {{.kind = Tier::ssd, .capacity_bytes = 20e9}};
  Scenario by_layer = by_request;
  by_layer.fidelity = Fidelity::layer;
  const Workload workload = chats(250, 0.3, 11);
  const std::vector<RunResult> runs = run_all({{by_request, workload}, {by_layer, workload}});
  EXPECT_NEAR(runs[0].number("token_hit_rate"), runs[1].number("token_hit_rate"), 0.005);
  EXPECT_NEAR(runs[0].number("mean_ttft_ms"), runs[1].number("mean_ttft_ms"),
              0.01 * runs[1].number("mean_ttft_ms"));
  EXPECT_NEAR(runs[0].number("p99_ttft_ms"), runs[1].number("p99_ttft_ms"),
              0.03 * runs[1].number("p99_ttft_ms"));
}

// With one SSD the leading layers are recomputed while hidden states are loaded.
TEST(HCache, AgreesAcrossFidelitiesWhenLayersAreRecomputed) {
  Scenario by_request = scenario("hcache");
  by_request.model = llama_2_13b();
  by_request.hardware.ssd->count = 1;
  Scenario by_layer = by_request;
  by_layer.fidelity = Fidelity::layer;
  const Workload workload = timestamped(120);
  ASSERT_GT(Machine(by_request, workload).policy().schedule(2000, Tier::ssd).recompute_layers, 0);
  const std::vector<RunResult> runs = run_all({{by_request, workload}, {by_layer, workload}});
  EXPECT_EQ(runs[0].number("read_bytes.ssd"), runs[1].number("read_bytes.ssd"));
  EXPECT_NEAR(runs[0].number("mean_ttft_ms"), runs[1].number("mean_ttft_ms"),
              0.01 * runs[1].number("mean_ttft_ms"));
}

// The second turn decodes alone: its gaps between tokens equal its TPOT, whatever the first turn's gaps were.
TEST(Serving, GapsBetweenTokensLeaveOutWarmUpTurns) {
  Workload workload;
  workload.warmup_turns = 1;
  for (uint32_t s = 0; s < 2; ++s) {
    workload.sessions.push_back({.first_turn = s, .turn_count = 1});
    workload.turns.push_back(
        {.input_tokens = s == 0 ? 4000U : 100U, .output_tokens = 50, .time_s = 1000.0 * s});
  }
  const RunResult result = run(scenario("recompute"), workload);
  EXPECT_NEAR(result.number("mean_itl_ms"), result.number("mean_tpot_ms"), 1e-3);
}

// Three concurrent turns: one runs, one waits, and the third is refused. A later turn is served.
TEST(Serving, ATurnThatFindsTheQueueFullIsRejected) {
  Workload workload;
  for (uint32_t s = 0; s < 4; ++s) {
    workload.sessions.push_back({.first_turn = s, .turn_count = 1});
    workload.turns.push_back({.input_tokens = 64, .output_tokens = 20, .time_s = s < 3 ? 0.001 * s : 60.0});
  }
  Scenario queue = scenario("recompute");
  queue.serving.max_num_seqs = 1;
  Scenario all = queue;
  queue.serving.max_queued_turns = 1;
  all.serving.max_num_queued_reqs = 2;  // counts the one that runs
  Scenario both = queue;
  both.serving.max_num_queued_reqs = 3;
  for (const Scenario& bounded : {queue, all, both}) {
    const RunResult result = run(bounded, workload);
    ASSERT_EQ(result.turns.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(result.turns[i].rejected, i == 2) << i;
  }
}

// One sequence at a time: while the first turn runs, the second and the third arrive, of which the third has
// the lower value.
TEST(Serving, ATurnOfLowerPriorityPassesOthersAndANoteGivesTheirTtfts) {
  Workload workload;
  for (uint32_t s = 0; s < 3; ++s) {
    const int16_t priority = s == 1 ? 7 : 2;
    workload.sessions.push_back({.first_turn = s, .turn_count = 1, .priority = priority});
    workload.turns.push_back({.input_tokens = 64, .output_tokens = 20, .time_s = 0.001 * s});
  }
  Scenario setting = scenario("recompute");
  setting.serving.max_num_seqs = 1;
  for (const SchedulingPolicy policy : {SchedulingPolicy::fcfs, SchedulingPolicy::priority}) {
    setting.serving.scheduling_policy = policy;
    const RunResult result = run(setting, workload);
    EXPECT_EQ(result.turns[2].ttft_s < result.turns[1].ttft_s, policy == SchedulingPolicy::priority);
    const std::string& note = result.notes.back();
    EXPECT_TRUE(note.starts_with("TTFT by priority: 2: mean ")) << note;
    EXPECT_NE(note.find(" (2 turns); 7: mean " + format_ms(1e3 * result.turns[1].ttft_s)), std::string::npos)
        << note;
  }
}

// The link idles while the buffer is full, and steps that a restoration delays end where an arrival falls
// into them.
TEST(CachedAttention, AgreesAcrossFidelitiesWithAReadBuffer) {
  Scenario by_request = scenario("cached_attention");
  by_request.hardware.ssd->read_bandwidth_bytes_per_s = 0.5e9;
  by_request.policy.read_buffer_layers = 2;
  Scenario by_layer = by_request;
  by_layer.fidelity = Fidelity::layer;
  const Workload workload = chats(100, 0.15);
  const std::vector<RunResult> runs = run_all({{by_request, workload}, {by_layer, workload}});
  for (const char* same : {"mean_ttft_ms", "p99_ttft_ms", "mean_e2el_ms"}) {
    EXPECT_NEAR(runs[0].number(same), runs[1].number(same), 1e-5 * runs[1].number(same)) << same;
  }
}

// A turn whose context is being fetched into DRAM is admitted after the step in which it arrives, at either
// fidelity.
TEST(CachedAttention, AgreesAcrossFidelitiesWhenTurnsWaitForTheirFetch) {
  Scenario by_request = scenario("cached_attention");
  by_request.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 20e9}, {.kind = Tier::ssd}};
  by_request.serving.max_num_seqs = 4;
  by_request.hardware.ssd->read_bandwidth_bytes_per_s = 0.5e9;
  by_request.policy.read_buffer_layers = 2;
  Scenario by_layer = by_request;
  by_layer.fidelity = Fidelity::layer;
  const Workload workload = chats(100, 0.2);
  const std::vector<RunResult> runs = run_all({{by_request, workload}, {by_layer, workload}});
  for (const char* same : {"mean_ttft_ms", "p99_ttft_ms", "mean_e2el_ms"}) {
    EXPECT_NEAR(runs[0].number(same), runs[1].number(same), 1e-5 * runs[1].number(same)) << same;
  }
}

// CachedAttention's look-ahead considers waiting turns only: with an empty queue it equals LRU, under
// overload it does not.
TEST(CachedAttention, IsLruWhileNobodyWaitsAndBetterWhenManyDo) {
  const auto with = [](bool look_ahead, int64_t slots) {
    Scenario tight = scenario("cached_attention");
    tight.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 8e9},
                          {.kind = Tier::ssd, .capacity_bytes = 30e9}};
    tight.policy.eviction = look_ahead ? EvictionKind::next_use : EvictionKind::lru;
    tight.policy.look_ahead = look_ahead;
    tight.serving.max_num_seqs = slots;
    return tight;
  };
  const Workload calm = chats(60, 0.02), crowd = chats(200, 2.0, 5, 2);
  const std::vector<RunResult> runs = run_all(
      {{with(true, 64), calm}, {with(false, 64), calm}, {with(true, 2), crowd}, {with(false, 2), crowd}});
  for (const char* same : {"request_hit_rate", "token_hit_rate", "mean_ttft_ms", "read_bytes.ssd"}) {
    EXPECT_EQ(runs[0].number(same), runs[1].number(same)) << same;
  }
  EXPECT_GT(runs[0].number("request_hit_rate"), 0);
  EXPECT_GT(runs[2].number("request_hit_rate"), 1.2 * runs[3].number("request_hit_rate"));
  // The next contexts have been fetched into DRAM.
  const auto dram_share = [](const RunResult& run) {
    return run.number("hit_tokens.dram") / (run.number("hit_tokens.dram") + run.number("hit_tokens.ssd"));
  };
  EXPECT_GT(dram_share(runs[2]), dram_share(runs[3]) + 0.2);
}

// A context overflow leaves stored KV valid if keys have no positions.
TEST(CachedAttention, KeepsItsHitsThroughOverflow) {
  Scenario window = scenario("cached_attention");
  window.serving.max_model_len = 1000;
  Scenario embedded = window;
  embedded.policy.decoupled_positions = false;
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 3});
  workload.turns = {{300, 300, 0}, {50, 100, 10}, {200, 100, 10}};
  const std::vector<RunResult> runs = run_all({{window, workload}, {embedded, workload}});
  // 750 + 200 + 100 > 1000: half of 750 is kept.
  EXPECT_EQ(runs[0].turns[2].hit_tokens, 375U);
  EXPECT_EQ(runs[1].turns[2].hit_tokens, 0U);
}

// An entry unused for `ttl_s` is removed; a discarded token is not part of the history.
TEST(CachedAttention, ForgetsWhatExpiresAndWhatIsDiscarded) {
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 3});
  workload.turns = {{300, 300, 0}, {50, 50, 10}, {100, 1, 100}};
  Scenario expiring = scenario("cached_attention");
  expiring.policy.ttl_s = 50;
  Scenario discarding = scenario("cached_attention");
  discarding.policy.retention = 0.5;
  const std::vector<RunResult> runs = run_all({{expiring, workload}, {discarding, workload}});
  EXPECT_EQ(runs[0].turns[1].hit_tokens, 600U);
  EXPECT_EQ(runs[0].turns[2].hit_tokens, 0U);
  EXPECT_EQ(runs[1].turns[1].history_tokens, 300U);  // of 600
  EXPECT_EQ(runs[1].turns[2].history_tokens, 200U);  // of 300 + 50 + 50
  EXPECT_EQ(runs[1].turns[2].hit_tokens, 200U);
}

// Two turns start together; the first ends after 20 tokens, and the second decodes on. The GPU waits until
// the first one's KV has been copied out, so the second ends later by 600 + 20 tokens x 524,288 bytes at 26
// GB/s, 12.5 ms. No turn waits for the second one's copy.
TEST(CachedAttention, HoldsOthersUpByTheSecondsOfABlockingSave) {
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 1}, {.first_turn = 1, .turn_count = 1}};
  workload.turns = {{600, 20, 0}, {600, 200, 0}};
  const auto saving = [](SaveMode save) {
    Scenario result = scenario("cached_attention");
    result.policy.tiers = {{.kind = Tier::dram}};
    result.policy.save = save;
    return result;
  };
  for (Fidelity fidelity : {Fidelity::request, Fidelity::layer}) {
    Scenario behind = saving(SaveMode::background), blocking = saving(SaveMode::blocking);
    behind.fidelity = blocking.fidelity = fidelity;
    const std::vector<RunResult> runs = run_all({{behind, workload}, {blocking, workload}});
    EXPECT_NEAR(runs[1].turns[0].e2el_s, runs[0].turns[0].e2el_s, 1e-9);
    const double save_s = (600 + 20) * 524288.0 / 26e9;
    EXPECT_NEAR(runs[1].turns[1].e2el_s - runs[0].turns[1].e2el_s, save_s, 1e-6);
    EXPECT_NEAR(runs[1].number("duration") - runs[0].number("duration"), save_s, 1e-6);
  }
}

// Every policy can discard tokens: cacheblend also keeps the newest half of a session. Policies that select
// tokens keep all of them and load their share.
TEST(Retention, IsOfTheHistoryForAllThatDoNotSelect) {
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 3});
  workload.turns = {{300, 300, 0}, {50, 50, 10}, {100, 1, 100}};
  const auto half = [](const std::string& policy) {
    Scenario result = scenario(policy);
    result.policy.retention = 0.5;
    return result;
  };
  const std::vector<RunResult> runs =
      run_all({{half("cacheblend"), workload}, {half("hcache"), workload}, {half("hyperinfer"), workload}});
  for (std::size_t i : {0, 1}) {
    EXPECT_EQ(runs[i].turns[1].history_tokens, 300U) << i;  // of 600
    EXPECT_EQ(runs[i].turns[2].history_tokens, 200U) << i;  // of 300 + 50 + 50
    EXPECT_EQ(runs[i].turns[2].hit_tokens, 200U) << i;
  }
  EXPECT_EQ(runs[2].turns[2].history_tokens, 700U);
  EXPECT_EQ(runs[2].number("used_tokens.ssd"), 300 + 350);  // of 600 and 700
}

// The first session's only token comes from its restoration during a step of the second session. Its next
// turn arrives immediately, before that step has ended.
TEST(Serving, ATurnMayFollowAnAnswerThatARestorationGave) {
  Workload workload;
  workload.warm_start = true;
  workload.sessions = {{.first_turn = 0, .turn_count = 3, .context_tokens = 600, .history_grows = false},
                       {.first_turn = 3, .turn_count = 1},
                       {.first_turn = 4, .turn_count = 1}};
  workload.turns = {{20, 1, 0.002}, {20, 1, 1e-5}, {20, 1, 1e-5}, {8000, 40, 0}, {8000, 40, 0.003}};
  std::swap(workload.sessions[0], workload.sessions[1]);  // in order of arrival
  for (Fidelity fidelity : {Fidelity::request, Fidelity::layer}) {
    Scenario fused = scenario("cached_attention");
    fused.policy.tiers = {{.kind = Tier::dram}};
    fused.policy.ideal_load = true;
    fused.fidelity = fidelity;
    const RunResult result = run(fused, workload);
    EXPECT_EQ(result.number("completed"), 5);
  }
}

// No eviction policy has more hits than Belady's, which uses future accesses; infinite room hits all tokens
// seen.
TEST(Bounds, BeladyIsAboveEveryEvictionAndInfiniteRoomAboveBelady) {
  const Workload workload = chats(150, 0.2);
  std::vector<Case> cases;
  for (const EvictionRow& row : kEvictions) {
    Scenario tight = scenario("kv_offload");
    tight.policy.tiers = {{.kind = Tier::ssd, .capacity_bytes = 20e9, .eviction = row.kind}};
    cases.push_back({tight, workload});
  }
  const auto belady = static_cast<std::size_t>(EvictionKind::belady);
  Scenario infinite = scenario("kv_offload");
  infinite.policy.tiers = {{.kind = Tier::ssd, .capacity_bytes = 20e9}};
  infinite.policy.unbounded = true;
  cases.push_back({infinite, workload});
  Scenario ideal = scenario("ideal");
  cases.push_back({ideal, workload});
  const std::vector<RunResult> runs = run_all(cases);
  const auto hits = [&](std::size_t i) { return runs[i].number("token_hit_rate"); };
  for (std::size_t i = 0; i < kEvictions.size(); ++i) {
    EXPECT_GE(hits(belady), hits(i)) << kEvictionNames[i];
  }
  EXPECT_GT(hits(kEvictions.size()), hits(belady));
  EXPECT_EQ(hits(kEvictions.size()), hits(kEvictions.size() + 1));
}

// The GPU's memory keeps its size: only host tiers become infinite.
TEST(Bounds, InfiniteRoomIsBehindTheGpu) {
  Scenario infinite = scenario("kv_offload");
  infinite.policy.tiers = {{.kind = Tier::hbm, .capacity_bytes = 4e9},
                           {.kind = Tier::ssd, .capacity_bytes = 4e9}};
  infinite.policy.unbounded = true;
  const RunResult result = run(infinite, chats(100, 0.2));
  EXPECT_LE(result.number("peak_stored_bytes.hbm"), 4e9);
  EXPECT_GT(result.number("peak_stored_bytes.ssd"), 4e9);
}

}  // namespace
}  // namespace kvcap::laws::policy_laws_test
