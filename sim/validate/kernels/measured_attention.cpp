#include "validate/kernels/measured_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "cost/cost_model.h"
#include "metrics/statistics/quantiles.h"
#include "scenario/load.h"
#include "validate/kernels/kernel_times.h"

namespace kvcap {
namespace {

constexpr int64_t kHeadDim = 128;
constexpr double kElementBytes = 2;
// Keys and values of this size and more come from memory on every GPU of the data.
constexpr double kLargeBytes = 256e6;

// Relative errors of rows that were not fitted, up to which the project vouches for a profile.
constexpr double kAttentionMedian = 0.12;
constexpr double kAttentionP90 = 0.40;

struct Gpus {
  std::string id;  // after "prefill." and "decode."
  std::string profile;
  std::string aic_name, device_name, other_name;  // in attn_*_aic.csv, device/, attn_*_{other,prefill}.csv
  // The collector reads the same keys and values again and again: between a sixteenth and nine tenths of this
  // they come from the L2 cache, where no engine finds them. Below, the constant decides.
  double l2_bytes = 0;
  bool splits_mha = true;  // and rows of MHA are among the fitted ones
  double peak_flops = 0;   // 0: the profile's; else the datasheet's of the GPU whose shares the profile has
  double bandwidth_bytes_per_s = 0;
};
const Gpus kGpus[] = {
    {"h100-sxm", "h100-sxm", "h100", "h100_sxm", "", 50e6},
    {"h200-sxm", "h200-sxm", "h200", "h200_sxm", "", 50e6},
    {"a100-80g-sxm", "a100-80g-sxm", "a100", "a100_sxm", "", 40e6, false},
    {"gb200", "b200-sxm", "", "gb200", "", 126e6, true, 2500e12, 8000e9},
    {"rtx-pro-6000", "rtx-pro-6000", "rtxpro6000", "rtx_pro_6000_server", "rtxpro6000", 250e6, false},
    {"rtx-4090", "rtx-4090", "", "", "rtx4090", 80e6, false},
};

// One measured call: `batch` prompts alike, or `batch` sequences that decode (new_tokens 0).
struct Call {
  int64_t query_heads = 0, kv_heads = 0, batch = 1, new_tokens = 0, cached_tokens = 0;
  double time_s = 0;
  bool in_l2 = false;
  bool stretched = false;                // a row of attn_chunked_prefill.csv, kept apart by length
  double element_bytes = kElementBytes;  // of keys and values

  auto shape() const {
    return std::tie(query_heads, kv_heads, batch, new_tokens, cached_tokens, element_bytes);
  }
  double kv_bytes() const {
    return static_cast<double>(batch * (cached_tokens + new_tokens) * kv_heads * kHeadDim) * 2 *
           element_bytes;
  }
};

// What the profiles' constants were fitted to; everything else is judged.
bool was_fitted(const Call& call, const Gpus& gpus) {
  if (call.element_bytes != kElementBytes) return false;
  const auto heads = std::pair(call.query_heads, call.kv_heads);
  if (call.new_tokens == 0) {
    static const std::set<int64_t> batches = {1, 4, 16, 64, 256};
    const bool fitted_heads = heads == std::pair<int64_t, int64_t>(8, 1) ||
                              heads == std::pair<int64_t, int64_t>(32, 8) ||
                              (gpus.splits_mha && heads == std::pair<int64_t, int64_t>(8, 8));
    const bool fitted_context = call.cached_tokens >= 128 || call.cached_tokens == 16;
    return fitted_heads && fitted_context && batches.count(call.batch) > 0 && !call.in_l2;
  }
  static const std::set<int64_t> lengths = {16, 36, 64, 81, 182, 256, 410, 1024};
  const bool fitted_heads = heads == std::pair<int64_t, int64_t>(8, 1) ||
                            heads == std::pair<int64_t, int64_t>(32, 8) ||
                            heads == std::pair<int64_t, int64_t>(32, 32);
  if (!fitted_heads || (call.batch != 1 && call.batch != 16)) return false;
  return !call.stretched || lengths.count(call.new_tokens) > 0;
}

std::string regime_of(const Call& call) {
  const bool small_elements = call.element_bytes < kElementBytes;
  if (call.new_tokens > 0) {
    if (small_elements) return "8-bit keys and values";
    if (call.cached_tokens > 0) return "over a cached prefix";
    return call.batch > 1 && call.new_tokens <= 128 ? "short prompts in one batch" : "whole prompts";
  }
  if (call.cached_tokens < 128) return "contexts below 128 tokens";
  if (call.in_l2) return "keys and values in L2";
  if (small_elements) return "8-bit keys and values";
  return call.kv_bytes() < kLargeBytes ? "below 256 MB" : "256 MB and more";
}
const std::map<std::string, std::string> kShortNames = {
    {"over a cached prefix", "prefix"}, {"short prompts in one batch", "short"},
    {"whole prompts", "whole"},         {"contexts below 128 tokens", "tiny"},
    {"8-bit keys and values", "fp8"},   {"keys and values in L2", "l2"},
    {"below 256 MB", "small"},          {"256 MB and more", "large"}};

std::string long_name(const std::string& short_name) {
  for (const auto& [name, other] : kShortNames) {
    if (other == short_name) return name;
  }
  return short_name;
}

// From somebody's copy of the measurements, by hand: what kernel they are of is not known.
bool is_transcribed(std::string_view source) { return source.find("transcribed") != std::string_view::npos; }

class CallReader {
 public:
  CallReader(std::string data, const Gpus& gpus) : data_(std::move(data)), gpus_(gpus) {}

  // Times in both folders are of one source; a row counts once.
  std::vector<Call> prefills() {
    read_aic("/hardware/attn_prefill_aic.csv", "isl", false);
    read_device("/device/attn_context.csv", "new_tokens", false);
    if (!gpus_.other_name.empty()) {
      for_each_kernel_row(
          data_ + "/hardware/attn_chunked_prefill.csv",
          {{"device"}, {"source"}, {"q_heads"}, {"kv_heads"}, {"chunk"}, {"cached_kv"}, {"t_ms"}}, 2,
          [&](const CsvRow& row, const std::vector<double>& x) {
            if (row.text(0) != gpus_.other_name || is_transcribed(row.text(1))) return;
            calls_.push_back(
                {whole(x[0]), whole(x[1]), 1, whole(x[2]), whole(x[3]), x[4] * 1e-3, false, true});
          });
    }
    return calls_;
  }

  std::vector<Call> decodes() {
    read_aic("/hardware/attn_decode_aic.csv", "ctx", true);
    read_device("/device/attn_decode.csv", "context", true);
    for (Call& call : calls_) mark(call);
    if (!gpus_.other_name.empty()) {
      const bool warm = calls_.empty();  // where this source is beside another, its times are of memory
      for_each_kernel_row(data_ + "/hardware/attn_decode_other.csv",
                          {{"device"}, {"q_heads"}, {"kv_heads"}, {"batch"}, {"ctx"}, {"t_ms"}}, 1,
                          [&](const CsvRow& row, const std::vector<double>& x) {
                            if (row.text(0) != gpus_.other_name) return;
                            Call call{whole(x[0]), whole(x[1]), whole(x[2]), 0, whole(x[3]), x[4] * 1e-3};
                            if (warm) mark(call);
                            calls_.push_back(call);
                          });
    }
    return calls_;
  }

 private:
  void mark(Call& call) const {
    call.in_l2 = call.kv_bytes() >= gpus_.l2_bytes / 16 && call.kv_bytes() < gpus_.l2_bytes * 0.9;
  }

  void add(Call call) {
    if (seen_.insert(call.shape()).second) calls_.push_back(call);
  }

  void add(int64_t query_heads, int64_t kv_heads, double batch, double tokens, double t_ms, bool decode,
           double element_bytes = kElementBytes) {
    Call call{query_heads, kv_heads, whole(batch), 0, 0, t_ms * 1e-3};
    call.element_bytes = element_bytes;
    (decode ? call.cached_tokens : call.new_tokens) = whole(tokens);
    add(call);
  }

  void read_aic(const std::string& file, std::string_view length, bool decode) {
    if (gpus_.aic_name.empty()) return;
    for_each_kernel_row(data_ + file,
                        {{"device"}, {"stack"}, {"q_heads"}, {"kv_heads"}, {"batch"}, {length}, {"t_ms"}}, 2,
                        [&](const CsvRow& row, const std::vector<double>& x) {
                          if (row.text(0) != gpus_.aic_name || !row.text(1).starts_with("vllm")) return;
                          add(whole(x[0]), whole(x[1]), x[2], x[3], x[4], decode);
                        });
  }

  void read_device(const std::string& file, std::string_view length, bool decode) {
    if (gpus_.device_name.empty()) return;
    for_each_kernel_row(
        data_ + file, {{"gpu"}, {"kv_dtype"}, {"q_kv_heads"}, {"batch"}, {length}, {"t_ms"}}, 3,
        [&](const CsvRow& row, const std::vector<double>& x) {
          if (row.text(0) != gpus_.device_name || (row.text(1) != "bfloat16" && row.text(1) != "fp8")) return;
          const std::string heads(row.text(2));
          char* rest = nullptr;
          const int64_t query_heads = std::strtoll(heads.c_str(), &rest, 10);
          if (*rest != '/') return;
          add(query_heads, std::strtoll(rest + 1, nullptr, 10), x[0], x[1], x[2], decode,
              row.text(1) == "fp8" ? 1 : kElementBytes);
        });
  }

  std::string data_;
  const Gpus& gpus_;
  std::vector<Call> calls_;
  std::set<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, double>> seen_;
};

double modelled_s(const Call& call, const HardwareProfile& hardware) {
  const ModelSpec model{.num_hidden_layers = 1,
                        .hidden_size = 1024,
                        .num_attention_heads = call.query_heads,
                        .num_key_value_heads = call.kv_heads,
                        .head_dim = kHeadDim,
                        .intermediate_size = 1024,
                        .kv_bytes_per_element = call.element_bytes};
  const CostModel cost(model, hardware, 1);
  if (call.new_tokens == 0) {
    return cost.decode_attention_layer_s(call.batch)
        .at_s(static_cast<double>(call.batch * call.cached_tokens));
  }
  const std::vector<PrefillChunk> chunks(static_cast<std::size_t>(call.batch),
                                         {call.new_tokens, call.cached_tokens});
  return cost.attention_layer_s(chunks);
}

void add_rows(std::vector<Check>& checks, const Check& about, std::vector<double> errors, bool fitted,
              bool judged) {
  if (errors.empty()) return;
  std::sort(errors.begin(), errors.end());
  const auto quantile = [&](const std::string& which, double share, double most) {
    Check one = about;
    one.id += "." + which;
    one.what += which + " of " + std::to_string(errors.size());
    one.simulated = {quantile_of_sorted(errors, share)};
    one.reference = {most};
    if (fitted) {
      one.role = Role::fitted;
      one.tuned = {"attention." + about.id};
    }
    one.promised = judged && !fitted;
    judge(one);
    checks.push_back(std::move(one));
  };
  quantile("median", 0.5, kAttentionMedian);
  quantile("p90", 0.9, kAttentionP90);
}

HardwareProfile hardware_of(const Gpus& gpus) {
  HardwareProfile hardware = load_hardware(gpus.profile);
  if (gpus.peak_flops > 0) hardware.gpu.peak_flops = gpus.peak_flops;
  if (gpus.bandwidth_bytes_per_s > 0) {
    hardware.gpu.memory_bandwidth_bytes_per_s = gpus.bandwidth_bytes_per_s;
  }
  return hardware;
}

std::vector<KernelTime> times_of(const Gpus& gpus, const std::string& kernel,
                                 const std::vector<Call>& calls) {
  const HardwareProfile hardware = hardware_of(gpus);
  std::vector<KernelTime> times;
  for (const Call& call : calls) {
    const bool other = gpus.aic_name.empty() && gpus.device_name.empty();
    times.push_back({gpus.profile, kernel + "_attention",
                     call.stretched || other ? "llmservingsim" : "aiconfigurator", modelled_s(call, hardware),
                     call.time_s, was_fitted(call, gpus), kShortNames.at(regime_of(call))});
  }
  return times;
}

void add_set(std::vector<Check>& checks, const Gpus& gpus, const std::string& kernel,
             const std::vector<Call>& calls) {
  std::vector<double> fitted;
  std::map<std::string, std::vector<double>> held_out;
  for (const KernelTime& one : times_of(gpus, kernel, calls)) {
    (one.fitted ? fitted : held_out[long_name(one.part)]).push_back(one.error());
  }
  Check about{.suite = "measured", .claim = Claim::at_most};
  const std::string of = kernel + " attention of " + gpus.id + ", profile " + gpus.profile + ", ";
  for (const auto& [regime, errors] : held_out) {
    const std::string& name = kShortNames.at(regime);
    about.id = (name == "prefix" ? name : kernel + "." + name) + "." + gpus.id;
    about.what = of + regime + ": relative error, not fitted, ";
    about.reason.clear();
    if (name == "l2") about.reason = "the collector's keys stay in L2, an engine's come from memory";
    if (name == "tiny")
      about.reason = "one tile of keys: whether a kernel splits them decides, and nothing else";
    if (name == "fp8") about.reason = "no constant is fitted to them: their bytes are halved, nothing else";
    if (gpus.id != gpus.profile) about.reason = "the profile is a B200's, interpolated from this GPU";
    add_rows(checks, about, errors, false, about.reason.empty());
  }
  about.id = kernel + ".fitted." + gpus.id;
  about.what = of + "the fitted rows: relative error, ";
  about.reason = "the profile is fitted to these rows: no test";
  add_rows(checks, about, fitted, true, false);
}

}  // namespace

std::vector<KernelTime> attention_kernel_times(const std::string& data) {
  std::vector<KernelTime> times;
  const auto add = [&times](const std::vector<KernelTime>& more) {
    times.insert(times.end(), more.begin(), more.end());
  };
  for (const Gpus& gpus : kGpus) {
    add(times_of(gpus, "prefill", CallReader(data, gpus).prefills()));
    add(times_of(gpus, "decode", CallReader(data, gpus).decodes()));
  }
  // Other programs' measurements of a GPU whose profile is fitted to one alone.
  for (const auto& [profile, device] : {std::pair{"h100-sxm", "h100"}, std::pair{"a100-80g-sxm", "a100"}}) {
    const Gpus other{"", profile, "", "", device};
    for (const auto& [kernel, calls] : {std::pair{"prefill", CallReader(data, other).prefills()},
                                        std::pair{"decode", CallReader(data, other).decodes()}}) {
      for (KernelTime one : times_of(other, kernel, calls)) {
        one.source = device == std::string("a100") ? "vidur" : "llmservingsim";
        one.fitted = false;
        one.part = "other";
        times.push_back(std::move(one));
      }
    }
  }
  return times;
}

std::vector<Check> attention_checks(const std::string& data) {
  std::vector<Check> checks;
  for (const char* file : {"/hardware/attn_prefill_aic.csv", "/hardware/attn_decode_aic.csv",
                           "/hardware/attn_chunked_prefill.csv", "/hardware/attn_decode_other.csv",
                           "/device/attn_context.csv", "/device/attn_decode.csv"}) {
    if (std::filesystem::exists(data + file)) continue;
    checks.push_back({.id = "attention",
                      .suite = "measured",
                      .what = "attention kernels: relative errors of their times",
                      .claim = Claim::at_most,
                      .reason = "no " + data + file + " (--data)"});
    return checks;
  }
  for (const Gpus& gpus : kGpus) {
    add_set(checks, gpus, "prefill", CallReader(data, gpus).prefills());
    add_set(checks, gpus, "decode", CallReader(data, gpus).decodes());
  }
  return checks;
}

}  // namespace kvcap
