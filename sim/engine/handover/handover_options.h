// Options of disaggregated prefill and decode in a scenario: who moves the KV of a prompt, when, and over
// which link.
#pragma once

#include <cstdint>
#include <optional>

#include "base/text/names.h"

namespace kvcap {

// Which node initiates the transfer of a prompt's KV. pull: the decode node, once the prompt is computed
// (vLLM's NixlConnector). push: the prefill node; the decode node reserves its blocks when the prefill
// begins.
enum class KvTransfer : uint8_t { pull, push };
inline constexpr std::string_view kKvTransferNames[] = {"pull", "push"};
constexpr Names names_of(KvTransfer) { return kKvTransferNames; }
// When KV may move. end: once the whole prompt is computed; layerwise: each layer as soon as it is computed.
enum class TransferGranularity : uint8_t { end, layerwise };
inline constexpr std::string_view kTransferGranularityNames[] = {"end", "layerwise"};
constexpr Names names_of(TransferGranularity) { return kTransferGranularityNames; }
// Link between the nodes: the NICs of both, or the NVLink of their GPUs.
enum class TransferLink : uint8_t { nic, nvlink };
inline constexpr std::string_view kTransferLinkNames[] = {"nic", "nvlink"};
constexpr Names names_of(TransferLink) { return kTransferLinkNames; }

// Options of the nodes of one pool. A value that is present overrides the one in `serving`.
struct PoolOptions {
  std::optional<int64_t> tensor_parallel_size, data_parallel_size;
  std::optional<int64_t> max_num_seqs;
  std::optional<int64_t> max_num_batched_tokens;
};

// Prefill-decode disaggregation: some nodes compute prompts, the others decode (handover.h).
struct DisaggregationOptions {
  int64_t prefill_replicas = 1;  // number of prefill nodes, which come first; the others decode
  KvTransfer transfer = KvTransfer::pull;
  TransferGranularity granularity = TransferGranularity::end;
  TransferLink link = TransferLink::nic;
  // For `pull`: how long the prefill node keeps a prompt's KV until a fetch begins. If it drops the KV, the
  // decode node computes the prompt. Absent: the decode node renews the lease while it waits.
  std::optional<double> lease_s;
  PoolOptions prefill, decode;
};

}  // namespace kvcap
