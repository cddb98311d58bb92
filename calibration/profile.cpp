#include "calibration/profile.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <utility>

#include "base/files.h"
#include "base/input_error.h"
#include "calibration/datasheet.h"
#include "calibration/fit.h"

namespace kvcap::calibration {
namespace {

std::string formatted(const char* format, auto... values) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

void add_notes(const std::vector<std::string>& notes, std::vector<std::string>* to) {
  to->insert(to->end(), notes.begin(), notes.end());
}

// Throws InputError if there are fewer points than a fit needs.
void require_points(std::size_t points, const std::string& what, std::size_t least = 2) {
  if (points < least) throw InputError(what + " ended in the time given; is the machine busy?");
}

std::string identity_of(const DeviceInfo& info, const ProfileOptions& options) {
  return info.backend + ", " + info.name + ", " + (info.uuid.empty() ? "" : info.uuid + ", ") +
         info.software + (options.quick ? ", quick" : ", full") + ", ssd " +
         (options.ssd ? options.ssd->string() : "none") + ", " +
         formatted("%.3g s, %lld bytes", options.budgets.gemm_s,
                   static_cast<long long>(options.budgets.disk_bytes));
}

std::filesystem::path journal_path(const std::filesystem::path& out) {
  std::filesystem::path path = out;
  path += ".measurements.jsonl";
  return path;
}

// Returns the times of GEMMs in a format, under a graph and with one scale of each matrix.
std::vector<GemmTime> gemms_in(Format format, const Measurements& measured) {
  std::vector<GemmTime> times;
  for (const GemmTime& time : measured.gemms.times) {
    if (time.format == format && time.launch == Launch::graph && time.scaling == Scaling::tensor) {
      times.push_back(time);
    }
  }
  return times;
}

double best_gemm_rate(const std::vector<GemmTime>& times) {
  double best = 0;
  for (const GemmTime& time : times) best = std::max(best, gemm_flops(time) / time.time.time_s);
  return best;
}

// Returns the median ratio of the times of two kinds of GEMM over the points measured for both; nullopt if
// there are none.
std::optional<double> ratio_of(const std::vector<GemmTime>& all, Format format, Launch launch,
                               const std::vector<GemmTime>& base, Scaling scaling = Scaling::tensor) {
  std::vector<double> ratios;
  for (const GemmTime& time : all) {
    if (time.format != format || time.launch != launch || time.scaling != scaling) continue;
    for (const GemmTime& other : base) {
      if (other.m == time.m && other.n == time.n && other.k == time.k) {
        ratios.push_back(time.time.time_s / other.time.time_s);
      }
    }
  }
  if (ratios.empty()) return std::nullopt;
  return summarize(std::move(ratios)).median_s;
}

std::string state_text(const DeviceState& state) {
  std::string text;
  const auto add = [&](const char* format, const std::optional<double>& value, double unit) {
    if (value) text += (text.empty() ? "" : ", ") + formatted(format, *value / unit);
  };
  add("clock %.0f MHz", state.clock_hz, 1e6);
  add("memory clock %.0f MHz", state.memory_clock_hz, 1e6);
  add("%.0f degrees Celsius", state.temperature_c, 1);
  add("%.0f W", state.power_w, 1);
  if (!state.throttling.empty())
    text += (text.empty() ? "" : ", ") + ("throttle reasons " + state.throttling);
  return text.empty() ? "not readable" : text;
}

// Weights come from memory in every call, activations from the cache: true iff these are under an eighth.
bool is_mostly_weights(const GemmTime& time) { return 8 * time.m * (time.n + time.k) < time.n * time.k; }

// Sets what the profile says of GEMMs in float8: their peak, and their points in the table beside the others,
// or a model of their own.
void fit_float8(const Measurements& measured, const std::vector<GemmTime>& usual, NotedProfile* out) {
  Gpu& gpu = out->profile.gpu;
  const std::vector<GemmTime> times = gemms_in(Format::float8, measured);
  if (times.size() < 3) return;
  gpu.peak_flops_fp8 = std::max(2 * measured.info.nominal_flops.value_or(0), best_gemm_rate(times));
  out->gpu_notes.push_back(
      formatted("peak_flops_fp8: twice the vendor's figure for 16 bits, or the best GEMM, which reached %.3g "
                "TFLOP/s",
                best_gemm_rate(times) / 1e12));
  if (gpu.gemm.model == EfficiencyModel::table) {
    for (const GemmPoint& point : gemm_table(times).points) gpu.gemm.points.push_back(point);
  } else {
    gpu.gemm_fp8 = fit_gemm(EfficiencyModel::smooth_max, gpu, times).efficiency;
  }
  out->gemm_notes.push_back(formatted(
      "%lld GEMMs in float8 (e4m3) with one scale per matrix; median time: %.2f of that of 16-bit GEMMs",
      static_cast<long long>(times.size()),
      ratio_of(measured.gemms.times, Format::float8, Launch::graph, usual).value_or(0)));
  if (const auto ratio =
          ratio_of(measured.gemms.times, Format::float8, Launch::graph, times, Scaling::blocks)) {
    out->gemm_notes.push_back(
        formatted("with scales of 1 x 128 and 128 x 128 values, a GEMM in float8 takes %.2f times as long as "
                  "with one scale; the table has no such GEMMs",
                  *ratio));
  }
}

// Sets peak and bandwidth: the vendor's if known, so that efficiencies are comparable between profiles, or
// the measured values if these are higher, so that efficiencies stay below 1.
void fit_gpu(const Measurements& measured, NotedProfile* out) {
  Gpu& gpu = out->profile.gpu;
  const std::vector<GemmTime> gemms = gemms_in(measured.info.formats.front(), measured);
  require_points(gemms.size(), "gemm: too few GEMMs", 3);
  const std::string format = name(measured.info.formats.front());
  gpu.name = measured.info.name;
  gpu.count = measured.info.count;
  gpu.memory_bytes = measured.info.memory_bytes;
  gpu.sm_count = measured.info.sm_count;
  const double best_rate = best_gemm_rate(gemms);
  gpu.peak_flops = std::max(measured.info.nominal_flops.value_or(0), best_rate);
  out->gpu_notes.push_back(
      measured.info.nominal_flops && *measured.info.nominal_flops >= best_rate
          ? formatted("peak_flops: the vendor's; the best GEMM reached %.3g TFLOP/s, %.0f %% of it",
                      best_rate / 1e12, 100 * best_rate / gpu.peak_flops)
          : "peak_flops: the rate of the best " + format + " GEMM that was measured");
  double best_bandwidth = measured.device_copy_bytes_per_s;
  for (const GemmTime& time : gemms) {
    if (is_mostly_weights(time))
      best_bandwidth = std::max(best_bandwidth, gemm_bytes(time) / time.time.time_s);
  }
  const double nominal_bytes_per_s = measured.info.nominal_bandwidth_bytes_per_s.value_or(0);
  gpu.memory_bandwidth_bytes_per_s = std::max(nominal_bytes_per_s, best_bandwidth);
  out->gpu_notes.push_back(formatted(
      "memory_bandwidth_bytes_per_s: %s; a copy within the memory reached %.4g GB/s, read and written",
      nominal_bytes_per_s >= best_bandwidth ? "the vendor's clock times width"
                                            : "the best that a copy or a GEMM of few rows reached",
      measured.device_copy_bytes_per_s / 1e9));

  const FittedModel constant = fit_gemm(EfficiencyModel::constant, gpu, gemms);
  const FittedModel smooth = fit_gemm(EfficiencyModel::smooth_max, gpu, gemms);
  const bool whole_table = measured.gemms.shapes_taken == measured.gemms.shapes;
  gpu.gemm = whole_table                                      ? gemm_table(gemms)
             : smooth.errors.median <= constant.errors.median ? smooth.efficiency
                                                              : constant.efficiency;
  out->gemm_notes = measured.gemms.notes;
  out->gemm_notes.push_back("GEMMs in " + format + " under a graph");
  out->gemm_notes.push_back(
      whole_table ? "model table: every shape that the catalogue's models need"
                  : "model table was not taken: a machine this slow had no time for every shape");
  out->gemm_notes.push_back(
      formatted("smooth_max: efficiency %.3f, bandwidth_efficiency %.3f, constant_s %.3g errs by ",
                smooth.efficiency.efficiency, smooth.efficiency.bandwidth_efficiency,
                smooth.efficiency.constant_s) +
      text_of(smooth.errors));
  out->gemm_notes.push_back(formatted("constant: efficiency %.3f errs by ", constant.efficiency.efficiency) +
                            text_of(constant.errors));
  if (const auto ratio =
          ratio_of(measured.gemms.times, measured.info.formats.front(), Launch::eager, gemms)) {
    out->gemm_notes.push_back(
        formatted("launched one by one, not in a graph, a GEMM takes %.2f times as long", *ratio));
  }
  for (std::size_t i = 1; i < measured.info.formats.size(); ++i) {
    const Format other = measured.info.formats[i];
    if (const auto ratio = ratio_of(measured.gemms.times, other, Launch::graph, gemms)) {
      out->gemm_notes.push_back(
          formatted("in %s a GEMM takes %.2f times as long", name(other).c_str(), *ratio));
    }
  }
  fit_float8(measured, gemms, out);
}

void fit_attention_models(const Measurements& measured, NotedProfile* out) {
  Gpu& gpu = out->profile.gpu;
  out->attention_notes = measured.attention_notes;
  if (measured.attention.size() < 3) {
    gpu.attention = {.model = EfficiencyModel::constant, .efficiency = 0.3};
    out->attention_notes.emplace_back("too few points were measured: efficiency is assumed");
    return;
  }
  std::optional<FittedModel> best;
  for (const EfficiencyModel model :
       {EfficiencyModel::wave, EfficiencyModel::smooth_max, EfficiencyModel::constant}) {
    const FittedModel fitted = fit_attention(model, gpu, measured.attention);
    const Efficiency& e = fitted.efficiency;
    const char* name = model == EfficiencyModel::wave         ? "wave"
                       : model == EfficiencyModel::smooth_max ? "smooth_max"
                                                              : "constant";
    out->attention_notes.push_back(
        formatted("%s: efficiency %.3f, bandwidth_efficiency %.3f, constant_s %.3g, block_m %lld errs by ",
                  name, e.efficiency, e.bandwidth_efficiency, e.constant_s,
                  static_cast<long long>(e.block_m)) +
        text_of(fitted.errors));
    if (!best || fitted.errors.median < best->errors.median) best = fitted;
  }
  gpu.attention = best->efficiency;
  double best_rate = 0;
  for (const AttentionTime& time : measured.attention) {
    if (time.new_tokens > 1) best_rate = std::max(best_rate, attention_flops(time) / time.time.time_s);
  }
  out->attention_notes.push_back(
      formatted("this program's own kernel reached %.1f %% of peak_flops at best (%.3g TFLOP/s)",
                100 * best_rate / gpu.peak_flops, best_rate / 1e12));
  if (const auto engine = engine_efficiency(gpu.name)) {
    out->attention_notes.push_back(formatted(
        "serving engines' kernels reach an efficiency of %.2f on whole prompts: multiply efficiency by %.2f "
        "for them",
        *engine, *engine / gpu.attention.efficiency));
  }
}

std::vector<TransferTime> transfers(const std::vector<CopyTime>& copies, const std::string& way) {
  std::vector<TransferTime> list;
  for (const CopyTime& copy : copies) {
    if (copy.way == way) list.push_back({copy.bytes, copy.time.time_s});
  }
  return list;
}

std::optional<double> rate_of(const std::vector<CopyTime>& copies, const std::string& way) {
  for (const CopyTime& copy : copies) {
    if (copy.way == way) return copy.bytes / copy.time.time_s;
  }
  return std::nullopt;
}

void fit_pcie(const Measurements& measured, NotedProfile* out) {
  const std::vector<TransferTime> to_device = transfers(measured.copies, "h2d pinned");
  const std::vector<TransferTime> from_device = transfers(measured.copies, "d2h pinned");
  require_points(std::min(to_device.size(), from_device.size()), "pcie: too few copies");
  const FittedLink h2d = fit_link(to_device);
  const FittedLink d2h = fit_link(from_device);
  out->profile.pcie = {h2d.bytes_per_s, d2h.bytes_per_s, (h2d.fixed_s + d2h.fixed_s) / 2};
  out->pcie_notes = {
      "to the device: time = request_overhead_s + bytes / bandwidth errs by " + text_of(h2d.errors),
      "from the device: errs by " + text_of(d2h.errors),
      formatted("request_overhead_s: %.3g s to the device, %.3g s from it", h2d.fixed_s, d2h.fixed_s)};
  for (const char* way : {"h2d pageable", "d2h pageable"}) {
    const std::vector<TransferTime> list = transfers(measured.copies, way);
    if (list.size() < 2) continue;
    const FittedLink link = fit_link(list);
    out->pcie_notes.push_back(
        formatted("%s: %.4g GB/s, %.3g s a copy", way, link.bytes_per_s / 1e9, link.fixed_s));
  }
  for (const char* way :
       {"both ways", "h2d 1 streams", "h2d 2 streams", "h2d 4 streams", "h2d beside GEMMs"}) {
    if (const auto rate = rate_of(measured.copies, way)) {
      out->pcie_notes.push_back(
          formatted("%s: %.4g GB/s%s", way, *rate / 1e9,
                    std::string(way) == "both ways" ? " in each direction at once" : ""));
    }
  }
  add_notes(measured.copy_notes, &out->pcie_notes);
}

void fit_disk(const DiskSweep& disk, bool gpu_direct, NotedProfile* out) {
  // Random chunks with many requests in flight are the access pattern of a tier.
  std::vector<TransferTime> reads, writes;
  int most_depth = 1;
  for (const DiskTime& time : disk.times) most_depth = std::max(most_depth, time.depth);
  for (const DiskTime& time : disk.times) {
    if (!time.random || time.depth != std::min(16, most_depth)) continue;
    (time.reading ? reads : writes).push_back({static_cast<double>(time.chunk_bytes), time.time.time_s});
  }
  require_points(std::min(reads.size(), writes.size()), "--ssd: too few transfers");
  const FittedLink read = fit_link(reads);
  const FittedLink write = fit_link(writes);
  Ssd ssd;
  ssd.capacity_bytes = disk.info.capacity_bytes;
  ssd.read_bandwidth_bytes_per_s = read.bytes_per_s;
  ssd.write_bandwidth_bytes_per_s = write.bytes_per_s;
  ssd.request_overhead_s = (read.fixed_s + write.fixed_s) / 2;
  ssd.sync_write_s = disk.sync_write_s.value_or(ssd.sync_write_s);
  ssd.gpu_direct = gpu_direct;
  out->profile.ssd = ssd;
  out->ssd_notes = {
      "one device: " + disk.info.device + ", file system " + disk.info.file_system,
      "requests by " + disk.way +
          (disk.direct ? ", O_DIRECT" : "; no O_DIRECT here: the page cache took part"),
      "random chunks, 16 in flight; time of one = request_overhead_s + bytes / bandwidth: reads err by " +
          text_of(read.errors) + "; writes by " + text_of(write.errors),
      formatted("request_overhead_s: %.3g s reading, %.3g s writing", read.fixed_s, write.fixed_s),
      "sync_write_s: the median of random writes of 4 KiB, one at a time",
      disk.direct_to_device_bytes_per_s
          ? formatted("gpu_direct: 16 MiB reads straight to the device reach %.3g GB/s, one at a time",
                      *disk.direct_to_device_bytes_per_s / 1e9)
          : "gpu_direct: GPUDirect Storage is not there",
      "endurance_bytes, price_usd_per_gb_hour: not measured, 0"};
  add_notes(disk.notes, &out->ssd_notes);
}

}  // namespace

namespace {

void measure_parts(const ProfileOptions& options, const Sweep& sweep, Measurements* measured) {
  Measurements& to = *measured;
  const int64_t copy_bytes = std::min<int64_t>(options.budgets.copy_bytes, 256 << 20);
  const auto copies = [&] {
    to.device_copy_bytes_per_s =
        2 * static_cast<double>(copy_bytes) / time_device_copy(sweep, copy_bytes).time_s;
    to.host_memory = sweep_host_memory(sweep, copy_bytes);
    to.copies = sweep_copies(sweep, &to.copy_notes);
  };
  const auto attention = [&] {
    const std::vector<GemmTime> usual = gemms_in(to.info.formats.front(), to);
    to.attention = sweep_attention(sweep, best_gemm_rate(usual), &to.attention_notes);
  };
  const auto links = [&] {
    if (const std::unique_ptr<Collective> collective = sweep.bench.backend().make_collective()) {
      to.all_reduces = sweep_all_reduce(sweep, *collective);
    } else {
      to.peer_link = sweep.bench.backend().peer_link();
    }
  };
  const std::vector<std::pair<const char*, std::function<void()>>> parts = {
      {"launches", [&] { to.launches = sweep_launches(sweep); }},
      {"copies", copies},
      {"gemm", [&] { to.gemms = sweep_gemms(sweep); }},
      {"attention", attention},
      {"elementwise", [&] { to.elementwise = sweep_elementwise(sweep, &to.elementwise_notes); }},
      {"ssd",
       [&] {
         if (options.ssd) to.disk = sweep_disk(sweep, *options.ssd);
       }},
      {"links between GPUs", links}};
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    try {
      part->second();
    } catch (const BudgetSpent& spent) {
      const std::string what = spent.what();
      std::string left = "the --budget is spent; not yet measured: ";
      left += what.starts_with(part->first) ? what : part->first;
      while (++part != parts.end()) left += std::string(", ") + part->first;
      throw BudgetSpent(left + ". Run the same command again to continue");
    }
  }
}

}  // namespace

Measurements measure_machine(Backend& backend, const ProfileOptions& options) {
  const auto end = end_of(options.budget_s);
  Measurements measured;
  measured.info = backend.info();
  // Detects disk errors before minutes of measurement.
  if (options.ssd) const ScratchFile space(*options.ssd, options.budgets.disk_bytes);
  if (options.check) measured.checks = check_backend(backend);
  measured.before = backend.state();
  Journal journal(journal_path(options.out), identity_of(measured.info, options), measured.info.shared);
  journal.stop_at(end);
  measured.resumed_points = journal.resumed();
  tell_kept(journal);
  Progress progress;
  // A CPU's caches are flushed by rotating operands alone: overwriting them would take most of the time.
  const bool flushes = measured.info.backend != "cpu";
  Bench bench(backend, flushes ? cold_bytes(options.budgets, measured.info) : 0);
  const Sweep sweep{bench, journal, progress, !options.quick, options.budgets, &measured.failures};
  measure_parts(options, sweep, &measured);
  measured.after = backend.state();
  std::vector<double> spreads, half_widths;
  for (const auto& [key, sample] : journal.samples()) {
    spreads.push_back(sample.spread);
    half_widths.push_back(sample.half_width());
  }
  measured.median_spread = summarize(std::move(spreads)).median_s;
  measured.median_half_width = summarize(std::move(half_widths)).median_s;
  measured.dates = journal.dates();
  return measured;
}

NotedProfile make_profile(const Measurements& measured, const std::string& name) {
  NotedProfile out;
  HardwareProfile& profile = out.profile;
  profile.name = name;
  profile.provenance_kind = "measured";
  profile.provenance_source = "kvcap-calibrate profile on this machine: " + measured.info.name + ", " +
                              measured.info.software + ", backend " + measured.info.backend +
                              (measured.dates.empty() ? "" : ", measured " + measured.dates);
  out.notes = measured.info.notes;
  out.notes.push_back("before: " + state_text(measured.before) + "; after: " + state_text(measured.after));
  out.notes.push_back(
      formatted("median over all samples: spread %.1f %%, half width of the median's 95 %% interval %.1f %%",
                100 * measured.median_spread, 100 * measured.median_half_width) +
      (measured.median_spread > kQuietSpread ? ": this machine was NOT quiet" : ""));
  int64_t wrong = 0;
  for (const CheckedOperation& check : measured.checks) {
    if (check.right()) continue;
    ++wrong;
    out.notes.push_back("WRONG result of " + check.what + formatted(": error %.2g", check.error));
  }
  out.notes.push_back(formatted("%lld operations compared with a reference in float64, %lld wrong",
                                static_cast<long long>(measured.checks.size()),
                                static_cast<long long>(wrong)));
  add_notes(measured.failures, &out.notes);
  fit_gpu(measured, &out);
  fit_attention_models(measured, &out);
  require_points(measured.elementwise.size(), "elementwise: too few kernels");
  const FittedElementwise elementwise = fit_elementwise(profile.gpu, measured.elementwise);
  profile.gpu.elementwise = elementwise.elementwise;
  out.elementwise_notes = {
      "rms_norm, silu_multiply, add, rope and the copy of hidden states under a graph: errs by " +
      text_of(elementwise.errors)};
  add_notes(measured.elementwise_notes, &out.elementwise_notes);
  out.gpu_notes.push_back(
      formatted("one empty kernel takes %.3g s launched alone and %.3g s in a graph; kernel_overhead_s is 0, "
                "because the constants "
                "above hold it, and host_overhead_per_layer_s is 0, because graphs are assumed",
                measured.launches.eager_kernel.time_s, measured.launches.graph_kernel.time_s));
  out.gpu_notes.emplace_back("price_usd_per_hour: not measured, 0");
  fit_pcie(measured, &out);
  if (measured.all_reduces && measured.all_reduces->times.size() >= 2) {
    const AllReduceSweep& sums = *measured.all_reduces;
    const FittedLink link = fit_all_reduce(sums);
    profile.nvlink = Nvlink{link.bytes_per_s, link.fixed_s};
    out.nvlink_notes = {formatted("all-reduces of float16 over %lld GPUs by %s, 8 KiB to %.3g MB: err by %s",
                                  static_cast<long long>(sums.devices), sums.library.c_str(),
                                  sums.times.back().bytes / 1e6, text_of(link.errors).c_str())};
    add_notes(sums.notes, &out.nvlink_notes);
  } else if (measured.peer_link) {
    profile.nvlink = Nvlink{measured.peer_link->first, measured.peer_link->second};
    out.nvlink_notes = {"copies from one GPU to its neighbour, not a collective"};
  } else if (measured.all_reduces) {
    out.notes.emplace_back("no nvlink: too few all-reduces ended in the time given");
  }
  profile.dram = Dram{.capacity_bytes = measured.info.host_memory_bytes,
                      .bandwidth_bytes_per_s = measured.host_memory.copy_bandwidth_bytes_per_s};
  if (measured.info.backend == "cpu") profile.dram->capacity_bytes /= 2;
  out.dram_notes = {formatted("bandwidth_bytes_per_s: memcpy on %lld threads, bytes read and written",
                              static_cast<long long>(measured.host_memory.threads)),
                    "price_usd_per_gb_hour: not measured, 0"};
  if (measured.disk) fit_disk(*measured.disk, measured.disk->direct_to_device_bytes_per_s.has_value(), &out);
  return out;
}

NotedProfile write_profile(Backend& backend, const ProfileOptions& options) {
  const Measurements measured = measure_machine(backend, options);
  NotedProfile profile = make_profile(measured, options.out.stem().string());
  write_file(options.out, profile_json(profile));
  Journal(journal_path(options.out), identity_of(measured.info, options)).finish();
  return profile;
}

}  // namespace kvcap::calibration
