// Laws of the tiers below the GPU, for every policy that uses them: faster and larger tiers do not hurt, no
// tier is written faster than its devices allow, nothing is read twice, and capacities of inclusive tiers do
// not add up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "laws/machines.h"
#include "laws/paired.h"

namespace kvcap::laws::tier_laws_test {
namespace {

// A policy of the table, and whether the engine has a prefix cache.
using Setting = std::tuple<std::string_view, bool>;

std::vector<std::string_view> policies_with_tiers() {
  std::vector<std::string_view> names;
  for (std::string_view name : policy_names()) {
    if (Machine(scenario(std::string(name)), 1000, 1000).has_host_tier()) names.push_back(name);
  }
  return names;
}

PolicyOptions options_of(std::string_view policy) { return with_preset({.name = std::string(policy)}); }

// Returns the settings with tiers. Without a prefix cache the GPU evicts nothing, and a policy that saves on
// eviction saves nothing.
std::vector<Setting> settings_with_tiers() {
  std::vector<Setting> settings;
  for (std::string_view name : policies_with_tiers()) {
    if (options_of(name).save_at != SaveAt::eviction) settings.emplace_back(name, false);
    settings.emplace_back(name, true);
  }
  return settings;
}

// Returns a machine with grouped-query attention, on which one SSD loads a token's KV in a fifth of the time
// of its computation. The GPU holds little more than the running requests need.
Scenario loading_machine(const Setting& setting) {
  const std::string policy(std::get<0>(setting));
  Scenario result = scenario(policy);
  result.model = llama_3_8b();
  result.hardware.ssd->count = 1;
  result.hardware.ssd->capacity_bytes = 4e9;
  result.hardware.pcie = {.h2d_bandwidth_bytes_per_s = 13e9, .d2h_bandwidth_bytes_per_s = 13e9};
  result.serving.prefix_caching = std::get<1>(setting);
  // A static graph reserves its whole window for every sequence.
  const bool has_windows = policy.starts_with("npu_");
  result.serving.max_model_len = has_windows ? 6144 : 8192;
  result.serving.kv_capacity_tokens = has_windows ? 4 * 2 * 6144 : 16384;
  result.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 1e9}, {.kind = Tier::ssd}};
  // With an empty queue, a prefetch that the turn does not wait for has no effect.
  if (options_of(policy).loads_first_tier_only) result.policy.prefetch_on_arrival = PrefetchOnArrival::wait;
  return result;
}

class TieredPolicy : public testing::TestWithParam<Setting> {
 protected:
  std::string policy() const { return std::string(std::get<0>(GetParam())); }
  bool prefix_caching() const { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Table, TieredPolicy, testing::ValuesIn(settings_with_tiers()),
                         [](const auto& setting) {
                           return std::string(std::get<0>(setting.param)) +
                                  (std::get<1>(setting.param) ? "_with_prefix_caching" : "");
                         });

// ---- faster and larger tiers ----

TEST_P(TieredPolicy, IsNoSlowerWithMoreDramMoreSsdsOrFasterLinks) {
  const std::vector<std::pair<const char*, void (*)(Scenario&)>> changes = {
      {"four times the DRAM", [](Scenario& it) { it.policy.tiers->front().capacity_bytes = 4e9; }},
      {"twice the SSDs", [](Scenario& it) { it.hardware.ssd->count *= 2; }},
      {"twice the SSD read bandwidth",
       [](Scenario& it) { it.hardware.ssd->read_bandwidth_bytes_per_s *= 2; }},
      {"twice the PCIe bandwidth",
       [](Scenario& it) {
         it.hardware.pcie.h2d_bandwidth_bytes_per_s *= 2;
         it.hardware.pcie.d2h_bandwidth_bytes_per_s *= 2;
       }},
  };
  std::vector<Scenario> settings(1 + changes.size(), loading_machine(GetParam()));
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i].second(settings[i + 1]);
  const auto runs = run_paired(settings, [](uint64_t seed) { return chats(60, 0.25, seed, 40); });
  // Prefetched contexts are found in DRAM.
  const bool prefetches = options_of(policy()).loads_first_tier_only.value_or(false);
  double ssd_hits = 0;
  for (const RunResult& run : runs[0])
    ssd_hits += run.number(prefetches ? "hit_tokens.dram" : "hit_tokens.ssd");
  ASSERT_GT(ssd_hits, 10000);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const MeanInterval more_ms = difference(runs[i + 1], runs[0], "mean_ttft_ms");
    EXPECT_FALSE(clearly_positive(more_ms))
        << changes[i].first << ": " << more_ms.mean << " ± " << more_ms.half_width << " ms";
  }
}

// Returns sessions with equal distances and equal think times: DRAM that is too small for all of them has
// lost each context before its next use, and its loads displace other contexts.
Workload periodic(uint64_t seed) {
  Workload workload = chats(60, 0.5, seed, 40);
  for (std::size_t s = 0; s < workload.sessions.size(); ++s) {
    workload.turns[workload.sessions[s].first_turn].time_s = 2.0 * static_cast<double>(s);
  }
  return workload;
}

// Compares DRAM for a few contexts and for all with no DRAM, over an SSD with room and over one that evicts.
TEST_P(TieredPolicy, IsNoSlowerWithMoreDramWhereThinkTimesAreAllTheSame) {
  // A policy that loads only from DRAM finds nothing without DRAM.
  const bool prefetches = options_of(policy()).loads_first_tier_only.value_or(false);
  // Moving a context to DRAM once it has been looked up, and loading it from there, may take longer than its
  // prefill; more DRAM lets more contexts take that way.
  const bool moves_late = options_of(policy()).prefetch_on_arrival == PrefetchOnArrival::at_lookup;
  for (double ssd_bytes : {4e12, 3e9}) {
    std::vector<Scenario> settings;
    for (double dram_bytes : {prefetches ? 0.5e9 : 1e6, 1e9, 20e9}) {
      settings.push_back(loading_machine(GetParam()));
      settings.back().policy.tiers = {{.kind = Tier::dram, .capacity_bytes = dram_bytes},
                                      {.kind = Tier::ssd, .capacity_bytes = ssd_bytes}};
    }
    const auto runs = run_paired(settings, periodic);
    for (std::size_t i = 1; i < settings.size(); ++i) {
      SCOPED_TRACE(std::to_string(i) + " over " + std::to_string(ssd_bytes));
      for (const char* metric : {"mean_ttft_ms", "mean_restore_ms"}) {
        // A setting with more hits restores more.
        const bool finds_more = ssd_bytes < 4e12 || prefetches;
        if (finds_more && std::string_view(metric) == "mean_restore_ms") continue;
        if (moves_late && i == 1) continue;
        const MeanInterval more_ms = difference(runs[i], runs[0], metric);
        EXPECT_FALSE(clearly_positive(more_ms))
            << metric << " " << more_ms.mean << " ± " << more_ms.half_width;
      }
      const MeanInterval more_hits = difference(runs[i], runs[0], "token_hit_rate");
      EXPECT_FALSE(clearly_negative(more_hits)) << more_hits.mean << " ± " << more_hits.half_width;
    }
  }
}

// Copies below DRAM do not displace other contexts, whether the SSD is large, smaller than DRAM, or slow to
// write.
TEST_P(TieredPolicy, FindsAsMuchWithCopiesBelowDramAsWithout) {
  if (options_of(policy()).write != WriteMode::eager) GTEST_SKIP() << "the preset says when it writes";
  for (const auto& [ssd_bytes, write_bytes_per_s] :
       {std::pair{4e12, 1e9}, {4e9, 1e9}, {1e9, 1e9}, {4e12, 50e6}}) {
    Scenario eager = loading_machine(GetParam());
    eager.hardware.ssd->write_bandwidth_bytes_per_s = write_bytes_per_s;
    eager.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 2e9},
                          {.kind = Tier::ssd, .capacity_bytes = ssd_bytes}};
    Scenario back = eager;
    back.policy.write = WriteMode::back;
    const auto runs = run_paired({eager, back}, periodic);
    const MeanInterval more_hits = difference(runs[0], runs[1], "token_hit_rate");
    EXPECT_FALSE(clearly_negative(more_hits)) << ssd_bytes << " B, " << write_bytes_per_s
                                              << " B/s: " << more_hits.mean << " ± " << more_hits.half_width;
  }
}

// ---- writes ----

// Returns a machine whose SSDs write a tenth of what the GPU computes.
Scenario slow_writer(const Setting& setting, bool has_dram) {
  Scenario result = loading_machine(setting);
  result.hardware.ssd->capacity_bytes = 4e12;
  result.hardware.ssd->write_bandwidth_bytes_per_s = 20e6;
  result.policy.tiers = {{.kind = Tier::ssd}};
  if (has_dram) result.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 0.5e9}, {.kind = Tier::ssd}};
  return result;
}

// Returns the bytes of the largest context: an empty write queue accepts one save of any size.
double largest_context_bytes(const Workload& workload, double bytes_per_token) {
  int64_t most = 0;
  for (const Session& session : workload.sessions) {
    const std::vector<int64_t> histories = workload.histories_of(session);
    for (uint32_t turn = 0; turn < session.turn_count; ++turn) {
      const Turn& one = workload.turns_of(session)[turn];
      most = std::max(most, histories[turn] + one.input_tokens + one.output_tokens);
    }
  }
  return static_cast<double>(most) * bytes_per_token;
}

void expect_writes_within_bandwidth(const Scenario& machine, const Workload& workload, const RunResult& run) {
  const HardwareProfile& hardware = machine.hardware;
  const double duration_s = run.number("duration");
  const double ssd_bytes_per_s =
      static_cast<double>(hardware.ssd->count) * hardware.ssd->write_bandwidth_bytes_per_s;
  const double d2h_bytes_per_s = hardware.pcie.d2h_bandwidth_bytes_per_s;
  const bool has_dram = machine.policy.tiers->size() == 2;
  EXPECT_LE(run.number("written_bytes.ssd"), ssd_bytes_per_s * duration_s * (1 + 1e-9));
  // DRAM receives saves over PCIe and contexts fetched from SSD.
  EXPECT_LE(run.number("written_bytes.dram"),
            (d2h_bytes_per_s + hardware.ssd->read_bandwidth_bytes_per_s) * duration_s * (1 + 1e-9));
  // Each route into a tier has a queue of write_queue_s on its slowest device, and accepts at most one save
  // more than that: GPU to SSD, and with DRAM also DRAM to SSD and GPU to DRAM.
  const double queue_s = machine.policy.write_queue_s.value_or(1);
  const double context_bytes = largest_context_bytes(workload, run.number("stored_bytes_per_token"));
  double queues_bytes = queue_s * ssd_bytes_per_s + context_bytes;
  if (has_dram) queues_bytes += queues_bytes + queue_s * d2h_bytes_per_s + context_bytes;
  EXPECT_LE(run.number("saves_waiting_bytes"), queues_bytes);
}

TEST_P(TieredPolicy, WritesNoMoreThanItsDevicesDoAndRefusesTheRest) {
  const Workload workload = chats(60, 0.5, 3, 5);
  for (bool has_dram : {false, true}) {
    const Scenario machine = slow_writer(GetParam(), has_dram);
    const RunResult result = run(machine, workload);
    SCOPED_TRACE(has_dram ? "DRAM and SSD" : "SSD alone");
    expect_writes_within_bandwidth(machine, workload, result);
    EXPECT_GT(result.number("saves_refused"), 0);
    EXPECT_EQ(result.number("completed"), static_cast<double>(workload.turns.size()));
  }
}

TEST_P(TieredPolicy, LetsNoMoreWaitToBeWrittenTheLongerItRuns) {
  for (bool has_dram : {false, true}) {
    const Scenario machine = slow_writer(GetParam(), has_dram);
    const std::vector<RunResult> runs =
        run_all({{machine, chats(60, 0.5, 3, 5)}, {machine, chats(240, 0.5, 3, 5)}});
    const double largest_bytes =
        largest_context_bytes(chats(240, 0.5, 3, 5), runs[0].number("stored_bytes_per_token"));
    // Contexts differ in size, and so does the save that an empty queue accepts.
    EXPECT_LE(runs[1].number("saves_waiting_bytes"),
              runs[0].number("saves_waiting_bytes") + 3 * largest_bytes);
    EXPECT_GT(runs[1].number("saves_refused"), 2 * runs[0].number("saves_refused"));
  }
}

TEST_P(TieredPolicy, RefusesNothingWhereDevicesKeepUp) {
  Scenario machine = loading_machine(GetParam());
  machine.hardware.ssd->capacity_bytes = 4e12;
  const RunResult result = run(machine, chats(40, 0.3, 3, 5));
  EXPECT_EQ(result.number("saves_refused"), 0);
}

TEST(WriteQueue, HoldsForEveryTimeAndWayOfSaving) {
  const Workload workload = chats(60, 0.5, 3, 5);
  for (SaveAt when : {SaveAt::turn_end, SaveAt::step, SaveAt::eviction}) {
    for (WriteMode how : {WriteMode::back, WriteMode::through}) {
      for (bool inclusive : {false, true}) {
        Scenario machine = slow_writer({"kv_offload", true}, true);
        machine.policy.save_at = when;
        machine.policy.write = how;
        machine.policy.inclusive = inclusive;
        const RunResult result = run(machine, workload);
        SCOPED_TRACE(std::to_string(static_cast<int>(when)) + ", " + std::to_string(static_cast<int>(how)) +
                     (inclusive ? ", inclusive" : ", exclusive"));
        expect_writes_within_bandwidth(machine, workload, result);
        EXPECT_GT(result.number("saves_refused"), 0);
      }
    }
  }
}

// Many short contexts fill the pool, and one long prompt needs all of it within a few steps. Its evictions
// are saved as far as the queue has room, as if the contexts had been evicted one after the other.
TEST(WriteQueue, HoldsWhatOneStepEvictsToTheSameBound) {
  Scenario machine = slow_writer({"kv_offload", true}, false);
  machine.policy.save_at = SaveAt::eviction;
  machine.serving.max_num_batched_tokens = 8192;
  constexpr uint32_t kShort = 120;
  Workload workload;
  for (uint32_t s = 0; s <= kShort; ++s) {
    const bool is_long = s == kShort;
    workload.sessions.push_back({.first_turn = s, .turn_count = 1});
    workload.turns.push_back(
        {.input_tokens = is_long ? 8000U : 200U, .output_tokens = 4, .time_s = is_long ? 100.0 : 0.1 * s});
  }
  const RunResult result = run(machine, workload);
  EXPECT_GT(result.number("saves_refused"), 0);
  const double bytes_per_s = machine.hardware.ssd->write_bandwidth_bytes_per_s;
  EXPECT_LE(result.number("saves_waiting_bytes"),
            bytes_per_s * 1 + 204 * result.number("stored_bytes_per_token"));
}

// A prompt of many pieces is saved as many concurrent parts.
TEST(WriteQueue, HoldsTheManyPartsOfOneSaveToTheSameBound) {
  Scenario machine = slow_writer({"kv_offload", true}, true);
  Workload workload;
  workload.piece_begin = {0};
  for (uint32_t s = 0; s < 30; ++s) {
    workload.sessions.push_back({.first_turn = s, .turn_count = 1});
    for (uint64_t piece = 0; piece < 15; ++piece) workload.pieces.push_back({1000 * (s + 1) + piece, 512});
    workload.piece_begin.push_back(workload.pieces.size());
    workload.turns.push_back({.input_tokens = 15 * 512 + 8, .output_tokens = 4, .time_s = 2.0 * s});
  }
  const RunResult result = run(machine, workload);
  expect_writes_within_bandwidth(machine, workload, result);
  EXPECT_GT(result.number("saves_refused"), 0);
}

// Ten contexts are restored from the SSD concurrently, each displacing another in DRAM. A displaced context
// is written, and counts as waiting, only after the load.
TEST(WriteQueue, HoldsWhatManyLoadsDisplaceToTheSameBound) {
  Scenario machine = slow_writer({"kv_offload", false}, true);
  machine.policy.write = WriteMode::back;
  machine.policy.tiers->front().capacity_bytes = 10 * 1020 * 131072.0;
  Workload workload;
  for (uint32_t s = 0; s < 20; ++s) {
    const auto first = static_cast<uint32_t>(workload.turns.size());
    workload.sessions.push_back({.first_turn = first, .turn_count = s < 10 ? 2U : 1U});
    workload.turns.push_back({.input_tokens = 1000, .output_tokens = 4, .time_s = 10.0 * s});
    if (s < 10) workload.turns.push_back({.input_tokens = 8, .output_tokens = 4, .time_s = 500 - 10.0 * s});
  }
  const RunResult result = run(machine, workload);
  EXPECT_GT(result.number("saves_refused"), 0);
  // The SSD's writes of one second, one context into DRAM and one to the SSD; all ten contexts would be 1.3
  // GB.
  EXPECT_LE(result.number("saves_waiting_bytes"), machine.hardware.ssd->write_bandwidth_bytes_per_s * 1 +
                                                      2 * 1012 * result.number("stored_bytes_per_token"));
}

// A context stays where it is if a full queue refuses its growth.
TEST(WriteQueue, MovesNothingDownBecauseASaveWasRefused) {
  Scenario machine = loading_machine({"kv_offload", false});
  machine.hardware.pcie.d2h_bandwidth_bytes_per_s = 50e6;  // DRAM's queue is nearly always full
  machine.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 200e9}, {.kind = Tier::ssd}};
  const RunResult result = run(machine, chats(60, 0.5, 3, 5));
  EXPECT_GT(result.number("saves_refused"), 0);
  EXPECT_EQ(result.number("written_bytes.ssd"), 0) << "DRAM has room for everything";
}

// ---- loads under way ----

// Returns two questions about one stored document, `later_s` apart.
Workload two_questions(double later_s, uint32_t document_tokens = 4005) {
  Workload workload;
  for (uint32_t s = 0; s < 2; ++s) {
    workload.sessions.push_back({.first_turn = s,
                                 .turn_count = 1,
                                 .context_tokens = document_tokens,
                                 .history_grows = false,
                                 .document = 0});
    workload.turns.push_back(
        {.input_tokens = 40 + 10 * s, .output_tokens = 3, .time_s = s == 0 ? 0 : later_s});
  }
  workload.warm_start = true;
  return workload;
}

class LoadingPolicy : public testing::TestWithParam<std::string_view> {
 protected:
  std::string policy() const { return std::string(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Table, LoadingPolicy, testing::ValuesIn(policies_with_tiers()),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(LoadingPolicy, LoadsWhatTwoRequestsShareOnceAndGivesItToNobodyBefore) {
  for (LoadMode load : {LoadMode::parked, LoadMode::blocking}) {
    for (double share : {0.0, 0.3, 0.9}) {
      Scenario machine = loading_machine({GetParam(), true});
      machine.hardware.ssd->read_bandwidth_bytes_per_s = 2e9;  // a load takes longer than the prefill
      machine.hardware.ssd->capacity_bytes = 4e12;
      machine.policy.tiers = {{.kind = Tier::ssd}};
      machine.policy.load = load;
      const RunResult alone = run(machine, two_questions(1000));
      const double load_s = alone.turns[0].load_s;
      const RunResult both = run(machine, two_questions(share * load_s));
      SCOPED_TRACE(policy() + ", later by " + std::to_string(share) + " of the load, mode " +
                   std::to_string(static_cast<int>(load)));
      ASSERT_EQ(both.turns.size(), 2U);
      const double bytes = alone.number("read_bytes.ssd");
      // Other requests cannot use blended or selected KV.
      const Machine built(machine, two_questions(0));
      if (built.options().restore == Restore::blend || built.policy().traits().selects) {
        EXPECT_EQ(both.number("read_bytes.ssd"), bytes);
        continue;
      }
      const double arrived_s = both.turns[0].arrival_s + both.turns[0].ttft_s;
      const TurnRecord& second = both.turns[1];
      EXPECT_LE(both.number("read_bytes.ssd"), bytes);
      EXPECT_EQ(second.hit_tokens, 4000);
      EXPECT_EQ(second.tier_hit_tokens[index(Tier::hbm)], 4000);
      // The turn is admitted when the context has been restored, not earlier.
      const double admitted_s = second.arrival_s + second.ttft_s - second.service_ttft_s;
      EXPECT_GE(admitted_s, both.turns[0].restore_s - 1e-6);
      EXPECT_LE(second.arrival_s + second.ttft_s, arrived_s + 0.05);
    }
  }
}

// Blocks of the prefix cache are used in every policy.
TEST_P(LoadingPolicy, UsesAllThatThePrefixCacheHas) {
  Scenario machine = loading_machine({GetParam(), true});
  const RunResult result = run(machine, chats(60, 0.25, 1, 40));
  EXPECT_GT(result.number("hit_tokens.hbm"), 0);
  EXPECT_EQ(result.number("used_tokens.hbm"), result.number("hit_tokens.hbm"));
}

// ---- inclusive tiers ----

// Without DRAM only the engine's prefix cache remains.
Scenario cached_on_gpu(int64_t gpu_tokens, int64_t dram_tokens) {
  Scenario result = loading_machine({dram_tokens > 0 ? "kv_offload" : "recompute", true});
  result.serving.kv_capacity_tokens = gpu_tokens;
  if (dram_tokens == 0) return result;
  const double bytes = static_cast<double>(dram_tokens) * result.model.kv_bytes_per_token();
  result.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = bytes}};
  return result;
}

// Returns sessions that return after many others, one request at a time.
Workload returning(uint64_t seed) { return chats(150, 0.05, seed, 60); }

TEST(InclusiveTiers, DramThatIsSmallerThanTheGpusCacheServesAlmostNoHits) {
  const Workload workload = returning(1);
  const std::vector<RunResult> runs =
      run_all({{cached_on_gpu(20000, 8000), workload}, {cached_on_gpu(20000, 80000), workload}});
  const auto from_dram = [](const RunResult& run) {
    return run.number("hit_tokens.dram") / (run.number("hit_tokens.dram") + run.number("hit_tokens.hbm"));
  };
  EXPECT_LT(from_dram(runs[0]), 0.01);
  EXPECT_GT(from_dram(runs[1]), 0.1);
}

TEST(InclusiveTiers, CapacitiesDoNotAddUpButThoseOfAVictimCacheDo) {
  Scenario victims = cached_on_gpu(16000, 16000);
  victims.policy.save_at = SaveAt::eviction;
  const auto runs = run_paired(
      {cached_on_gpu(16000, 0), cached_on_gpu(16000, 16000), cached_on_gpu(32000, 0), victims}, returning);
  const double doubled = difference(runs[2], runs[0], "token_hit_rate").mean;
  const double inclusive = difference(runs[1], runs[0], "token_hit_rate").mean;
  const double exclusive = difference(runs[3], runs[0], "token_hit_rate").mean;
  ASSERT_GT(doubled, 0.05);
  EXPECT_LT(inclusive, 0.25 * doubled);
  EXPECT_GT(exclusive, 0.5 * doubled);
}

// Returns sessions that extend documents whose ends are within blocks.
Workload behind_documents() {
  Workload workload;
  for (uint32_t s = 0; s < 40; ++s) {
    workload.sessions.push_back(
        {.first_turn = 3 * s, .turn_count = 3, .context_tokens = 1005, .document = s % 4});
    for (uint32_t t = 0; t < 3; ++t) {
      workload.turns.push_back({.input_tokens = 600, .output_tokens = 20, .time_s = t == 0 ? 4.0 * s : 60});
    }
  }
  return workload;
}
Workload of_pieces(PieceKeys keys) {
  Workload workload;
  workload.piece_keys = keys;
  workload.piece_begin = {0};
  for (uint32_t s = 0; s < 100; ++s) {
    workload.sessions.push_back({.first_turn = s, .turn_count = 1});
    const uint64_t family = s * 7 % 10;
    for (uint64_t i = 0; i < 4; ++i) workload.pieces.push_back({100 * family + i, 512});
    workload.piece_begin.push_back(workload.pieces.size());
    workload.turns.push_back({.input_tokens = 4 * 512 + 30, .output_tokens = 4, .time_s = 2.0 * s});
  }
  return workload;
}

void expect_victims_found(const std::vector<std::pair<const char*, Workload>>& workloads) {
  for (const auto& [name, workload] : workloads) {
    const Scenario at_turn_end = cached_on_gpu(8192, 10'000'000);
    Scenario at_eviction = at_turn_end;
    at_eviction.policy.save_at = SaveAt::eviction;
    const std::vector<RunResult> runs = run_all({{at_turn_end, workload}, {at_eviction, workload}});
    EXPECT_GT(runs[1].number("token_hit_rate"), 0.9 * runs[0].number("token_hit_rate")) << name;
  }
}

TEST(VictimCache, FindsWhatTheGpuEvicted) {
  expect_victims_found({{"chats", returning(1)}, {"keys of prefixes", of_pieces(PieceKeys::prefix)}});
}

// An evicted block identifies its text; a block with the end of one text and the beginning of the next
// belongs to the first.
TEST(VictimCache, FindsHistoriesBehindDocumentsAndTextsBehindTexts) {
  expect_victims_found(
      {{"histories behind documents", behind_documents()}, {"keys of texts", of_pieces(PieceKeys::text)}});
}

}  // namespace
}  // namespace kvcap::laws::tier_laws_test
