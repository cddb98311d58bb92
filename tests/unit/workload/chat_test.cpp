// The generated chats against the data they are fitted to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "unit/shared_data.h"
#include "workload/workload.h"

namespace kvcap::chat_test {
namespace {

struct Figures {
  double mean_turns = 0, mean_history = 0, history_share = 0, multi_turn_share = 0;
  double mean_input = 0, mean_output = 0, largest_session = 0;
  double input_rank_correlation = 0, output_rank_correlation = 0;  // of a turn with the turn before
  std::vector<double> inputs, outputs;                             // sorted

  static double quantile(const std::vector<double>& sorted, double p) {
    return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size()))];
  }
};

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) result[order[k]] = 0.5 * static_cast<double>(i + end - 1);
    i = end;
  }
  return result;
}

double rank_correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const std::vector<double> a = ranks(x), b = ranks(y);
  const double middle = 0.5 * static_cast<double>(a.size() - 1);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - middle) * (b[i] - middle);
    aa += (a[i] - middle) * (a[i] - middle);
    bb += (b[i] - middle) * (b[i] - middle);
  }
  return ab / std::sqrt(aa * bb);
}

Figures figures_of(const Workload& workload) {
  Figures figures;
  double input_sum = 0, multi = 0;
  std::vector<double> inputs_before, inputs_after, outputs_before, outputs_after;
  for (const Session& session : workload.sessions) {
    const auto turns = workload.turns_of(session);
    multi += turns.size() > 1;
    double total = 0;
    for (std::size_t j = 0; j < turns.size(); ++j) {
      figures.inputs.push_back(turns[j].input_tokens);
      figures.outputs.push_back(turns[j].output_tokens);
      input_sum += turns[j].input_tokens;
      total += turns[j].input_tokens + turns[j].output_tokens;
      if (j == 0) continue;
      outputs_before.push_back(turns[j - 1].output_tokens);
      outputs_after.push_back(turns[j].output_tokens);
      if (j == 1) continue;  // first inputs are of another kind
      inputs_before.push_back(turns[j - 1].input_tokens);
      inputs_after.push_back(turns[j].input_tokens);
    }
    figures.largest_session = std::max(figures.largest_session, total);
  }
  const auto sessions = static_cast<double>(workload.sessions.size());
  const auto turns = static_cast<double>(workload.turns.size());
  figures.mean_turns = turns / sessions;
  figures.multi_turn_share = multi / sessions;
  figures.mean_history = workload.mean_history_tokens();
  figures.history_share = figures.mean_history * turns / (figures.mean_history * turns + input_sum);
  figures.mean_input = input_sum / turns;
  figures.mean_output = std::accumulate(figures.outputs.begin(), figures.outputs.end(), 0.0) / turns;
  figures.input_rank_correlation = rank_correlation(inputs_before, inputs_after);
  figures.output_rank_correlation = rank_correlation(outputs_before, outputs_after);
  std::sort(figures.inputs.begin(), figures.inputs.end());
  std::sort(figures.outputs.begin(), figures.outputs.end());
  return figures;
}

Figures generated() {
  WorkloadOptions options;
  options.source.kind = "chat";
  options.sessions = 40000;
  return figures_of(make_workload(options, 1));
}

TEST(Chat, FollowsTheFiguresOfItsTable) {
  std::ifstream file(KVCAP_SOURCE_DIR "/traces/chat.json");
  const auto json = nlohmann::json::parse(file);
  const auto& data = json["data"];
  const Figures chats = generated();
  const auto near = [](double found, const nlohmann::json& expected, double share) {
    EXPECT_NEAR(found, expected.get<double>(), share * expected.get<double>());
  };
  near(chats.mean_turns, data["mean_turns"], 0.02);
  near(chats.mean_history, data["mean_history_tokens"], 0.02);
  near(chats.history_share, data["history_share"], 0.01);
  near(chats.multi_turn_share, data["multi_turn_share"], 0.01);
  near(chats.mean_output, data["mean_output_tokens"], 0.02);
  for (const auto& [name, p] : {std::pair{"p25", 0.25}, {"p50", 0.5}, {"p75", 0.75}, {"p90", 0.9}}) {
    near(Figures::quantile(chats.outputs, p), data["output_tokens"][name], 0.03);
    near(Figures::quantile(chats.inputs, p), data["input_tokens"][name], 0.12);
  }
  // Pastes of several thousand tokens fit a session of 8,192 less often than they are drawn, so that the
  // mean input, most of which they are, is lower; half of all inputs are below 27 tokens.
  near(chats.mean_input, data["mean_input_tokens"], 0.15);
  EXPECT_NEAR(chats.output_rank_correlation, 0.47, 0.03);
  EXPECT_NEAR(chats.input_rank_correlation, 0.35, 0.03);
  EXPECT_LE(chats.largest_session, 8192);
}

TEST(Chat, FollowsTheConversationsThemselves) {
  KVCAP_NEEDS_SHARED_DATA("traces/sharegpt_turns_repaired.jsonl");
  WorkloadOptions options;
  options.source.kind = "sessions";
  options.source.path = shared_data("traces/sharegpt_turns_repaired.jsonl");
  const Figures data = figures_of(make_workload(options, 1));
  const Figures chats = generated();
  EXPECT_NEAR(chats.mean_turns, data.mean_turns, 0.02 * data.mean_turns);
  EXPECT_NEAR(chats.mean_history, data.mean_history, 0.02 * data.mean_history);
  EXPECT_NEAR(chats.output_rank_correlation, data.output_rank_correlation, 0.05);
  EXPECT_NEAR(chats.input_rank_correlation, data.input_rank_correlation, 0.05);
  for (double p = 0.1; p < 0.95; p += 0.1) {
    const double output = Figures::quantile(data.outputs, p), input = Figures::quantile(data.inputs, p);
    EXPECT_NEAR(Figures::quantile(chats.outputs, p), output, 0.04 * output) << p;
    EXPECT_NEAR(Figures::quantile(chats.inputs, p), input, std::max(1.0, 0.12 * input)) << p;
  }
}

TEST(Chat, DefaultsToAThousandSessionsAndSaysWhereTheyComeFrom) {
  const Workload workload = make_workload({}, 1);
  EXPECT_EQ(workload.sessions.size(), 1000u);
  ASSERT_EQ(workload.notes.size(), 1u);
  EXPECT_EQ(workload.notes[0],
            "chats are drawn from statistics of ShareGPT (traces/chat.json); sessions end at 8192 tokens");
}

}  // namespace
}  // namespace kvcap::chat_test
