// The share of prompt tokens that a real vLLM found in its prefix cache, second by second: 300 requests in
// six pulses to Llama-3.1-8B on an RTX A6000 (casys-kaist/LLMServingSim f4ab208c, ispass26-artifact, Fig. 7;
// 0.13.0rc2, 221,504 tokens of KV as its log says). An A6000 is not in the catalogue; an L40S with that
// capacity stands for it, since nothing is evicted and what is found hangs on the order of arrivals alone.
//
// The same requests to two such servers, every other one to each (the sums of prompt tokens in their logs say
// so), which share what LMCache keeps: a remote store without limits here. LMCache's chunks are its default
// of 256 tokens: what it found are multiples of them, less what the GPU had.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "scenario/load.h"
#include "validate/suites.h"
#include "validate/theory/reduced.h"
#include "workload/logs/csv.h"
#include "workload/logs/lines.h"

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

// Shares of all prompt tokens that a server was asked for since the first, every kEvery_s from the first
// second with any on: found in its own prefix cache, and in what its connector reaches.
struct Series {
  double first_tokens = 0;  // asked for in that second
  std::vector<double> own, connected;
};
Series measured_series(const std::string& path) {
  static constexpr std::array kColumns = {CsvColumn{"vllm:prefix_cache_queries_total"},
                                          CsvColumn{"vllm:prefix_cache_hits_total"},
                                          CsvColumn{"vllm:external_prefix_cache_hits_total"}};
  Series series;
  int64_t second = -1;
  for_each_csv_row(path, BadRow::error, kColumns, true, [&](const CsvRow& row) {
    const auto number = [&](std::size_t i) { return std::strtod(std::string(row.text(i)).c_str(), nullptr); };
    if (second < 0 && number(0) == 0) return true;
    if (second < 0) series.first_tokens = number(0);
    if (++second % kEvery_s == 0) {
      series.own.push_back(number(1) / number(0));
      series.connected.push_back(number(2) / number(0));
    }
    return true;
  });
  return series;
}

double prompt_tokens(const TurnRecord& turn) { return turn.history_tokens + turn.input_tokens; }

// Both clocks show the same when as many tokens have been asked for as in the log's first second.
double aligned_s(std::span<const TurnRecord> turns, double first_tokens) {
  double tokens = 0;
  for (const TurnRecord& turn : turns) {
    if ((tokens += prompt_tokens(turn)) >= first_tokens) return turn.arrival_s;
  }
  return 0;
}

// What the server `node` found, at the dates of its log.
Series simulated_series(const RunResult& run, uint16_t node, const Series& measured) {
  std::vector<TurnRecord> turns;
  std::copy_if(run.turns.begin(), run.turns.end(), std::back_inserter(turns),
               [node](const TurnRecord& turn) { return turn.node == node; });
  std::sort(turns.begin(), turns.end(),
            [](const TurnRecord& a, const TurnRecord& b) { return a.arrival_s < b.arrival_s; });
  Series series;
  const double begin_s = aligned_s(turns, measured.first_tokens);
  for (std::size_t i = 0; i < measured.own.size(); ++i) {
    const double until_s = begin_s + static_cast<double>(kEvery_s) * static_cast<double>(i);
    double own = 0, found = 0, asked = 0;
    for (const TurnRecord& turn : turns) {
      if (turn.arrival_s > until_s) continue;
      own += turn.tier_hit_tokens[index(Tier::hbm)];
      found += turn.hit_tokens;
      asked += prompt_tokens(turn);
    }
    series.own.push_back(own / asked);
    series.connected.push_back((found - own) / asked);
  }
  return series;
}

// The largest difference of two series, and their pairs.
double largest_difference(const std::vector<double>& ours, const std::vector<double>& theirs,
                          std::vector<Check::Case>& cases) {
  double most = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    most = std::max(most, std::abs(ours[i] - theirs[i]));
    cases.push_back({ours[i], theirs[i]});
  }
  return most;
}

Check begin_pulse(const std::string& id, const std::string& what) {
  Check check{.id = "stacks.pulses." + id,
              .suite = "stacks",
              .what = "300 requests in six pulses to " + what + ", every 10 s; largest difference"};
  check.claim = Claim::at_most;
  check.reference = {kWithin};
  return check;
}

Scenario pulse_scenario(const std::string& members, const std::vector<std::string>& overrides = {}) {
  return parse_scenario(
      R"({"schema": "kvcap.scenario/1", "name": "pulses", "workload": {"source": {"kind": "chat"}}, )" +
          members + "}",
      "pulses", overrides);
}

constexpr std::string_view kServer = R"("model": "llama-3.1-8b", "hardware": "l40s", "serving":
    {"max_num_seqs": 128, "max_num_batched_tokens": 2048, "max_model_len": 2048, "kv_capacity_tokens": 221504})";

}  // namespace

std::vector<Check> pulse_checks(const std::string& data) {
  const std::string folder = data + "/runs/llmservingsim-ispass26";
  const std::string path = folder + "/workload_fig7_pulse_req50_n6.jsonl.gz";
  Check alone = begin_pulse("hit_rate", "vLLM: share of prompt tokens found again since the first request");
  Check own = begin_pulse("shared.own",
                          "two vLLM with one LMCache: share of each server's prompt tokens found on its GPU");
  Check connected = begin_pulse(
      "shared.lmcache", "two vLLM with one LMCache: share of each server's prompt tokens that LMCache found");
  if (!std::filesystem::exists(path)) {
    for (Check* check : {&alone, &own, &connected}) check->reason = "no " + path + " (--data)";
    return {alone, own, connected};
  }
  const Workload workload = pulses(path);
  const Scenario one = pulse_scenario(std::string(kServer) + R"(, "policy": "recompute")");
  const Scenario two =
      pulse_scenario(std::string(kServer) + R"(, "policy": {"name": "lmcache", "tiers": [{"kind": "remote"}]},
      "fleet": {"replicas": 2, "routing": "round_robin", "shared_remote": true})",
                     {"hardware.remote={\"capacity_bytes\": 1e11, \"bandwidth_bytes_per_s\": 1e10}"});
  const std::vector<RunResult> runs = run_cases({{one, workload}, {two, workload}});

  const Series measured = measured_series(folder + "/kv_metrics_SD-PC.csv");
  alone.simulated = {
      largest_difference(simulated_series(runs[0], 0, measured).own, measured.own, alone.cases)};
  alone.reason =
      "within a pulse the share moves by four points a second; at all other dates they differ by less than "
      "one";
  own.simulated = connected.simulated = {0};
  for (const uint16_t node : {uint16_t{0}, uint16_t{1}}) {
    const Series theirs =
        measured_series(folder + "/kv_metrics_MD-PC-PS_inst" + std::to_string(node) + ".csv");
    const Series ours = simulated_series(runs[1], node, theirs);
    const auto widen = [](Check& check, double difference) {
      check.simulated = {std::max(check.simulated.front(), difference)};
    };
    widen(own, largest_difference(ours.own, theirs.own, own.cases));
    widen(connected, largest_difference(ours.connected, theirs.connected, connected.cases));
  }
  own.reason = "as of one server: when all are answered the shares are the measured ones to 0.1 points";
  for (Check* check : {&alone, &own, &connected}) judge(*check);
  return {alone, own, connected};
}

}  // namespace kvcap
