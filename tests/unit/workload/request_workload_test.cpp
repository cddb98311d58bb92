#include "reference/request_workload.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "reference/random_requests.h"
#include "unit/cost_examples.h"

namespace kvcap::reference::request_workload_test {
namespace {

std::vector<std::pair<uint64_t, uint32_t>> pieces_of(const Workload& workload, std::size_t turn) {
  std::vector<std::pair<uint64_t, uint32_t>> pieces;
  for (const Piece& piece : workload.pieces_of(turn)) pieces.emplace_back(piece.key, piece.tokens);
  return pieces;
}

TEST(RequestWorkload, HasOneSessionPerRequestWithItsPromptAndItsAnswer) {
  const Workload workload =
      to_workload(std::vector<Request>{{0, 1.5, {{7, 10}, {8, 5}}, 3}, {1, 2.5, {{7, 10}}, 2}});
  EXPECT_TRUE(workload.absolute_times);
  ASSERT_EQ(workload.sessions.size(), 2U);
  EXPECT_EQ(workload.turns[0].input_tokens, 15U);
  EXPECT_EQ(workload.turns[0].output_tokens, 3U);
  EXPECT_EQ(workload.turns[1].time_s, 2.5);
  ASSERT_EQ(workload.pieces_of(0).size(), 3U);
  EXPECT_EQ(workload.prompt_pieces_of(0).size(), 2U);
  EXPECT_EQ(workload.pieces_of(0)[2].tokens, 3U);
  EXPECT_EQ(pieces_of(workload, 0)[0], pieces_of(workload, 1)[0]);
  EXPECT_NE(pieces_of(workload, 0)[2].first, pieces_of(workload, 1)[1].first);
}

TEST(RequestWorkload, CutsATextWhereverAPromptLeavesIt) {
  const Workload workload = to_workload(std::vector<Request>{
      {0, 0, {{7, 10}}, 5}, {1, 0, {{7, 4}, {8, 1}}, 1}, {2, 0, {{7, 10}, {answer_text(0), 2}}, 1}});
  const auto first = pieces_of(workload, 0);
  ASSERT_EQ(first.size(), 4U);  // 4 and 6 tokens of the prompt, 2 and 3 of the answer
  EXPECT_EQ(first[0].second, 4U);
  EXPECT_EQ(first[1].second, 6U);
  EXPECT_EQ(first[2].second, 2U);
  EXPECT_EQ(first[3].second, 3U);
  EXPECT_NE(first[0].first, first[1].first);
  EXPECT_EQ(pieces_of(workload, 1)[0], first[0]);
  const auto third = pieces_of(workload, 2);
  EXPECT_EQ(std::vector(third.begin(), third.begin() + 3), std::vector(first.begin(), first.begin() + 3));
}

TEST(RequestWorkload, IsWhatTheSimulatorReadsFromItsFile) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("kvcap_requests_" + std::to_string(getpid()) + ".jsonl");
  for (uint64_t number = 1; number <= 20; ++number) {
    const RandomCase one = random_case(number);
    std::ofstream(file) << to_sessions_jsonl(one.requests);
    WorkloadOptions options;
    options.source.kind = "sessions";
    options.source.path = file.string();
    options.arrivals.process = ArrivalProcess::trace;
    const Workload read = make_workload(options, 1);
    const Workload made = to_workload(one.requests);
    ASSERT_EQ(read.turns.size(), made.turns.size());
    EXPECT_EQ(read.piece_keys, made.piece_keys);
    EXPECT_EQ(read.absolute_times, made.absolute_times);
    for (std::size_t i = 0; i < made.turns.size(); ++i) {
      ASSERT_EQ(read.turns[i].time_s, made.turns[i].time_s);
      ASSERT_EQ(read.turns[i].input_tokens, made.turns[i].input_tokens);
      ASSERT_EQ(read.turns[i].output_tokens, made.turns[i].output_tokens);
      ASSERT_EQ(pieces_of(read, i), pieces_of(made, i));
    }
  }
  std::filesystem::remove(file);
}

TEST(RequestWorkload, StepsLastWhatTheCostModelSays) {
  const CostModel cost(llama_2_7b(), machine(), 1);
  const StepTime step_time(cost, {});
  const GpuTime gpu_s = gpu_time(step_time);
  using Step = std::vector<SliceOfStep>;
  const SliceOfStep prompt = {.tokens = 100, .cached_tokens = 50, .is_decode = false, .yields_token = true};
  const SliceOfStep half = {.tokens = 100, .cached_tokens = 50, .is_decode = false, .yields_token = false};
  const SliceOfStep decode = {.tokens = 1, .cached_tokens = 299, .is_decode = true, .yields_token = true};
  EXPECT_NEAR(gpu_s(Step{prompt}), cost.prefill_s({100, 50}), 1e-12);
  EXPECT_NEAR(gpu_s(Step{half}), cost.prefill_s({100, 50}) - cost.head_s(1), 1e-12);
  EXPECT_NEAR(gpu_s(Step{decode, decode}), cost.decode_step_s(2, 600), 1e-12);
}

}  // namespace
}  // namespace kvcap::reference::request_workload_test
