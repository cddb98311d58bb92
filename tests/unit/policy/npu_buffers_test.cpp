// KV buffers of a static-graph NPU: what is reserved, what is copied, and what that does to the engine.
#include <gtest/gtest.h>

#include "base/input_error.h"
#include "laws/machines.h"

namespace kvcap::npu_buffers_test {
namespace {

using laws::one_turn;
using laws::run;
using laws::run_all;

constexpr double kKvBytes = 2.0 * 32 * 4096 * 2;  // Llama-7B, a token: K and V, layers, D, two bytes
constexpr double kBandwidth = 1555e9;

// Llama-7B in a window of 2048 tokens, contexts in DRAM.
Scenario window_of_2048(const std::string& policy) {
  Scenario result = laws::scenario(policy);
  result.serving.max_model_len = 2048;
  result.policy.tiers = {{.kind = Tier::dram}};
  return result;
}

double reserved_bytes(const std::string& policy) {
  return Machine(window_of_2048(policy), 1000, 1000).policy().traits().kv_buffer.reserved_tokens * kKvBytes;
}

TEST(NpuBuffers, ReserveTheBytesThatTheNotePrints) {
  // 2 x 2 x 32 blocks x 32 heads x 2047 x 128 x 16/8, and 3/4 of it (3070.5 slots)
  EXPECT_EQ(reserved_bytes("npu_reserve_2x"), 2146435072);
  EXPECT_EQ(reserved_bytes("npu_reserve_1_5x"), 1609826304);
  // S slots, for which the note gives no figure: 2048 x 524,288
  EXPECT_EQ(reserved_bytes("npu_copy"), 1073741824);
  EXPECT_EQ(reserved_bytes("kv_offload"), 0);
}

TEST(NpuBuffers, CopyTheWindowWithEveryDecodedTokenWhereNothingIsToSpare) {
  for (Fidelity fidelity : {Fidelity::request, Fidelity::layer}) {
    Scenario copy = window_of_2048("npu_copy");
    copy.fidelity = fidelity;
    const RunResult result = run(copy, one_turn(0, 300, 101));
    // 100 decoded tokens, 2047 slots each
    const double copied_bytes = 100 * 2047 * kKvBytes;
    EXPECT_EQ(result.number("kv_buffer.copied_bytes"), copied_bytes);
    EXPECT_EQ(result.number("kv_buffer.reserved_bytes"), 1073741824);
    EXPECT_DOUBLE_EQ(result.number("kv_buffer.copied_bytes_per_output_token"), copied_bytes / 101);
    // read and written
    const double copies_s = 2 * copied_bytes / kBandwidth;
    EXPECT_NEAR(result.number("kv_buffer.copy_ms_per_output_token"), 1e3 * copies_s / 101, 1e-9);
    const RunResult plain = run(window_of_2048("kv_offload"), one_turn(0, 300, 101));
    EXPECT_NEAR(result.turns[0].ttft_s, plain.turns[0].ttft_s, 1e-9);
    EXPECT_NEAR(result.turns[0].e2el_s, plain.turns[0].e2el_s + copies_s, 1e-6);
  }
}

// 1,023 moves fit into half a window; the token after them copies.
TEST(NpuBuffers, OfOneAndAHalfWindowsCopyOnceInALongAnswer) {
  const double copy_s = 2 * 2047 * kKvBytes / kBandwidth;
  for (Fidelity fidelity : {Fidelity::request, Fidelity::layer}) {
    const auto decode = [&](const std::string& policy, uint32_t output_tokens) {
      Scenario one = window_of_2048(policy);
      one.fidelity = fidelity;
      return run(one, one_turn(0, 300, output_tokens));
    };
    EXPECT_EQ(decode("npu_reserve_1_5x", 1024).number("kv_buffer.copied_bytes"), 0);
    const RunResult once = decode("npu_reserve_1_5x", 1700);
    EXPECT_EQ(once.number("kv_buffer.copied_bytes"), 2047 * kKvBytes);
    EXPECT_NEAR(once.turns[0].e2el_s, decode("kv_offload", 1700).turns[0].e2el_s + copy_s, 1e-6);
    EXPECT_EQ(decode("npu_reserve_2x", 1700).number("kv_buffer.copied_bytes"), 0);
  }
}

TEST(NpuBuffers, LoadAPrefixHitByCopyingItIntoTheWindow) {
  const std::vector<RunResult> runs = run_all({{window_of_2048("npu_reserve_2x"), one_turn(1000, 64)},
                                               {window_of_2048("ideal"), one_turn(1000, 64)}});
  EXPECT_EQ(runs[0].number("read_bytes.dram"), 1000 * kKvBytes);
  EXPECT_NEAR(runs[0].turns[0].load_s, 1000 * kKvBytes / 26e9, 1e-6);
  EXPECT_NEAR(runs[0].turns[0].ttft_s, runs[1].turns[0].ttft_s + 1000 * kKvBytes / 26e9, 1e-6);
}

// Memory for one buffer of 4094 slots and a half: the second turn waits for the first one's end.
TEST(NpuBuffers, TakeTheirWholeRoomAtAdmission) {
  Workload two;
  for (uint32_t s = 0; s < 2; ++s) {
    two.sessions.push_back({.first_turn = s, .turn_count = 1});
    two.turns.push_back({.input_tokens = 100, .output_tokens = 50});
  }
  Scenario narrow = window_of_2048("npu_reserve_2x");
  narrow.serving.kv_capacity_tokens = 6140;
  Scenario paged = narrow;
  paged.policy.name = "kv_offload";
  const std::vector<RunResult> runs = run_all({{narrow, two}, {paged, two}});
  EXPECT_EQ(runs[0].number("peak_kv_tokens"), 4096);  // whole blocks
  // The room is free when the first turn's 150 tokens have been saved.
  const double save_s = 150 * 524288 / 26e9;
  EXPECT_NEAR(runs[0].turns[1].ttft_s, runs[0].turns[0].e2el_s + save_s + runs[0].turns[0].ttft_s, 1e-6);
  EXPECT_LT(runs[1].turns[1].ttft_s, runs[1].turns[0].e2el_s);
}

TEST(NpuBuffers, ThatDoNotFitAreRefusedInOneLine) {
  Scenario narrow = window_of_2048("npu_reserve_2x");
  narrow.serving.kv_capacity_tokens = 4000;
  try {
    Machine(narrow, 100, 100);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "serving.max_model_len: found 2048, for which npu_reserve_2x reserves 4094.0 KV tokens per "
                 "sequence; allowed: a length whose reservation fits the KV capacity of 4000 tokens");
  }
}

}  // namespace
}  // namespace kvcap::npu_buffers_test
