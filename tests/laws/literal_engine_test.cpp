// Compares the engine with the literal engine, which takes one step at a time and records every block: hits,
// preemptions and dates are equal.
#include "reference/literal_engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/step_time.h"
#include "laws/machines.h"
#include "reference/random_requests.h"
#include "reference/request_workload.h"
#include "run/engine_memory.h"

namespace kvcap::reference::literal_engine_test {
namespace {

constexpr uint64_t kCases = 200, kPlainCases = 400;

// SimGrid merges dates that are closer than 1e-9 s; a request's dates depend on up to some hundred of them.
constexpr double kAbsolute_s = 1e-7;
constexpr double kRelative = 1e-9;

ServingOptions serving(const EngineOptions& options) {
  ServingOptions serving;
  serving.block_size = options.block_size;
  serving.kv_capacity_tokens = options.blocks * options.block_size;
  serving.max_num_seqs = options.max_num_seqs;
  serving.max_num_batched_tokens = options.max_num_batched_tokens;
  serving.long_prefill_token_threshold = options.long_prefill_token_threshold;
  if (options.has_priorities) serving.scheduling_policy = SchedulingPolicy::priority;
  serving.max_model_len = 1 << 20;
  serving.allow_impossible = true;  // few blocks, and fewer tokens per step than sequences
  serving.prefix_caching = options.prefix_caching;
  serving.async_scheduling = options.async_scheduling;
  serving.cache_generated = options.cache_generated;
  // retain_first_tokens is a range that begins with the prompt, of the highest priority.
  const std::vector<RetentionRange>& ranges = options.retention.ranges;
  if (ranges.size() == 1 && ranges[0].from_token == 0 && ranges[0].priority == kMaxPriority) {
    serving.retain_first_tokens = ranges[0].to_token.value();
  } else if (!ranges.empty()) {
    serving.retention = options.retention;
  }
  serving.step_overhead_s = options.step_overhead_s;
  serving.step_overhead_per_sequence_s = options.step_overhead_per_sequence_s;
  serving.request_overhead_s = 0;
  return serving;
}

// Returns a machine on which only the host takes time: the GPU takes less than 1e-12 s per step.
Scenario host_alone() {
  Scenario scenario = reduced_scenario("recompute");
  scenario.hardware.gpu.peak_flops = 1e30;
  scenario.hardware.gpu.memory_bandwidth_bytes_per_s = 1e30;
  return scenario;
}

Scenario a100() { return laws::scenario("recompute"); }

std::vector<RunResult> simulate_cases(const Scenario& machine, const std::vector<RandomCase>& cases) {
  std::vector<Case> runs;
  for (const RandomCase& one : cases) {
    Scenario scenario = machine;
    scenario.serving = serving(one.options);
    runs.push_back({scenario, to_workload(one.requests)});
  }
  return laws::run_all(runs);
}

void expect_near(double simulated_s, double literal_s, const char* what) {
  EXPECT_LE(std::abs(simulated_s - literal_s), kAbsolute_s + kRelative * literal_s)
      << what << ": simulated " << simulated_s << " s, literally " << literal_s << " s";
}

void compare(const RunResult& simulated, const EngineRun& literal) {
  ASSERT_EQ(simulated.turns.size(), literal.outcomes.size());
  for (const TurnRecord& turn : simulated.turns) {
    const Outcome& outcome = literal.outcomes[turn.session];
    SCOPED_TRACE("request " + std::to_string(outcome.id) + ", which arrives at " +
                 std::to_string(turn.arrival_s) + " s");
    ASSERT_EQ(turn.rejected, outcome.refused);
    if (outcome.refused) continue;
    EXPECT_EQ(turn.hit_tokens, outcome.hit_tokens);
    expect_near(turn.ttft_s, outcome.ttft_s, "TTFT");
    expect_near(turn.e2el_s, outcome.e2el_s, "E2EL");
    if (testing::Test::HasFailure()) return;  // reports only the first request that differs
  }
  EXPECT_EQ(simulated.number("preemptions"), static_cast<double>(literal.preemptions()));
}

// Three priorities, of which requests have one in turn.
void add_priorities(RandomCase& one) {
  one.options.has_priorities = true;
  for (Request& request : one.requests) request.priority = request.id * 7 % 3 - 1;
}

// Low, default and high priorities, some of which end after a few steps.
Retention priorities(int64_t n) {
  Retention retention;
  retention.ranges = {{.from_token = n % 5,
                       .to_token = 8 + n % 30,
                       .priority = 80,
                       .duration_s = 0.003 * static_cast<double>(n % 7)},
                      {.from_token = 40 + n % 9, .to_token = 70, .priority = n % 40},
                      {.from_token = 90, .priority = 36 + n % 9}};
  if (n % 2 == 0) retention.ranges[0].duration_s.reset();
  retention.decode_priority = 7 * n % 100;
  if (n % 4 < 2) retention.decode_duration_s = 0.01 * static_cast<double>(1 + n % 3);
  return retention;
}

std::vector<RandomCase> random_cases(uint64_t count) {
  std::vector<RandomCase> cases;
  for (uint64_t number = 1; number <= count; ++number) {
    cases.push_back(random_case(number));
    EngineOptions& options = cases.back().options;
    const auto n = static_cast<int64_t>(number);
    if (n % 3 == 0) options.retention.ranges = {{.to_token = n, .priority = kMaxPriority}};
    if (n % 3 == 1) options.retention = priorities(n);
    if (number % 5 < 2) options.long_prefill_token_threshold = static_cast<int64_t>(1 + number % 37);
    if (number % 7 < 3) add_priorities(cases.back());
  }
  return cases;
}

struct Reached {
  int64_t requests = 0, preemptions = 0, hits = 0;
};

Reached compare_all(const std::vector<RunResult>& simulated, const std::vector<RandomCase>& cases,
                    const GpuTime& gpu_s) {
  Reached reached;
  for (std::size_t i = 0; i < cases.size() && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i + 1) + ": " + describe(cases[i].options));
    const EngineRun literal = run_literally(cases[i].options, cases[i].requests, gpu_s);
    compare(simulated[i], literal);
    reached.requests += std::ssize(literal.outcomes);
    reached.preemptions += literal.preemptions();
    for (const Outcome& outcome : literal.outcomes) reached.hits += outcome.hit_tokens;
  }
  return reached;
}

void compare_plain(const Scenario& machine, const GpuTime& gpu_s) {
  const std::vector<RandomCase> cases = random_cases(kPlainCases);
  const Reached reached = compare_all(simulate_cases(machine, cases), cases, gpu_s);
  if (testing::Test::HasFailure()) return;
  EXPECT_GT(reached.requests, 10000);
  EXPECT_GT(reached.preemptions, 200);
  EXPECT_GT(reached.hits, 100000);
}

TEST(LiteralEngineLaws, TheEngineDoesTheSameWhereOnlyTheHostTakesTime) { compare_plain(host_alone(), {}); }

TEST(LiteralEngineLaws, TheEngineDoesTheSameWithTheCostModelOfARealGpu) {
  const Scenario machine = a100();
  const CostModel cost(machine.model, machine.hardware, machine.serving.tensor_parallel_size);
  const StepTime step_time(cost, {});
  compare_plain(machine, gpu_time(step_time));
}

// ---- layers that keep different state ----

// Keys and values take 256 bytes per token and layer.
LayerGroup layers(int64_t count, AttentionKind attention, int64_t window_tokens = 0) {
  return {.layers = count,
          .attention = attention,
          .window_tokens = window_tokens,
          .num_attention_heads = 4,
          .num_key_value_heads = 1,
          .head_dim = 64};
}

// A state has 4 x 16 x 32 x 4 + 3 x 128 x 2 = 8,960 bytes, so pages and blocks have 48 tokens.
LayerGroup recurrent_layers(int64_t count) {
  return {.layers = count,
          .attention = AttentionKind::recurrent,
          .recurrent = RecurrentState{.heads = 4, .head_dim = 16, .state_size = 32, .groups = 1}};
}

struct Hybrid {
  const char* name;
  std::vector<LayerGroup> groups;
  Checkpoints checkpoints = Checkpoints::align;
  std::size_t pool_groups = 0;
};

const Hybrid kHybrids[] = {
    {"SlidingAlone", {layers(8, AttentionKind::sliding, 24)}, Checkpoints::align, 1},
    {"HalfSliding", {layers(4, AttentionKind::full), layers(4, AttentionKind::sliding, 24)}, {}, 2},
    {"MostSliding", {layers(2, AttentionKind::full), layers(10, AttentionKind::sliding, 40)}, {}, 6},
    {"Chunked", {layers(2, AttentionKind::full), layers(6, AttentionKind::chunked, 32)}, {}, 4},
    {"Recurrent", {layers(2, AttentionKind::full), recurrent_layers(6)}, Checkpoints::align, 4},
    {"RecurrentWithAllStates", {layers(2, AttentionKind::full), recurrent_layers(6)}, Checkpoints::all, 4},
};

class HybridEngineLaws : public testing::TestWithParam<Hybrid> {};

// Compares every hit, preemption and date of an engine whose layers share one pool of blocks.
TEST_P(HybridEngineLaws, TheEngineDoesWhatARecordOfEveryBlockInEveryGroupDoes) {
  const Hybrid& hybrid = GetParam();
  Scenario machine = host_alone();
  machine.model.layer_groups = hybrid.groups;
  machine.model.num_hidden_layers = 0;
  for (const LayerGroup& group : hybrid.groups) machine.model.num_hidden_layers += group.layers;
  machine.serving.recurrent_checkpoints = hybrid.checkpoints;
  std::vector<RandomCase> cases = random_cases(kCases);
  std::vector<Case> runs;
  for (RandomCase& one : cases) {
    EngineOptions& options = one.options;
    // A step must reach the end of a block of 48 tokens.
    if (machine.model.is_recurrent()) {
      options.max_num_batched_tokens = std::max<int64_t>(options.max_num_batched_tokens, 48);
      if (options.long_prefill_token_threshold > 0) options.long_prefill_token_threshold += 48;
    }
    Scenario scenario = machine;
    scenario.serving = serving(options);
    scenario.serving.recurrent_checkpoints = hybrid.checkpoints;
    const KvLayout layout = kv_layout(scenario);
    ASSERT_EQ(layout.groups.size(), hybrid.pool_groups);
    const int64_t tokens = std::max(options.blocks * options.block_size, 4 * layout.block_tokens());
    scenario.serving.kv_capacity_tokens = tokens;
    options.groups = layout.groups;
    options.checkpoints = hybrid.checkpoints;
    options.blocks = layout.blocks_of(tokens);
    runs.push_back({scenario, to_workload(one.requests)});
  }
  const Reached reached = compare_all(laws::run_all(runs), cases, {});
  if (HasFailure()) return;
  EXPECT_GT(reached.hits, 10000);
  EXPECT_GT(reached.preemptions, 20);
}

INSTANTIATE_TEST_SUITE_P(Of, HybridEngineLaws, testing::ValuesIn(kHybrids),
                         [](const auto& one) { return std::string(one.param.name); });

// ---- drafts ----

struct Drafting {
  const char* name;
  SpeculativeOptions options;
  bool real_gpu = false;
  bool sliding = false;       // half of the layers are sliding
  int64_t max_model_len = 0;  // relative to the longest sequence of the case; negative: far longer
};

const Drafting kDraftings[] = {
    {"OneNgram", {.draft_tokens = 1, .acceptance_rate = 0.6}, false, false, -1},
    {"Ngrams", {.draft_tokens = 4, .acceptance_length = 2.5}, false, false, -1},
    {"NoneIsAccepted", {.draft_tokens = 3, .acceptance_rate = 0}, false, false, -1},
    {"AllAreAccepted", {.draft_tokens = 3, .acceptance_rate = 1}, false, false, -1},
    {"AtTheLongestSequence", {.draft_tokens = 5, .acceptance_length = 3}, false, false, 2},
    {"Layers",
     {.method = DraftMethod::layers, .draft_tokens = 3, .acceptance_length = 2.2, .draft_layers = 2},
     true,
     false,
     -1},
    {"LayersAtTheLongestSequence",
     {.method = DraftMethod::layers, .draft_tokens = 7, .acceptance_length = 4},
     false,
     false,
     0},
    {"NgramsOnARealGpu", {.draft_tokens = 2, .acceptance_length = 1.7}, true, false, -1},
    {"FewerInLargerBatches",
     {.draft_tokens = 4, .drafts_by_batch = {{1, 4}, {3, 1}, {5, 0}}, .acceptance_by_position = {{0.9, 0.5}}},
     false,
     false,
     -1},
    {"FewerOfLayersOnARealGpu",
     {.method = DraftMethod::layers,
      .draft_tokens = 5,
      .drafts_by_batch = {{1, 5}, {2, 3}, {4, 0}},
      .acceptance_length = 3},
     true,
     false,
     -1},
    {"WithSlidingLayers", {.draft_tokens = 4, .acceptance_length = 2.5}, false, true, -1},
};

class SpeculativeEngineLaws : public testing::TestWithParam<Drafting> {};

// Compares the drafts of every step, the accepted tokens, and all resulting blocks and dates.
TEST_P(SpeculativeEngineLaws, TheEngineVerifiesDraftsAsTheLiteralOneDoes) {
  const Drafting& drafting = GetParam();
  Scenario machine = drafting.real_gpu ? a100() : host_alone();
  if (drafting.sliding) {
    machine.model.layer_groups = {layers(4, AttentionKind::full), layers(4, AttentionKind::sliding, 24)};
    machine.model.num_hidden_layers = 8;
  }
  const SpeculativeOptions& options = drafting.options;
  const Speculation speculation(options, machine.model, machine.hardware, 1,
                                static_cast<uint64_t>(machine.seed));
  std::vector<RandomCase> cases = random_cases(kCases);
  std::vector<Case> runs;
  for (RandomCase& one : cases) {
    EngineOptions& engine = one.options;
    engine.draft_tokens = options.draft_tokens;
    if (!options.drafts_by_batch.empty()) {
      engine.drafts_by_batch = [&options](int64_t requests) { return drafts_of_batch(options, requests); };
    }
    engine.lookahead_tokens = options.method == DraftMethod::ngram ? 0 : options.draft_tokens;
    engine.drops_last_block = options.method == DraftMethod::layers;
    Scenario scenario = machine;
    scenario.serving = serving(engine);
    if (drafting.max_model_len >= 0) {
      engine.max_model_len = 0;
      for (const Request& request : one.requests) {
        engine.max_model_len = std::max(engine.max_model_len, prompt_tokens(request) + request.output_tokens);
      }
      engine.max_model_len += drafting.max_model_len;
      scenario.serving.max_model_len = engine.max_model_len;
    }
    scenario.serving.speculative = options;
    if (drafting.sliding) {
      const KvLayout layout = kv_layout(scenario);
      engine.groups = layout.groups;
      engine.blocks = layout.blocks_of(*scenario.serving.kv_capacity_tokens);
    }
    runs.push_back({scenario, to_workload(one.requests)});
  }
  const std::vector<RunResult> simulated = laws::run_all(runs);
  const CostModel cost(machine.model, machine.hardware, 1);
  const StepTime step_time(cost, {});
  const GpuTime gpu_s = drafting.real_gpu ? gpu_time(step_time, &speculation) : GpuTime();
  const Yields yields = [&](std::size_t request, int64_t generated, int64_t drafts) {
    return speculation.tokens(static_cast<uint32_t>(request), 0, generated, drafts);
  };
  int64_t preemptions = 0, hits = 0;
  for (std::size_t i = 0; i < cases.size() && !HasFailure(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i + 1) + ": " + describe(cases[i].options));
    const EngineRun literal = run_literally(cases[i].options, cases[i].requests, gpu_s, yields);
    compare(simulated[i], literal);
    preemptions += literal.preemptions();
    for (const Outcome& outcome : literal.outcomes) hits += outcome.hit_tokens;
  }
  if (HasFailure()) return;
  EXPECT_GT(preemptions, 20);
  EXPECT_GT(hits, 10000);
}

INSTANTIATE_TEST_SUITE_P(Of, SpeculativeEngineLaws, testing::ValuesIn(kDraftings),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace kvcap::reference::literal_engine_test
