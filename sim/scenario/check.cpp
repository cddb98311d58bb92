#include "scenario/check.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "policy/group_rules.h"
#include "policy/table.h"
#include "scenario/fields.h"
#include "spec/engine_version.h"
#include "spec/tiers.h"
#include "workload/generators/few_shot.h"
#include "workload/generators/long_context.h"
#include "workload/generators/rag.h"
#include "workload/sources_table.h"

namespace kvcap {
namespace {

constexpr int64_t kMostEngines = 65535;  // a turn's record counts them in 16 bits

[[noreturn]] void fail(const Places& places, std::string_view path, const std::string& found,
                       const std::string& allowed) {
  throw InputError(places.at(path) + ": found " + found + ", allowed: " + allowed);
}

// What the server has of a tier for one engine instance; nothing where it has no such tier.
std::optional<double> available_bytes(const Scenario& scenario, Tier tier) {
  const HardwareProfile& hardware = scenario.hardware;
  if (tier == Tier::hbm) {
    return hardware.gpu.memory_bytes * static_cast<double>(scenario.serving.tensor_parallel_size);
  }
  const std::optional<TierFacts> facts = tier_facts(hardware, tier);
  if (facts) return facts->capacity_bytes;
  return std::nullopt;
}

std::string tiers_of(const Scenario& scenario) {
  std::string names;
  for (Tier tier : kTiers) {
    if (!available_bytes(scenario, tier)) continue;
    names += (names.empty() ? "" : ", ") + std::string(name(tier));
  }
  return names;
}

bool keeps_every_token(const ModelSpec& model) {
  const std::vector<LayerGroup> groups = model.groups();
  return std::all_of(groups.begin(), groups.end(), [](const LayerGroup& group) { return group.keeps_all(); });
}

void check_tiers(const Scenario& scenario, const Places& places) {
  const std::vector<TierOptions> none;
  const std::vector<TierOptions>& tiers = scenario.policy.tiers ? *scenario.policy.tiers : none;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const std::string path = below("policy.tiers", std::to_string(i));
    const Tier tier = tiers[i].kind;
    const std::string quoted = "\"" + std::string(name(tier)) + "\"";
    for (std::size_t j = 0; j < i; ++j) {
      if (tiers[j].kind == tier) fail(places, below(path, "kind"), quoted + " again", "each tier once");
    }
    if (i > 0 && tier < tiers[i - 1].kind) {
      fail(places, below(path, "kind"), quoted + " after \"" + std::string(name(tiers[i - 1].kind)) + "\"",
           "tiers from near to far: " + joined(kTierNames));
    }
    if (tiers[i].exclusive && tier != Tier::hbm) {
      fail(places, below(path, "exclusive"), "true for " + quoted, "false; true for hbm");
    }
    if (tiers[i].exclusive && with_preset(scenario.policy).keep == Keep::hidden) {
      fail(places, below(path, "exclusive"), "true with policy.keep \"hidden\"",
           "false; true with \"kv\" (the GPU has no hidden states to give back)");
    }
    if (tier == Tier::hbm && !keeps_every_token(scenario.model)) {
      fail(
          places, below(path, "kind"), quoted,
          "host tiers, for a model whose layers keep a window or a state (what the GPU keeps of its contexts "
          "is in the prefix cache: serving.prefix_caching)");
    }
    const std::optional<double> available = available_bytes(scenario, tier);
    if (!available)
      fail(places, below(path, "kind"), quoted, tiers_of(scenario) + " (what the hardware has)");
    const int sizes = tiers[i].capacity_bytes.has_value() + tiers[i].capacity_per_gpu_bytes.has_value() +
                      tiers[i].capacity_over_gpu.has_value();
    if (sizes > 1) {
      fail(places, path, "several sizes", "one of capacity_bytes, capacity_per_gpu_bytes, capacity_over_gpu");
    }
    if (tiers[i].capacity_over_gpu && tier == Tier::hbm) {
      fail(places, below(path, "capacity_over_gpu"),
           number_text(*tiers[i].capacity_over_gpu) + " for " + quoted, "host tiers");
    }
    if (tiers[i].capacity_bytes && *tiers[i].capacity_bytes > *available) {
      fail(places, below(path, "capacity_bytes"), number_text(*tiers[i].capacity_bytes),
           "at most " + number_text(*available) + " (what the hardware has)");
    }
  }
}

// What is kept has to be something that comes back so; of the two keys the one that the user has written is
// to blame.
void check_form(const Scenario& scenario, const Places& places) {
  const PolicyOptions options = with_preset(scenario.policy);
  const Keep keep = *options.keep;
  const Restore restore = *options.restore;
  if (goes_together(keep, restore)) return;
  std::string keeps, restores;
  const auto add = [](std::string& list, std::string_view one) {
    list += (list.empty() ? "" : ", ") + std::string(one);
  };
  for (const RestoreRow& row : restore_table()) {
    for (Keep one : row.keeps) {
      if (row.restore == restore) add(keeps, name(one));
      if (one == keep) add(restores, name(row.restore));
    }
  }
  const auto quoted = [](std::string_view one) { return "\"" + std::string(one) + "\""; };
  const std::string kept = quoted(name(keep)), restored = quoted(name(restore));
  const std::string allowed =
      "with keep " + kept + " restore: " + restores + "; with restore " + restored + " keep: " + keeps;
  if (scenario.policy.restore) {
    fail(places, "policy.restore", restored + " with keep " + kept, allowed);
  } else {
    fail(places, "policy.keep", kept + " with restore " + restored, allowed);
  }
}

// A block of all layers brings none of them first.
void check_layout(const Scenario& scenario, const Places& places) {
  const PolicyOptions options = with_preset(scenario.policy);
  if (options.block_layout != BlockLayout::cross_layer || options.restore != Restore::load) return;
  if (options.preload.value_or(Preload::none) != Preload::layerwise) return;
  fail(places, "policy.block_layout", "\"cross_layer\" with preload \"layerwise\"",
       "layer; cross_layer with preload \"none\" (a block of all layers brings no layer before the others)");
}

// What the GPU evicts is KV that has a name there.
void check_victims(const Scenario& scenario, const Places& places) {
  const PolicyOptions options = with_preset(scenario.policy);
  if (options.save_at != SaveAt::eviction || !stores(options)) return;
  if (options.keep == Keep::hidden) {
    fail(places, "policy.save_at", "\"eviction\" with keep \"hidden\"",
         "turn_end, step; eviction with keep \"kv\" (the GPU evicts no hidden states)");
  }
  if (!scenario.serving.prefix_caching) {
    fail(places, "policy.save_at", "\"eviction\" with serving.prefix_caching false",
         "turn_end, step; eviction with prefix_caching true (without it the GPU keeps nothing to evict)");
  }
  const auto beside = [&](const char* field, const char* found, const char* allowed) {
    fail(places, field, std::string(found) + " with save_at \"eviction\"", allowed);
  };
  // An evicted block says where in its text it stood; a text that loses its front begins anew.
  if (options.decoupled_positions.value_or(false)) beside("policy.decoupled_positions", "true", "false");
  if (options.retention.value_or(1) < 1) beside("policy.retention", "less than 1", "1");
  // What is evicted waits in a buffer of its own, which no machine has without an end.
  if (options.write_queue_s == 0.0) beside("policy.write_queue_s", "0", "more than 0");
  if (options.save == SaveMode::blocking) beside("policy.save", "\"blocking\"", "\"background\"");
  if (options.chunk_tokens || options.match == Match::chunk) {
    fail(places, "policy.save_at", "\"eviction\" with chunks",
         "turn_end, step; eviction with match prefix or session and without chunk_tokens");
  }
}

// A rate is said once.
void check_rate(const ArrivalOptions& arrivals, const Places& places) {
  const std::string path = "workload.arrivals";
  const auto beside = [](std::string_view other) {
    return " beside " + std::string(other) + " (set the other to null)";
  };
  const std::string allowed = "one of sessions_per_s, requests_per_s, rates";
  if (arrivals.requests_per_s && arrivals.sessions_per_s) {
    fail(places, path + ".requests_per_s",
         number_text(*arrivals.requests_per_s) +
             beside("sessions_per_s = " + number_text(*arrivals.sessions_per_s)),
         allowed);
  }
  if (arrivals.rates.empty()) return;
  const char* other = arrivals.sessions_per_s ? "sessions_per_s" : "requests_per_s";
  if (arrivals.sessions_per_s || arrivals.requests_per_s) {
    fail(places, path + ".rates", "an array" + beside(other), allowed);
  }
}

void check_period(const ArrivalOptions& arrivals, const Places& places) {
  if (!arrivals.period_s || arrivals.rates.empty()) return;
  const std::string path = "workload.arrivals.period_s";
  if (arrivals.process == ArrivalProcess::even) {
    fail(places, path, number_text(*arrivals.period_s), "none where process is \"even\"");
  }
  const std::vector<ArrivalRate>& rates = arrivals.rates;
  if (!(*arrivals.period_s > rates.back().from_s)) {
    fail(places, path, number_text(*arrivals.period_s),
         "more than the last rate's from_s, " + number_text(rates.back().from_s));
  }
  const auto is_zero = [](const ArrivalRate& one) {
    return one.sessions_per_s.value_or(0) + one.requests_per_s.value_or(0) == 0;
  };
  if (std::all_of(rates.begin(), rates.end(), is_zero)) {
    fail(places, "workload.arrivals.rates", "0 throughout", "at least one rate above 0");
  }
}

void check_rates(const std::vector<ArrivalRate>& rates, bool repeats, const Places& places) {
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const ArrivalRate& one = rates[i];
    const std::string path = "workload.arrivals.rates." + std::to_string(i);
    const bool is_last = i + 1 == rates.size() && !repeats;
    if (one.sessions_per_s.has_value() == one.requests_per_s.has_value()) {
      fail(places, path, one.sessions_per_s ? "sessions_per_s and requests_per_s" : "no rate",
           "one of sessions_per_s, requests_per_s");
    }
    if (i == 0 && one.from_s != 0)
      fail(places, path + ".from_s", number_text(one.from_s), "0 for the first rate");
    if (i > 0 && !(one.from_s > rates[i - 1].from_s)) {
      fail(places, path + ".from_s", number_text(one.from_s),
           "more than the rate before has, " + number_text(rates[i - 1].from_s));
    }
    if (is_last && one.ramp)
      fail(places, path + ".ramp", "true", "false for the last rate (no rate follows)");
    if (is_last && one.sessions_per_s.value_or(0) + one.requests_per_s.value_or(0) == 0) {
      fail(places, path + (one.sessions_per_s ? ".sessions_per_s" : ".requests_per_s"), "0",
           "more than 0 for the last rate (the other sessions would never arrive)");
    }
  }
}

// What the process has no use for is said in notes: one --set process=... tries another process.
void note_unused_rate(const ArrivalOptions& arrivals, std::vector<std::string>& notes) {
  const auto name = kArrivalProcessNames[static_cast<std::size_t>(arrivals.process)];
  const auto note = [&](bool given, const char* field) {
    if (!given) return;
    notes.push_back(std::string("workload.arrivals.") + field + " is not used: process is \"" +
                    std::string(name) + "\"");
  };
  if (!draws_gaps(arrivals.process)) {
    note(arrivals.requests_per_s.has_value(), "requests_per_s");
    note(!arrivals.rates.empty(), "rates");
    note(arrivals.period_s.has_value(), "period_s");
  } else if (arrivals.period_s && arrivals.rates.empty()) {
    notes.push_back("workload.arrivals.period_s is not used: there are no rates that could repeat");
  }
  if (arrivals.process != ArrivalProcess::trace) note(arrivals.speed != 1, "speed");
  if (arrivals.process == ArrivalProcess::closed_loop) return;
  note(arrivals.concurrency.has_value(), "concurrency");
  note(arrivals.round_sessions.has_value(), "round_sessions");
  note(arrivals.staggered, "staggered");
}

void check_arrivals(Scenario& scenario, const Places& places) {
  const ArrivalOptions& arrivals = scenario.workload.arrivals;
  const SourceRow& source = source_row(scenario.workload.source.kind);
  if (arrivals.process == ArrivalProcess::trace && !source.has_arrivals) {
    fail(places, "workload.arrivals.process", "\"trace\"",
         std::string("poisson, gamma, constant, even, closed_loop (") +
             (source.is_generated ? "generated sessions have" : "this format has") + " no arrival_s)");
  }
  check_rate(arrivals, places);
  check_rates(arrivals.rates, arrivals.period_s.has_value(), places);
  check_period(arrivals, places);
  note_unused_rate(arrivals, scenario.notes);
}

void check_warmup(const Scenario& scenario, const Places& places) {
  const WorkloadOptions& workload = scenario.workload;
  if (workload.run_length == RunLength::steady && workload.arrivals.process == ArrivalProcess::trace) {
    fail(places, "workload.run_length", "\"steady\" with arrivals.process \"trace\"",
         "fixed (a trace is as long as it is)");
  }
  if (workload.warmup == Warmup::turns || workload.warmup_turns == 0) return;
  fail(places, "workload.warmup_turns", std::to_string(workload.warmup_turns),
       "0 where workload.warmup is not \"turns\"");
}

void note_unused_retries(Scenario& scenario) {
  const WorkloadOptions& workload = scenario.workload;
  if (!workload.retries || workload.retries->count == 0 || workload.client_timeout_s) return;
  scenario.notes.push_back(
      "workload.retries is not used: clients retry what times out, and workload.client_timeout_s says no "
      "time");
}

void check_name(const std::string& found, const std::vector<std::string>& known, const Places& places,
                std::string_view path) {
  if (std::find(known.begin(), known.end(), found) != known.end()) return;
  const std::vector<std::string_view> names(known.begin(), known.end());
  fail(places, path, "\"" + found + "\"", joined(names) + suggestion(found, names));
}

void check_source(const Scenario& scenario, const Places& places) {
  const SourceOptions& source = scenario.workload.source;
  if (source.kind == "long_context") {
    for (const std::string& one : split_names(source.tasks)) {
      check_name(one, long_context_tasks(), places, "workload.source.tasks");
    }
  }
  if (source.kind == "few_shot") {
    check_name(source.dataset, few_shot_datasets(), places, "workload.source.dataset");
  }
  if (source.kind == "rag" && source.corpus_chunks) {
    const int64_t chunks = rag_chunks(source);
    if (*source.corpus_chunks < chunks) {
      fail(places, "workload.source.corpus_chunks", std::to_string(*source.corpus_chunks),
           "at least workload.source.chunks = " + std::to_string(chunks));
    }
  }
}

// Ranks of one replica are on the GPUs of one node.
void check_experts(const Scenario& scenario, const Places& places) {
  const ServingOptions& serving = scenario.serving;
  const int64_t gpus = serving.tensor_parallel_size * serving.data_parallel_size;
  if (gpus > scenario.hardware.gpu.count) {
    fail(places, "serving.data_parallel_size", std::to_string(serving.data_parallel_size),
         "at most " + std::to_string(scenario.hardware.gpu.count / serving.tensor_parallel_size) +
             ": times serving.tensor_parallel_size = " + std::to_string(serving.tensor_parallel_size) +
             " no more than hardware.gpu.count = " + std::to_string(scenario.hardware.gpu.count));
  }
  if (serving.data_parallel_size * scenario.fleet.replicas > kMostEngines) {
    fail(places, "serving.data_parallel_size", std::to_string(serving.data_parallel_size),
         "times fleet.replicas at most " + std::to_string(kMostEngines));
  }
  const auto needs = [&](bool given, const char* path, const std::string& found, const char* allowed) {
    if (given) fail(places, path, found, allowed);
  };
  if (!scenario.model.experts) {
    needs(serving.expert_parallel, "serving.expert_parallel", "true", "false (the model has no experts)");
  } else if (serving.expert_parallel && gpus > scenario.model.experts->count) {
    fail(places, "serving.expert_parallel", "true over " + std::to_string(gpus) + " GPUs",
         "at most model.experts.count = " + std::to_string(scenario.model.experts->count) + " GPUs");
  }
  const std::string alone = "null without serving.expert_parallel";
  if (serving.expert_imbalance && !serving.expert_parallel) {
    fail(places, "serving.expert_imbalance", number_text(*serving.expert_imbalance), alone);
  }
  needs(
      serving.expert_exchange == ExpertExchange::all_to_all &&
          (!serving.expert_parallel || serving.data_parallel_size == 1),
      "serving.expert_exchange", "\"all_to_all\"",
      "allgather_reducescatter; all_to_all with serving.expert_parallel and serving.data_parallel_size of 2 "
      "or more");
}

void check_parallelism(const Scenario& scenario, const Places& places) {
  const int64_t size = scenario.serving.tensor_parallel_size;
  const char* path = "serving.tensor_parallel_size";
  if (size > scenario.hardware.gpu.count) {
    fail(places, path, std::to_string(size),
         "at most hardware.gpu.count = " + std::to_string(scenario.hardware.gpu.count));
  }
  if (scenario.model.num_attention_heads % size != 0) {
    fail(places, path, std::to_string(size),
         "a divisor of model.num_attention_heads = " + std::to_string(scenario.model.num_attention_heads));
  }
  for (std::size_t i = 0; i < scenario.model.layer_groups.size(); ++i) {
    const LayerGroup group = scenario.model.groups()[i];
    const int64_t heads = group.recurrent ? group.recurrent->heads : group.num_attention_heads;
    if (heads % size == 0 || (group.recurrent && heads == 1)) continue;
    fail(places, path, std::to_string(size),
         "a divisor of the " + std::to_string(heads) + " heads of model.layer_groups." + std::to_string(i));
  }
}

// A part is rented or bought; a GPU that works draws no less than one that does not.
void check_prices(const HardwareProfile& hardware, const Places& places, std::string_view path) {
  const auto either = [&](const std::string& part, const char* purchase_key, double purchase,
                          const char* rent_key, double rent) {
    if (purchase == 0 || rent == 0) return;
    fail(places, below(path, part + "." + purchase_key), number_text(purchase),
         "0 beside " + part + "." + rent_key + " = " + number_text(rent) +
             " (rented or bought: the other is 0)");
  };
  const Gpu& gpu = hardware.gpu;
  either("gpu", "purchase_usd", gpu.purchase_usd, "price_usd_per_hour", gpu.price_usd_per_hour);
  if (hardware.dram) {
    either("dram", "purchase_usd_per_gb", hardware.dram->purchase_usd_per_gb, "price_usd_per_gb_hour",
           hardware.dram->price_usd_per_gb_hour);
  }
  if (hardware.ssd) {
    either("ssd", "purchase_usd", hardware.ssd->purchase_usd, "price_usd_per_gb_hour",
           hardware.ssd->price_usd_per_gb_hour);
  }
  for (Tier tier : kTiers) {
    if (const std::optional<Devices>& part = hardware.devices[index(tier)]) {
      either(std::string(name(tier)), "purchase_usd_per_gb", part->purchase_usd_per_gb,
             "price_usd_per_gb_hour", part->price_usd_per_gb_hour);
    }
  }
  if (gpu.power_busy_w && gpu.power_idle_w > *gpu.power_busy_w) {
    fail(places, below(path, "gpu.power_idle_w"), number_text(gpu.power_idle_w),
         "at most gpu.power_busy_w = " + number_text(*gpu.power_busy_w));
  }
}

void check_engine(const Scenario& scenario, const Places& places) {
  const std::optional<std::string>& written_by = scenario.kvcap_version;
  if (written_by && !parse_engine_version(*written_by)) {
    fail(places, "kvcap_version", "\"" + *written_by + "\"", "a version of kvcap: \"" KVCAP_VERSION "\"");
  }
  const std::string& version = scenario.serving.engine_version;
  if (parse_engine_version(version)) return;
  fail(places, "serving.engine_version", "\"" + version + "\"", "a version of vLLM: \"0.19\", \"0.15.1\"");
}

// Each policy says what it can do with layers that keep a window or a state.
void check_group_rules(const Scenario& scenario, const Places& places) {
  const std::optional<GroupRefusal> refused = refusal(with_preset(scenario.policy), scenario.model);
  if (refused) fail(places, below("policy", refused->field), refused->found, refused->allowed);
}

void check_fleet(const Scenario& scenario, const Places& places) {
  const FleetOptions& fleet = scenario.fleet;
  if (fleet.shared_remote && !scenario.hardware.remote) {
    fail(places, "fleet.shared_remote", "true", "false (the hardware has no remote tier)");
  }
  for (std::size_t i = 0; i < fleet.failures.size(); ++i) {
    const NodeFailure& one = fleet.failures[i];
    const std::string path = below("fleet.failures", std::to_string(i));
    if (one.replica >= fleet.replicas) {
      fail(places, below(path, "replica"), std::to_string(one.replica),
           "less than fleet.replicas = " + std::to_string(fleet.replicas));
    }
    for (std::size_t j = 0; j < fleet.failures.size(); ++j) {
      const NodeFailure& other = fleet.failures[j];
      if (j == i || other.replica != one.replica || other.at_s > one.at_s) continue;
      const double back_s = other.at_s + other.down_s;
      if (one.at_s < back_s && (other.at_s < one.at_s || j < i)) {
        fail(places, below(path, "at_s"), number_text(one.at_s),
             "from " + number_text(back_s) + " on (replica " + std::to_string(one.replica) +
                 " is down until then)");
      }
    }
  }
}

// Points from small to large pieces, whose rates do not fall. `depth_of`: what a curve of its own is for.
template <class Point, class Depth>
void check_curve(const std::vector<Point>& points, const Places& places, const std::string& path,
                 Depth depth_of) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    const std::string at = below(path, std::to_string(i));
    for (std::size_t j = i; j-- > 0;) {
      const Point& before = points[j];
      if (depth_of(before) != depth_of(point)) continue;
      if (point.block_bytes <= before.block_bytes) {
        fail(places, below(at, "block_bytes"), number_text(point.block_bytes),
             "more than the point before, " + number_text(before.block_bytes));
      }
      if (point.bytes_per_s < before.bytes_per_s) {
        fail(places, below(at, "bytes_per_s"), number_text(point.bytes_per_s),
             "at least that of smaller pieces, " + number_text(before.bytes_per_s));
      }
      break;
    }
  }
}

void check_curves(const HardwareProfile& hardware, const Places& places, std::string_view path) {
  const auto all_alike = [](const RatePoint&) { return int64_t{1}; };
  const auto by_depth = [](const SsdPoint& point) { return point.queue_depth; };
  check_curve(hardware.pcie.h2d_curve, places, below(path, "pcie.h2d_curve"), all_alike);
  check_curve(hardware.pcie.d2h_curve, places, below(path, "pcie.d2h_curve"), all_alike);
  if (hardware.ssd) {
    check_curve(hardware.ssd->read_curve, places, below(path, "ssd.read_curve"), by_depth);
    check_curve(hardware.ssd->write_curve, places, below(path, "ssd.write_curve"), by_depth);
  }
  if (hardware.remote) check_curve(hardware.remote->curve, places, below(path, "remote.curve"), all_alike);
}

// A bandwidth is the most that a link reaches; where a curve ends far below it, it changes nothing.
void note_unreached(Scenario& scenario) {
  constexpr double kMargin = 1.1;
  const auto note = [&scenario](const std::string& part, const std::string& bandwidth, double bytes_per_s,
                                const std::string& curve, const auto& points) {
    double top = 0;
    for (const auto& point : points) top = std::max(top, point.bytes_per_s);
    if (points.empty() || bytes_per_s <= kMargin * top) return;
    scenario.notes.push_back("hardware." + part + "." + bandwidth + " " + number_text(bytes_per_s) +
                             " is not reached: " + curve + " ends at " + number_text(top));
  };
  const HardwareProfile& hardware = scenario.hardware;
  const Pcie& pcie = hardware.pcie;
  note("pcie", "h2d_bandwidth_bytes_per_s", pcie.h2d_bandwidth_bytes_per_s, "h2d_curve", pcie.h2d_curve);
  note("pcie", "d2h_bandwidth_bytes_per_s", pcie.d2h_bandwidth_bytes_per_s, "d2h_curve", pcie.d2h_curve);
  if (hardware.ssd) {
    const Ssd& ssd = *hardware.ssd;
    note("ssd", "read_bandwidth_bytes_per_s", ssd.read_bandwidth_bytes_per_s, "read_curve", ssd.read_curve);
    note("ssd", "write_bandwidth_bytes_per_s", ssd.write_bandwidth_bytes_per_s, "write_curve",
         ssd.write_curve);
  }
  if (hardware.remote) {
    const Remote& remote = *hardware.remote;
    note("remote", "bandwidth_bytes_per_s", remote.bandwidth_bytes_per_s, "curve", remote.curve);
  }
}

}  // namespace

namespace {

void check_group(const LayerGroup& filled, const Places& places, const std::string& path) {
  if (filled.keeps_window() && filled.window_tokens < 1) {
    fail(places, below(path, "window_tokens"), "no value",
         "at least 1 where attention is \"sliding\" or \"chunked\"");
  }
  if (filled.attention == AttentionKind::latent && !filled.latent) {
    fail(places, below(path, "latent"), "no value", "an object where attention is \"latent\"");
  }
  const bool is_recurrent = filled.attention == AttentionKind::recurrent;
  if (is_recurrent != filled.recurrent.has_value()) {
    fail(places, below(path, "recurrent"), is_recurrent ? "no value" : "an object",
         is_recurrent ? "an object where attention is \"recurrent\""
                      : "none where attention is not \"recurrent\"");
  }
  if (is_recurrent) return;
  if (filled.num_attention_heads % filled.num_key_value_heads != 0) {
    fail(places, below(path, "num_key_value_heads"), std::to_string(filled.num_key_value_heads),
         "a divisor of num_attention_heads = " + std::to_string(filled.num_attention_heads));
  }
  if (filled.indexer && filled.indexer->layers > filled.layers) {
    fail(places, below(path, "indexer.layers"), std::to_string(filled.indexer->layers),
         "at most layers = " + std::to_string(filled.layers));
  }
}

void check_groups(const ModelSpec& model, const Places& places, std::string_view path) {
  int64_t layers = 0;
  const std::vector<LayerGroup> groups = model.groups();
  if (groups.size() > kMostLayerGroups) {
    fail(places, below(path, "layer_groups"), std::to_string(groups.size()) + " groups",
         "at most " + std::to_string(kMostLayerGroups));
  }
  for (std::size_t i = 0; i < model.layer_groups.size(); ++i) {
    const std::string group = below(path, "layer_groups[" + std::to_string(i) + "]");
    check_group(groups[i], places, group);
    layers += groups[i].layers;
    // Layers without an FFN and FFNs alone are layers of their own; else every layer mixes tokens.
    if (layers > model.num_hidden_layers) {
      fail(places, below(group, "layers"), std::to_string(groups[i].layers),
           "groups of at most num_hidden_layers = " + std::to_string(model.num_hidden_layers) +
               " layers in all");
    }
  }
  if (!model.layer_groups.empty() && layers < model.num_hidden_layers && !model.ffn_layers) {
    fail(places, below(path, "layer_groups"), std::to_string(layers) + " layers",
         "num_hidden_layers = " + std::to_string(model.num_hidden_layers) +
             " layers, or fewer where feed_forward_layers is given");
  }
  if (model.layers_with_ffn() > model.num_hidden_layers) {
    fail(places, below(path, "feed_forward_layers"), std::to_string(*model.ffn_layers),
         "at most num_hidden_layers = " + std::to_string(model.num_hidden_layers));
  }
}

}  // namespace

void check_model(const ModelSpec& model, const Places& places, std::string_view path) {
  if (model.head_dim < 1) {
    fail(places, below(path, "num_attention_heads"), std::to_string(model.num_attention_heads),
         "at most hidden_size = " + std::to_string(model.hidden_size));
  }
  if (model.num_attention_heads % model.num_key_value_heads != 0) {
    fail(places, below(path, "num_key_value_heads"), std::to_string(model.num_key_value_heads),
         "a divisor of num_attention_heads = " + std::to_string(model.num_attention_heads));
  }
  check_groups(model, places, path);
  if (!model.experts) return;
  const std::string experts = below(path, "experts");
  if (model.experts->active > model.experts->count) {
    fail(places, below(experts, "active"), std::to_string(model.experts->active),
         "at most experts.count = " + std::to_string(model.experts->count));
  }
  if (model.experts->dense_layers > model.layers_with_ffn()) {
    fail(places, below(experts, "dense_layers"), std::to_string(model.experts->dense_layers),
         "at most num_hidden_layers = " + std::to_string(model.layers_with_ffn()));
  }
}

void check_hardware(const HardwareProfile& hardware, const Places& places, std::string_view path) {
  check_curves(hardware, places, path);
  const EfficiencyModel attention = hardware.gpu.attention.model;
  const bool in_blocks = attention == EfficiencyModel::wave || attention == EfficiencyModel::blocks;
  if (in_blocks && hardware.gpu.sm_count < 1) {
    fail(places, below(path, "gpu.sm_count"), std::to_string(hardware.gpu.sm_count),
         "at least 1 where gpu.attention.model is \"wave\" or \"blocks\"");
  }
  check_prices(hardware, places, path);
}

void check_scenario(Scenario& scenario, const Places& places) {
  check_model(scenario.model, places, "model");
  check_hardware(scenario.hardware, places, "hardware");
  check_group_rules(scenario, places);
  check_parallelism(scenario, places);
  check_experts(scenario, places);
  check_engine(scenario, places);
  check_speculative(scenario, places);
  check_form(scenario, places);
  check_victims(scenario, places);
  check_layout(scenario, places);
  check_tiers(scenario, places);
  check_source(scenario, places);
  check_arrivals(scenario, places);
  check_warmup(scenario, places);
  note_unused_retries(scenario);
  check_fleet(scenario, places);
  check_disaggregation(scenario, places);
  note_unreached(scenario);
  if (scenario.serving.max_model_len > scenario.model.max_position_embeddings) {
    scenario.notes.push_back("serving.max_model_len is " + std::to_string(*scenario.serving.max_model_len) +
                             ", the model was trained for " +
                             std::to_string(scenario.model.max_position_embeddings) + " positions");
  }
}

}  // namespace kvcap
