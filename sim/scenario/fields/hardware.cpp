// The fields of a hardware profile except its GPU: links, tiers, energy, and stated errors.
#include "scenario/fields/specs.h"
#include "spec/tiers.h"

namespace kvcap {

using namespace field_specs;

static void describe(FieldVisitor& v, CollectivePoint& o) {
  v.field("gpus", o.gpus, {.meaning = "participating GPUs", .min = 2, .max = kMaxCount, .required = true});
  v.field("bytes", o.bytes, positive("size of the full buffer, as nccl-tests counts it", "bytes"));
  v.field("time_s", o.time_s, positive("measured time", "s"));
}

static void describe(FieldVisitor& v, Collectives& o) {
  v.field("peer", o.peer, {.meaning = "hardware.peer of the measured server", .absent = "as this server"});
  v.field("all_reduce", o.all_reduce, {.meaning = "measured all-reduces"});
  v.field("all_gather", o.all_gather, {.meaning = "measured all-gathers"});
  v.field("all_to_all", o.all_to_all, {.meaning = "measured all-to-alls"});
}

static void describe(FieldVisitor& v, RatePoint& o) {
  v.field("block_bytes", o.block_bytes, positive("size of one copy", "bytes"));
  v.field("bytes_per_s", o.bytes_per_s, positive("rate of copies of this size", "bytes/s"));
}

static void describe(FieldVisitor& v, SsdPoint& o) {
  v.field("block_bytes", o.block_bytes, positive("size of one request", "bytes"));
  v.field("bytes_per_s", o.bytes_per_s, positive("rate of one device with requests of this size", "bytes/s"));
  v.field("queue_depth", o.queue_depth, count("requests in flight during the measurement", "requests"));
}

static void describe(FieldVisitor& v, Pcie& o) {
  v.field("h2d_bandwidth_bytes_per_s", o.h2d_bandwidth_bytes_per_s,
          positive("rate from the host to one GPU", "bytes/s"));
  v.field("d2h_bandwidth_bytes_per_s", o.d2h_bandwidth_bytes_per_s,
          positive("rate from one GPU to the host", "bytes/s"));
  v.field("request_overhead_s", o.request_overhead_s,
          not_negative("constant time of a copy; not used with a curve", "s"));
  v.field("h2d_curve", o.h2d_curve, {.meaning = "bandwidth to one GPU as a function of the size of a copy"});
  v.field("d2h_curve", o.d2h_curve, {.meaning = "bandwidth from one GPU as a function of the size of a copy"});
  v.field("duplex_share", o.duplex_share,
          {.meaning = "rate of both directions together over the sum of each alone", .min = 0.5, .max = 1});
}

static void describe(FieldVisitor& v, Nvlink& o) {
  v.field("bandwidth_bytes_per_s", o.bandwidth_bytes_per_s,
          positive("rate of one GPU in one direction", "bytes/s"));
  v.field("latency_s", o.latency_s, not_negative("constant time of a collective", "s"));
  v.field("fused_all_reduce_bytes", o.fused_all_reduce_bytes,
          not_negative("memory per GPU for kernels that fuse all-reduces with norms", "bytes"));
}

static void describe(FieldVisitor& v, Nic& o) {
  v.field("count", o.count, count("network cards of the node", "NICs"));
  v.field("bandwidth_bytes_per_s", o.bandwidth_bytes_per_s,
          positive("rate of one card in one direction", "bytes/s"));
  v.field("latency_s", o.latency_s, not_negative("latency of a transfer, including its set-up", "s"));
}

static void describe(FieldVisitor& v, Dram& o) {
  v.field("capacity_bytes", o.capacity_bytes, positive("capacity for stored state", "bytes"));
  v.field("bandwidth_bytes_per_s", o.bandwidth_bytes_per_s, positive("rate of the node", "bytes/s"));
  v.field("price_usd_per_gb_hour", o.price_usd_per_gb_hour,
          not_negative("rent of provisioned capacity", "USD/GB/h"));
  v.field("included_bytes", o.included_bytes,
          not_negative("capacity that the GPUs' rent includes (gpu.price_includes_storage)", "bytes", "all"));
  v.field("price_date", o.price_date, price_date());
  v.field("purchase_usd_per_gb", o.purchase_usd_per_gb,
          not_negative("purchase price, instead of rent", "USD/GB"));
  v.field("amortization_years", o.amortization_years, amortization());
  v.field("power_w", o.power_w, not_negative("power of the whole memory", "W"));
}

static void describe(FieldVisitor& v, Ssd& o) {
  v.field("count", o.count, count("devices", "SSDs"));
  v.field("capacity_bytes", o.capacity_bytes, positive("capacity of one device", "bytes"));
  v.field("read_bandwidth_bytes_per_s", o.read_bandwidth_bytes_per_s,
          positive("read rate of one device", "bytes/s"));
  v.field("write_bandwidth_bytes_per_s", o.write_bandwidth_bytes_per_s,
          positive("write rate of one device", "bytes/s"));
  v.field("request_overhead_s", o.request_overhead_s,
          not_negative("constant time of a chunk read or written; not used with a curve", "s"));
  v.field("read_curve", o.read_curve, {.meaning = "read rate of one device by size of a request"});
  v.field("write_curve", o.write_curve, {.meaning = "write rate of one device by size of a request"});
  v.field("queue_depth", o.queue_depth,
          {.meaning = "requests in flight on one device; selects among the curves",
           .unit = "requests",
           .min = 1,
           .max = kMaxCount,
           .absent = "the deepest measured"});
  v.field("sync_write_s", o.sync_write_s, not_negative("time of a small synchronous write", "s"));
  v.field("gpu_direct", o.gpu_direct,
          {.meaning = "transfers go directly between GPU and device; false: through DRAM"});
  v.field("price_usd_per_gb_hour", o.price_usd_per_gb_hour,
          not_negative("rent of provisioned capacity", "USD/GB/h"));
  v.field("included_bytes", o.included_bytes,
          not_negative("capacity of all devices that the GPUs' rent includes (gpu.price_includes_storage)",
                       "bytes", "all"));
  v.field("price_date", o.price_date, price_date());
  v.field("purchase_usd", o.purchase_usd,
          not_negative("purchase price of one device, instead of rent", "USD"));
  v.field("amortization_years", o.amortization_years, amortization());
  v.field(
      "replacement_usd_per_gb", o.replacement_usd_per_gb,
      not_negative("price of a new device, which values the wear of rented devices; not billed", "USD/GB"));
  v.field("endurance_bytes", o.endurance_bytes,
          not_negative("rated lifetime writes of one device; 0: not stated", "bytes"));
  v.field("power_w", o.power_w, not_negative("power of one device", "W"));
}

static void describe(FieldVisitor& v, Remote& o) {
  v.field("capacity_bytes", o.capacity_bytes, positive("capacity of the node's share", "bytes"));
  v.field("bandwidth_bytes_per_s", o.bandwidth_bytes_per_s, positive("rate of the node", "bytes/s"));
  v.field("curve", o.curve, {.meaning = "rate of the node by size of a request"});
  v.field("latency_s", o.latency_s, not_negative("latency of a transfer", "s"));
  v.field("lookup_s", o.lookup_s, not_negative("time of an index look-up; every turn has one", "s"));
  v.field("price_usd_per_gb_hour", o.price_usd_per_gb_hour,
          not_negative("rent of provisioned capacity", "USD/GB/h"));
  v.field("price_date", o.price_date, price_date());
  v.field("price_usd_per_request", o.price_usd_per_request, not_negative("price of a transfer", "USD"));
}

static void describe(FieldVisitor& v, Devices& o) {
  v.field("count", o.count, count("devices", "devices"));
  v.field("capacity_bytes", o.capacity_bytes, positive("capacity of one device", "bytes"));
  v.field("read_bandwidth_bytes_per_s", o.read_bandwidth_bytes_per_s,
          positive("read rate of one device", "bytes/s"));
  v.field("write_bandwidth_bytes_per_s", o.write_bandwidth_bytes_per_s,
          positive("write rate of one device", "bytes/s"));
  v.field("latency_s", o.latency_s, not_negative("latency of a transfer", "s"));
  v.field("gpu_direct", o.gpu_direct,
          {.meaning = "transfers go directly between GPU and device; false: through DRAM"});
  v.field("price_usd_per_gb_hour", o.price_usd_per_gb_hour,
          not_negative("rent of provisioned capacity", "USD/GB/h"));
  v.field("price_date", o.price_date, price_date());
  v.field("purchase_usd_per_gb", o.purchase_usd_per_gb,
          not_negative("purchase price, instead of rent", "USD/GB"));
  v.field("amortization_years", o.amortization_years, amortization());
  v.field("power_w", o.power_w, not_negative("power of one device", "W"));
}

static void describe(FieldVisitor& v, EngineTimes& o) {
  v.field("name", o.name, {.meaning = "measured engine"});
  v.field("version", o.version, {.meaning = "version of the engine"});
  v.field("step_overhead_s", o.step_overhead_s,
          not_negative("default of serving.step_overhead_s", "s", "not measured"));
  v.field("step_overhead_per_sequence_s", o.step_overhead_per_sequence_s,
          not_negative("default of serving.step_overhead_per_sequence_s", "s", "not measured"));
  v.field("request_overhead_s", o.request_overhead_s,
          not_negative("default of serving.request_overhead_s", "s", "not measured"));
  v.field(
      "kv_capacity_share", o.kv_capacity_share,
      {.meaning = "KV cache of the engine over the derived KV cache, both in tokens", .min = 0.1, .max = 10});
}

static void describe(FieldVisitor& v, RegimeError& o) {
  const auto spread = [](std::string_view meaning) {
    return FieldSpec{.meaning = meaning, .min = 0, .max = 1};
  };
  v.field("sigma", o.sigma, spread("standard deviation of ln(measured / simulated) common to all shapes"));
  v.field("shape_sigma", o.shape_sigma, spread("additional standard deviation of a single kernel"));
  v.field("bias", o.bias, {.meaning = "mean of ln(measured / simulated)", .min = -1, .max = 1});
  v.field("outside", o.outside, {.meaning = "unmeasured part of this regime, in words; answers repeat it"});
}

static void describe(FieldVisitor& v, MachineErrors& o) {
  for (const Regime& one : kRegimes) {
    v.field(one.name, o.*one.error, {.meaning = one.meaning, .absent = "by provenance.kind"});
  }
}

void describe(FieldVisitor& v, HardwareProfile& o) {
  v.schema(kHardwareSchema, false);
  v.field("name", o.name, {.meaning = "name in results"});
  v.group("provenance", {.meaning = "source of the numbers", .required = true}, [&o](FieldVisitor& w) {
    w.field("kind", o.provenance_kind, {.required = true, .allowed = kProvenanceNames});
    w.field("source", o.provenance_source, {.meaning = "source in words", .required = true});
  });
  v.field("gpu", o.gpu, {.meaning = "one GPU, and the number of GPUs", .required = true});
  v.field("pcie", o.pcie, {.meaning = "PCIe link of one GPU", .required = true});
  v.field("nvlink", o.nvlink, {.meaning = "NVLink between GPUs", .absent = "none"});
  v.field("peer", o.peer,
          {.meaning = "path between GPUs without NVLink: peer access (direct), peer access through a PCIe "
                      "switch (switch), or through host memory (host)",
           .absent = "nvlink, without it host"});
  v.field(
      "collectives", o.collectives,
      {.meaning = "measured times of collectives", .absent = "computed from nvlink, or from pcie and peer"});
  v.field("nic", o.nic, {.meaning = "network card between nodes, and the number of cards", .absent = "none"});
  const auto tier = [&v](Tier kind, auto& part) {
    v.field(name(kind), part, {.meaning = tier_row(kind).meaning, .absent = "none"});
  };
  tier(Tier::dram, o.dram);
  tier(Tier::ssd, o.ssd);
  tier(Tier::remote, o.remote);
  for (Tier kind : kTiers) {
    if (tier_row(kind).table) tier(kind, o.devices[index(kind)]);
  }
  v.group("energy", {.meaning = "price of electricity, and overhead of the site"}, [&o](FieldVisitor& w) {
    w.field("price_usd_per_kwh", o.energy.price_usd_per_kwh,
            not_negative("price of electricity", "USD/kWh", "energy has no price"));
    w.field("pue", o.energy.pue,
            {.meaning = "energy of the site / energy of the machines", .min = 1, .max = 1000});
  });
  v.field("engine", o.engine,
          {.meaning = "times of an engine that was measured on this machine", .absent = "not measured"});
  v.field("errors", o.errors, {.meaning = "distribution of measured over simulated times"});
}

}  // namespace kvcap
