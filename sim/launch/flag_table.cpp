// The rows. Versions: those of the files that `source` names (source_text() below).
#include <array>

#include "launch/flags.h"

namespace kvcap {
namespace {

using enum Stack;
using enum FlagForm;

constexpr double kGib = 1073741824, kGb = 1e9;
constexpr std::string_view kDram = "policy.tiers.dram.capacity_bytes";
constexpr std::string_view kSsd = "policy.tiers.ssd.capacity_bytes";

constexpr std::string_view kFp8Kv =
    "auto= bfloat16=2 bf16=2 float16=2 fp8=1 fp8_e4m3=1 fp8_e5m2=1 fp8_ds_mla=";
constexpr std::string_view kYesNo = "true=true false=false";

constexpr FlagRow kRows[] = {
    // ---- vLLM ----
    {.stack = vllm, .names = "--model", .field = "model", .form = model, .source = "v-args"},
    {.stack = vllm,
     .names = "--tensor-parallel-size -tp",
     .field = "serving.tensor_parallel_size",
     .form = integer,
     .engine_default = "1",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--data-parallel-size -dp",
     .field = "serving.data_parallel_size",
     .form = integer,
     .engine_default = "1",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--enable-expert-parallel -ep",
     .field = "serving.expert_parallel",
     .form = present,
     .words = "true",
     .engine_default = "off",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--all2all-backend",
     .field = "serving.expert_exchange",
     .form = words,
     .words = "allgather_reducescatter=allgather_reducescatter deepep_high_throughput=all_to_all "
              "deepep_low_latency=all_to_all",
     .engine_default = "allgather_reducescatter",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--max-num-seqs",
     .field = "serving.max_num_seqs",
     .form = integer,
     .engine_default = "1024; 256 below 70 GiB and on A100",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--max-num-batched-tokens",
     .field = "serving.max_num_batched_tokens",
     .form = integer,
     .engine_default = "8192; 2048 below 70 GiB and on A100",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--max-model-len",
     .field = "serving.max_model_len",
     .form = integer,
     .engine_default = "the model's",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--block-size",
     .field = "serving.block_size",
     .form = integer,
     .engine_default = "16",
     .source = "v-apc"},
    {.stack = vllm,
     .names = "--gpu-memory-utilization",
     .field = "serving.gpu_memory_utilization",
     .form = number,
     .engine_default = "0.92",
     .source = "v-apc"},
    {.stack = vllm,
     .names = "--num-gpu-blocks-override",
     .field = "serving.kv_capacity_tokens",
     .form = blocks,
     .engine_default = "derived from memory",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--enable-prefix-caching",
     .field = "serving.prefix_caching",
     .form = present,
     .words = "true",
     .engine_default = "on",
     .source = "v-apc"},
    {.stack = vllm,
     .names = "--async-scheduling",
     .field = "serving.async_scheduling",
     .form = present,
     .words = "true",
     .engine_default = "on",
     .source = "v-schedcfg"},
    {.stack = vllm,
     .names = "--mamba-cache-mode",
     .field = "serving.recurrent_checkpoints",
     .form = words,
     .words = "none=none align=align all=all",
     .engine_default = "align with prefix caching",
     .source = "v-hyb"},
    {.stack = vllm,
     .names = "--kv-cache-dtype",
     .field = "model.kv_bytes_per_element",
     .form = words,
     .words = kFp8Kv,
     .engine_default = "auto",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--quantization -q",
     .field = "model.weight_bytes_per_element",
     .form = words,
     .words = "fp8=1",
     .engine_default = "none",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--quantization -q",
     .field = "model.activation_bytes_per_element",
     .form = words,
     .words = "fp8=1",
     .engine_default = "none",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--hf-overrides.max_position_embeddings",
     .field = "model.max_position_embeddings",
     .form = integer,
     .engine_default = "the model's",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--speculative-config.method",
     .field = "serving.speculative.method",
     .form = words,
     .words = "ngram=ngram eagle=layers eagle3=layers mtp=layers deepseek_mtp=layers qwen3_next_mtp=layers "
              "draft_model=draft_model",
     .engine_default = "none",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--speculative-config.num_speculative_tokens",
     .field = "serving.speculative.draft_tokens",
     .form = integer,
     .engine_default = "none",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--speculative-config.model",
     .field = "serving.speculative.draft_model",
     .form = model,
     .engine_default = "none",
     .source = "v-args"},
    {.stack = vllm,
     .names = "--kv-offloading-size",
     .field = kDram,
     .form = bytes,
     .unit_bytes = kGib,
     .storage = "vllm_offload",
     .starts_storage = true,
     .engine_default = "none",
     .source = "v-off"},
    {.stack = vllm,
     .names = "--kv-offloading-backend",
     .field = "policy",
     .form = storage,
     .words = "native=vllm_offload lmcache=lmcache",
     .engine_default = "native",
     .source = "v-off"},
    {.stack = vllm,
     .names = "--kv-transfer-config.kv_connector",
     .field = "policy",
     .form = storage,
     .words = "OffloadingConnector=vllm_offload LMCacheConnectorV1=lmcache LMCacheMPConnector=lmcache "
              "DynamoConnector=kvbm MooncakeStoreConnector=vllm_offload MultiConnector=",
     .engine_default = "none",
     .source = "v-off"},
    {.stack = vllm,
     .names = "--kv-transfer-config.kv_connector_extra_config.cpu_bytes_to_use",
     .field = kDram,
     .form = bytes,
     .storage = "vllm_offload",
     .engine_default = "required",
     .source = "v-off"},
    {.stack = vllm,
     .names = "--kv-transfer-config.kv_connector_extra_config.secondary_tiers.0.type",
     .field = "policy.tiers",
     .form = tier,
     .words = "fs=ssd obj=remote",
     .storage = "vllm_offload",
     .engine_default = "none",
     .source = "v-off"},
    {.stack = vllm,
     .names = "--kv-transfer-config.kv_connector_extra_config.eviction_policy",
     .field = "policy.eviction",
     .form = words,
     .words = "lru=lru",
     .storage = "vllm_offload",
     .engine_default = "lru",
     .source = "v-off"},
    {.stack = vllm,
     .names = "--kv-transfer-config.kv_connector_extra_config.store_threshold",
     .field = "policy.store_after_hits",
     .form = words,
     .words = "0=0 1=0 2=1 3=2 4=3 5=4",
     .storage = "vllm_offload",
     .engine_default = "0",
     .source = "v-off"},
    {.stack = vllm,
     .names = "--kv-transfer-config.kv_connector_extra_config.offload_prompt_only",
     .field = "policy.save_generated",
     .form = words,
     .words = "true=false false=true",
     .storage = "vllm_offload",
     .engine_default = "true",
     .source = "v-off"},

    // ---- LMCache: variables, a file's keys, and keys of the connector ----
    {.stack = lmcache,
     .names = "LMCACHE_LOCAL_CPU",
     .field = "policy.tiers",
     .form = tier,
     .words = "true=dram false=",
     .storage = "lmcache",
     .engine_default = "true",
     .source = "l-cfg"},
    {.stack = lmcache,
     .names = "LMCACHE_MAX_LOCAL_CPU_SIZE",
     .field = kDram,
     .form = bytes,
     .unit_bytes = kGib,
     .is_per_rank = true,
     .storage = "lmcache",
     .engine_default = "5",
     .source = "l-cfg"},
    {.stack = lmcache,
     .names = "LMCACHE_LOCAL_DISK",
     .field = "policy.tiers",
     .form = tier,
     .words = "none= null= false= *=ssd",
     .storage = "lmcache",
     .engine_default = "none",
     .source = "l-cfg"},
    {.stack = lmcache,
     .names = "LMCACHE_MAX_LOCAL_DISK_SIZE",
     .field = kSsd,
     .form = bytes,
     .unit_bytes = kGib,
     .is_per_rank = true,
     .storage = "lmcache",
     .engine_default = "0",
     .source = "l-cfg"},
    {.stack = lmcache,
     .names = "LMCACHE_REMOTE_URL",
     .field = "policy.tiers",
     .form = tier,
     .words = "*=remote",
     .storage = "lmcache",
     .engine_default = "none",
     .source = "l-cfg"},
    {.stack = lmcache,
     .names = "LMCACHE_CHUNK_SIZE",
     .field = "policy.chunk_tokens",
     .form = integer,
     .storage = "lmcache",
     .engine_default = "256",
     .source = "l-cfg"},
    {.stack = lmcache,
     .names = "LMCACHE_CACHE_POLICY",
     .field = "policy.eviction",
     .form = words,
     .words = "LRU=lru LFU=lfu FIFO=fifo",
     .storage = "lmcache",
     .engine_default = "LRU",
     .source = "l-cfg"},
    {.stack = lmcache,
     .names = "LMCACHE_SAVE_DECODE_CACHE",
     .field = "policy.save_generated",
     .form = words,
     .words = kYesNo,
     .storage = "lmcache",
     .engine_default = "false",
     .source = "l-cfg"},
    {.stack = lmcache,
     .names = "LMCACHE_ENABLE_ASYNC_LOADING",
     .field = "policy.load",
     .form = words,
     .words = "true=parked false=blocking",
     .storage = "lmcache",
     .engine_default = "false",
     .source = "l-async"},
    {.stack = lmcache,
     .names = "LMCACHE_USE_LAYERWISE",
     .field = "policy.load",
     .form = words,
     .words = "true=layerwise false=",
     .storage = "lmcache",
     .engine_default = "false",
     .source = "l-cfg"},
    {.stack = lmcache,
     .names = "LMCACHE_CONFIG_FILE",
     .field = "",
     .form = yaml_file,
     .storage = "lmcache",
     .source = "l-cfg"},

    // ---- Dynamo's block manager ----
    {.stack = dynamo,
     .names = "DYN_KVBM_CPU_CACHE_GB",
     .field = kDram,
     .form = bytes,
     .unit_bytes = kGb,
     .storage = "kvbm",
     .engine_default = "none",
     .source = "d-guide"},
    {.stack = dynamo,
     .names = "DYN_KVBM_DISK_CACHE_GB",
     .field = kSsd,
     .form = bytes,
     .unit_bytes = kGb,
     .storage = "kvbm",
     .engine_default = "none",
     .source = "d-guide"},
    {.stack = dynamo,
     .names = "--connector",
     .field = "policy",
     .form = storage,
     .words = "kvbm=kvbm lmcache=lmcache none= nixl=",
     .engine_default = "none",
     .source = "d-guide"},

    // ---- SGLang ----
    {.stack = sglang, .names = "--model-path --model", .field = "model", .form = model, .source = "s-args"},
    {.stack = sglang,
     .names = "--tp-size --tensor-parallel-size --tp",
     .field = "serving.tensor_parallel_size",
     .form = integer,
     .engine_default = "1",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--dp-size --data-parallel-size --dp",
     .field = "serving.data_parallel_size",
     .form = integer,
     .engine_default = "1",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--enable-dp-attention",
     .field = "serving.data_parallel_size",
     .form = ranks,
     .engine_default = "off",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--ep-size --expert-parallel-size --ep",
     .field = "serving.expert_parallel",
     .form = words,
     .words = "1=false *=true",
     .engine_default = "1",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--mem-fraction-static",
     .field = "serving.gpu_memory_utilization",
     .form = number,
     .engine_default = "0.9, less for large models",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--max-running-requests",
     .field = "serving.max_num_seqs",
     .form = integer,
     .engine_default = "by memory; simulated: 2048",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--max-queued-requests",
     .field = "serving.max_queued_turns",
     .form = integer,
     .engine_default = "any number",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--max-total-tokens",
     .field = "serving.kv_capacity_tokens",
     .form = integer,
     .engine_default = "derived from memory",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--chunked-prefill-size",
     .field = "serving.max_num_batched_tokens",
     .form = integer,
     .engine_default =
         "by memory: 2048 below 35 GB, 4096 to 60, 8192 to 160, 16384 beyond; -1: whole prompts",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--enable-mixed-chunk",
     .field = "serving.schedule",
     .form = present,
     .words = "mixed",
     .engine_default = "off",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--page-size",
     .field = "serving.block_size",
     .form = integer,
     .engine_default = "1; 64 with --enable-hierarchical-cache",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--disable-radix-cache",
     .field = "serving.prefix_caching",
     .form = present,
     .words = "false",
     .engine_default = "off",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--disable-overlap-schedule",
     .field = "serving.async_scheduling",
     .form = present,
     .words = "false",
     .engine_default = "off",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--context-length",
     .field = "serving.max_model_len",
     .form = integer,
     .engine_default = "the model's",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--kv-cache-dtype",
     .field = "model.kv_bytes_per_element",
     .form = words,
     .words = kFp8Kv,
     .engine_default = "auto",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--quantization",
     .field = "model.weight_bytes_per_element",
     .form = words,
     .words = "fp8=1 w8a8_fp8=1 w8a8_int8=1",
     .engine_default = "none",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--quantization",
     .field = "model.activation_bytes_per_element",
     .form = words,
     .words = "fp8=1 w8a8_fp8=1 w8a8_int8=1",
     .engine_default = "none",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--speculative-algorithm",
     .field = "serving.speculative.method",
     .form = words,
     .words = "EAGLE=layers EAGLE3=layers NEXTN=layers STANDALONE=draft_model NGRAM=ngram",
     .engine_default = "none",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--speculative-num-steps",
     .field = "serving.speculative.draft_tokens",
     .form = integer,
     .engine_default = "by model",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--speculative-draft-model-path --speculative-draft",
     .field = "serving.speculative.draft_model",
     .form = model,
     .engine_default = "none",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--enable-hierarchical-cache",
     .field = "policy",
     .form = present,
     .words = "hicache",
     .storage = "hicache",
     .starts_storage = true,
     .engine_default = "off",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--hicache-size",
     .field = kDram,
     .form = bytes,
     .unit_bytes = kGb,
     .is_per_rank = true,
     .storage = "hicache",
     .engine_default = "0: --hicache-ratio",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--hicache-ratio",
     .field = "policy.tiers.dram.capacity_over_gpu",
     .form = number,
     .storage = "hicache",
     .engine_default = "2.0",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--hicache-write-policy",
     .field = "policy.write_policy",
     .form = words,
     .words =
         "write_back=write_back write_through=write_through write_through_selective=write_through_selective",
     .storage = "hicache",
     .engine_default = "write_through",
     .source = "s-hrc"},
    {.stack = sglang,
     .names = "--hicache-storage-backend",
     .field = "policy.tiers",
     .form = tier,
     .words = "file=ssd mooncake=mooncake_store hf3fs=remote aibrix=remote eic=remote",
     .storage = "hicache",
     .engine_default = "none",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--hicache-storage-prefetch-policy",
     .field = "policy.prefetch_on_arrival",
     .form = words,
     .words = "best_effort=best_effort wait_complete=wait timeout=timeout",
     .storage = "hicache",
     .engine_default = "best_effort",
     .source = "s-args"},
    {.stack = sglang,
     .names = "--enable-lmcache",
     .field = "policy",
     .form = present,
     .words = "lmcache",
     .storage = "lmcache",
     .starts_storage = true,
     .engine_default = "off",
     .source = "s-args"},

    // ---- TensorRT-LLM: flags of trtllm-serve, and keys of the file of --extra_llm_api_options ----
    {.stack = trtllm, .names = "--model", .field = "model", .form = model, .source = "t-serve"},
    {.stack = trtllm,
     .names = "--tp_size --extra_llm_api_options.tensor_parallel_size",
     .field = "serving.tensor_parallel_size",
     .form = integer,
     .engine_default = "1",
     .source = "t-serve"},
    {.stack = trtllm,
     .names = "--ep_size --extra_llm_api_options.moe_expert_parallel_size",
     .field = "serving.expert_parallel",
     .form = words,
     .words = "1=false *=true",
     .engine_default = "1",
     .source = "t-serve"},
    {.stack = trtllm,
     .names = "--extra_llm_api_options.enable_attention_dp",
     .field = "serving.data_parallel_size",
     .form = ranks,
     .words = kYesNo,
     .engine_default = "false",
     .source = "t-serve"},
    {.stack = trtllm,
     .names = "--max_batch_size --extra_llm_api_options.max_batch_size",
     .field = "serving.max_num_seqs",
     .form = integer,
     .engine_default = "2048",
     .source = "t-serve"},
    {.stack = trtllm,
     .names = "--max_num_tokens --extra_llm_api_options.max_num_tokens",
     .field = "serving.max_num_batched_tokens",
     .form = integer,
     .engine_default = "8192",
     .source = "t-kv"},
    {.stack = trtllm,
     .names = "--max_seq_len --extra_llm_api_options.max_seq_len",
     .field = "serving.max_model_len",
     .form = integer,
     .engine_default = "the model's",
     .source = "t-serve"},
    {.stack = trtllm,
     .names = "--kv_cache_free_gpu_memory_fraction --free_gpu_memory_fraction "
              "--extra_llm_api_options.kv_cache_config.free_gpu_memory_fraction",
     .field = "serving.gpu_memory_utilization",
     .form = number,
     .engine_default = "0.9",
     .source = "t-kv"},
    {.stack = trtllm,
     .names = "--extra_llm_api_options.kv_cache_config.max_tokens",
     .field = "serving.kv_capacity_tokens",
     .form = integer,
     .engine_default = "derived from memory",
     .source = "t-kv"},
    {.stack = trtllm,
     .names = "--extra_llm_api_options.kv_cache_config.tokens_per_block",
     .field = "serving.block_size",
     .form = integer,
     .engine_default = "32",
     .source = "t-kv"},
    {.stack = trtllm,
     .names = "--extra_llm_api_options.kv_cache_config.enable_block_reuse",
     .field = "serving.prefix_caching",
     .form = words,
     .words = kYesNo,
     .engine_default = "true",
     .source = "t-kv"},
    {.stack = trtllm,
     .names = "--kv_cache_dtype --extra_llm_api_options.kv_cache_config.dtype",
     .field = "model.kv_bytes_per_element",
     .form = words,
     .words = kFp8Kv,
     .engine_default = "auto",
     .source = "t-kv"},
    {.stack = trtllm,
     .names = "--extra_llm_api_options.kv_cache_config.host_cache_size",
     .field = kDram,
     .form = bytes,
     .is_per_rank = true,
     .storage = "trtllm_offload",
     .starts_storage = true,
     .engine_default = "0",
     .source = "t-kv"},
    {.stack = trtllm,
     .names = "--extra_llm_api_options.scheduler_config.capacity_scheduler_policy",
     .field = "serving.admission",
     .form = words,
     .words = "GUARANTEED_NO_EVICT=reserve_output MAX_UTILIZATION=chunk",
     .engine_default = "GUARANTEED_NO_EVICT",
     .source = "t-ifb"},
    {.stack = trtllm,
     .names = "--extra_llm_api_options.disable_overlap_scheduler",
     .field = "serving.async_scheduling",
     .form = words,
     .words = "true=false false=true",
     .engine_default = "false",
     .source = "t-serve"},
    {.stack = trtllm,
     .names = "--extra_llm_api_options.speculative_config.decoding_type",
     .field = "serving.speculative.method",
     .form = words,
     .words = "MTP=layers Eagle=layers Eagle3=layers NGram=ngram DraftTarget=draft_model",
     .engine_default = "none",
     .source = "t-serve"},
    {.stack = trtllm,
     .names = "--extra_llm_api_options.speculative_config.max_draft_len "
              "--extra_llm_api_options.speculative_config.num_nextn_predict_layers",
     .field = "serving.speculative.draft_tokens",
     .form = integer,
     .engine_default = "none",
     .source = "t-serve"},
    {.stack = trtllm,
     .names = "--extra_llm_api_options --config",
     .field = "",
     .form = yaml_file,
     .source = "t-serve"},
};

// Known flags that set no field, one after the other. A value that follows is read over.
struct KnownFlags {
  Stack stack;
  FlagEffect effect;
  bool takes_value;
  std::string_view names;
  std::string_view source;
};
using enum FlagEffect;
constexpr KnownFlags kKnown[] = {
    {vllm, none, true,
     "--host --port --uds --api-key --served-model-name --download-dir --dtype --tokenizer --tokenizer-mode "
     "--tokenizer-revision --revision --code-revision --hf-token --hf-config-path --load-format "
     "--model-loader-extra-config --chat-template --chat-template-content-format --response-role "
     "--tool-call-parser --reasoning-parser --tool-parser-plugin --seed --uvicorn-log-level --root-path "
     "--ssl-keyfile --ssl-certfile --ssl-ca-certs --allowed-origins --allowed-methods --allowed-headers "
     "--middleware --otlp-traces-endpoint --collect-detailed-traces --distributed-executor-backend "
     "--api-server-count -asc --runner --convert --task --generation-config --override-generation-config "
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
     "--pipeline-parallel-size -pp --decode-context-parallel-size -dcp --prefill-context-parallel-size -pcp "
     "--data-parallel-size-local -dpl --data-parallel-rank -dpn --data-parallel-start-rank -dpr --nnodes "
     "--node-rank --lora-modules --max-loras --max-lora-rank --max-cpu-loras --swap-space --cpu-offload-gb "
     "--kv-cache-memory-bytes --kv-cache-memory --long-prefill-token-threshold --max-num-partial-prefills "
     "--max-long-partial-prefills --scheduling-policy --scheduler-cls --stream-interval "
     "--mm-processor-kwargs --mm-processor-cache-gb --mm-encoder-tp-mode --compilation-config -cc -O "
     "--optimization-level --cudagraph-capture-sizes --cuda-graph-sizes --max-cudagraph-capture-size "
     "--attention-backend --attention-config --eplb-config --expert-placement-strategy "
     "--ubatch-size --dbo-decode-token-threshold --mamba-block-size --mamba-cache-dtype "
     "--mamba-ssm-cache-dtype --rope-scaling --rope-theta --hf-overrides --max-seq-len-to-capture "
     "--kv-transfer-config --speculative-config --moe-backend --performance-mode "
     "--kv-transfer-config.kv_load_failure_policy --kv-transfer-config.kv_buffer_device "
     "--kv-transfer-config.kv_buffer_size "
     "--kv-transfer-config.kv_connector_extra_config.block_size "
     "--kv-transfer-config.kv_connector_extra_config.blocks_per_chunk "
     "--kv-transfer-config.kv_connector_extra_config.max_offload_tokens "
     "--speculative-config.prompt_lookup_max --speculative-config.prompt_lookup_min "
     "--speculative-config.draft_tensor_parallel_size --speculative-config.quantization "
     "--speculative-config.max_model_len --speculative-config.disable_by_batch_size "
     "VLLM_PREFIX_CACHE_RETENTION_INTERVAL VLLM_ATTENTION_BACKEND VLLM_ALL2ALL_BACKEND "
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
     "--completion-template --tool-call-parser --reasoning-parser --sampling-defaults --file-storage-path "
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
     "--pipeline-parallel-size --pp-size --pp --schedule-policy --schedule-conservativeness "
     "--prefill-max-requests --swa-full-tokens-ratio --radix-eviction-policy --nnodes --node-rank "
     "--load-balance-method --attention-backend --prefill-attention-backend --decode-attention-backend "
     "--moe-a2a-backend --moe-runner-backend --deepep-mode --ep-num-redundant-experts --eplb-algorithm "
     "--cuda-graph-max-bs --cuda-graph-bs --torch-compile-max-bs --cpu-offload-gb --lora-paths "
     "--max-loras-per-batch --max-lora-rank --lora-backend --mamba-ssm-dtype "
     "--mamba-full-memory-ratio --max-mamba-cache-size --mamba-scheduler-strategy "
     "--mamba-track-interval --speculative-num-draft-tokens --speculative-eagle-topk "
     "--speculative-attention-mode --speculative-token-map --disaggregation-mode "
     "--disaggregation-transfer-backend --disaggregation-bootstrap-port --disaggregation-ib-device "
     "--quantization-param-path --num-continuous-decode-steps --priority-scheduling-preemption-threshold "
     "--attn-cp-size --moe-dense-tp-size",
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
     "--pp_size --cp_size --max_beam_width "
     "--extra_llm_api_options.pipeline_parallel_size "
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

struct Source {
  std::string_view key, text;
};
constexpr Source kSources[] = {
    {"v-args", "vllm/engine/arg_utils.py (vllm#17885)"},
    {"v-apc", "vllm docs/design/prefix_caching.md@01ff8bf"},
    {"v-schedcfg", "vllm/config/scheduler.py@1f8758d"},
    {"v-hyb", "vllm docs/design/hybrid_kv_cache_manager.md@1153c0c"},
    {"v-off", "vllm docs/features/kv_offloading_usage.md@0078e9d; GiB: vllm/config/vllm.py"},
    {"v-offcode", "vllm/v1/kv_offload/cpu/manager.py@0358cbb, offloading/scheduler.py@0072b0b"},
    {"v-mc", "vllm docs/features/mooncake_store_connector_usage.md@01529cf"},
    {"l-cfg", "LMCache docs/source/api_reference/configurations.rst@0223da8"},
    {"l-async", "LMCache async_loading.rst@19e9790"},
    {"l-adapter", "LMCache vllm_v1_adapter.py@0043281"},
    {"d-guide", "dynamo docs/components/kvbm/kvbm-guide.md@04521f4"},
    {"d-off", "dynamo lib/llm/src/block_manager/offload.rs@003b9e2"},
    {"s-args", "sglang docs/advanced_features/server_arguments.md@004813e"},
    {"s-hrc", "sglang hiradix_cache.py@263bc85"},
    {"t-kv", "TensorRT-LLM docs/source/features/kvcache.md@0076e93"},
    {"t-ifb", "TensorRT-LLM paged-attention-ifb-scheduler.md@0c6a62a"},
    {"t-serve", "TensorRT-LLM tensorrt_llm/commands/serve.py, llmapi/llm_args.py"},
};

std::vector<FlagRow> all_rows() {
  std::vector<FlagRow> rows(std::begin(kRows), std::end(kRows));
  for (const KnownFlags& known : kKnown) {
    for (const Word& one : words_of(known.names)) {
      rows.push_back({.stack = known.stack,
                      .names = one.word,
                      .form = known.takes_value ? text : present,
                      .source = known.source,
                      .effect = known.effect});
    }
  }
  return rows;
}

}  // namespace

std::span<const FlagRow> flag_table() {
  static const std::vector<FlagRow> rows = all_rows();
  return rows;
}

std::string_view source_text(std::string_view key) {
  for (const Source& one : kSources) {
    if (one.key == key) return one.text;
  }
  return "";
}

}  // namespace kvcap
