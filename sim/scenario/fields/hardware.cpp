// The fields of a hardware profile besides its GPU: links, tiers, energy, and stated errors.
#include "scenario/fields/specs.h"
#include "spec/tiers.h"

namespace kvcap {

using namespace field_specs;

static void describe(FieldVisitor& v, CollectivePoint& o) {
  v.field("gpus", o.gpus, {.meaning = "GPUs that take part", .min = 2, .max = kMaxCount, .required = true});
  v.field("bytes", o.bytes, positive("of the full buffer", "bytes"));
  v.field("time_s", o.time_s, positive("measured time", "s"));
}

static void describe(FieldVisitor& v, Collectives& o) {
  v.field("peer", o.peer,
          {.meaning = "hardware.peer of the server that was measured", .absent = "as this server"});
  v.field("all_reduce", o.all_reduce, {.meaning = "every GPU gets the sum of all"});
  v.field("all_gather", o.all_gather, {.meaning = "every GPU gets the parts of all"});
  v.field("all_to_all", o.all_to_all, {.meaning = "every GPU sends each a part of its own"});
}

static void describe(FieldVisitor& v, RatePoint& o) {
  v.field("block_bytes", o.block_bytes, positive("of one piece", "bytes"));
  v.field("bytes_per_s", o.bytes_per_s, positive("in pieces of this size", "bytes/s"));
}

static void describe(FieldVisitor& v, SsdPoint& o) {
  v.field("block_bytes", o.block_bytes, positive("of one request", "bytes"));
  v.field("bytes_per_s", o.bytes_per_s, positive("of one device in requests of this size", "bytes/s"));
  v.field("queue_depth", o.queue_depth, count("in flight meanwhile", "requests"));
}

static void describe(FieldVisitor& v, Pcie& o) {
  v.field("h2d_bandwidth_bytes_per_s", o.h2d_bandwidth_bytes_per_s, positive("host to one GPU", "bytes/s"));
  v.field("d2h_bandwidth_bytes_per_s", o.d2h_bandwidth_bytes_per_s, positive("one GPU to host", "bytes/s"));
  v.field("request_overhead_s", o.request_overhead_s, not_negative("per copy, without a curve", "s"));
  v.field("h2d_curve", o.h2d_curve, {.meaning = "rate to one GPU over the bytes of one copy"});
  v.field("d2h_curve", o.d2h_curve, {.meaning = "rate from one GPU over the bytes of one copy"});
  v.field(
      "duplex_share", o.duplex_share,
      {.meaning = "both directions at once: their rate over the sum of the two alone", .min = 0.5, .max = 1});
}

static void describe(FieldVisitor& v, Nvlink& o) {
  v.field("bandwidth_bytes_per_s", o.bandwidth_bytes_per_s, positive("one direction, one GPU", "bytes/s"));
  v.field("latency_s", o.latency_s, not_negative("per collective", "s"));
  v.field("fused_all_reduce_bytes", o.fused_all_reduce_bytes,
          not_negative("memory of one GPU for kernels that fuse all-reduces", "bytes"));
}

static void describe(FieldVisitor& v, Nic& o) {
  v.field("count", o.count, count("cards of the node", "NICs"));
  v.field("bandwidth_bytes_per_s", o.bandwidth_bytes_per_s, positive("one direction, one card", "bytes/s"));
  v.field("latency_s", o.latency_s,
          not_negative("to the first byte of a transfer, its set-up included", "s"));
}

static void describe(FieldVisitor& v, Dram& o) {
  v.field("capacity_bytes", o.capacity_bytes, positive("for stored state", "bytes"));
  v.field("bandwidth_bytes_per_s", o.bandwidth_bytes_per_s, positive("of the node", "bytes/s"));
  v.field("price_usd_per_gb_hour", o.price_usd_per_gb_hour, not_negative("provisioned", "USD/GB/h"));
  v.field("purchase_usd_per_gb", o.purchase_usd_per_gb, not_negative("bought instead of rented", "USD/GB"));
  v.field("amortization_years", o.amortization_years, amortization());
  v.field("power_w", o.power_w, not_negative("of the whole memory", "W"));
}

static void describe(FieldVisitor& v, Ssd& o) {
  v.field("count", o.count, count("devices", "SSDs"));
  v.field("capacity_bytes", o.capacity_bytes, positive("of one device", "bytes"));
  v.field("read_bandwidth_bytes_per_s", o.read_bandwidth_bytes_per_s, positive("of one device", "bytes/s"));
  v.field("write_bandwidth_bytes_per_s", o.write_bandwidth_bytes_per_s, positive("of one device", "bytes/s"));
  v.field("request_overhead_s", o.request_overhead_s,
          not_negative("per chunk read or written, without a curve", "s"));
  v.field("read_curve", o.read_curve, {.meaning = "rate of one device over the bytes of one read"});
  v.field("write_curve", o.write_curve, {.meaning = "rate of one device over the bytes of one write"});
  v.field("queue_depth", o.queue_depth,
          {.meaning = "in flight on one device, for its curves",
           .unit = "requests",
           .min = 1,
           .max = kMaxCount,
           .absent = "the deepest measured"});
  v.field("sync_write_s", o.sync_write_s, not_negative("one small write that is waited for", "s"));
  v.field("gpu_direct", o.gpu_direct, {.meaning = "false: transfers are copied through DRAM"});
  v.field("price_usd_per_gb_hour", o.price_usd_per_gb_hour, not_negative("provisioned", "USD/GB/h"));
  v.field("purchase_usd", o.purchase_usd, not_negative("of one device, instead of rent", "USD"));
  v.field("amortization_years", o.amortization_years, amortization());
  v.field("replacement_usd_per_gb", o.replacement_usd_per_gb,
          not_negative("of a new device: what wear costs where devices are rented; never billed", "USD/GB"));
  v.field("endurance_bytes", o.endurance_bytes,
          not_negative("rated writes of one device; 0: not stated", "bytes"));
  v.field("power_w", o.power_w, not_negative("of one device", "W"));
}

static void describe(FieldVisitor& v, Remote& o) {
  v.field("capacity_bytes", o.capacity_bytes, positive("of the node's share", "bytes"));
  v.field("bandwidth_bytes_per_s", o.bandwidth_bytes_per_s, positive("of the node", "bytes/s"));
  v.field("curve", o.curve, {.meaning = "rate of the node over the bytes of one request"});
  v.field("latency_s", o.latency_s, not_negative("to the first byte of a transfer", "s"));
  v.field("lookup_s", o.lookup_s, not_negative("of its index, once a turn", "s"));
  v.field("price_usd_per_gb_hour", o.price_usd_per_gb_hour, not_negative("provisioned", "USD/GB/h"));
  v.field("price_usd_per_request", o.price_usd_per_request, not_negative("per transfer", "USD"));
}

static void describe(FieldVisitor& v, Devices& o) {
  v.field("count", o.count, count("devices", "devices"));
  v.field("capacity_bytes", o.capacity_bytes, positive("of one device", "bytes"));
  v.field("read_bandwidth_bytes_per_s", o.read_bandwidth_bytes_per_s, positive("of one device", "bytes/s"));
  v.field("write_bandwidth_bytes_per_s", o.write_bandwidth_bytes_per_s, positive("of one device", "bytes/s"));
  v.field("latency_s", o.latency_s, not_negative("to the first byte of a transfer", "s"));
  v.field("gpu_direct", o.gpu_direct, {.meaning = "false: transfers are copied through DRAM"});
  v.field("price_usd_per_gb_hour", o.price_usd_per_gb_hour, not_negative("provisioned", "USD/GB/h"));
  v.field("purchase_usd_per_gb", o.purchase_usd_per_gb, not_negative("bought instead of rented", "USD/GB"));
  v.field("amortization_years", o.amortization_years, amortization());
  v.field("power_w", o.power_w, not_negative("of one device", "W"));
}

static void describe(FieldVisitor& v, EngineTimes& o) {
  v.field("name", o.name, {.meaning = "which engine was measured"});
  v.field("version", o.version, {.meaning = "of it"});
  v.field("step_overhead_s", o.step_overhead_s,
          not_negative("default of serving.step_overhead_s", "s", "not measured"));
  v.field("step_overhead_per_sequence_s", o.step_overhead_per_sequence_s,
          not_negative("default of serving.step_overhead_per_sequence_s", "s", "not measured"));
  v.field("request_overhead_s", o.request_overhead_s,
          not_negative("default of serving.request_overhead_s", "s", "not measured"));
  v.field("kv_capacity_share", o.kv_capacity_share,
          {.meaning = "tokens of KV cache that the engine has, over those derived", .min = 0.1, .max = 10});
}

static void describe(FieldVisitor& v, RegimeError& o) {
  const auto spread = [](std::string_view meaning) {
    return FieldSpec{.meaning = meaning, .min = 0, .max = 1};
  };
  v.field("sigma", o.sigma, spread("standard deviation of ln(measured / simulated) that all shapes share"));
  v.field("shape_sigma", o.shape_sigma, spread("that of a single kernel, beside it"));
  v.field("bias", o.bias, {.meaning = "mean of ln(measured / simulated)", .min = -1, .max = 1});
  v.field("outside", o.outside, {.meaning = "what was never measured of it; answers repeat this"});
}

static void describe(FieldVisitor& v, MachineErrors& o) {
  for (const Regime& one : kRegimes) {
    v.field(one.name, o.*one.error, {.meaning = one.meaning, .absent = "by provenance.kind"});
  }
}

void describe(FieldVisitor& v, HardwareProfile& o) {
  v.schema(kHardwareSchema, false);
  v.field("name", o.name, {.meaning = "how results call the server"});
  v.group("provenance", {.meaning = "where the numbers come from", .required = true}, [&o](FieldVisitor& w) {
    w.field("kind", o.provenance_kind, {.required = true, .allowed = kProvenanceNames});
    w.field("source", o.provenance_source, {.meaning = "in words", .required = true});
  });
  v.field("gpu", o.gpu, {.meaning = "one GPU, and how many", .required = true});
  v.field("pcie", o.pcie, {.meaning = "the link of one GPU", .required = true});
  v.field("nvlink", o.nvlink, {.meaning = "between GPUs", .absent = "none"});
  v.field("peer", o.peer,
          {.meaning = "how GPUs without NVLink reach each other: in each other's memory (direct), the same "
                      "through a PCIe switch, or through the host",
           .absent = "nvlink; without it host"});
  v.field("collectives", o.collectives,
          {.meaning = "measured times of collectives", .absent = "by nvlink, or pcie and peer"});
  v.field("nic", o.nic, {.meaning = "one network card between nodes, and how many", .absent = "none"});
  const auto tier = [&v](Tier kind, auto& part) {
    v.field(name(kind), part, {.meaning = tier_row(kind).meaning, .absent = "none"});
  };
  tier(Tier::dram, o.dram);
  tier(Tier::ssd, o.ssd);
  tier(Tier::remote, o.remote);
  for (Tier kind : kTiers) {
    if (tier_row(kind).table) tier(kind, o.devices[index(kind)]);
  }
  v.group("energy", {.meaning = "what the machine draws, beyond its watts"}, [&o](FieldVisitor& w) {
    w.field("price_usd_per_kwh", o.energy.price_usd_per_kwh,
            not_negative("of electricity", "USD/kWh", "energy has no price"));
    w.field("pue", o.energy.pue,
            {.meaning = "energy of the site / energy of the machines", .min = 1, .max = 1000});
  });
  v.field("engine", o.engine,
          {.meaning = "what an engine was found to take on this machine", .absent = "not measured"});
  v.field("errors", o.errors, {.meaning = "how far measured times lie from simulated ones"});
}

}  // namespace kvcap
