#include "observe/snapshot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/input_error.h"
#include "observe/engine_metrics.h"

namespace kvcap::snapshot_test {
namespace {

Snapshot read(const std::string& text) { return snapshot_of(parse_metrics(text, "page"), 100, "page"); }

TEST(Snapshot, ReadsWhatVllmExports) {
  const Snapshot one = read(R"(vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 7
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 3
vllm:prompt_tokens_total{engine="0",model_name="m"} 1000
vllm:generation_tokens_total{engine="0",model_name="m"} 200
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 900
vllm:prefix_cache_queries_created{engine="0",model_name="m"} 1.7e+09
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 300
vllm:external_prefix_cache_hits_total{engine="0",model_name="m"} 90
vllm:num_preemptions_total{engine="0",model_name="m"} 2
vllm:num_requests_running{engine="0",model_name="m"} 5
vllm:num_requests_waiting{engine="0",model_name="m"} 1
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 1
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:cache_config_info{block_size="16",enable_prefix_caching="True",engine="0",num_gpu_blocks="2588"} 1
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1",model_name="m"} 4
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="m"} 10
vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} 10
vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} 2.5
python_gc_objects_collected_total{generation="0"} 14
)");
  EXPECT_EQ(one.engine, ObservedEngine::vllm);
  EXPECT_EQ(one[Counter::requests], 10);
  EXPECT_EQ(one[Counter::prompt_tokens], 1000);
  EXPECT_EQ(one[Counter::output_tokens], 200);
  EXPECT_EQ(one[Counter::queried_tokens], 900);
  EXPECT_EQ(one[Counter::hbm_hit_tokens], 300);
  EXPECT_EQ(one[Counter::external_hit_tokens], 90);
  EXPECT_TRUE(std::isnan(one[Counter::host_hit_tokens]));
  EXPECT_EQ(one[Counter::preemptions], 2);
  EXPECT_EQ(one[Gauge::running], 5);
  EXPECT_EQ(one[Gauge::waiting], 1);
  EXPECT_EQ(one[Gauge::kv_usage], 0.25);
  EXPECT_EQ(one.kv_capacity_tokens(), 2588 * 16);
  EXPECT_EQ(one.config.at("enable_prefix_caching"), "True");
  EXPECT_EQ(one.models, std::set<std::string>{"m"});
  EXPECT_EQ(one.engines, 1);
  EXPECT_EQ(one.unix_s, 100);
  EXPECT_EQ(one.started_s, 1.7e9);
  EXPECT_EQ(one[Spread::ttft_s].bounds, (std::vector<double>{0.1, INFINITY}));
  EXPECT_EQ(one[Spread::ttft_s].counts, (std::vector<double>{4, 10}));
  EXPECT_EQ(one[Spread::ttft_s].sum, 2.5);
  EXPECT_TRUE(one[Spread::itl_s].empty());
}

// vLLM 0.9 and 0.10 export both names of a figure; adding them would count twice.
TEST(Snapshot, OfANameAndItsSuccessorOnlyOneCounts) {
  const Snapshot both = read(R"(vllm:gpu_prefix_cache_hits_total 300
vllm:prefix_cache_hits_total 300
vllm:gpu_cache_usage_perc 0.5
vllm:kv_cache_usage_perc 0.5
vllm:time_per_output_token_seconds_bucket{le="+Inf"} 4
vllm:time_per_output_token_seconds_sum 1
vllm:inter_token_latency_seconds_bucket{le="+Inf"} 4
vllm:inter_token_latency_seconds_sum 1
)");
  EXPECT_EQ(both[Counter::hbm_hit_tokens], 300);
  EXPECT_EQ(both[Gauge::kv_usage], 0.5);
  EXPECT_EQ(both[Spread::itl_s].count(), 4);
  EXPECT_EQ(both[Spread::itl_s].sum, 1);
  EXPECT_EQ(read("vllm:gpu_prefix_cache_hits_total 300\n")[Counter::hbm_hit_tokens], 300);
}

TEST(Snapshot, ReadsTheOffloadingConnectorUnderBothItsNames) {
  const std::string old = R"(vllm:kv_offload_total_bytes_total{transfer_type="CPU_to_GPU"} 3e9
vllm:kv_offload_total_bytes_total{transfer_type="GPU_to_CPU"} 5e9
vllm:kv_offload_total_time_total{transfer_type="CPU_to_GPU"} 0.2
vllm:kv_offload_total_time_total{transfer_type="GPU_to_CPU"} 0.4
)";
  const std::string both = old + R"(vllm:kv_offload_load_bytes_total 3e9
vllm:kv_offload_load_time_total 0.2
vllm:kv_offload_store_bytes_total 5e9
)";
  for (const std::string& text : {old, both}) {
    const Snapshot one = read(text);
    EXPECT_EQ(one[Counter::loaded_bytes], 3e9);
    EXPECT_EQ(one[Counter::load_s], 0.2);
    EXPECT_EQ(one[Counter::saved_bytes], 5e9);
  }
}

// vLLM counts positions from 0; the tenth is no second.
TEST(Snapshot, ReadsDraftsAndTheirAcceptanceByPosition) {
  const Snapshot one = read(R"(vllm:spec_decode_num_drafts_total{engine="0"} 1000
vllm:spec_decode_num_draft_tokens_total{engine="0"} 3000
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 1200
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 700
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",position="0"} 10
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 330
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="2"} 170
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="10"} 9
)");
  EXPECT_EQ(one[Counter::drafts], 1000);
  EXPECT_EQ(one[Counter::draft_tokens], 3000);
  EXPECT_EQ(one[Counter::accepted_tokens], 1200);
  EXPECT_EQ(one[Counter::accepted_at_1], 710);
  EXPECT_EQ(one[Counter::accepted_at_2], 330);
  EXPECT_EQ(one[Counter::accepted_at_3], 170);
  EXPECT_TRUE(std::isnan(one[Counter::accepted_at_4]));
  const Snapshot ranks = read(R"(sglang:spec_accept_length{dp_rank="0"} 2.5
sglang:spec_accept_length{dp_rank="1"} 3.5
)");
  EXPECT_EQ(ranks[Gauge::mean_acceptance_length], 3) << "the mean of both";
  const Snapshot one_idle = read(R"(sglang:spec_accept_length{dp_rank="0"} 0
sglang:spec_accept_length{dp_rank="1"} 3.5
)");
  EXPECT_EQ(one_idle[Gauge::mean_acceptance_length], 3.5);
  EXPECT_TRUE(std::isnan(read("sglang:spec_accept_length 0\n")[Gauge::mean_acceptance_length]))
      << "SGLang without speculation";
}

TEST(Snapshot, ReadsWhatSglangExportsTierByTier) {
  const Snapshot one = read(R"(sglang:num_requests_total{model_name="m",tp_rank="0"} 12
sglang:prompt_tokens_total{model_name="m",is_streaming="true"} 600
sglang:prompt_tokens_total{model_name="m",is_streaming="false"} 400
sglang:cached_tokens_total{model_name="m",cache_source="device"} 250
sglang:cached_tokens_total{model_name="m",cache_source="host"} 100
sglang:cached_tokens_total{model_name="m",cache_source="storage_file"} 50
sglang:num_running_reqs{model_name="m"} 3
sglang:num_queue_reqs{model_name="m"} 2
sglang:token_usage{model_name="m"} 0.4
sglang:cache_hit_rate{model_name="m"} 0.9
sglang:max_total_num_tokens{model_name="m"} 450000
sglang:cache_config_info{page_size="1",num_pages="450000"} 1
sglang:num_retracted_requests_total{model_name="m"} 4
)");
  EXPECT_EQ(one.engine, ObservedEngine::sglang);
  EXPECT_EQ(one[Counter::requests], 12);
  EXPECT_EQ(one[Counter::queried_tokens], 1000);
  EXPECT_EQ(one[Counter::hbm_hit_tokens], 250);
  EXPECT_EQ(one[Counter::host_hit_tokens], 100);
  EXPECT_EQ(one[Counter::storage_hit_tokens], 50);
  EXPECT_EQ(one[Counter::preemptions], 4);
  EXPECT_EQ(one[Gauge::waiting], 2);
  EXPECT_EQ(one[Gauge::hit_rate], 0.9);
  EXPECT_EQ(one.kv_capacity_tokens(), 450000);
  EXPECT_EQ(one.block_size(), 1);
}

TEST(Snapshot, OlderSglangDoesNotSayFromWhereTokensCame) {
  EXPECT_EQ(read("sglang:cached_tokens_total{model_name=\"m\"} 250\n")[Counter::hbm_hit_tokens], 250);
}

TEST(Snapshot, EnginesBehindOneAddressAreSummed) {
  const Snapshot two = read(R"(vllm:num_requests_running{engine="0"} 5
vllm:num_requests_running{engine="1"} 3
vllm:kv_cache_usage_perc{engine="0"} 0.2
vllm:kv_cache_usage_perc{engine="1"} 0.6
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1000"} 1
vllm:cache_config_info{block_size="16",engine="1",num_gpu_blocks="500"} 1
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1"} 4
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.2"} 4
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf"} 10
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.1"} 1
vllm:time_to_first_token_seconds_bucket{engine="1",le="+Inf"} 2
)");
  EXPECT_EQ(two.engines, 2);
  EXPECT_EQ(two[Gauge::running], 8);
  EXPECT_DOUBLE_EQ(two[Gauge::kv_usage], 0.4);
  EXPECT_EQ(two.kv_capacity_tokens(), 1500 * 16);
  // Only bounds that both have.
  EXPECT_EQ(two[Spread::ttft_s].bounds, (std::vector<double>{0.1, INFINITY}));
  EXPECT_EQ(two[Spread::ttft_s].counts, (std::vector<double>{5, 12}));
}

// Before cache_config_info had a label "engine", one sample spoke for all.
TEST(Snapshot, OneConfigurationSpeaksForAllEngines) {
  const Snapshot two = read(R"(vllm:num_requests_running{engine="0"} 5
vllm:num_requests_running{engine="1"} 3
vllm:cache_config_info{block_size="16",num_gpu_blocks="1000"} 1
)");
  EXPECT_EQ(two.kv_capacity_tokens(), 2000 * 16);
}

TEST(Snapshot, WhatIsNoNumberIsNotKnown) {
  const Snapshot one = read(R"(vllm:num_requests_running 1
vllm:gpu_prefix_cache_hit_rate -1
vllm:kv_cache_usage_perc NaN
vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1
)");
  EXPECT_TRUE(std::isnan(one[Gauge::hit_rate]));
  EXPECT_TRUE(std::isnan(one[Gauge::kv_usage]));
  EXPECT_TRUE(std::isnan(one.kv_capacity_tokens()));
}

// One of two samples is bad: the sum of the others would be a number that nobody counted.
TEST(Snapshot, ValuesThatNoServerHasAreRefusedWithTheirNames) {
  for (const std::string bad : {"-5", "NaN", "+Inf", "-Inf", "1e308"}) {
    const Snapshot one = read(
        "vllm:request_success_total{finished_reason=\"stop\"} 7\n"
        "vllm:request_success_total{finished_reason=\"length\"} " +
        bad +
        "\n"
        "vllm:prompt_tokens_total 100\n"
        "vllm:num_requests_running " +
        bad +
        "\n"
        "vllm:time_to_first_token_seconds_bucket{le=\"0.1\"} " +
        bad +
        "\n"
        "vllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} 10\n"
        "vllm:inter_token_latency_seconds_bucket{le=\"+Inf\"} 10\n"
        "vllm:inter_token_latency_seconds_sum " +
        bad + "\n");
    EXPECT_TRUE(std::isnan(one[Counter::requests])) << bad;
    EXPECT_EQ(one[Counter::prompt_tokens], 100);
    EXPECT_TRUE(std::isnan(one[Gauge::running])) << bad;
    EXPECT_TRUE(one[Spread::ttft_s].empty()) << bad;
    EXPECT_TRUE(one[Spread::itl_s].empty()) << bad;
    EXPECT_EQ(one.refused.size(), 4U) << bad;
    EXPECT_TRUE(one.has_refused(Counter::requests));
    EXPECT_FALSE(one.has_refused(Counter::prompt_tokens));
    EXPECT_TRUE(one.has_refused(Spread::ttft_s));
    EXPECT_FALSE(one.has_refused(Spread::prompt_tokens));
  }
  const Snapshot one =
      read("vllm:num_requests_running -2\nvllm:prompt_tokens_total -5\nvllm:kv_cache_usage_perc -1\n");
  EXPECT_EQ(one.refused,
            (std::map<std::string, std::string>{{"counters.prompt_tokens", "vllm:prompt_tokens_total is -5"},
                                                {"gauges.running", "vllm:num_requests_running is -2"}}));
  EXPECT_TRUE(read("vllm:num_requests_running 0\nvllm:prompt_tokens_total 0\n").refused.empty());
}

TEST(Snapshot, ASampleKnowsBestWhenItWasTaken) {
  EXPECT_DOUBLE_EQ(read("vllm:num_requests_running 1 1700000000500\n").unix_s, 1700000000.5);
}

TEST(Snapshot, OtherServersAreRefused) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      read(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string allowed =
      ", allowed: metrics of vLLM (vllm:...) or SGLang (sglang:..., with --enable-metrics)";
  EXPECT_EQ(refusal(""), "page: found no metrics" + allowed);
  EXPECT_EQ(refusal("go_threads 3\n"), "page: found only metrics such as \"go_threads\"" + allowed);
}

TEST(EngineMetrics, EveryFigureHasANameInEachEngineThatExportsIt) {
  const auto has = [](ObservedEngine engine, Spread which) {
    return std::any_of(spread_metrics().begin(), spread_metrics().end(),
                       [&](const auto& row) { return row.engine == engine && row.meter == which; });
  };
  for (std::size_t i = 0; i < std::size(kSpreadNames); ++i) {
    EXPECT_TRUE(has(ObservedEngine::vllm, static_cast<Spread>(i))) << kSpreadNames[i];
    EXPECT_TRUE(has(ObservedEngine::sglang, static_cast<Spread>(i))) << kSpreadNames[i];
  }
  for (const auto& row : counter_metrics())
    EXPECT_TRUE(row.name.starts_with(metric_prefix(row.engine))) << row.name;
  for (const auto& row : gauge_metrics())
    EXPECT_TRUE(row.name.starts_with(metric_prefix(row.engine))) << row.name;
}

template <class Metrics, class Names>
void add_lines(const Metrics& metrics, const Names& names, std::string& text) {
  for (const auto& row : metrics) {
    text += std::string(row.name) + " " + std::string(names[static_cast<std::size_t>(row.meter)]);
    if (!row.label.empty()) text += " " + std::string(row.label) + "=" + std::string(row.value);
    text += "\n";
  }
}

TEST(EngineMetrics, AreCalledAsInTheEnginesSources) {
  std::string metrics;
  add_lines(counter_metrics(), kCounterNames, metrics);
  add_lines(gauge_metrics(), kGaugeNames, metrics);
  add_lines(spread_metrics(), kSpreadNames, metrics);
  const std::string stored = std::string(KVCAP_SOURCE_DIR) + "/tests/golden/metrics.txt";
  if (std::getenv("KVCAP_WRITE_GOLDEN")) std::ofstream(stored) << metrics;
  std::ostringstream expected;
  expected << std::ifstream(stored).rdbuf();
  EXPECT_EQ(metrics, expected.str());
}

}  // namespace
}  // namespace kvcap::snapshot_test
