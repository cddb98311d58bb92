#include "policy/restoration.h"

#include <algorithm>

#include "base/check.h"

namespace kvcap {
namespace {

double layers_of(const LayerWork& work) { return static_cast<double>(work.layers); }

double gpu_delay_s(const LoadRates& rates) { return rates[index(Tier::hbm)].delay_s; }

// Returns the makespan if loads may run ahead of computation without limit. For a group of n equal layers,
// with load time a_t per layer from tier t and computation c, that starts when tier t is at l_t and the GPU
// at f, the last layer is computed at
//   max(f + n c, max over t of max(l_t + a_t + n c, l_t + n a_t + c)),
// because the path through load j and the computations after it is linear in j, so its maximum is at an end.
double unlimited_makespan_s(const Restoration& restoration, const LoadRates& rates) {
  PerTier loaded_s{};
  for (Tier tier : kTiers) loaded_s[index(tier)] = rates[index(tier)].delay_s;
  double computed_s = gpu_delay_s(rates);
  for (const LayerWork& work : restoration.work) {
    const double n = layers_of(work);
    double end_s = computed_s + n * work.compute_s;
    for (Tier tier : kTiers) {
      const std::size_t t = index(tier);
      if (work.load_bytes[t] <= 0) continue;
      const double one_s = load_s(work, tier, rates[t]);
      end_s = std::max(
          {end_s, loaded_s[t] + one_s + n * work.compute_s, loaded_s[t] + n * one_s + work.compute_s});
      loaded_s[t] += n * one_s;
    }
    computed_s = end_s;
  }
  return computed_s;
}

}  // namespace

PerTier Restoration::total_bytes() const {
  PerTier total{};
  for (const LayerWork& one : work) {
    for (Tier tier : kTiers) total[index(tier)] += layers_of(one) * one.load_bytes[index(tier)];
  }
  return total;
}

double Restoration::total_compute_s() const {
  double total_s = 0;
  for (const LayerWork& one : work) total_s += layers_of(one) * one.compute_s;
  return total_s;
}

double load_s(const LayerWork& work, Tier tier, const LoadRate& rate) {
  const std::size_t t = index(tier);
  if (work.load_bytes[t] <= 0) return 0;
  KVCAP_CHECK(rate.route != nullptr);
  return rate.stretch * rate.route->seconds(work.load_bytes[t], work.load_requests[t]);
}

double total_load_s(const Restoration& restoration, Tier tier, const Route& route) {
  double total_s = 0;
  for (const LayerWork& work : restoration.work)
    total_s += layers_of(work) * load_s(work, tier, {&route, 1, 0});
  return total_s;
}

double makespan_s(const Restoration& restoration, const LoadRates& rates) {
  if (restoration.empty()) return 0;
  const auto waits = [](const LayerWork& work) { return work.waits; };
  const bool free_to_load = std::none_of(restoration.work.begin(), restoration.work.end(), waits);
  if (restoration.ahead == kUnlimited && free_to_load) return unlimited_makespan_s(restoration, rates);
  return layer_spans(restoration, rates).back().compute_end_s;
}

std::vector<LayerSpan> layer_spans(const Restoration& restoration, const LoadRates& rates) {
  KVCAP_CHECK(restoration.ahead >= 1);
  std::vector<LayerSpan> spans;
  PerTier loaded_s{};
  for (Tier tier : kTiers) loaded_s[index(tier)] = rates[index(tier)].delay_s;
  double computed_s = gpu_delay_s(rates);
  int64_t layer = 0;
  for (const LayerWork& work : restoration.work) {
    for (int64_t i = 0; i < work.layers; ++i) {
      LayerSpan span{.layer = layer, .form = work.form};
      if (work.form != LayerForm::keys) ++layer;
      // The buffer has room once the entry `ahead` positions earlier has been computed.
      const int64_t leaving = std::ssize(spans) - restoration.ahead;
      const double room_s =
          std::max(work.waits ? computed_s : 0,
                   leaving < 0 ? 0 : spans[static_cast<std::size_t>(leaving)].compute_end_s);
      span.load_start_s = std::numeric_limits<double>::infinity();
      for (Tier tier : kTiers) {
        const std::size_t t = index(tier);
        if (work.load_bytes[t] <= 0) continue;
        const double start_s = std::max(loaded_s[t], room_s);
        loaded_s[t] = start_s + load_s(work, tier, rates[t]);
        span.load_start_s = std::min(span.load_start_s, start_s);
        span.load_end_s = std::max(span.load_end_s, loaded_s[t]);
      }
      if (span.load_end_s == 0) span.load_start_s = 0;
      span.compute_start_s = std::max(span.load_end_s, computed_s);
      computed_s = span.compute_start_s + work.compute_s;
      span.compute_end_s = computed_s;
      spans.push_back(span);
    }
  }
  return spans;
}

}  // namespace kvcap
