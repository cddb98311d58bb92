// The names of enumerators in JSON, in the order of the enumeration: a new value is one more name here.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "base/tier.h"
#include "policy/options.h"
#include "scenario/scenario.h"
#include "serving/fleet_options.h"
#include "serving/options.h"
#include "spec/hardware_profile.h"
#include "spec/model_spec.h"
#include "state/options.h"
#include "workload/options.h"

namespace kvcap {

using Names = std::span<const std::string_view>;

inline constexpr std::array<std::string_view, 5> kTierKindNames = {"hbm", "dram", "ssd", "remote",
                                                                   "mooncake_store"};
inline constexpr std::string_view kFidelityNames[] = {"request", "layer"};
inline constexpr std::string_view kStorageBilledNames[] = {"provisioned", "filled"};
inline constexpr std::string_view kOverflowNames[] = {"truncate", "reject"};
inline constexpr std::string_view kExpertExchangeNames[] = {"allgather_reducescatter", "all_to_all"};
inline constexpr std::string_view kEngineNames[] = {"vllm", "sglang", "trtllm"};
inline constexpr std::string_view kAdmissionNames[] = {"full_prompt", "chunk", "reserve_output",
                                                       "reserve_share"};
inline constexpr std::string_view kStepOrderNames[] = {"mixed", "prefill_first"};
inline constexpr std::string_view kDraftMethodNames[] = {"ngram", "layers", "draft_model"};
inline constexpr std::string_view kKvCapacityModelNames[] = {"engine", "simple", "share_of_free", "static_share"};
inline constexpr std::string_view kMixedAttentionNames[] = {"two_calls", "one_call"};
inline constexpr std::string_view kAttentionBackendNames[] = {"flash_attn", "flashinfer", "triton", "trtllm"};
inline constexpr std::string_view kHostTimesNames[] = {"engine", "none"};
inline constexpr std::string_view kSamplerKernelNames[] = {"sort", "triton", "flashinfer"};
inline constexpr std::string_view kRoutingNames[] = {"round_robin",  "least_loaded", "session_affinity",
                                                     "prefix_aware", "random",       "cache_aware",
                                                     "dynamo",       "weighted"};
inline constexpr std::string_view kIndexNames[] = {"exact", "events", "approximate"};
inline constexpr std::string_view kKvTransferNames[] = {"pull", "push"};
inline constexpr std::string_view kTransferGranularityNames[] = {"end", "layerwise"};
inline constexpr std::string_view kTransferLinkNames[] = {"nic", "nvlink"};
inline constexpr std::string_view kBadRowNames[] = {"error", "skip"};
inline constexpr std::string_view kHistoryNames[] = {"automatic", "grow", "context"};
inline constexpr std::string_view kInputIsNames[] = {"automatic", "new_tokens", "whole_prompt"};
inline constexpr std::string_view kArrivalProcessNames[] = {"poisson", "gamma", "constant", "trace",
                                                            "closed_loop"};
inline constexpr std::string_view kThinkDistributionNames[] = {"auto",      "constant", "exponential",
                                                               "lognormal", "recorded", "timetable"};
inline constexpr std::string_view kWarmupNames[] = {"turns", "auto", "steady"};
inline constexpr std::string_view kRatesOverNames[] = {"auto", "steady", "run"};
inline constexpr std::string_view kRunLengthNames[] = {"fixed", "steady"};
inline constexpr std::string_view kPreloadNames[] = {"none", "layerwise"};
inline constexpr std::string_view kOneTokenSlicesNames[] = {"prefill", "decode"};
inline constexpr std::string_view kCheckpointsNames[] = {"none", "align", "all"};
inline constexpr std::string_view kBlockLayoutNames[] = {"layer", "cross_layer"};
inline constexpr std::string_view kLoadModeNames[] = {"parked", "blocking", "layerwise"};
inline constexpr std::string_view kSaveAtNames[] = {"turn_end", "step", "eviction"};
inline constexpr std::string_view kEvictionUnitNames[] = {"block", "context"};
inline constexpr std::string_view kPrefetchOnArrivalNames[] = {"none", "best_effort", "wait", "timeout"};
inline constexpr std::string_view kWritePolicyNames[] = {"write_through", "write_through_selective",
                                                         "write_back"};
inline constexpr std::string_view kSaveModeNames[] = {"background", "direct_io", "blocking"};
inline constexpr std::string_view kWriteModeNames[] = {"back", "through", "eager"};
inline constexpr std::string_view kMatchNames[] = {"session", "prefix", "chunk"};
inline constexpr std::string_view kCallsNames[] = {"single", "map_reduce", "map_rerank"};
inline constexpr std::string_view kSplitNames[] = {"best",         "paper", "hidden_only",
                                                   "naive_hybrid", "token", "token_rounded"};
inline constexpr auto kEvictionNames = [] {
  std::array<std::string_view, kEvictions.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kEvictions[i].name;
  return names;
}();
inline constexpr std::string_view kScoreNames[] = {"frequency", "importance"};
inline constexpr std::string_view kFfnNames[] = {"gated", "plain"};
inline constexpr std::string_view kPositionNames[] = {"rope", "alibi", "absolute"};
inline constexpr std::string_view kQkNormNames[] = {"none", "head", "all_heads"};
inline constexpr std::string_view kAttentionKindNames[] = {"full", "sliding", "chunked", "latent",
                                                           "recurrent"};
inline constexpr std::string_view kEfficiencyNames[] = {"constant", "smooth_max", "table", "wave", "blocks"};

// Not values of an enumeration, but the only ones allowed.
inline constexpr std::string_view kGemmEfficiencyNames[] = {"constant", "smooth_max", "table"};
inline constexpr std::string_view kAttentionEfficiencyNames[] = {"constant", "smooth_max", "wave", "blocks"};
inline constexpr std::string_view kProvenanceNames[] = {"datasheet", "paper", "measured"};
inline constexpr std::string_view kDtypeNames[] = {"float16",       "bfloat16",    "float32",
                                                   "float8_e4m3fn", "float8_e5m2", "int8"};

constexpr Names names_of(Tier) { return kTierNames; }
constexpr Names names_of(Fidelity) { return kFidelityNames; }
constexpr Names names_of(StorageBilled) { return kStorageBilledNames; }
constexpr Names names_of(Overflow) { return kOverflowNames; }
constexpr Names names_of(ExpertExchange) { return kExpertExchangeNames; }
constexpr Names names_of(EngineKind) { return kEngineNames; }
constexpr Names names_of(Admission) { return kAdmissionNames; }
constexpr Names names_of(StepOrder) { return kStepOrderNames; }
constexpr Names names_of(KvCapacityModel) { return kKvCapacityModelNames; }
constexpr Names names_of(MixedAttention) { return kMixedAttentionNames; }
constexpr Names names_of(AttentionBackend) { return kAttentionBackendNames; }
constexpr Names names_of(HostTimes) { return kHostTimesNames; }
constexpr Names names_of(SamplerKernel) { return kSamplerKernelNames; }
constexpr Names names_of(IndexKind) { return kIndexNames; }
constexpr Names names_of(Routing) { return kRoutingNames; }
constexpr Names names_of(KvTransfer) { return kKvTransferNames; }
constexpr Names names_of(TransferGranularity) { return kTransferGranularityNames; }
constexpr Names names_of(TransferLink) { return kTransferLinkNames; }
constexpr Names names_of(Peer) { return kPeerNames; }
constexpr Names names_of(BadRow) { return kBadRowNames; }
constexpr Names names_of(History) { return kHistoryNames; }
constexpr Names names_of(InputIs) { return kInputIsNames; }
constexpr Names names_of(ArrivalProcess) { return kArrivalProcessNames; }
constexpr Names names_of(ThinkDistribution) { return kThinkDistributionNames; }
constexpr Names names_of(Warmup) { return kWarmupNames; }
constexpr Names names_of(RatesOver) { return kRatesOverNames; }
constexpr Names names_of(RunLength) { return kRunLengthNames; }
constexpr Names names_of(Preload) { return kPreloadNames; }
constexpr Names names_of(Match) { return kMatchNames; }
constexpr Names names_of(Keep) { return kKeepNames; }
constexpr Names names_of(Restore) { return kRestoreNames; }
constexpr Names names_of(Calls) { return kCallsNames; }
constexpr Names names_of(OneTokenSlices) { return kOneTokenSlicesNames; }
constexpr Names names_of(DraftMethod) { return kDraftMethodNames; }
constexpr Names names_of(Checkpoints) { return kCheckpointsNames; }
constexpr Names names_of(BlockLayout) { return kBlockLayoutNames; }
constexpr Names names_of(LoadMode) { return kLoadModeNames; }
constexpr Names names_of(SaveAt) { return kSaveAtNames; }
constexpr Names names_of(EvictionUnit) { return kEvictionUnitNames; }
constexpr Names names_of(PrefetchOnArrival) { return kPrefetchOnArrivalNames; }
constexpr Names names_of(WritePolicy) { return kWritePolicyNames; }
constexpr Names names_of(SaveMode) { return kSaveModeNames; }
constexpr Names names_of(WriteMode) { return kWriteModeNames; }
constexpr Names names_of(Split) { return kSplitNames; }
constexpr Names names_of(EvictionKind) { return kEvictionNames; }
constexpr Names names_of(Score) { return kScoreNames; }
constexpr Names names_of(FfnKind) { return kFfnNames; }
constexpr Names names_of(AttentionKind) { return kAttentionKindNames; }
constexpr Names names_of(PositionEncoding) { return kPositionNames; }
constexpr Names names_of(QkNorm) { return kQkNormNames; }
constexpr Names names_of(EfficiencyModel) { return kEfficiencyNames; }

}  // namespace kvcap
