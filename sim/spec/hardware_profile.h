// HardwareProfile: one server, as hwprofiles/*.json describes it. `gpu` (but its count) and `pcie` are per
// GPU, `ssd` and `cxl` per device, `dram` and `remote` per node. 1 GB = 1e9 bytes; GPU memory is in real
// bytes. Bandwidths are achieved, not nominal, where `provenance` says so.
//
// A server may be sold in shares, so many GPUs with their part of its DRAM and SSDs: `count` and the
// capacities are what a share has, gpu.per_server says of how many GPUs.
//
// What a part costs is either its rent (price_usd_per_...) or its purchase, written off evenly over
// amortization_years of 8,760 hours each (see cost/prices.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/names.h"
#include "base/tier.h"
#include "spec/machine_errors.h"

namespace kvcap {

// How long an operator takes, given its flops F, its bytes B, and the device's peak P and bandwidth W.
enum class EfficiencyModel : uint8_t { constant, smooth_max, table, wave, blocks };
inline constexpr std::string_view kEfficiencyNames[] = {"constant", "smooth_max", "table", "wave", "blocks"};
constexpr Names names_of(EfficiencyModel) { return kEfficiencyNames; }

// One measured GEMM: C[m, n] = A[m, k] B[k, n] took time_s, with elements of A and of B of these bytes.
struct GemmPoint {
  int64_t m = 0, n = 0, k = 0;
  double time_s = 0;
  double activation_bytes_per_element = 2;
  double weight_bytes_per_element = 2;
};

struct Efficiency {
  EfficiencyModel model = EfficiencyModel::constant;
  double efficiency = 1;            // share of peak flops: constant, smooth_max, wave, blocks
  double bandwidth_efficiency = 1;  // share of memory bandwidth: smooth_max, blocks; wave for decode
  double constant_s = 0;            // of a call: smooth_max, wave, blocks
  int64_t block_m = 64;             // query rows of one thread block: wave, blocks
  double block_s = 0;               // of a thread block, beside its keys: blocks
  double wave_tail = 1;             // share of the idle time at the ends of waves that is paid: blocks
  bool packed_heads = false;        // a block's rows are of all query heads of a KV head: blocks
  std::vector<GemmPoint> points;    // table
  // Share of memory bandwidth of the kernel that quantises A before an FP8 or FP4 GEMM: it reads A in the
  // output's bytes and writes it in its own. Absent: fused into another kernel. Plain GEMMs only.
  std::optional<double> quantize_bandwidth_efficiency;
};

// Decode attention, one query a sequence, for s sequences with g KV heads and x tokens of context in all:
// t = constant_s + s g block_s + the time to read max(x, s least_tokens) tokens' keys and values, of which
// the first ramp_bytes are read with ramp_efficiency and the others with bandwidth_efficiency of the memory
// bandwidth. A model with fewer than split_from_group query heads per KV head runs in the prefill kernel,
// whose blocks (gpu.attention: wave or blocks) walk a whole context each.
struct DecodeEfficiency {
  double constant_s = 0;
  double block_s = 0;  // of a sequence's KV head
  int64_t least_tokens = 0;
  double bandwidth_efficiency = 1;
  double ramp_bytes = 0;
  double ramp_efficiency = 1;
  int64_t split_from_group = 1;
};

// Norms, activations, rotary embedding and residual adds of a layer: bytes/(W bandwidth_efficiency) +
// kernels * constant_s. Absent: their time is part of the GEMM efficiency.
struct Elementwise {
  double bandwidth_efficiency = 0.8;
  double constant_s = 0;  // per kernel
};

struct Gpu {
  std::string name;
  int64_t count = 1;
  double peak_flops = 0;                 // dense, 16-bit
  std::optional<double> peak_flops_fp8;  // dense; absent: peak_flops
  std::optional<double> peak_flops_fp4;  // dense; absent: that of FP8
  double memory_bytes = 0;
  // What the driver tells an engine (cudaMemGetInfo): less than memory_bytes. Absent: not known.
  std::optional<double> reported_memory_bytes;
  double context_bytes = 0;  // of it, taken by one process's CUDA context
  double memory_bandwidth_bytes_per_s = 0;
  int64_t sm_count = 0;
  Efficiency gemm;
  // GEMMs whose operands both have 8 or fewer bits, 4 or fewer; absent: as gemm, of their own peak.
  std::optional<Efficiency> gemm_fp8, gemm_fp4;
  // One kernel for all experts of a layer; absent: as a plain GEMM with the same flops and bytes.
  std::optional<Efficiency> grouped_gemm, grouped_gemm_fp8, grouped_gemm_fp4;
  // The same of 4-bit weights that are unpacked for 16-bit activations; absent: as grouped_gemm.
  std::optional<Efficiency> grouped_gemm_w4a16;
  Efficiency attention;
  std::optional<DecodeEfficiency> decode_attention;  // absent: as attention says
  std::optional<Elementwise> elementwise;
  double kernel_overhead_s = 0;          // added to every GEMM and attention call
  double host_overhead_per_layer_s = 0;  // added to every layer of every step
  // GPUs of the server as it is sold, of which `count` are a share; absent: `count`, a whole server.
  std::optional<int64_t> per_server;
  double price_usd_per_hour = 0;  // one GPU with its share of the server
  double purchase_usd = 0;        // the same, bought
  double amortization_years = 5;
  double power_idle_w = 0;
  std::optional<double> power_busy_w;  // throughout a step; absent: no energy is counted
};

// One measured rate: transfers in pieces of `block_bytes` moved `bytes_per_s` (rate_curve.h).
struct RatePoint {
  double block_bytes = 0;
  double bytes_per_s = 0;
};

// The same of one SSD with `queue_depth` requests in flight.
struct SsdPoint {
  double block_bytes = 0;
  double bytes_per_s = 0;
  int64_t queue_depth = 1;
};

struct Pcie {
  double h2d_bandwidth_bytes_per_s = 0;
  double d2h_bandwidth_bytes_per_s = 0;
  double request_overhead_s = 0;  // per copy, where there is no curve
  // Rates over the bytes of one copy, at most the bandwidths above; empty: not measured.
  std::vector<RatePoint> h2d_curve, d2h_curve;
  // Both directions at once reach this share of the sum of the two alone: 0.5 to 1.
  double duplex_share = 1;
};

// How GPUs reach each other without NVLink: in each other's memory over the CPU's own PCIe ports, the same
// through a PCIe switch, or through the host's memory, without peer access. The fastest first.
enum class Peer : uint8_t { direct, pcie_switch, host };
inline constexpr std::string_view kPeerNames[] = {"direct", "switch", "host"};
constexpr Names names_of(Peer) { return kPeerNames; }

struct Nvlink {
  double bandwidth_bytes_per_s = 0;  // one direction, one GPU
  double latency_s = 0;              // per collective
  // Memory of one GPU for kernels that fuse all-reduces with norms; 0: the engine has none for this GPU.
  double fused_all_reduce_bytes = 0;
};

// One measured collective of `gpus` GPUs. bytes: of the full buffer, as NCCL's tests count them: what every
// GPU has before an all-reduce, after an all-gather, and sends in all in an all-to-all.
struct CollectivePoint {
  int64_t gpus = 0;
  double bytes = 0;
  double time_s = 0;
};

// Measured collectives; a kind or a number of GPUs without points follows from nvlink, or from pcie and peer.
struct Collectives {
  std::optional<Peer> peer;  // of the server that was measured; absent: as this one is
  std::vector<CollectivePoint> all_reduce;
  std::vector<CollectivePoint> all_gather;
  std::vector<CollectivePoint> all_to_all;
};

// Network cards for traffic between nodes. Storage behind the network is `remote`.
struct Nic {
  int64_t count = 1;
  double bandwidth_bytes_per_s = 0;  // one direction, one card
  double latency_s = 0;              // of a transfer: its set-up, and the way to the first byte
};

struct Dram {
  double capacity_bytes = 0;
  double bandwidth_bytes_per_s = 0;
  double price_usd_per_gb_hour = 0;
  double purchase_usd_per_gb = 0;
  double amortization_years = 5;
  double power_w = 0;  // of the whole memory
};

struct Ssd {
  int64_t count = 1;
  double capacity_bytes = 0;
  double read_bandwidth_bytes_per_s = 0;
  double write_bandwidth_bytes_per_s = 0;
  double request_overhead_s = 0;  // per chunk read or written, where there is no curve
  // Rates of one device over the bytes of one request, at most the bandwidths above; empty: not measured.
  std::vector<SsdPoint> read_curve, write_curve;
  std::optional<int64_t> queue_depth;  // requests in flight on one device; absent: the deepest measured
  double sync_write_s = 25e-6;         // one small write that the writer waits for (save: direct_io)
  bool gpu_direct = true;              // false: reads and writes are copied through DRAM
  double price_usd_per_gb_hour = 0;
  double purchase_usd = 0;  // of one device
  double amortization_years = 5;
  double replacement_usd_per_gb =
      0;                       // a new device's: the basis of wear where devices are rented; not billed
  double endurance_bytes = 0;  // rated writes of one device; 0 = not stated
  double power_w = 0;          // of one device
};

struct Remote {
  double capacity_bytes = 0;
  double bandwidth_bytes_per_s = 0;
  std::vector<RatePoint> curve;  // over the bytes of one request, both ways; empty: not measured
  double latency_s = 0;          // to the first byte of a transfer
  double lookup_s = 0;           // of its index: every turn asks it once what is there
  double price_usd_per_gb_hour = 0;
  double price_usd_per_request = 0;
};

// Devices of a kind of tier that base/tier.h alone describes.
struct Devices {
  int64_t count = 1;
  double capacity_bytes = 0;  // of one device, like all but prices and latency
  double read_bandwidth_bytes_per_s = 0;
  double write_bandwidth_bytes_per_s = 0;
  double latency_s = 0;    // to the first byte of a transfer
  bool gpu_direct = true;  // false: reads and writes are copied through DRAM
  double price_usd_per_gb_hour = 0;
  double purchase_usd_per_gb = 0;
  double amortization_years = 5;
  double power_w = 0;
};

struct Energy {
  std::optional<double> price_usd_per_kwh;
  double pue = 1;  // energy of the site / energy of the machines
};

// What an engine was found to take on this machine, beside its kernels. Scenarios that leave the fields of
// `serving` with these names out take them from here.
struct EngineTimes {
  std::string name, version;  // "vllm", "0.15.1"
  std::optional<double> step_overhead_s, step_overhead_per_sequence_s, request_overhead_s;
  double kv_capacity_share = 1;  // tokens of KV cache that it has, over those derived
};

struct HardwareProfile {
  std::string name;
  std::string provenance_kind;  // datasheet, paper or measured
  std::string provenance_source;
  Gpu gpu;
  Pcie pcie;
  std::optional<Nvlink> nvlink;
  // Given: collectives do not use nvlink. Absent, without nvlink: not known, taken for host.
  std::optional<Peer> peer;
  std::optional<Collectives> collectives;
  std::optional<Nic> nic;
  std::optional<Dram> dram;
  std::optional<Ssd> ssd;
  std::optional<Remote> remote;
  std::array<std::optional<Devices>, kTierCount> devices;  // of the tiers whose row says `table`
  Energy energy;
  std::optional<EngineTimes> engine;  // absent: not measured
  MachineErrors errors;
};

}  // namespace kvcap
