// Known flags that set no field.
#include "launch/flag_rows.h"

namespace kvcap {
namespace {

using enum Stack;
using enum FlagEffect;

// Flags of one stack and one effect, separated by spaces.
struct KnownFlags {
  Stack stack;
  FlagEffect effect;
  bool takes_value;  // the word behind such a flag is its value
  std::string_view names;
  std::string_view source;
};
constexpr KnownFlags kKnown[] = {
    {vllm, only_one, true,
     "--pipeline-parallel-size -pp --decode-context-parallel-size -dcp --prefill-context-parallel-size -pcp",
     "v-args"},
    {sglang, only_one, true, "--pipeline-parallel-size --pp-size --pp --attn-cp-size", "s-args"},
    {trtllm, only_one, true, "--pp_size --cp_size --extra_llm_api_options.pipeline_parallel_size", "t-serve"},
    {vllm, none, true,
     "--host --port --uds --api-key --served-model-name --download-dir --dtype --tokenizer --tokenizer-mode "
     "--tokenizer-revision --revision --code-revision --hf-token --hf-config-path --load-format "
     "--model-loader-extra-config --chat-template --chat-template-content-format --response-role "
     "--tool-call-parser --reasoning-parser --tool-parser-plugin --seed --uvicorn-log-level --root-path "
     "--ssl-keyfile --ssl-certfile --ssl-ca-certs --allowed-origins --allowed-methods --allowed-headers "
     "--middleware --otlp-traces-endpoint --collect-detailed-traces --distributed-executor-backend "
     "--api-server-count -asc --runner --convert --task "
     "--max-logprobs --logits-processors --guided-decoding-backend --structured-outputs-config "
     "--config-format --ignore-patterns --worker-cls --worker-extension-cls --additional-config "
     "--kv-events-config --max-log-len --log-config-file --shutdown-timeout --data-parallel-address -dpa "
     "--data-parallel-rpc-port -dpp --data-parallel-backend -dpb --master-addr --master-port "
     "--prefix-caching-hash-algo --model-impl --limit-mm-per-prompt --observability-config "
     "--kv-transfer-config.kv_role --kv-transfer-config.kv_connector_module_path "
     "--kv-transfer-config.engine_id --kv-transfer-config.kv_rank --kv-transfer-config.kv_parallel_size "
     "--kv-transfer-config.kv_ip --kv-transfer-config.kv_port "
     "--kv-transfer-config.kv_connector_extra_config.spec_name "
     "--kv-transfer-config.kv_connector_extra_config.secondary_tiers.root_dir "
     "--override-generation-config.max_new_tokens --override-generation-config.do_sample "
     "--hf-overrides.architectures VLLM_USE_V1 VLLM_LOGGING_LEVEL VLLM_API_KEY VLLM_HOST_IP VLLM_PORT "
     "VLLM_CACHE_ROOT VLLM_WORKER_MULTIPROC_METHOD VLLM_USE_MODELSCOPE VLLM_SERVER_DEV_MODE",
     "v-args"},
    {vllm, none, false,
     "--trust-remote-code --enable-auto-tool-choice --disable-log-requests --enable-log-requests "
     "--disable-log-stats --enable-log-outputs --disable-uvicorn-access-log --allow-credentials "
     "--enable-chunked-prefill --enable-prompt-tokens-details --enable-force-include-usage "
     "--enable-server-load-tracking --disable-fastapi-docs --return-tokens-as-token-ids "
     "--enable-request-id-headers --skip-tokenizer-init --enable-prompt-embeds --headless "
     "--kv-sharing-fast-prefill --disable-frontend-multiprocessing --show-hidden-metrics-for-version "
     "--disable-hybrid-kv-cache-manager --language-model-only --enable-tokenizer-info-endpoint",
     "v-args"},
    {vllm, not_simulated, true,
     "--data-parallel-size-local -dpl --data-parallel-rank -dpn --data-parallel-start-rank -dpr --nnodes "
     "--node-rank --lora-modules --max-loras --max-lora-rank --max-cpu-loras --swap-space --cpu-offload-gb "
     "--kv-cache-memory-bytes --kv-cache-memory --long-prefill-token-threshold --max-num-partial-prefills "
     "--max-long-partial-prefills --scheduling-policy --scheduler-cls --stream-interval "
     "--mm-processor-kwargs --mm-processor-cache-gb --mm-encoder-tp-mode --compilation-config -cc -O "
     "--optimization-level --cudagraph-capture-sizes --cuda-graph-sizes --max-cudagraph-capture-size "
     "--attention-config --eplb-config --expert-placement-strategy "
     "--ubatch-size --dbo-decode-token-threshold --mamba-block-size --mamba-cache-dtype "
     "--mamba-ssm-cache-dtype --rope-scaling --rope-theta --hf-overrides --max-seq-len-to-capture "
     "--kv-transfer-config --speculative-config --override-generation-config --moe-backend "
     "--performance-mode "
     "--kv-transfer-config.kv_load_failure_policy --kv-transfer-config.kv_buffer_device "
     "--kv-transfer-config.kv_buffer_size "
     "--kv-transfer-config.kv_connector_extra_config.block_size "
     "--kv-transfer-config.kv_connector_extra_config.blocks_per_chunk "
     "--kv-transfer-config.kv_connector_extra_config.max_offload_tokens "
     "--kv-transfer-config.kv_connector_extra_config.load_async "
     "--kv-transfer-config.kv_connector_extra_config.lookup_async "
     "--kv-transfer-config.kv_connector_extra_config.save_decode_cache "
     "--kv-transfer-config.kv_connector_extra_config.store_tp_size MOONCAKE_CONFIG_PATH "
     "MOONCAKE_PREFERRED_SEGMENT "
     "--override-generation-config.min_p --override-generation-config.repetition_penalty "
     "--speculative-config.prompt_lookup_max --speculative-config.prompt_lookup_min "
     "--speculative-config.draft_tensor_parallel_size --speculative-config.quantization "
     "--speculative-config.max_model_len --speculative-config.disable_by_batch_size "
     "VLLM_PREFIX_CACHE_RETENTION_INTERVAL VLLM_ALL2ALL_BACKEND "
     "VLLM_USE_DEEP_GEMM VLLM_USE_SIMPLE_KV_OFFLOAD VLLM_ALLOW_LONG_MAX_MODEL_LEN "
     "VLLM_USE_FLASHINFER_MOE_FP8 VLLM_USE_FLASHINFER_MOE_FP4",
     "v-args"},
    {vllm, not_simulated, false,
     "--enable-lora --enforce-eager --disable-custom-all-reduce --enable-eplb --enable-dbo "
     "--calculate-kv-scales --disable-sliding-window --disable-cascade-attn --enable-sleep-mode "
     "--disable-chunked-mm-input --data-parallel-hybrid-lb -dph --data-parallel-external-lb -dpe "
     "--scheduler-reserve-full-isl --enable-elastic-ep",
     "v-args"},
    {lmcache, not_simulated, true,
     "LMCACHE_SAVE_UNFULL_CHUNK LMCACHE_REMOTE_SERDE LMCACHE_ENABLE_BLENDING "
     "LMCACHE_BLEND_RECOMPUTE_RATIOS LMCACHE_BLEND_CHECK_LAYERS LMCACHE_ENABLE_P2P "
     "LMCACHE_MIN_RETRIEVE_TOKENS LMCACHE_BLOCKING_TIMEOUT_SECS LMCACHE_EXTRA_CONFIG "
     "LMCACHE_ENABLE_CONTROLLER LMCACHE_ENABLE_PD LMCACHE_GDS_PATH LMCACHE_WEKA_PATH",
     "l-cfg"},
    {lmcache, none, true,
     "LMCACHE_LOG_LEVEL LMCACHE_USE_EXPERIMENTAL LMCACHE_TRACK_USAGE LMCACHE_INSTANCE_ID "
     "LMCACHE_LMCACHE_INSTANCE_ID LMCACHE_INTERNAL_API_SERVER_ENABLED LMCACHE_NUMA_MODE",
     "l-cfg"},
    {dynamo, not_simulated, true,
     "DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER DYN_KVBM_CPU_CACHE_OVERRIDE_NUM_BLOCKS "
     "DYN_KVBM_DISK_CACHE_OVERRIDE_NUM_BLOCKS --disaggregation-mode",
     "d-guide"},
    {dynamo, none, true,
     "DYN_KVBM_DISK_CACHE_DIR DYN_KVBM_METRICS DYN_KVBM_METRICS_PORT DYN_KVBM_LEADER_ZMQ_PUB_PORT "
     "DYN_KVBM_LEADER_ZMQ_ACK_PORT DYN_KVBM_LEADER_WORKER_INIT_TIMEOUT_SECS DYN_LOG DYN_NAMESPACE "
     "DYN_SYSTEM_PORT DYN_SYSTEM_ENABLED",
     "d-guide"},
    {sglang, none, true,
     "--host --port --grpc-port --api-key --served-model-name --tokenizer-path --tokenizer-mode "
     "--tokenizer-worker-num --load-format --model-loader-extra-config --revision --model-impl "
     "--fastapi-root-path --warmups --nccl-port --dtype --chat-template --hf-chat-template-name "
     "--completion-template --tool-call-parser --reasoning-parser --file-storage-path "
     "--log-level --log-level-http --log-requests-level --crash-dump-folder --show-time-cost --random-seed "
     "--watchdog-timeout --dist-timeout --dist-init-addr --nccl-init-addr --download-dir --base-gpu-id "
     "--gpu-id-step --stream-interval --decode-log-interval --bucket-time-to-first-token "
     "--bucket-inter-token-latency --bucket-e2e-request-latency --kv-events-config "
     "--preferred-sampling-params --json-model-override-args --mm-attention-backend "
     "--grammar-backend --sampling-backend --hicache-io-backend --hicache-mem-layout "
     "--hicache-storage-backend-extra-config "
     "--constrained-json-whitespace-pattern --soft-watchdog-timeout --device --max-prefill-tokens",
     "s-args"},
    {sglang, none, false,
     "--trust-remote-code --skip-tokenizer-init --is-embedding --enable-multimodal --grpc-mode "
     "--skip-server-warmup --log-requests --enable-metrics --enable-metrics-for-all-schedulers "
     "--enable-request-time-stats-logging --enable-cache-report --enable-trace --allow-auto-truncate "
     "--enable-custom-logit-processor --disable-outlines-disk-cache --enable-p2p-check "
     "--sleep-on-idle --enable-memory-saver --enable-weights-cpu-backup --disable-fast-image-processor",
     "s-args"},
    {sglang, not_simulated, true,
     "--schedule-policy --schedule-conservativeness "
     "--prefill-max-requests --swa-full-tokens-ratio --radix-eviction-policy --nnodes --node-rank "
     "--load-balance-method --prefill-attention-backend --decode-attention-backend "
     "--moe-a2a-backend --moe-runner-backend --deepep-mode --ep-num-redundant-experts --eplb-algorithm "
     "--cuda-graph-max-bs --cuda-graph-bs --torch-compile-max-bs --cpu-offload-gb --lora-paths "
     "--max-loras-per-batch --max-lora-rank --lora-backend --mamba-ssm-dtype "
     "--mamba-full-memory-ratio --max-mamba-cache-size --mamba-scheduler-strategy "
     "--mamba-track-interval --speculative-num-draft-tokens --speculative-eagle-topk "
     "--speculative-attention-mode --speculative-token-map --disaggregation-mode "
     "--disaggregation-transfer-backend --disaggregation-bootstrap-port --disaggregation-ib-device "
     "--quantization-param-path --num-continuous-decode-steps --priority-scheduling-preemption-threshold "
     "--moe-dense-tp-size",
     "s-args"},
    {sglang, not_simulated, false,
     "--enable-dp-lm-head --enable-lora --enable-torch-compile --disable-cuda-graph "
     "--disable-cuda-graph-padding --enable-two-batch-overlap --enable-single-batch-overlap --enable-eplb "
     "--enable-priority-scheduling --disable-custom-all-reduce --disable-chunked-prefix-cache "
     "--enable-dynamic-chunking --disable-hybrid-swa-memory --enable-deterministic-inference "
     "--enable-mscclpp --enable-nccl-nvls --enable-symm-mem --enable-flashinfer-allreduce-fusion "
     "--enable-prefill-delayer --enable-fp32-lm-head --triton-attention-reduce-in-fp32 "
     "--tbo-token-distribution-threshold --keep-mm-feature-on-device",
     "s-args"},
    {trtllm, none, true,
     "--host --port --backend --tokenizer --revision --log_level --gpus_per_node --cluster_size "
     "--reasoning_parser --tool_parser --metadata_server_config_file --server_role --custom_module_dirs "
     "--num_postprocess_workers --otlp_traces_endpoint --chat_template --served_model_name "
     "--extra_llm_api_options.print_iter_log --extra_llm_api_options.enable_iter_perf_stats "
     "--extra_llm_api_options.trust_remote_code "
     "--extra_llm_api_options.backend --extra_llm_api_options.num_postprocess_workers "
     "--extra_llm_api_options.stream_interval",
     "t-serve"},
    {trtllm, none, false, "--trust_remote_code --media_io_kwargs", "t-serve"},
    {trtllm, not_simulated, true,
     "--max_beam_width "
     "--extra_llm_api_options.cuda_graph_config.enable_padding "
     "--extra_llm_api_options.cuda_graph_config.max_batch_size "
     "--extra_llm_api_options.cuda_graph_config.batch_sizes "
     "--extra_llm_api_options.moe_config.backend --extra_llm_api_options.attn_backend "
     "--extra_llm_api_options.kv_cache_config.enable_partial_reuse "
     "--extra_llm_api_options.enable_chunked_prefill "
     "--extra_llm_api_options.kv_cache_config.copy_on_partial_reuse "
     "--extra_llm_api_options.kv_cache_config.secondary_offload_min_priority "
     "--extra_llm_api_options.kv_cache_config.max_attention_window "
     "--extra_llm_api_options.kv_cache_config.sink_token_length "
     "--extra_llm_api_options.kv_cache_config.event_buffer_max_size "
     "--extra_llm_api_options.cache_transceiver_config.backend "
     "--extra_llm_api_options.cache_transceiver_config.max_tokens_in_buffer",
     "t-serve"},
    {trtllm, not_simulated, false, "--enable_chunked_prefill --fail_fast_on_attention_window_too_large",
     "t-serve"},
};

}  // namespace

std::vector<FlagRow> known_flags() {
  std::vector<FlagRow> rows;
  for (const KnownFlags& known : kKnown) {
    for (const Word& one : words_of(known.names)) {
      rows.push_back({.stack = known.stack,
                      .names = one.word,
                      .form = known.takes_value ? FlagForm::text : FlagForm::present,
                      .source = known.source,
                      .effect = known.effect});
    }
  }
  return rows;
}

}  // namespace kvcap
