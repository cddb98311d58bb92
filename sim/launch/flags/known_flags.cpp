// Known flags that set no field: nothing simulated depends on them (none), or they change the result and are
// not simulated (not_simulated, kernels), unless they have one of the values in `unchanged`.
#include <span>

#include "launch/flags/flag_rows.h"

namespace kvcap {
namespace {

using enum Stack;
using enum FlagEffect;
using enum FlagForm;

// Flags of one stack, effect and form, separated by spaces.
struct KnownFlags {
  Stack stack;
  FlagEffect effect;
  FlagForm form;  // present: no value
  std::string_view names;
  std::string_view source;
  std::string_view unchanged = {};
};
constexpr KnownFlags kVllm[] = {
    {vllm, none, text,
     "--host --port --uds --download-dir --tokenizer --tokenizer-mode "
     "--tokenizer-revision --revision --code-revision --hf-token --hf-config-path --load-format "
     "--safetensors-load-strategy --use-tqdm-on-load --pt-load-map-location --max-parallel-loading-workers "
     "--chat-template --chat-template-content-format --response-role --tool-call-parser --tool-server "
     "--reasoning-parser --reasoning-parser-plugin --tool-parser-plugin --seed --uvicorn-log-level "
     "--root-path --ssl-keyfile --ssl-certfile --ssl-ca-certs --ssl-cert-reqs --ssl-ciphers "
     "--otlp-traces-endpoint "
     "--disable-access-log-for-endpoints --h11-max-incomplete-event-size --h11-max-header-count "
     "--fingerprint-mode --fingerprint-value --distributed-executor-backend "
     "--runner --convert --task --max-logprobs --logprobs-mode --logits-processor-pattern "
     "--guided-decoding-backend --config-format --worker-cls --worker-extension-cls --max-log-len "
     "--log-config-file --shutdown-timeout --data-parallel-address -dpa --data-parallel-rpc-port -dpp "
     "--data-parallel-backend -dpb --master-addr --master-port --prefix-caching-hash-algo --model-impl "
     "--allowed-local-media-path --mm-processor-cache-gb --mm-processor-cache-type "
     "--mm-shm-cache-max-object-size-mb --mm-encoder-tp-mode --mm-encoder-attn-backend "
     "--video-pruning-rate --io-processor-plugin --show-hidden-metrics-for-version --kv-cache-metrics-sample "
     "--max-cpu-loras --swap-space --max-seq-len-to-capture --engine-recovery-timeout --gloo-comm-timeout "
     "--guided-decoding-disable-fallback "
     "--kv-transfer-config.kv_connector_module_path --kv-transfer-config.engine_id "
     "--dcp-kv-cache-interleave-size --cp-kv-cache-interleave-size "
     "--kv-transfer-config.kv_rank --kv-transfer-config.kv_parallel_size "
     "--kv-transfer-config.kv_ip --kv-transfer-config.kv_port "
     "--kv-transfer-config.kv_connector_extra_config.spec_name "
     "--kv-transfer-config.kv_connector_extra_config.spec_module_path "
     "--kv-transfer-config.kv_connector_extra_config.secondary_tiers.root_dir "
     "--kv-transfer-config.kv_connector_extra_config.proxy_ip "
     "--kv-transfer-config.kv_connector_extra_config.proxy_port "
     "--kv-transfer-config.kv_connector_extra_config.proxy_ping_port "
     "--kv-transfer-config.kv_connector_extra_config.http_port "
     "--kv-transfer-config.kv_connector_extra_config.handshake_port "
     "--kv-transfer-config.kv_connector_extra_config.notify_port "
     "--kv-transfer-config.kv_connector_extra_config.local_ping_port "
     "--kv-transfer-config.kv_connector_extra_config.host_ip "
     "--override-generation-config.max_new_tokens --override-generation-config.do_sample "
     "--hf-overrides.architectures --hf-overrides.num_nextn_predict_layers VLLM_LOGGING_LEVEL VLLM_API_KEY "
     "VLLM_HOST_IP VLLM_PORT "
     "VLLM_CACHE_ROOT VLLM_WORKER_MULTIPROC_METHOD VLLM_USE_MODELSCOPE VLLM_SERVER_DEV_MODE "
     "VLLM_LOGGING_CONFIG_PATH VLLM_CONFIGURE_LOGGING VLLM_NO_USAGE_STATS VLLM_DO_NOT_TRACK VLLM_RPC_TIMEOUT "
     "VLLM_ENGINE_READY_TIMEOUT_S VLLM_NIXL_SIDE_CHANNEL_HOST VLLM_NIXL_SIDE_CHANNEL_PORT "
     "VLLM_ALLOW_LONG_MAX_MODEL_LEN CUDA_VISIBLE_DEVICES NCCL_DEBUG NCCL_SOCKET_IFNAME "
     "NCCL_CUMEM_ENABLE",
     "v-args"},
    {vllm, none, texts,
     "--api-key --served-model-name --lora-modules --logits-processors --ignore-patterns "
     "--collect-detailed-traces "
     "--allowed-media-domains "
     "--middleware --allowed-origins --allowed-methods --allowed-headers",
     "v-args"},
    {vllm, none, FlagForm::json,
     "--model-loader-extra-config --structured-outputs-config --additional-config --kv-events-config "
     "--observability-config --profiler-config --pooler-config --default-chat-template-kwargs "
     "--media-io-kwargs --limit-mm-per-prompt --mm-processor-kwargs --weight-transfer-config",
     "v-args"},
    {vllm, none, present,
     "--trust-remote-code --enable-auto-tool-choice --disable-log-requests --enable-log-requests "
     "--disable-log-stats --enable-log-outputs --enable-log-deltas --disable-uvicorn-access-log "
     "--allow-credentials --enable-prompt-tokens-details "
     "--enable-force-include-usage --enable-per-request-metrics --enable-server-load-tracking "
     "--disable-fastapi-docs --enable-offline-docs --enable-ssl-refresh --return-tokens-as-token-ids "
     "--enable-request-id-headers --skip-tokenizer-init --enable-prompt-embeds "
     "--disable-frontend-multiprocessing --language-model-only --enable-tokenizer-info-endpoint "
     "--trust-request-chat-template --exclude-tools-when-tool-choice-none --log-error-stack "
     "--interleave-mm-strings --enable-mm-embeds --skip-mm-profiling --disable-chunked-mm-input "
     "--disable-mm-preprocessor-cache --allow-deprecated-quantization --ray-workers-use-nsight "
     "--kv-cache-metrics --cudagraph-metrics --enable-mfu-metrics --enable-layerwise-nvtx-tracing "
     "--enable-logging-iteration-details --aggregate-engine-logging --calculate-kv-scales "
     "--enable-sleep-mode --disable-cascade-attn --worker-use-ray --engine-use-ray --use-v2-block-manager "
     "--enable-reasoning "
     "--disable-nccl-for-dp-synchronization --enable-flash-late-interaction",
     "v-args"},
    {vllm, not_simulated, text,
     "--prefill-context-parallel-size -pcp --nnodes -n "
     "--max-num-partial-prefills --max-long-partial-prefills --num-scheduler-steps",
     "v-args", "1 None"},
    {vllm, not_simulated, text, "--dcp-comm-backend", "v-args", "ag_rs"},
    {vllm, kernels, text, "--api-server-count -asc --stream-interval", "v-args", "1 None"},
    {vllm, not_simulated, text,
     "--node-rank -r --data-parallel-rank -dpn --data-parallel-start-rank -dpr --cpu-offload-gb "
     "--cpu-offload-params",
     "v-args", "0 None"},
    {vllm, not_simulated, text, "--max-num-queued-tokens", "v-queue", "None"},
    {vllm, not_simulated, text,
     "--kv-transfer-config.kv_connector_extra_config.lazy_offload_min_prefix_tokens", "v-simple", "0"},
    {vllm, not_simulated, text, "--dtype", "v-args", "auto half float16 bfloat16"},
    {vllm, not_simulated, text, "--optimization-level -O", "v-args", "2 3"},
    {vllm, not_simulated, text,
     "--compilation-config.mode --compilation-config.level --compilation-config.use_inductor", "v-args",
     "3 VLLM_COMPILE true"},
    {vllm, not_simulated, text, "--compilation-config.cudagraph_mode", "v-args", "FULL_AND_PIECEWISE"},
    {vllm, not_simulated, text, "--device", "v-args", "auto cuda"},
    {vllm, not_simulated, text, "--num-lookahead-slots", "v-args", "0"},
    {vllm, not_simulated, text, "--expert-placement-strategy", "v-args", "linear"},
    {vllm, not_simulated, text, "--performance-mode", "v-args", "balanced"},
    {vllm, not_simulated, text, "--kv-transfer-config.kv_role", "v-off", "kv_both"},
    {vllm, not_simulated, text, "VLLM_USE_V1", "v-args", "1"},
    {vllm, not_simulated, present, "--is-prefill-worker --is-decode-worker", "d-args"},
    {vllm, not_simulated, text, "--disaggregation-mode", "d-args", "agg"},
    {vllm, not_simulated, text, "--override-attention-dtype --lora-dtype", "v-args", "auto None"},
    {vllm, kernels, text, "--moe-backend --linear-backend", "v-args", "auto None"},
    {vllm, not_simulated, text, "--prefix-match-unit", "v-args", "None"},
    {vllm, of_hybrids, text, "--prefix-cache-retention-interval", "v-hyb"},
    {vllm, not_simulated, text,
     "--data-parallel-size-local -dpl "
     "--scheduler-cls --ubatch-size --dbo-decode-token-threshold --dbo-prefill-token-threshold "
     "--mamba-block-size --preemption-mode --kv-transfer-config.kv_load_failure_policy "
     "--kv-transfer-config.kv_buffer_device --kv-transfer-config.kv_buffer_size "
     "--kv-transfer-config.kv_connector_extra_config.max_offload_tokens "
     "--kv-transfer-config.kv_connector_extra_config.load_async "
     "--kv-transfer-config.kv_connector_extra_config.lookup_async "
     "--kv-transfer-config.kv_connector_extra_config.save_decode_cache "
     "--kv-transfer-config.kv_connector_extra_config.store_tp_size MOONCAKE_CONFIG_PATH "
     "MOONCAKE_PREFERRED_SEGMENT --override-generation-config.min_p "
     "--override-generation-config.repetition_penalty --speculative-config.prompt_lookup_max "
     "--speculative-config.prompt_lookup_min --speculative-config.draft_tensor_parallel_size "
     "--speculative-config.quantization --speculative-config.max_model_len "
     "--speculative-config.disable_by_batch_size VLLM_PREFIX_CACHE_RETENTION_INTERVAL VLLM_MLA_DISABLE",
     "v-args"},
    {vllm, kernels, text,
     "--max-cudagraph-capture-size VLLM_USE_DEEP_GEMM VLLM_USE_FLASHINFER_MOE_FP8 "
     "VLLM_USE_FLASHINFER_MOE_FP4 VLLM_DISABLE_PYNCCL VLLM_FLASH_ATTN_VERSION",
     "v-args"},
    {vllm, of_hybrids, present, "--disable-hybrid-kv-cache-manager --disable-sliding-window", "v-hyb"},
    {vllm, of_length, text, "--rope-theta", "v-args"},
    {vllm, of_length, FlagForm::json,
     "--rope-scaling --hf-overrides.rope_scaling --hf-overrides.rope_parameters "
     "--hf-overrides.text_config.rope_scaling --hf-overrides.text_config.rope_parameters",
     "v-args"},
    {vllm, kernels, texts, "--cudagraph-capture-sizes --cuda-graph-sizes", "v-args"},
    {vllm, not_simulated, FlagForm::json,
     "--eplb-config --hf-overrides --kv-transfer-config --speculative-config "
     "--override-generation-config --ec-transfer-config --afd-config --default-mm-loras",
     "v-args"},
    {vllm, kernels, FlagForm::json, "--compilation-config -cc --attention-config -ac --kernel-config",
     "v-args"},
    {vllm, not_simulated, present,
     "--enforce-eager --enable-eplb --enable-dbo --fully-sharded-loras "
     "--enable-tower-connector-lora --specialize-active-lora --data-parallel-hybrid-lb -dph "
     "--data-parallel-external-lb -dpe --headless --kv-sharing-fast-prefill --scheduler-reserve-full-isl "
     "--enable-elastic-ep --enable-fault-tolerance --enable-return-routed-experts --tokens-only "
     "--mm-encoder-only",
     "v-args"},
    {vllm, kernels, present, "--disable-custom-all-reduce", "v-args"},
};
constexpr KnownFlags kKvStores[] = {
    {lmcache, not_simulated, text,
     "LMCACHE_SAVE_UNFULL_CHUNK LMCACHE_ENABLE_BLENDING LMCACHE_ENABLE_P2P LMCACHE_ENABLE_PD "
     "LMCACHE_ENABLE_HIDDEN_STATE_CACHE LMCACHE_ENABLE_SCHEDULER_BYPASS_LOOKUP",
     "l-cfg", "false"},
    {lmcache, not_simulated, text, "LMCACHE_REMOTE_SERDE", "l-cfg", "naive null None"},
    {lmcache, not_simulated, text, "LMCACHE_MIN_RETRIEVE_TOKENS LMCACHE_RESERVE_LOCAL_CPU_SIZE", "l-cfg",
     "0"},
    {lmcache, not_simulated, texts,
     "LMCACHE_BLEND_RECOMPUTE_RATIOS LMCACHE_BLEND_THRESHOLDS LMCACHE_BLEND_CHECK_LAYERS "
     "LMCACHE_BLEND_MIN_TOKENS LMCACHE_GDS_PATH LMCACHE_WEKA_PATH LMCACHE_MARU_PATH LMCACHE_STORE_LOCATION "
     "LMCACHE_RETRIEVE_LOCATIONS LMCACHE_STORAGE_PLUGINS LMCACHE_REMOTE_STORAGE_PLUGINS "
     "LMCACHE_EXTERNAL_LOOKUP_CLIENT LMCACHE_PRIORITY_LIMIT LMCACHE_REMOTE_CONFIG_URL",
     "l-cfg"},
    {lmcache, not_simulated, FlagForm::json, "LMCACHE_EXTRA_CONFIG", "l-cfg"},
    {lmcache, none, texts,
     "LMCACHE_LOG_LEVEL LMCACHE_USE_EXPERIMENTAL LMCACHE_TRACK_USAGE LMCACHE_INSTANCE_ID "
     "LMCACHE_LMCACHE_INSTANCE_ID LMCACHE_INTERNAL_API_SERVER_ENABLED LMCACHE_INTERNAL_API_SERVER_HOST "
     "LMCACHE_INTERNAL_API_SERVER_PORT_START LMCACHE_NUMA_MODE LMCACHE_ENABLE_CONTROLLER "
     "LMCACHE_CONTROLLER_PULL_URL LMCACHE_CONTROLLER_REPLY_URL LMCACHE_CONTROLLER_URL "
     "LMCACHE_LMCACHE_WORKER_PORTS LMCACHE_LMCACHE_WORKER_PORT LMCACHE_LMCACHE_WORKER_IDS "
     "LMCACHE_BLOCKING_TIMEOUT_SECS LMCACHE_LOOKUP_TIMEOUT_MS LMCACHE_PIN_TIMEOUT_SEC "
     "LMCACHE_PIN_CHECK_INTERVAL_SEC LMCACHE_PRE_CACHING_HASH_ALGORITHM LMCACHE_LOCAL_CPU_USE_HUGEPAGES "
     "LMCACHE_LOCAL_DISK_PATH_SHARDING LMCACHE_PY_ENABLE_GC LMCACHE_ENABLE_LAZY_MEMORY_ALLOCATOR "
     "LMCACHE_LAZY_MEMORY_INITIAL_RATIO LMCACHE_LAZY_MEMORY_EXPAND_TRIGGER_RATIO "
     "LMCACHE_LAZY_MEMORY_STEP_RATIO LMCACHE_LAZY_MEMORY_SAFE_SIZE LMCACHE_ENABLE_CHUNK_STATISTICS "
     "LMCACHE_ENABLE_KV_EVENTS LMCACHE_BLEND_SPECIAL_STR LMCACHE_RUNTIME_PLUGIN_LOCATIONS LMCACHE_APP_ID",
     "l-cfg"},
    {lmcache, none, text,
     "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.host "
     "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.port "
     "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.server_urls "
     "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.mq_timeout "
     "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.heartbeat_interval "
     "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.autostart "
     "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.autostart.wait_timeout "
     "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.autostart.server_args "
     "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.mp_transfer_mode "
     "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.isolated_ipc "
     "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.use_vmm_api "
     "--lmcache-server.transport --lmcache-server.instance-id --lmcache-server.host --lmcache-server.port "
     "--lmcache-server.http-host --lmcache-server.http-port --lmcache-server.null-block-id "
     "--lmcache-server.max-workers --lmcache-server.max-gpu-workers --lmcache-server.max-cpu-workers "
     "--lmcache-server.grpc-server-workers --lmcache-server.hash-algorithm "
     "--lmcache-server.supported-transfer-mode --lmcache-server.shm-name "
     "--lmcache-server.worker-reap-timeout-seconds --lmcache-server.worker-registration-grace-seconds "
     "--lmcache-server.l1-init-size-gb --lmcache-server.l1-align-bytes "
     "--lmcache-server.l1-write-ttl-seconds --lmcache-server.l1-read-ttl-seconds "
     "--lmcache-server.l2-prefetch-max-in-flight --lmcache-server.periodic-notifier-interval-ms "
     "--lmcache-server.event-bus-queue-size --lmcache-server.otlp-endpoint "
     "--lmcache-server.prometheus-port --lmcache-server.metrics-sample-rate "
     "--lmcache-server.extra-logging-interval --lmcache-server.lookup-hash-log-dir",
     "l-mp"},
    {lmcache, none, present,
     "--lmcache-server.isolated-ipc --lmcache-server.no-isolated-ipc --lmcache-server.l1-use-lazy "
     "--lmcache-server.no-l1-use-lazy --lmcache-server.l1-use-hugepages "
     "--lmcache-server.no-l1-use-hugepages --lmcache-server.separate-object-groups "
     "--lmcache-server.no-separate-object-groups --lmcache-server.disable-observability "
     "--lmcache-server.disable-metrics --lmcache-server.disable-grpc-metrics "
     "--lmcache-server.disable-logging --lmcache-server.enable-tracing "
     "--lmcache-server.enable-extra-logging",
     "l-mp"},
    {lmcache, not_simulated, text, "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.lazy_offload",
     "l-mp", "false"},
    {lmcache, not_simulated, text,
     "--kv-transfer-config.kv_connector_extra_config.lmcache.mp.nonblocking_lookup_status", "l-mp", "true"},
    {lmcache, not_simulated, text, "--lmcache-server.eviction-trigger-watermark", "l-mp", "0.8"},
    {lmcache, not_simulated, text, "--lmcache-server.eviction-ratio", "l-mp", "0.2"},
    {lmcache, not_simulated, text, "--lmcache-server.engine-type --lmcache-server.l2-store-policy", "l-mp",
     "default"},
    {lmcache, not_simulated, text, "--lmcache-server.l2-prefetch-policy", "l-mp", "default retain"},
    {lmcache, none, FlagForm::json, "--lmcache-server.l2-adapter", "l-mp"},
    {lmcache, not_simulated, FlagForm::json, "--lmcache-server", "l-mp"},
    {dynamo, not_simulated, text,
     "DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER DYN_KVBM_CPU_CACHE_OVERRIDE_NUM_BLOCKS "
     "DYN_KVBM_DISK_CACHE_OVERRIDE_NUM_BLOCKS",
     "d-guide"},
    {dynamo, none, text,
     "--migration-limit --dyn-tool-call-parser --dyn-reasoning-parser --custom-jinja-template "
     "--endpoint-types --request-plane --event-plane",
     "d-args"},
    {dynamo, none, text,
     "DYN_KVBM_DISK_CACHE_DIR DYN_KVBM_METRICS DYN_KVBM_METRICS_PORT DYN_KVBM_LEADER_ZMQ_PUB_PORT "
     "DYN_KVBM_LEADER_ZMQ_ACK_PORT DYN_KVBM_LEADER_WORKER_INIT_TIMEOUT_SECS DYN_LOG DYN_NAMESPACE "
     "DYN_SYSTEM_PORT DYN_SYSTEM_ENABLED",
     "d-guide"},
};
constexpr KnownFlags kSglang[] = {
    {sglang, none, text,
     "--host --port --grpc-port --api-key --admin-api-key --served-model-name --weight-version "
     "--tokenizer-path --tokenizer-mode --tokenizer-worker-num --load-format --revision --model-impl "
     "--model-checksum --fastapi-root-path --warmups --nccl-port --chat-template --hf-chat-template-name "
     "--completion-template --tool-call-parser --tool-server --reasoning-parser --file-storage-path "
     "--log-level --log-level-http --log-requests-level --log-requests-format --crash-dump-folder "
     "--random-seed --watchdog-timeout --soft-watchdog-timeout --dist-timeout --dist-init-addr "
     "--nccl-init-addr --download-dir --base-gpu-id --gpu-id-step --decode-log-interval "
     "--gc-warning-threshold-secs --otlp-traces-endpoint --export-metrics-to-file-dir "
     "--mm-attention-backend --grammar-backend --sampling-backend --hicache-io-backend "
     "--constrained-json-whitespace-pattern --device --max-prefill-tokens "
     "--quantization-param-path --priority-scheduling-preemption-threshold --max-lora-chunk-size "
     "--speculative-draft-model-revision --speculative-draft-load-format --custom-sigquit-handler "
     "--tokenizer-metrics-custom-labels-header --debug-tensor-dump-output-folder SGLANG_LOG_LEVEL "
     "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN CUDA_VISIBLE_DEVICES NCCL_DEBUG NCCL_SOCKET_IFNAME "
     "NCCL_CUMEM_ENABLE",
     "s-args"},
    {sglang, none, texts,
     "--log-requests-target --uvicorn-access-log-exclude-prefixes --tokenizer-metrics-allowed-custom-labels "
     "--bucket-time-to-first-token --bucket-inter-token-latency --bucket-e2e-request-latency "
     "--prompt-tokens-buckets --generation-tokens-buckets --numa-node",
     "s-args"},
    {sglang, none, FlagForm::json,
     "--model-loader-extra-config --kv-events-config --preferred-sampling-params", "s-args"},
    {sglang, none, text, "--hicache-storage-backend-extra-config", "s-args"},  // JSON, or @ and a file
    {sglang, none, present,
     "--trust-remote-code --skip-tokenizer-init --is-embedding --enable-multimodal --grpc-mode "
     "--skip-server-warmup --checkpoint-engine-wait-weights-before-ready --log-requests --show-time-cost "
     "--enable-metrics --enable-mfu-metrics --enable-metrics-for-all-schedulers --collect-tokens-histogram "
     "--enable-request-time-stats-logging --enable-cache-report --enable-trace --export-metrics-to-file "
     "--allow-auto-truncate --enable-custom-logit-processor --disable-outlines-disk-cache --enable-p2p-check "
     "--sleep-on-idle --enable-memory-saver --enable-weights-cpu-backup --enable-draft-weights-cpu-backup "
     "--disable-fast-image-processor --constrained-json-disable-any-whitespace --delete-ckpt-after-loading "
     "--enable-nan-detection --abort-on-priority-when-disabled --enable-expert-distribution-metrics "
     "--enable-profile-cuda-graph --enable-cudagraph-gc --enable-layerwise-nvtx-marker --language-only "
     "--keep-mm-feature-on-device --incremental-streaming-output --disable-flashinfer-autotune",
     "s-args"},
    {sglang, not_simulated, text,
     "--pipeline-parallel-size --pp-size --pp --attention-context-parallel-size --attn-cp-size "
     "--decode-context-parallel-size --dcp-size "
     "--moe-data-parallel-size --moe-dp-size --nnodes --speculative-eagle-topk "
     "--num-continuous-decode-steps --scheduler-recv-interval --speculative-accept-threshold-single "
     "--speculative-accept-threshold-acc",
     "s-args", "1"},
    {sglang, kernels, text, "--stream-interval", "s-args", "1"},
    {sglang, not_simulated, text, "--node-rank --cpu-offload-gb --ep-num-redundant-experts", "s-args", "0"},
    {sglang, not_simulated, text, "--schedule-policy", "s-args", "fcfs"},
    {sglang, not_simulated, text, "--radix-eviction-policy", "s-args", "lru"},
    {sglang, not_simulated, text, "--load-balance-method", "s-args", "auto round_robin"},
    {sglang, not_simulated, text, "--dtype", "s-args", "auto half float16 bfloat16"},
    {sglang, not_simulated, text, "--init-expert-location", "s-args", "trivial"},
    {sglang, not_simulated, text, "--disaggregation-mode", "s-args", "null"},
    {sglang, not_simulated, text, "--deepep-dispatcher-output-dtype --mamba-scheduler-strategy", "s-args",
     "auto default"},
    {sglang, kernels, text,
     "--moe-runner-backend --deepep-mode --fp8-gemm-backend --flashinfer-mxfp4-moe-precision", "s-args",
     "auto default"},
    {sglang, not_simulated, text,
     "--prefill-max-requests --swa-full-tokens-ratio --eplb-algorithm --eplb-rebalance-num-iterations "
     "--ep-dispatch-algorithm --max-loras-per-batch --max-loaded-loras --max-lora-rank --lora-backend "
     "--lora-eviction-policy --mamba-full-memory-ratio --max-mamba-cache-size "
     "--mamba-track-interval --speculative-num-draft-tokens --speculative-attention-mode "
     "--speculative-token-map --speculative-draft-attention-backend --speculative-moe-runner-backend "
     "--speculative-moe-a2a-backend --speculative-draft-model-quantization "
     "--disaggregation-transfer-backend --disaggregation-bootstrap-port --disaggregation-ib-device "
     "--num-reserved-decode-tokens --moe-dense-tp-size --torchao-config --modelopt-quant "
     "--tbo-token-distribution-threshold --offload-group-size --offload-num-in-group "
     "--speculative-adaptive-config --offload-prefetch-step --pp-max-micro-batch-size --elastic-ep-backend",
     "s-args"},
    {sglang, kernels, text,
     "--prefill-attention-backend --decode-attention-backend --fp4-gemm-backend --deepep-config "
     "--cuda-graph-max-bs --torch-compile-max-bs --dsa-prefill-backend --nsa-prefill-backend "
     "--dsa-decode-backend --nsa-decode-backend --triton-attention-num-kv-splits",
     "s-args"},
    {sglang, not_simulated, texts, "--lora-paths --lora-target-modules", "s-args"},
    {sglang, kernels, texts, "--cuda-graph-bs --piecewise-cuda-graph-tokens", "s-args"},
    {sglang, not_simulated, FlagForm::json, "--json-model-override-args", "s-args"},
    {sglang, of_length, FlagForm::json,
     "--json-model-override-args.rope_scaling --json-model-override-args.rope_parameters", "s-args"},
    {sglang, not_simulated, present,
     "--enable-dp-lm-head --enable-lora --disable-cuda-graph --enable-two-batch-overlap "
     "--enable-single-batch-overlap --enable-eplb --enable-priority-scheduling "
     "--schedule-low-priority-values-first --disable-chunked-prefix-cache --enable-dynamic-chunking "
     "--disable-hybrid-swa-memory --enable-deterministic-inference --enable-prefill-delayer "
     "--enable-fp32-lm-head --flashinfer-mla-disable-ragged --enable-multi-layer-eagle "
     "--speculative-adaptive "
     "--enable-return-hidden-states --enable-return-routed-experts --enable-attn-tp-input-scattered "
     "--enable-dsa-prefill-context-parallel --enable-nsa-prefill-context-parallel "
     "--enable-lora-overlap-loading --encoder-only --disaggregation-decode-enable-offload-kvcache "
     "--quantize-and-serve --enable-deepep-waterfill",
     "s-args"},
    {sglang, kernels, present,
     "--enable-torch-compile --disable-cuda-graph-padding --disable-piecewise-cuda-graph "
     "--disable-custom-all-reduce --enable-mscclpp --enable-nccl-nvls --enable-symm-mem "
     "--enable-torch-symm-mem --enable-flashinfer-allreduce-fusion --triton-attention-reduce-in-fp32 "
     "--disable-shared-experts-fusion --enable-tokenizer-batch-encode --enable-dynamic-batch-tokenizer "
     "--enable-fused-qk-norm-rope",
     "s-args"},
};
constexpr KnownFlags kTrtllm[] = {
    {trtllm, none, text,
     "--host --port --tokenizer --revision --log_level --gpus_per_node --cluster_size "
     "--reasoning_parser --tool_parser --metadata_server_config_file --custom_module_dirs "
     "--num_postprocess_workers --otlp_traces_endpoint --chat_template --served_model_name "
     "--extra_llm_api_options.model --extra_llm_api_options.tokenizer --extra_llm_api_options.print_iter_log "
     "--extra_llm_api_options.enable_iter_perf_stats --extra_llm_api_options.enable_iter_req_stats "
     "--extra_llm_api_options.trust_remote_code --extra_llm_api_options.num_postprocess_workers "
     "--extra_llm_api_options.postprocess_tokenizer_dir --extra_llm_api_options.return_perf_metrics "
     "--extra_llm_api_options.perf_metrics_max_requests --extra_llm_api_options.reasoning_parser "
     "--extra_llm_api_options.load_format --extra_llm_api_options.gpus_per_node "
     "--extra_llm_api_options.guided_decoding_backend --extra_llm_api_options.checkpoint_format "
     "--extra_llm_api_options.enable_layerwise_nvtx_marker "
     "--extra_llm_api_options.kv_cache_config.event_buffer_max_size "
     "--extra_llm_api_options.garbage_collection_gen0_threshold CUDA_VISIBLE_DEVICES",
     "t-serve"},
    {trtllm, none, present, "--trust_remote_code --telemetry", "t-serve"},
    {trtllm, none, FlagForm::json, "--media_io_kwargs --extra_llm_api_options.env_overrides", "t-serve"},
    {trtllm, not_simulated, text,
     "--pp_size --pipeline_parallel_size --cp_size --max_beam_width "
     "--extra_llm_api_options.pipeline_parallel_size --extra_llm_api_options.context_parallel_size "
     "--extra_llm_api_options.max_beam_width --extra_llm_api_options.moe_cluster_parallel_size",
     "t-serve", "1 null"},
    {trtllm, kernels, text, "--extra_llm_api_options.stream_interval", "t-serve", "1 null"},
    {trtllm, none, present, "--publish-kv-events --publish-events-and-metrics", "d-args"},
    {trtllm, not_simulated, text, "--disaggregation-mode", "d-args", "agg pd prefill_and_decode"},
    {trtllm, not_simulated, FlagForm::json, "--override-engine-args", "d-args"},
    {trtllm, not_simulated, text, "--backend --extra_llm_api_options.backend", "t-serve", "pytorch"},
    {trtllm, not_simulated, text, "--extra_llm_api_options.dtype", "t-serve", "auto float16 bfloat16"},
    {trtllm, kernels, text, "--extra_llm_api_options.allreduce_strategy", "t-serve", "AUTO"},
    {trtllm, not_simulated, text, "--extra_llm_api_options.scheduler_config.context_chunking_policy", "t-ifb",
     "FIRST_COME_FIRST_SERVED"},
    {trtllm, not_simulated, text,
     "--extra_llm_api_options.moe_tensor_parallel_size "
     "--extra_llm_api_options.quant_config.quant_algo "
     "--extra_llm_api_options.kv_cache_config.enable_partial_reuse "
     "--extra_llm_api_options.kv_cache_config.copy_on_partial_reuse "
     "--extra_llm_api_options.kv_cache_config.sink_token_length "
     "--extra_llm_api_options.cache_transceiver_config.backend "
     "--extra_llm_api_options.cache_transceiver_config.max_tokens_in_buffer --server_role "
     "--custom_tokenizer",
     "t-serve"},
    {trtllm, kernels, text,
     "--extra_llm_api_options.cuda_graph_config.enable_padding "
     "--extra_llm_api_options.cuda_graph_config.max_batch_size "
     "--extra_llm_api_options.moe_config.backend --extra_llm_api_options.attn_backend "
     "--extra_llm_api_options.enable_autotuner --extra_llm_api_options.enable_lm_head_tp_in_adp "
     "--extra_llm_api_options.sampler_type",
     "t-serve"},
    {trtllm, not_simulated, texts, "--extra_llm_api_options.kv_cache_config.max_attention_window", "t-serve"},
    {trtllm, kernels, texts, "--extra_llm_api_options.cuda_graph_config.batch_sizes", "t-serve"},
    {trtllm, not_simulated, FlagForm::json,
     "--extra_llm_api_options.lora_config --extra_llm_api_options.peft_cache_config "
     "--extra_llm_api_options.speculative_config --extra_llm_api_options.attention_dp_config "
     "--extra_llm_api_options.sparse_attention_config --extra_llm_api_options.quant_config "
     "--extra_llm_api_options.cache_transceiver_config --extra_llm_api_options.scheduler_config",
     "t-serve"},
    {trtllm, kernels, FlagForm::json,
     "--extra_llm_api_options.cuda_graph_config --extra_llm_api_options.torch_compile_config "
     "--extra_llm_api_options.moe_config --extra_llm_api_options.nvfp4_gemm_config",
     "t-serve"},
    {trtllm, not_simulated, present, "--fail_fast_on_attention_window_too_large", "t-serve"},
};

void add_rows(std::span<const KnownFlags> table, std::vector<FlagRow>& rows) {
  for (const KnownFlags& known : table) {
    for (const Word& one : words_of(known.names)) {
      // "-pp" after "--pipeline-parallel-size" is another name of the same flag.
      if (one.word[0] == '-' && one.word[1] != '-') {
        const char* begin = rows.back().names.data();
        rows.back().names = {begin, static_cast<std::size_t>(one.word.data() + one.word.size() - begin)};
        continue;
      }
      rows.push_back({.stack = known.stack,
                      .names = one.word,
                      .form = known.form,
                      .words = known.unchanged,
                      .source = known.source,
                      .effect = known.effect});
    }
  }
}

}  // namespace

std::vector<FlagRow> known_flags() {
  std::vector<FlagRow> rows;
  for (const std::span<const KnownFlags> table :
       {std::span<const KnownFlags>(kVllm), std::span<const KnownFlags>(kKvStores),
        std::span<const KnownFlags>(kSglang), std::span<const KnownFlags>(kTrtllm)}) {
    add_rows(table, rows);
  }
  return rows;
}

}  // namespace kvcap
