// Laws of the engine's prefix cache: its hits have an upper bound and grow with the pool, and it has no
// effect if nothing is shared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "laws/machines.h"
#include "laws/paired.h"
#include "workload/trace_stats.h"

namespace kvcap::laws::prefix_cache_laws_test {
namespace {

using Setting = std::tuple<std::string_view, bool>;

class PrefixCache : public testing::TestWithParam<Setting> {
 protected:
  std::string policy() const { return std::string(std::get<0>(GetParam())); }
  bool prefix_caching() const { return std::get<1>(GetParam()); }
  Scenario machine() const {
    Scenario result = scenario(policy());
    result.serving.prefix_caching = prefix_caching();
    return result;
  }
};
INSTANTIATE_TEST_SUITE_P(Table, PrefixCache,
                         testing::Combine(testing::ValuesIn(policy_names().begin(), policy_names().end()),
                                          testing::Bool()),
                         [](const auto& setting) {
                           return std::string(std::get<0>(setting.param)) +
                                  (std::get<1>(setting.param) ? "_with_prefix_caching" : "");
                         });

// ---- workloads that share in every way ----

// Returns sessions of three turns about one of four documents.
Workload documents(int sessions) {
  Workload workload;
  const RandomStream random(2, "documents");
  for (uint32_t s = 0; s < static_cast<uint32_t>(sessions); ++s) {
    const auto document = static_cast<uint32_t>(4 * random.uniform(s));
    workload.sessions.push_back(
        {.first_turn = 3 * s, .turn_count = 3, .context_tokens = 505 + 300 * document, .document = document});
    for (uint32_t t = 0; t < 3; ++t) {
      workload.turns.push_back(
          {.input_tokens = 20 + 7 * t, .output_tokens = 90, .time_s = t == 0 ? 3.0 * s : 20});
    }
  }
  return workload;
}

// Returns sessions of five turns: two answers to the first, two to the second of these, one to the last.
Workload branches(int sessions) {
  Workload workload;
  for (uint32_t s = 0; s < static_cast<uint32_t>(sessions); ++s) {
    workload.sessions.push_back({.first_turn = 5 * s, .turn_count = 5, .context_tokens = 100 * (s % 2)});
    const int32_t parents[] = {kNoParent, 0, 0, 2, 3};
    for (uint32_t t = 0; t < 5; ++t) {
      workload.parents.push_back(parents[t]);
      workload.turns.push_back(
          {.input_tokens = 130 + 11 * t, .output_tokens = 75, .time_s = t == 0 ? 4.0 * s : 5 + 3.0 * t});
    }
  }
  return workload;
}

// Returns prompts of five pieces of 100 tokens out of twelve, and a question. Keys that mean a prefix form a
// tree.
Workload pieces(int sessions, PieceKeys keys, uint32_t turns = 1) {
  Workload workload;
  workload.piece_keys = keys;
  workload.piece_begin = {0};
  const RandomStream random(3, "pieces");
  for (uint32_t s = 0; s < static_cast<uint32_t>(sessions); ++s) {
    workload.sessions.push_back({.first_turn = turns * s, .turn_count = turns});
    for (uint32_t t = 0; t < turns; ++t) {
      uint64_t before = 0;
      for (uint64_t i = 0; i < 5; ++i) {
        const double drawn = random.uniform(100 * s + 10 * t + i);
        uint64_t key = 1 + static_cast<uint64_t>(12 * drawn * drawn);
        if (keys == PieceKeys::prefix) {
          // In a later turn the preceding tokens belong to its session only.
          key += 100 * before + (t > 0 && i == 0 ? 1'000'000'000'000ULL * (turns * s + t) : 0);
          before = key;
        }
        workload.pieces.push_back({key, 100});
      }
      workload.piece_begin.push_back(workload.pieces.size());
      workload.turns.push_back({.input_tokens = 533, .output_tokens = 40, .time_s = t == 0 ? 2.0 * s : 15});
    }
  }
  return workload;
}

TEST_P(PrefixCache, FindsNoMoreThanACacheThatKeepsEverything) {
  const std::vector<std::pair<const char*, Workload>> workloads = {
      {"chats", chats(40, 0.3)},
      {"documents", documents(30)},
      {"branches", branches(20)},
      {"pieces of prefixes", pieces(60, PieceKeys::prefix)},
      {"pieces of prefixes in sessions", pieces(20, PieceKeys::prefix, 3)},
      {"pieces anywhere", pieces(60, PieceKeys::text)},
      {"pieces anywhere in sessions", pieces(20, PieceKeys::text, 3)}};
  for (const auto& [name, workload] : workloads) {
    if (!Machine(machine(), workload).quality_note().empty()) continue;
    const double bound = trace_stats(workload).infinite_cache_token_hit_rate;
    // Runs a machine with room for everything, and one that is short of every resource.
    Scenario tight = machine();
    tight.serving.kv_capacity_tokens = policy().starts_with("npu_") ? 17000 : 6000;
    tight.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 1e9},
                          {.kind = Tier::ssd, .capacity_bytes = 3e9}};
    const std::vector<RunResult> runs = run_all({{machine(), workload}, {tight, workload}});
    EXPECT_LE(runs[0].number("token_hit_rate"), bound + 1e-12) << name;
    EXPECT_LE(runs[1].number("token_hit_rate"), bound + 1e-12) << name << ", short of room";
  }
}

// ---- nothing shared ----

std::string line_of(const std::string& name, double value) {
  char number[64];
  std::snprintf(number, sizeof number, " %.17g\n", value);
  return name + number;
}

std::string text_of(const std::vector<TurnRecord>& turns) {
  std::string text;
  for (const TurnRecord& turn : turns) {
    text += line_of("arrival", turn.arrival_s) + line_of("ttft", turn.ttft_s) + line_of("e2el", turn.e2el_s) +
            line_of("hit", turn.hit_tokens);
  }
  return text;
}

// Returns everything in a result except the texts that repeat the scenario.
std::string text_of(const RunResult& run) {
  std::string text;
  const auto add = [&](const std::string& name, double value) { text += line_of(name, value); };
  for (const Metric& metric : run.metrics) {
    if (const auto* word = std::get_if<std::string>(&metric.value)) {
      text += metric.name + " " + *word + "\n";
    } else {
      add(metric.name, run.number(metric.name));
    }
  }
  for (const auto* list : {&run.distributions, &run.series}) {
    for (const auto& [name, values] : *list) {
      for (double value : values) add(name, value);
    }
  }
  return text + text_of(run.turns);
}

TEST_P(PrefixCache, ChangesNoNumberWhereNothingIsShared) {
  if (!prefix_caching()) return;
  Workload workload;
  const RandomStream random(4, "alone");
  for (uint32_t s = 0; s < 150; ++s) {
    workload.sessions.push_back({.first_turn = s, .turn_count = 1});
    workload.turns.push_back({.input_tokens = 1 + static_cast<uint32_t>(1500 * random.uniform(s, 1)),
                              .output_tokens = 1 + static_cast<uint32_t>(200 * random.uniform(s, 2)),
                              .time_s = 0.3 * s});
  }
  for (bool async : {false, true}) {
    Scenario with = machine();
    with.serving.async_scheduling = async;
    Scenario without = with;
    without.serving.prefix_caching = false;
    const std::vector<RunResult> runs = run_all({{with, workload}, {without, workload}});
    EXPECT_EQ(runs[0].number("token_hit_rate"), 0);
    // Without the cache there are no evictions, so policies that save on eviction save nothing.
    const bool saves_alike = with_preset({.name = policy()}).save_at != SaveAt::eviction;
    EXPECT_EQ(saves_alike ? text_of(runs[0]) : text_of(runs[0].turns),
              saves_alike ? text_of(runs[1]) : text_of(runs[1].turns));
  }
}

// ---- capacity ----

Scenario stock_engine(int64_t kv_tokens) {
  Scenario result = scenario("recompute");
  result.serving.prefix_caching = result.serving.async_scheduling = true;
  result.serving.kv_capacity_tokens = kv_tokens;
  return result;
}

TEST(PrefixCacheCapacity, FindsNoLessInALargerPool) {
  const std::vector<int64_t> capacities = {8'000, 12'000, 16'000, 32'000, 64'000, 10'000'000};
  std::vector<Scenario> settings;
  for (int64_t capacity : capacities) settings.push_back(stock_engine(capacity));
  const std::vector<std::pair<const char*, std::function<Workload(uint64_t)>>> workloads = {
      {"chats", [](uint64_t seed) { return chats(80, 0.3, seed); }},
      {"crowd", [](uint64_t seed) { return chats(60, 1.5, seed, 2); }}};
  for (const auto& [name, workload] : workloads) {
    const auto runs = run_paired(settings, workload);
    for (std::size_t i = 1; i < settings.size(); ++i) {
      const MeanInterval more = difference(runs[i], runs[i - 1], "token_hit_rate");
      EXPECT_FALSE(clearly_negative(more))
          << name << ", " << capacities[i] << " tokens: " << more.mean << " ± " << more.half_width;
    }
    const MeanInterval all = difference(runs.back(), runs.front(), "token_hit_rate");
    EXPECT_GT(all.mean - all.half_width, 0.1) << name;
  }
}

// The last token of an answer is never computed, so a history lacks it; all full blocks of the rest are
// found.
TEST(PrefixCacheCapacity, FindsEveryFullBlockInAPoolWithoutEnd) {
  for (bool async : {false, true}) {
    Scenario endless = stock_engine(50'000'000);
    endless.serving.async_scheduling = async;
    const Workload workload = chats(60, 0.3);
    const RunResult result = run(endless, workload);
    double prompt_tokens = 0;
    for (const TurnRecord& turn : result.turns) {
      const int64_t computed = std::max<int64_t>(0, int64_t{turn.history_tokens} - 1);
      EXPECT_EQ(turn.hit_tokens, computed / 16 * 16) << turn.session << "." << turn.turn;
      prompt_tokens += turn.history_tokens + turn.input_tokens;
    }
    const double bound = trace_stats(workload).infinite_cache_token_hit_rate;
    const double most_lost = 16.0 * static_cast<double>(workload.turns.size()) / prompt_tokens;
    EXPECT_LE(result.number("token_hit_rate"), bound);
    EXPECT_GE(result.number("token_hit_rate"), bound - most_lost);
  }
}

TEST(PrefixCacheCapacity, FindsDocumentsAndBranchesInAPoolWithoutEnd) {
  for (const Workload& workload : {documents(40), branches(30), pieces(60, PieceKeys::prefix)}) {
    const RunResult result = run(stock_engine(50'000'000), workload);
    double prompt_tokens = 0;
    for (const TurnRecord& turn : result.turns) prompt_tokens += turn.history_tokens + turn.input_tokens;
    const double bound = trace_stats(workload).infinite_cache_token_hit_rate;
    const double most_lost = 16.0 * static_cast<double>(workload.turns.size()) / prompt_tokens;
    EXPECT_LE(result.number("token_hit_rate"), bound + 1e-12);
    EXPECT_GE(result.number("token_hit_rate"), bound - most_lost);
  }
}

}  // namespace
}  // namespace kvcap::laws::prefix_cache_laws_test
