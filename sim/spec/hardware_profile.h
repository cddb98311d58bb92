// HardwareProfile: one server, as described in hwprofiles/*.json. `gpu` (except its count) and `pcie` are per
// GPU, `ssd` and `cxl` per device, `dram` and `remote` per node. 1 GB = 1e9 bytes; GPU memory is in exact
// bytes. `provenance` states whether bandwidths are nominal or achieved rates.
//
// A server may be rented in shares: several GPUs with a part of its DRAM and SSDs. `count` and the capacities
// are those of a share; gpu.per_server is the number of GPUs of the whole server.
//
// A part costs its rent (price_usd_per_...) or its purchase price, written off evenly over amortization_years
// of 8,760 hours each (see cost/prices.h).
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

// Formula for the time of an operator with F flops and B bytes on a device with peak P and bandwidth W.
enum class EfficiencyModel : uint8_t { constant, smooth_max, table, wave, blocks };
inline constexpr std::string_view kEfficiencyNames[] = {"constant", "smooth_max", "table", "wave", "blocks"};
constexpr Names names_of(EfficiencyModel) { return kEfficiencyNames; }
// The models that apply to GEMMs, and those that apply to attention.
inline constexpr std::string_view kGemmEfficiencyNames[] = {"constant", "smooth_max", "table"};
inline constexpr std::string_view kAttentionEfficiencyNames[] = {"constant", "smooth_max", "wave", "blocks"};

inline constexpr std::string_view kProvenanceNames[] = {"datasheet", "paper", "measured"};

// One measured GEMM: C[m, n] = A[m, k] B[k, n] took time_s; the bytes per element are those of A and of B.
struct GemmPoint {
  int64_t m = 0, n = 0, k = 0;
  double time_s = 0;
  double activation_bytes_per_element = 2;
  double weight_bytes_per_element = 2;
};

// Parameters of an efficiency model. The comment on a field names the models that use it.
struct Efficiency {
  EfficiencyModel model = EfficiencyModel::constant;
  double efficiency = 1;            // share of the peak flops: constant, smooth_max, wave, blocks
  double bandwidth_efficiency = 1;  // share of the memory bandwidth: smooth_max, blocks; wave for decode
  double constant_s = 0;            // per call: smooth_max, wave, blocks
  int64_t block_m = 64;             // query rows per thread block: wave, blocks
  double block_s = 0;               // per thread block, in addition to the time of its keys: blocks
  double wave_tail = 1;             // share of the idle time at the ends of waves to charge: blocks
  bool packed_heads = false;        // a block's rows belong to all query heads of a KV head: blocks
  // All prompts of a call are padded to the rows of the longest prompt. Blocks without queries still read the
  // whole prefix of their prompt.
  bool padded_rows = false;
  std::vector<GemmPoint> points;  // table
  // Share of the memory bandwidth reached by the kernel that quantises A before an FP8 or FP4 GEMM. The
  // kernel reads the output format and writes the format of A. Absent: it is fused into another kernel. Used
  // for plain GEMMs only.
  std::optional<double> quantize_bandwidth_efficiency;
};

// Decode attention with one query per sequence, for s sequences, g KV heads and a total context of x tokens:
// t = constant_s + s g block_s + the time to read the keys and values of max(x, s least_tokens) tokens. The
// first ramp_bytes are read at ramp_efficiency of the memory bandwidth, the rest at bandwidth_efficiency.
// If a model has fewer than split_from_group query heads per KV head, it decodes in the prefill kernel, where
// each block (gpu.attention: wave or blocks) processes a whole context.
struct DecodeEfficiency {
  double constant_s = 0;
  double block_s = 0;  // per sequence and KV head
  int64_t least_tokens = 0;
  double bandwidth_efficiency = 1;
  double ramp_bytes = 0;
  double ramp_efficiency = 1;
  int64_t split_from_group = 1;
};

// Norms, activations, rotary embedding and residual adds of a layer: t = bytes / (W bandwidth_efficiency) +
// kernels * constant_s. If absent, the efficiency of the GEMMs is taken to include their time.
struct Elementwise {
  double bandwidth_efficiency = 0.8;
  double constant_s = 0;  // per kernel
};

struct Gpu {
  std::string name;
  int64_t count = 1;
  double peak_flops = 0;                 // dense, 16-bit
  std::optional<double> peak_flops_fp8;  // dense; absent: peak_flops
  std::optional<double> peak_flops_fp4;  // dense; absent: the FP8 peak
  double memory_bytes = 0;
  // Memory that the driver reports (cudaMemGetInfo); less than memory_bytes. Absent: unknown.
  std::optional<double> reported_memory_bytes;
  double context_bytes = 0;  // memory that the CUDA context of one process takes
  double memory_bandwidth_bytes_per_s = 0;
  int64_t sm_count = 0;
  Efficiency gemm;
  // Both operands have at most 8 bits (gemm_fp8) or at most 4 bits (gemm_fp4); absent: `gemm` with the peak
  // of that format.
  std::optional<Efficiency> gemm_fp8, gemm_fp4;
  // The kernel for all experts of a layer; absent: like a plain GEMM with the same flops and bytes.
  std::optional<Efficiency> grouped_gemm, grouped_gemm_fp8, grouped_gemm_fp4;
  // The kernel for experts with 4-bit weights, unpacked for 16-bit activations; absent: grouped_gemm.
  std::optional<Efficiency> grouped_gemm_w4a16;
  Efficiency attention;
  std::optional<DecodeEfficiency> decode_attention;  // absent: derived from attention
  std::optional<Elementwise> elementwise;
  double kernel_overhead_s = 0;          // added to every GEMM and attention call
  double host_overhead_per_layer_s = 0;  // added to every layer of every step
  // Number of GPUs of the whole server, if `count` is that of a share; absent: `count`.
  std::optional<int64_t> per_server;
  double price_usd_per_hour = 0;  // one GPU with its share of the server; 0: not known
  // The rent includes the DRAM and the SSDs of the share (their included_bytes).
  bool price_includes_storage = false;
  std::string price_date;   // "2026-03", "2026"; empty: not known
  double purchase_usd = 0;  // one GPU with its share of the server, purchased
  double amortization_years = 5;
  double power_idle_w = 0;
  std::optional<double> power_busy_w;  // during a step; absent: energy is not counted
};

// One measured rate: transfers in pieces of `block_bytes` reached `bytes_per_s` (rate_curve.h).
struct RatePoint {
  double block_bytes = 0;
  double bytes_per_s = 0;
};

// One measured rate of an SSD with `queue_depth` requests in flight.
struct SsdPoint {
  double block_bytes = 0;
  double bytes_per_s = 0;
  int64_t queue_depth = 1;
};

struct Pcie {
  double h2d_bandwidth_bytes_per_s = 0;
  double d2h_bandwidth_bytes_per_s = 0;
  double request_overhead_s = 0;  // per copy, if there is no curve
  // Rates as a function of the bytes of one copy, at most the bandwidths above; empty: not measured.
  std::vector<RatePoint> h2d_curve, d2h_curve;
  // Share of the sum of both bandwidths that copies reach if they run in both directions at once: 0.5 to 1.
  double duplex_share = 1;
};

// How GPUs without NVLink reach each other, fastest first: peer access over the CPU's PCIe ports, peer access
// through a PCIe switch, or copies through host memory.
enum class Peer : uint8_t { direct, pcie_switch, host };
inline constexpr std::string_view kPeerNames[] = {"direct", "switch", "host"};
constexpr Names names_of(Peer) { return kPeerNames; }

struct Nvlink {
  double bandwidth_bytes_per_s = 0;  // per GPU and direction
  double latency_s = 0;              // per collective
  // Memory per GPU for kernels that fuse all-reduces with norms; 0: the engine has no such kernels for this
  // GPU.
  double fused_all_reduce_bytes = 0;
};

// One measured collective of `gpus` GPUs. bytes: the full buffer, as in NCCL's tests: what each GPU has
// before an all-reduce, has after an all-gather, or sends in total in an all-to-all.
struct CollectivePoint {
  int64_t gpus = 0;
  double bytes = 0;
  double time_s = 0;
};

// Measured collectives. Times of a kind or number of GPUs without points are derived from nvlink, or from
// pcie and peer.
struct Collectives {
  std::optional<Peer> peer;  // peer access of the measured server; absent: as in this profile
  std::vector<CollectivePoint> all_reduce;
  std::vector<CollectivePoint> all_gather;
  std::vector<CollectivePoint> all_to_all;
};

// Network cards for traffic between nodes. Network storage is `remote`.
struct Nic {
  int64_t count = 1;
  double bandwidth_bytes_per_s = 0;  // per card and direction
  double latency_s = 0;              // per transfer: set-up and time to the first byte
};

struct Dram {
  double capacity_bytes = 0;
  double bandwidth_bytes_per_s = 0;
  double price_usd_per_gb_hour = 0;
  // Bytes that the GPUs' rent includes (gpu.price_includes_storage); absent: the whole capacity.
  std::optional<double> included_bytes;
  std::string price_date;
  double purchase_usd_per_gb = 0;
  double amortization_years = 5;
  double power_w = 0;  // all DRAM together
};

struct Ssd {
  int64_t count = 1;
  double capacity_bytes = 0;
  double read_bandwidth_bytes_per_s = 0;
  double write_bandwidth_bytes_per_s = 0;
  double request_overhead_s = 0;  // per chunk read or written, if there is no curve
  // Rates of one device as a function of the bytes of one request, at most the bandwidths above; empty: not
  // measured.
  std::vector<SsdPoint> read_curve, write_curve;
  std::optional<int64_t> queue_depth;  // requests in flight per device; absent: the deepest measured
  double sync_write_s = 25e-6;         // one small synchronous write (save: direct_io)
  bool gpu_direct = true;              // false: all data is copied through DRAM
  double price_usd_per_gb_hour = 0;
  std::optional<double> included_bytes;  // as in Dram, all devices together
  std::string price_date;
  double purchase_usd = 0;  // per device
  double amortization_years = 5;
  // Price of a new device, for the cost of wear if devices are rented; not billed.
  double replacement_usd_per_gb = 0;
  double endurance_bytes = 0;  // rated writes per device; 0: not stated
  double power_w = 0;          // per device
};

struct Remote {
  double capacity_bytes = 0;
  double bandwidth_bytes_per_s = 0;
  std::vector<RatePoint> curve;  // rates by the bytes of a request, for both directions; empty: not measured
  double latency_s = 0;          // time to the first byte of a transfer
  double lookup_s = 0;           // time of a lookup in its index, once per turn
  double price_usd_per_gb_hour = 0;
  double price_usd_per_request = 0;
  std::string price_date;
};

// Devices of a kind of tier that has no code of its own, only a row in base/tier.h.
struct Devices {
  int64_t count = 1;
  double capacity_bytes = 0;  // per device, like all fields except prices and latency
  double read_bandwidth_bytes_per_s = 0;
  double write_bandwidth_bytes_per_s = 0;
  double latency_s = 0;    // to the first byte of a transfer
  bool gpu_direct = true;  // false: reads and writes are copied through DRAM
  double price_usd_per_gb_hour = 0;
  std::string price_date;
  double purchase_usd_per_gb = 0;
  double amortization_years = 5;
  double power_w = 0;
};

struct Energy {
  std::optional<double> price_usd_per_kwh;
  double pue = 1;  // energy of the site / energy of its machines
};

// Values of an engine that were measured on this machine, apart from the times of its kernels. They are the
// defaults of the fields of `serving` with the same names.
struct EngineTimes {
  std::string name, version;  // "vllm", "0.15.1"
  std::optional<double> step_overhead_s, step_overhead_per_sequence_s, request_overhead_s;
  double kv_capacity_share = 1;  // measured / derived tokens of the KV cache
};

struct HardwareProfile {
  std::string name;
  std::string provenance_kind;  // one of kProvenanceNames
  std::string provenance_source;
  Gpu gpu;
  Pcie pcie;
  std::optional<Nvlink> nvlink;
  // If `peer` is given, collectives do not use nvlink. If neither `peer` nor `nvlink` is given, the link is
  // unknown and transfers are assumed to go through the host.
  std::optional<Peer> peer;
  std::optional<Collectives> collectives;
  std::optional<Nic> nic;
  std::optional<Dram> dram;
  std::optional<Ssd> ssd;
  std::optional<Remote> remote;
  // Devices of the tiers without code of their own (`table` in base/tier.h), indexed by tier.
  std::array<std::optional<Devices>, kTierCount> devices;
  Energy energy;
  std::optional<EngineTimes> engine;  // absent: not measured
  MachineErrors errors;
};

}  // namespace kvcap
