#include "observe/engine_metrics.h"

#include <string>

namespace kvcap {
namespace {

constexpr ObservedEngine kVllm = ObservedEngine::vllm, kSglang = ObservedEngine::sglang;

constexpr EngineMetric<Counter> kCounters[] = {
    {kVllm, "vllm:request_success_total", Counter::requests},
    {kVllm, "vllm:prompt_tokens_total", Counter::prompt_tokens},
    {kVllm, "vllm:generation_tokens_total", Counter::output_tokens},
    {kVllm, "vllm:prefix_cache_queries_total", Counter::queried_tokens},
    {kVllm, "vllm:gpu_prefix_cache_queries_total", Counter::queried_tokens},
    {kVllm, "vllm:prefix_cache_hits_total", Counter::hbm_hit_tokens},
    {kVllm, "vllm:gpu_prefix_cache_hits_total", Counter::hbm_hit_tokens},
    {kVllm, "vllm:external_prefix_cache_hits_total", Counter::external_hit_tokens},
    {kVllm, "vllm:num_preemptions_total", Counter::preemptions},
    {kVllm, "vllm:kv_offload_load_bytes_total", Counter::loaded_bytes},
    {kVllm, "vllm:kv_offload_total_bytes_total", Counter::loaded_bytes, "transfer_type", "CPU_to_GPU"},
    {kVllm, "vllm:kv_offload_total_bytes_total", Counter::loaded_bytes, "transfer_type",
     "SHARED_STORAGE_to_GPU"},
    {kVllm, "vllm:kv_offload_load_time_total", Counter::load_s},
    {kVllm, "vllm:kv_offload_total_time_total", Counter::load_s, "transfer_type", "CPU_to_GPU"},
    {kVllm, "vllm:kv_offload_total_time_total", Counter::load_s, "transfer_type", "SHARED_STORAGE_to_GPU"},
    {kVllm, "vllm:kv_offload_store_bytes_total", Counter::saved_bytes},
    {kVllm, "vllm:kv_offload_total_bytes_total", Counter::saved_bytes, "transfer_type", "GPU_to_CPU"},
    {kVllm, "vllm:kv_offload_total_bytes_total", Counter::saved_bytes, "transfer_type",
     "GPU_to_SHARED_STORAGE"},
    {kVllm, "vllm:spec_decode_num_drafts_total", Counter::drafts},
    {kVllm, "vllm:spec_decode_num_draft_tokens_total", Counter::draft_tokens},
    {kVllm, "vllm:spec_decode_num_accepted_tokens_total", Counter::accepted_tokens},
    {kVllm, "vllm:spec_decode_num_accepted_tokens_per_pos_total", Counter::accepted_at_1, "position", "0"},
    {kVllm, "vllm:spec_decode_num_accepted_tokens_per_pos_total", Counter::accepted_at_2, "position", "1"},
    {kVllm, "vllm:spec_decode_num_accepted_tokens_per_pos_total", Counter::accepted_at_3, "position", "2"},
    {kVllm, "vllm:spec_decode_num_accepted_tokens_per_pos_total", Counter::accepted_at_4, "position", "3"},
    {kVllm, "vllm:spec_decode_num_accepted_tokens_per_pos_total", Counter::accepted_at_5, "position", "4"},
    {kVllm, "vllm:spec_decode_num_accepted_tokens_per_pos_total", Counter::accepted_at_6, "position", "5"},
    {kVllm, "vllm:spec_decode_num_accepted_tokens_per_pos_total", Counter::accepted_at_7, "position", "6"},
    {kVllm, "vllm:spec_decode_num_accepted_tokens_per_pos_total", Counter::accepted_at_8, "position", "7"},

    {kSglang, "sglang:num_requests_total", Counter::requests},
    {kSglang, "sglang:prompt_tokens_total", Counter::prompt_tokens},
    {kSglang, "sglang:generation_tokens_total", Counter::output_tokens},
    // SGLang looks up every prompt, so all prompt tokens are queried tokens.
    {kSglang, "sglang:prompt_tokens_total", Counter::queried_tokens},
    {kSglang, "sglang:cached_tokens_total", Counter::hbm_hit_tokens, "cache_source", "device"},
    {kSglang, "sglang:cached_tokens_total", Counter::hbm_hit_tokens, "cache_source", ""},
    {kSglang, "sglang:cached_tokens_total", Counter::host_hit_tokens, "cache_source", "host"},
    {kSglang, "sglang:cached_tokens_total", Counter::storage_hit_tokens, "cache_source", "storage"},
    {kSglang, "sglang:num_retracted_requests_total", Counter::preemptions},
};

constexpr EngineMetric<Gauge> kGauges[] = {
    {kVllm, "vllm:num_requests_running", Gauge::running},
    {kVllm, "vllm:num_requests_waiting", Gauge::waiting},
    {kVllm, "vllm:kv_cache_usage_perc", Gauge::kv_usage},
    {kVllm, "vllm:gpu_cache_usage_perc", Gauge::kv_usage},
    {kVllm, "vllm:gpu_prefix_cache_hit_rate", Gauge::hit_rate},

    {kSglang, "sglang:num_running_reqs", Gauge::running},
    {kSglang, "sglang:num_queue_reqs", Gauge::waiting},
    {kSglang, "sglang:token_usage", Gauge::kv_usage},
    {kSglang, "sglang:cache_hit_rate", Gauge::hit_rate},
    {kSglang, "sglang:max_total_num_tokens", Gauge::kv_capacity_tokens},
    {kSglang, "sglang:page_size", Gauge::block_size},
    {kSglang, "sglang:num_pages", Gauge::blocks},
    {kSglang, "sglang:spec_accept_length", Gauge::mean_acceptance_length},
};

// Up to 0.10, vLLM V1 exported the inter-token latency as time_per_output_token.
constexpr EngineMetric<Spread> kSpreads[] = {
    {kVllm, "vllm:time_to_first_token_seconds", Spread::ttft_s},
    {kVllm, "vllm:inter_token_latency_seconds", Spread::itl_s},
    {kVllm, "vllm:time_per_output_token_seconds", Spread::itl_s},
    {kVllm, "vllm:e2e_request_latency_seconds", Spread::e2el_s},
    {kVllm, "vllm:request_queue_time_seconds", Spread::queue_s},
    {kVllm, "vllm:request_prompt_tokens", Spread::prompt_tokens},
    {kVllm, "vllm:request_generation_tokens", Spread::output_tokens},

    {kSglang, "sglang:time_to_first_token_seconds", Spread::ttft_s},
    {kSglang, "sglang:inter_token_latency_seconds", Spread::itl_s},
    {kSglang, "sglang:time_per_output_token_seconds", Spread::itl_s},
    {kSglang, "sglang:e2e_request_latency_seconds", Spread::e2el_s},
    {kSglang, "sglang:queue_time_seconds", Spread::queue_s},
    {kSglang, "sglang:prompt_tokens_histogram", Spread::prompt_tokens},
    {kSglang, "sglang:generation_tokens_histogram", Spread::output_tokens},
};

}  // namespace

std::span<const EngineMetric<Counter>> counter_metrics() { return kCounters; }
std::span<const EngineMetric<Gauge>> gauge_metrics() { return kGauges; }
std::span<const EngineMetric<Spread>> spread_metrics() { return kSpreads; }

std::string_view metric_prefix(ObservedEngine engine) { return engine == kVllm ? "vllm:" : "sglang:"; }

std::string_view config_metric(ObservedEngine engine) {
  return engine == kVllm ? "vllm:cache_config_info" : "sglang:cache_config_info";
}

}  // namespace kvcap
