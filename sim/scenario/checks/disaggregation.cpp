// Checks fleet.disaggregation against the fleet, the machine and the other options of a scenario.
#include "policy/table.h"
#include "scenario/checks/checks.h"
#include "scenario/fields.h"

namespace kvcap {
namespace {

constexpr std::string_view kDisaggregation = "fleet.disaggregation";

class DisaggregationCheck {
 public:
  DisaggregationCheck(const Scenario& scenario, const Places& places)
      : scenario_(scenario), options_(*scenario.fleet.disaggregation), places_(places) {}

  void check() const {
    check_pools();
    check_transfer();
    check_link();
    check_policy();
  }

 private:
  [[noreturn]] void fail(const std::string& path, const std::string& found,
                         const std::string& allowed) const {
    throw InputError(places_.at(path) + ": found " + found + ", allowed: " + allowed);
  }
  static std::string own(std::string_view name) { return below(kDisaggregation, name); }

  void check_pools() const {
    const int64_t replicas = scenario_.fleet.replicas;
    if (replicas < 2) {
      fail("fleet.replicas", std::to_string(replicas),
           "at least 2 with fleet.disaggregation: a prefill node and a decode node");
    }
    if (options_.prefill_replicas >= replicas) {
      fail(own("prefill_replicas"), std::to_string(options_.prefill_replicas),
           "less than fleet.replicas = " + std::to_string(replicas) + " (the other nodes decode)");
    }
    check_parallelism("prefill.", options_.prefill);
    check_parallelism("decode.", options_.decode);
  }

  void check_parallelism(const std::string& pool, const PoolOptions& options) const {
    if (options.tensor_parallel_size) {
      check_tensor_parallel_size(scenario_, *options.tensor_parallel_size, own(pool + "tensor_parallel_size"),
                                 places_);
    }
    if (!options.tensor_parallel_size && !options.data_parallel_size) return;
    const ServingOptions& serving = scenario_.serving;
    const int64_t ranks = options.data_parallel_size.value_or(serving.data_parallel_size);
    const int64_t gpus = ranks * options.tensor_parallel_size.value_or(serving.tensor_parallel_size);
    if (gpus <= scenario_.hardware.gpu.count) return;
    fail(own(pool + (options.data_parallel_size ? "data_parallel_size" : "tensor_parallel_size")),
         "a node of " + std::to_string(gpus) + " GPUs",
         "at most hardware.gpu.count = " + std::to_string(scenario_.hardware.gpu.count));
  }

  void check_transfer() const {
    const bool pulls = options_.transfer == KvTransfer::pull;
    if (pulls && options_.granularity == TransferGranularity::layerwise) {
      fail(own("granularity"), "\"layerwise\"",
           "end where fleet.disaggregation.transfer is \"pull\" (a pull begins after the prefill)");
    }
    if (!pulls && options_.lease_s) {
      fail(own("lease_s"), number_text(*options_.lease_s),
           "null where fleet.disaggregation.transfer is \"push\" (the decode node reserves blocks before the "
           "prefill)");
    }
  }

  void check_link() const {
    if (options_.link == TransferLink::nic && !scenario_.hardware.nic) {
      fail(own("link"), "\"nic\"",
           std::string(scenario_.hardware.nvlink ? "nvlink" : "a link that the hardware has") +
               " (the hardware has no nic; --set 'hardware.nic={\"count\":8,\"bandwidth_bytes_per_s\":50e9}' "
               "adds NICs)");
    }
    if (options_.link == TransferLink::nvlink && !scenario_.hardware.nvlink) {
      fail(own("link"), "\"nvlink\"", "nic (the hardware has no nvlink)");
    }
  }

  // Rejects policies that restore partial or inexact KV: the decode node needs the complete KV of a prompt.
  void check_policy() const {
    const PolicyOptions options = with_preset(scenario_.policy);
    const Restore restore = *options.restore;
    if (restore == Restore::blend || restore == Restore::important || restore == Restore::copy) {
      fail("policy.restore", "\"" + std::string(name(restore)) + "\"",
           "none, recompute, load, project, fastest with fleet.disaggregation (decode nodes receive the "
           "whole KV of a prompt)");
    }
    if (options.retention.value_or(1) < 1) {
      fail("policy.retention", number_text(*options.retention),
           "1 with fleet.disaggregation (decode nodes receive the whole KV of a prompt)");
    }
    if (options.match == Match::chunk) {
      fail("policy.match", "\"chunk\"",
           "session, prefix with fleet.disaggregation (decode nodes look prompts up by prefix)");
    }
  }

  const Scenario& scenario_;
  const DisaggregationOptions& options_;
  const Places& places_;
};

}  // namespace

void check_disaggregation(const Scenario& scenario, const Places& places) {
  if (scenario.fleet.disaggregation) DisaggregationCheck(scenario, places).check();
}

}  // namespace kvcap
