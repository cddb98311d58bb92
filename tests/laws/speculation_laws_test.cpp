// Laws of speculative decoding in the engine: closed forms of one turn, and laws for every policy.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/step_time.h"
#include "laws/machines.h"
#include "metrics/serialize.h"

namespace kvcap::laws::speculation_laws_test {
namespace {

Scenario drafting(const std::string& policy, const SpeculativeOptions& options) {
  Scenario result = scenario(policy);
  result.serving.speculative = options;
  return result;
}

const SpeculativeOptions kAllAccepted{.draft_tokens = 3, .acceptance_rate = 1};
const SpeculativeOptions kNgrams{.draft_tokens = 3, .acceptance_length = 2.2};
const SpeculativeOptions kLayers{.method = DraftMethod::layers, .draft_tokens = 2, .acceptance_length = 1.8};

double metric(const RunResult& result, const std::string& name) {
  return result.number("speculation." + name);
}

// A prompt of 500 tokens yields the first token. Each later step computes 4 rows and yields 4 tokens: over
// 504 tokens, over 508, and so on; the last step yields only the tokens that remain.
TEST(Speculation, OfOneTurnTakesAStepForEachFourTokens) {
  for (const bool async : {false, true}) {
    for (const uint32_t output_tokens : {6U, 8U, 9U}) {
      Scenario one = drafting("recompute", kAllAccepted);
      one.serving.async_scheduling = async;
      one.serving.speculative->draft_step_s = 0.002;
      const RunResult result = run(one, one_turn(0, 500, output_tokens));
      const CostModel cost(one.model, one.hardware, 1);
      const StepTime times(cost, {});
      const auto verify_s = [&](int64_t context_tokens) {
        return 0.002 + times.mixed_s({}, {.sequences = 1, .context_tokens = context_tokens, .drafts = 3}, 4);
      };
      const double decode_s = verify_s(504) + verify_s(508);
      const TurnRecord& turn = result.turns[0];
      EXPECT_NEAR(turn.ttft_s, cost.prefill_s({500, 0}) + 0.002, 1e-8);
      EXPECT_NEAR(turn.e2el_s - turn.ttft_s, decode_s, 1e-8);
      // The tokens of a step arrive together with one gap per step, as in vLLM's bench of a stream.
      EXPECT_NEAR(result.number("mean_itl_ms"), 1e3 * decode_s / 2, 1e-4);
      EXPECT_NEAR(result.number("mean_tpot_ms"), 1e3 * decode_s / (output_tokens - 1), 1e-4);
      // vLLM counts accepted tokens even if the answer ends before them.
      EXPECT_EQ(metric(result, "drafts"), 2);
      EXPECT_EQ(metric(result, "draft_tokens"), 6);
      EXPECT_EQ(metric(result, "accepted_tokens"), 6);
      EXPECT_EQ(metric(result, "mean_acceptance_length"), 4);
      EXPECT_EQ(metric(result, "acceptance_rate"), 1);
    }
  }
}

TEST(Speculation, OfLayersAddsTheDraftersPassesToEveryStep) {
  Scenario one =
      drafting("recompute", {.method = DraftMethod::layers, .draft_tokens = 3, .acceptance_rate = 0});
  const RunResult result = run(one, one_turn(0, 500, 3));
  const CostModel cost(one.model, one.hardware, 1);
  const StepTime times(cost, {});
  const Speculation speculation(*one.serving.speculative, one.model, one.hardware, 1, 1);
  const PrefillChunk prompt{500, 0};
  const auto step_s = [&](int64_t context_tokens) {
    const Decodes decodes{.sequences = 1, .context_tokens = context_tokens, .drafts = 3};
    return times.mixed_s({}, decodes, 4) + speculation.drafter_s({}, decodes);
  };
  const TurnRecord& turn = result.turns[0];
  EXPECT_NEAR(turn.ttft_s, cost.prefill_s(prompt) + speculation.drafter_s({&prompt, 1}, {}), 1e-8);
  EXPECT_NEAR(turn.e2el_s - turn.ttft_s, step_s(504) + step_s(505), 1e-8);
}

// The second turn's history has 8 x 16 + 33 = 161 tokens, of which 160 are computed: ten blocks. Layers that
// draft recompute the last one.
TEST(Speculation, FindsTheBlocksThatItsDraftsHaveFilled) {
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 2});
  workload.turns.push_back({.input_tokens = 100, .output_tokens = 61});
  workload.turns.push_back({.input_tokens = 40, .output_tokens = 1, .time_s = 1});
  for (const SpeculativeOptions& options : {kAllAccepted, kNgrams, kLayers}) {
    for (const bool async : {false, true}) {
      Scenario caching = drafting("recompute", options);
      caching.serving.prefix_caching = true;
      caching.serving.async_scheduling = async;
      const RunResult result = run(caching, workload);
      EXPECT_EQ(result.turns[1].hit_tokens, options.method == DraftMethod::layers ? 144U : 160U);
    }
  }
}

// The rows of an ended request are computed with the step that was planned before its end was known.
TEST(Speculation, ComputesTheRowsOfAnEndedRequestWhereStepsArePlannedAhead) {
  Workload workload = one_turn(0, 500, 3);
  workload.sessions.push_back({.first_turn = 1, .turn_count = 1});
  workload.turns.push_back({.input_tokens = 500, .output_tokens = 9});
  const auto last_token_s = [&](bool async) {
    Scenario two = drafting("recompute", kAllAccepted);
    two.serving.async_scheduling = async;
    const RunResult result = run(two, workload);
    return result.turns[0].session == 1 ? result.turns[0].e2el_s : result.turns[1].e2el_s;
  };
  const Scenario two = scenario("recompute");
  const CostModel cost(two.model, two.hardware, 1);
  const StepTime times(cost, {});
  const auto verify_s = [&](int64_t sequences, int64_t context_tokens) {
    return times.mixed_s({},
                         {.sequences = sequences, .context_tokens = context_tokens, .drafts = 3 * sequences},
                         4 * sequences);
  };
  // Turn 0 ends with the first step of drafts, at 502 computed tokens; turn 1 needs a second one.
  const double more_s = verify_s(2, 508 + 506) - verify_s(1, 508);
  EXPECT_NEAR(last_token_s(true) - last_token_s(false), more_s, 1e-8);
}

// Turns have 1,000 tokens, 100 of them computed, and answers of 400 in 100 steps of 4 tokens. With 8
// concurrent turns each step computes 8 x 4 rows of drafts and 8 x 100/100 of prompts, over 1,200 tokens
// each.
TEST(Speculation, LoadsTheGpuWithTheStepsThatAnswersTake) {
  Scenario eight = drafting("recompute", kAllAccepted);
  eight.serving.max_num_seqs = 8;
  const Machine machine(eight, 1000, 1000);
  const CostModel cost(eight.model, eight.hardware, 1);
  const double layer_s = cost.linear_layer_s(40) + cost.decode_attentions_layer_s(8, 4).at_s(8 * 1200) +
                         0.08 * cost.attention_layer_s(PrefillChunk{100, 900});
  const double step_s = 32 * layer_s + cost.head_s(32);
  const MeanTurn turn{.prompt_tokens = 1000, .output_tokens = 400, .computed_tokens = 100};
  const auto unlimited = [](double) { return 1e6; };
  EXPECT_NEAR(machine.step_time(eight.serving).turn_s(turn, unlimited), 100.0 / 8 * step_s, 1e-9);
}

TEST(Speculation, OfRanksInLockstepDraftsInEveryStep) {
  Scenario ranks = drafting("recompute", kLayers);
  ranks.model.experts = Experts{.count = 8, .active = 2, .intermediate_size = 2048};
  ranks.hardware.gpu.count = 2;
  ranks.serving.data_parallel_size = 2;
  ranks.serving.expert_parallel = true;
  const Workload workload = chats(40, 0.5);
  Scenario plain = ranks;
  plain.serving.speculative.reset();
  const std::vector<RunResult> runs = run_all({{ranks, workload}, {plain, workload}});
  EXPECT_EQ(runs[0].number("completed"), static_cast<double>(workload.turns.size()));
  const double drafts = metric(runs[0], "drafts");
  EXPECT_NEAR(metric(runs[0], "mean_acceptance_length"), 1.8, 4 * 0.9 / std::sqrt(drafts));
  // Each step yields 1.8 tokens and takes less than 1.8 times as long.
  EXPECT_LT(runs[0].number("mean_tpot_ms"), runs[1].number("mean_tpot_ms"));
  EXPECT_GT(runs[0].number("mean_itl_ms"), runs[1].number("mean_itl_ms"));
}

class EverySpeculation : public testing::TestWithParam<std::string_view> {
 protected:
  std::string policy() const { return std::string(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Table, EverySpeculation,
                         testing::ValuesIn(policy_names().begin(), policy_names().end()),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(EverySpeculation, WithoutDraftsIsNoneAtAllBitByBit) {
  const Workload workload = chats(60, 0.3);
  const std::vector<RunResult> runs =
      run_all({{scenario(policy()), workload},
               {drafting(policy(), {.draft_tokens = 0, .acceptance_length = 1}), workload}});
  EXPECT_EQ(serialize(runs[0]), serialize(runs[1]));
}

TEST_P(EverySpeculation, LosesNoTurnWhenMemoryAndStoreAreTight) {
  const Workload workload = chats(150, 1.0, 5, 2);
  std::vector<Case> cases;
  for (const SpeculativeOptions& options : {kAllAccepted, kNgrams, kLayers}) {
    for (const bool today : {false, true}) {
      Scenario tight = drafting(policy(), options);
      tight.serving.kv_capacity_tokens = 12000;
      tight.serving.max_model_len = 6000;
      tight.serving.async_scheduling = tight.serving.prefix_caching = today;
      tight.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 3e9},
                            {.kind = Tier::ssd, .capacity_bytes = 6e9}};
      cases.push_back({tight, workload});
    }
  }
  for (const RunResult& result : run_all(cases)) {
    EXPECT_EQ(result.number("completed") + result.number("rejected"),
              static_cast<double>(workload.turns.size()));
    // Reserved blocks are never missing later, and the histories of ideal take no room.
    if (result.number("kv_buffer.reserved_bytes") == 0 && policy() != "ideal") {
      EXPECT_GT(result.number("preemptions"), 0) << "the case is meant to be tight";
    }
  }
}

TEST_P(EverySpeculation, AcceptsTheLengthThatIsGiven) {
  const RunResult result = run(drafting(policy(), kNgrams), chats(150, 0.2));
  const double drafts = metric(result, "drafts");
  EXPECT_GT(drafts, 20'000);
  EXPECT_NEAR(metric(result, "mean_acceptance_length"), 2.2, 4 * 1.2 / std::sqrt(drafts));
  EXPECT_EQ(metric(result, "draft_tokens"), 3 * drafts);
  EXPECT_NEAR(metric(result, "acceptance_rate"), 1.2 / 3, 4 * 0.4 / std::sqrt(drafts));
}

// Drafted and accepted tokens are a property of the texts: policies change their times only.
TEST_P(EverySpeculation, DraftsTheSameAsEveryOther) {
  const Workload workload = chats(60, 0.1);
  const std::vector<RunResult> runs =
      run_all({{drafting("recompute", kNgrams), workload}, {drafting(policy(), kNgrams), workload}});
  if (runs[1].number("preemptions") + runs[1].number("truncated") + runs[1].number("rejected") > 0) return;
  EXPECT_EQ(metric(runs[0], "drafts"), metric(runs[1], "drafts"));
  EXPECT_EQ(metric(runs[0], "accepted_tokens"), metric(runs[1], "accepted_tokens"));
}

TEST_P(EverySpeculation, RepeatsItself) {
  const Case one{drafting(policy(), kLayers), chats(60, 0.3)};
  const std::vector<RunResult> runs = run_all({one, one});
  EXPECT_EQ(serialize(runs[0]), serialize(runs[1]));
}

// A single turn's prefill is an idle engine's, including the drafter's pass over the prompt. This also holds
// if a prompt is computed layer by layer during the loads instead of in a step.
TEST_P(EverySpeculation, DraftsAfterEveryPrompt) {
  const std::vector<RunResult> results = run_all(
      {{scenario(policy()), one_turn(4000, 100)}, {drafting(policy(), kLayers), one_turn(4000, 100)}});
  const Scenario machine = scenario(policy());
  const Speculation speculation(kLayers, machine.model, machine.hardware, 1, 1);
  const PrefillChunk prompt{100, 0};
  const double longer_s = results[1].turns[0].ttft_s - results[0].turns[0].ttft_s;
  EXPECT_GE(longer_s, speculation.drafter_s({&prompt, 1}, {}) * (1 - 1e-9));
}

TEST_P(EverySpeculation, BatchesNothingWhereTurnsAreAlone) {
  Workload workload = chats(20, 0.2);
  for (std::size_t i = 0; i < workload.sessions.size(); ++i) {
    workload.turns[workload.sessions[i].first_turn].time_s = 20'000.0 * static_cast<double>(i);
  }
  const RunResult result = run(drafting(policy(), kLayers), workload);
  EXPECT_LE(result.number("mean_batching_ms"), 1e-3 * result.number("ttft_breakdown_ms.prefill"));
}

}  // namespace
}  // namespace kvcap::laws::speculation_laws_test
