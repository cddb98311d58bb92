// The share of prompt tokens that a real vLLM found in its prefix cache, second by second: 300 requests in
// six pulses to Llama-3.1-8B on an RTX A6000 (casys-kaist/LLMServingSim f4ab208c, ispass26-artifact, Fig. 7;
// 0.13.0rc2, 221,504 tokens of KV as its log says). An A6000 is not in the catalogue; an L40S with that
// capacity stands for it, since nothing is evicted and what is found hangs on the order of arrivals alone.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "validate/published_stacks.h"
#include "workload/csv.h"
#include "workload/lines.h"

namespace kvcap {
namespace {

constexpr uint32_t kBlockTokens = 16;
constexpr int64_t kEvery_s = 10;
constexpr double kWithin = 0.03;  // set before the first run

// hash_ids name every full block of prompt and answer; pieces are those within the prompt.
Workload pulses(const std::string& path) {
  Workload workload;
  workload.absolute_times = true;
  workload.piece_begin = {0};
  constexpr uint64_t kOwn = uint64_t{1} << 40;
  LineReader lines(path);
  for (std::string_view line; lines.next(line);) {
    const nlohmann::json row = nlohmann::json::parse(line);
    const auto input = row.at("input_length").get<uint32_t>();
    const auto turn = static_cast<uint32_t>(workload.turns.size());
    workload.sessions.push_back({.first_turn = turn, .turn_count = 1});
    workload.turns.push_back(
        {input, row.at("output_length").get<uint32_t>(), row.at("timestamp").get<double>() / 1e3});
    for (uint32_t block = 0; block < input / kBlockTokens; ++block) {
      workload.pieces.push_back({row.at("hash_ids").at(block).get<uint64_t>(), kBlockTokens});
    }
    if (input % kBlockTokens != 0) workload.pieces.push_back({kOwn + turn, input % kBlockTokens});
    workload.piece_begin.push_back(workload.pieces.size());
  }
  return workload;
}

// Of all prompt tokens since the first, every kEvery_s from the first second with any on.
struct Series {
  double first_tokens = 0;  // asked for in that second
  std::vector<double> shares;
};
Series measured_series(const std::string& path) {
  static constexpr std::array kColumns = {CsvColumn{"vllm:prefix_cache_queries_total"},
                                          CsvColumn{"vllm:prefix_cache_hits_total"}};
  Series series;
  int64_t second = -1;
  for_each_csv_row(path, BadRow::error, kColumns, true, [&](const CsvRow& row) {
    const auto number = [&](std::size_t i) { return std::strtod(std::string(row.text(i)).c_str(), nullptr); };
    if (second < 0 && number(0) == 0) return true;
    if (second < 0) series.first_tokens = number(0);
    if (++second % kEvery_s == 0) series.shares.push_back(number(1) / number(0));
    return true;
  });
  return series;
}

// Both clocks show the same when as many tokens have been asked for as in the log's first second.
double aligned_s(const RunResult& run, double first_tokens) {
  std::vector<std::pair<double, double>> asked;
  for (const TurnRecord& turn : run.turns) {
    asked.emplace_back(turn.arrival_s, turn.history_tokens + turn.input_tokens);
  }
  std::sort(asked.begin(), asked.end());
  double tokens = 0;
  for (const auto& [arrival_s, more] : asked) {
    if ((tokens += more) >= first_tokens) return arrival_s;
  }
  return 0;
}

std::vector<double> simulated_shares(const RunResult& run, const Series& measured) {
  std::vector<double> shares;
  const double begin_s = aligned_s(run, measured.first_tokens);
  for (std::size_t i = 0; i < measured.shares.size(); ++i) {
    const double until_s = begin_s + static_cast<double>(kEvery_s) * static_cast<double>(i);
    double found = 0, asked = 0;
    for (const TurnRecord& turn : run.turns) {
      if (turn.arrival_s > until_s) continue;
      found += turn.hit_tokens;
      asked += turn.history_tokens + turn.input_tokens;
    }
    shares.push_back(found / asked);
  }
  return shares;
}

}  // namespace

std::vector<Check> pulse_checks(const std::string& data) {
  const std::string folder = data + "/runs/llmservingsim-ispass26";
  Check check{.id = "stacks.pulses.hit_rate",
              .suite = "stacks",
              .what =
                  "300 requests in six pulses to vLLM: share of prompt tokens found again since the "
                  "first request, every 10 s; largest difference"};
  check.claim = Claim::at_most;
  const std::string workload = folder + "/workload_fig7_pulse_req50_n6.jsonl.gz";
  if (!std::filesystem::exists(workload)) {
    check.reason = "no " + workload + " (--data)";
    return {check};
  }
  const Scenario scenario = stack_scenario(
      R"("model": "llama-3.1-8b", "hardware": "l40s", "policy": "recompute", "serving": {"max_num_seqs": 128,
      "max_num_batched_tokens": 2048, "max_model_len": 2048, "kv_capacity_tokens": 221504})");
  const RunResult run = run_cases({{scenario, pulses(workload)}}).front();
  const Series measured = measured_series(folder + "/kv_metrics_SD-PC.csv");
  const std::vector<double>& theirs = measured.shares;
  const std::vector<double> ours = simulated_shares(run, measured);
  double most = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    most = std::max(most, std::abs(ours[i] - theirs[i]));
    check.cases.push_back({ours[i], theirs[i]});
  }
  check.simulated = {most};
  check.reference = {kWithin};
  check.reason =
      "within a pulse the share moves by four points a second; at all other dates they differ by less than "
      "one";
  judge(check);
  return {check};
}

}  // namespace kvcap
