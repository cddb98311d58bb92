// CacheBlend's evaluation (EuroSys '25). Tuned for all of it: in the A40's profiles the GEMM efficiency (to
// the prefills of section 2) and the SSD's bandwidth (to the loads of section 5), and the policy's
// partial_efficiency.
#include <cmath>
#include <cstdio>

#include "policy/blend.h"
#include "policy/restoration.h"
#include "validate/papers.h"
#include "validate/sheet.h"

namespace kvcap {
namespace {

const std::vector<std::string> kBlendGemm = {"a40: gpu.gemm.efficiency", "a40: gpu.attention.efficiency"};
const std::vector<std::string> kLoads = {"a40: gpu.gemm.efficiency", "a40: gpu.attention.efficiency",
                                         "a40: ssd.read_bandwidth_bytes_per_s"};
const std::vector<std::string> kBlends = {"a40: gpu.gemm.efficiency", "a40: gpu.attention.efficiency",
                                          "a40: ssd.read_bandwidth_bytes_per_s",
                                          "cacheblend: partial_efficiency"};

constexpr const char* kOneQuestion = "cacheblend/figure_12";
constexpr const char* kRates = "cacheblend/figure_14";
constexpr const char* kLayers = "cacheblend/section_5";
constexpr int64_t kContext = 4096;               // of section 5
constexpr int64_t kChunk = 512, kPrompt = 3104;  // six chunks and a question of 32 tokens
constexpr const char* kDramAndSsd = R"(policy.tiers=[{"kind":"dram"},{"kind":"ssd"}])";

Overrides with_8_bits(const std::string& model, const std::string& hardware, const std::string& gpus) {
  return {"model=" + model, "model.weight_bytes_per_element=1", "hardware=" + hardware,
          "serving.tensor_parallel_size=" + gpus};
}
Overrides mistral_7b() { return {"model=mistral-7b"}; }
Overrides yi_34b() { return with_8_bits("yi-34b", "a40-1tb", "1"); }
Overrides llama_70b() { return with_8_bits("llama-2-70b", "a40-2gpu-1tb", "2"); }
std::vector<Overrides> models() { return {mistral_7b(), yi_34b(), llama_70b()}; }

double ttft_ms(Sheet& sheet, const Overrides& setting) {
  return sheet.lab().metric(kOneQuestion, setting, "mean_ttft_ms");
}

// ---- sections 2, 5 and 6: times of a layer, the controller ----

void layers(Sheet& sheet) {
  const auto prefill_s = [&](const Overrides& model) {
    // Given, so that it matters not whether the weights fit: 70B's do not fit one A40.
    const Overrides roomy = {"serving.kv_capacity_tokens=8192"};
    return sheet.lab().machine(kLayers, model + roomy, kContext).cost().prefill_s({kContext, 0});
  };
  sheet.add("blend.2.prefill_4k", "s to prefill 4K tokens on one A40: Yi-34B, Llama-2-70B, both in 8 bits",
            {prefill_s(yi_34b()), prefill_s(with_8_bits("llama-2-70b", "a40-1tb", "1"))}, kBlendGemm,
            "printed with one digit; the 34B model is Yi's here");

  const auto times = [&](const std::string& id, const std::string& what, const Overrides& model,
                         const std::string& reason) {
    const Machine machine = sheet.lab().machine(kLayers, model, kContext);
    const Hit chunks{.tier = Tier::ssd, .tokens = kContext};
    const Restoration blend = machine.policy().restore({.history_tokens = kContext, .new_tokens = 1},
                                                       {&chunks, 1}, machine.idle_rates());
    const double load_s =
        kvcap::load_s(blend.work.front(), Tier::ssd, machine.idle_rates()[index(Tier::ssd)]);
    const double again_s = recompute_s(0.15, machine.cost().prefill_layer_s({kContext, 0}), 1);
    sheet.add(id, what + ": ms a layer to compute 15 % of 4K tokens, by the paper's estimate, and to load 4K",
              {1e3 * again_s, 1e3 * load_s}, kLoads, reason);
  };
  times("blend.5.layer_times_7b", "Llama-7B", {}, "printed with one digit: 3 ms stand for 2.5 to 3.5");
  times("blend.5.layer_times_70b", "Llama-70B", llama_70b(),
        "printed with one digit: 7 ms stand for 6.5 to 7.5; two A40 here, for one would take 11 ms");

  sheet.add("blend.5.rstar", "ratio of the loading controller where loading takes no time",
            {controlled_ratio(0, 1, 1)}, {});
  sheet.not_comparable("blend.6.hash_table", "bytes of a chunk in the index",
                       "the index of chunks takes no memory and no time here");
}

// ---- 7.1: the workload ----

void workload(Sheet& sheet) {
  const Workload queries = sheet.lab().workload(kRates, {});
  const auto count = static_cast<double>(queries.turns.size());
  // The printed cases of the four data sets have no counterpart.
  sheet.add(
      "blend.7.1.workload", "queries, skipped, chunks of a query and tokens of a chunk in figure_14",
      {count, static_cast<double>(queries.warmup_turns), static_cast<double>(queries.pieces.size()) / count,
       static_cast<double>(queries.pieces.front().tokens)},
      {}, "", {6000, 1000, 6, 512});
}

// ---- Fig. 12, 13, 16 and 17: one question at a time ----

void one_question(Sheet& sheet) {
  Numbers over_recompute;
  for (const Overrides& model : models()) {
    over_recompute.push_back(sheet.ratio(kOneQuestion, model, "recompute", "cacheblend", "mean_ttft_ms"));
  }
  sheet.add("blend.f12.ttft_vs_recompute", "TTFT, recompute over cacheblend: Mistral-7B, Yi-34B, Llama-70B",
            std::move(over_recompute), kBlends);

  sheet.add(
      "blend.f13.mapreduce", "TTFT, map_reduce over cacheblend: Yi-34B",
      {sheet.ratio(kOneQuestion, yi_34b(), "map_reduce", "cacheblend", "mean_ttft_ms")}, kBlends,
      "follows the length of summaries, which is assumed (64 tokens): they take nine tenths of the time");
  const double rerank = sheet.ratio(kOneQuestion, yi_34b(), "map_rerank", "cacheblend", "mean_ttft_ms");
  sheet.add_order(
      "blend.f13.maprerank", "TTFT of map_rerank is slightly below that of cacheblend: Yi-34B", {rerank},
      rerank > 0.7 && rerank < 1, kBlends,
      "its answers are picked when 16 tokens have been generated, 8 of which are the score, both "
      "assumed; with 10 in all it would be below. What the paper measures as its TTFT is not stated");

  Numbers gains;
  // One question, the first of whose chunks is stored.
  const StoredContexts first_chunk{.count = 1, .tokens = kChunk, .new_tokens = kPrompt - kChunk};
  const auto blended_ms = [&](const std::string& ratio) {
    return ttft_ms(sheet, yi_34b() + policy("cacheblend") + Overrides{"policy.recompute_ratio=" + ratio});
  };
  const double prefix_ms =
      sheet.lab().metric(kOneQuestion, yi_34b() + policy("prefix_caching") + Overrides{kDramAndSsd},
                         "mean_ttft_ms", first_chunk);
  for (const double baseline_ms : {ttft_ms(sheet, yi_34b() + policy("recompute")), prefix_ms}) {
    for (const char* ratio : {"0.18", "0.05"}) gains.push_back(baseline_ms / blended_ms(ratio));
  }
  sheet.add(
      "blend.f16.ratio_gain",
      "Yi-34B: TTFT of recompute over cacheblend's at 18 and 5 %, of prefix caching over the same",
      std::move(gains), kBlends,
      "the paper excludes itself: these gains lie on a line that gives 4.5 at 15 %, where Fig. 12 has at "
      "most 3.3 for the same model");

  Numbers gaps;
  for (const Overrides& device : {Overrides{R"(policy.tiers=[{"kind":"dram"}])"}, Overrides{},
                                  Overrides{"hardware.ssd.read_bandwidth_bytes_per_s=1e9"}}) {
    const Overrides setting = yi_34b() + device;
    gaps.push_back(ttft_ms(sheet, setting + policy("cacheblend")) -
                   ttft_ms(sheet, setting + policy("full_reuse")));
  }
  const bool shrinks = gaps[0] > gaps[1] && gaps[1] > gaps[2] && gaps[2] > 0;
  sheet.add_order(
      "blend.f17.order",
      "ms of TTFT that cacheblend takes more than full reuse fall from RAM to the SSD to 1 GB/s: Yi-34B",
      std::move(gaps), shrinks, kBlends);
}

// ---- Fig. 14: rates at the same TTFT ----

struct Point {
  double rate = 0, ttft_ms = 0;
};

// Where the TTFT is `target_ms`, between two of the points, or NaN: a straight line of its logarithm.
double rate_at(double target_ms, const std::vector<Point>& points) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point& low = points[i - 1];
    const Point& high = points[i];
    if (!(low.ttft_ms <= target_ms && target_ms <= high.ttft_ms)) continue;
    const double share = std::log(target_ms / low.ttft_ms) / std::log(high.ttft_ms / low.ttft_ms);
    return low.rate + share * (high.rate - low.rate);
  }
  return std::nan("");
}

void throughput(Sheet& sheet) {
  const Overrides steady = {"workload.warmup_turns=3000"};  // see figure_14.json
  Numbers over_recompute, over_prefix;
  for (const Overrides& model : models()) {
    const double alone_s = sheet.lab().machine(kRates, model, kPrompt).cost().prefill_s({kPrompt, 0});
    // Rates as shares of what recomputation could serve one by one.
    const auto sustained = [&](const Overrides& setting, const std::vector<double>& shares) {
      std::vector<Point> points;
      for (double share : shares) {
        char rate[80];
        std::snprintf(rate, sizeof rate, "workload.arrivals.sessions_per_s=%.4f", share / alone_s);
        points.push_back(
            {share, sheet.lab().metric(kRates, model + steady + setting + Overrides{rate}, "mean_ttft_ms")});
      }
      return rate_at(2e3 * alone_s, points);
    };
    const double recompute = sustained(policy("recompute"), {0.5, 0.7});
    const double prefix = sustained(policy("prefix_caching") + Overrides{kDramAndSsd}, {0.6, 0.8});
    const double blend = sustained(policy("cacheblend"), {1.7, 1.8, 1.9});
    over_recompute.push_back(blend / recompute);
    over_prefix.push_back(blend / prefix);
  }
  sheet.add(
      "blend.f14.throughput",
      "queries/s at a mean TTFT of twice a lone recomputed prompt's, first 3,000 left out, cacheblend over "
      "recompute: Mistral-7B, Yi-34B, Llama-70B",
      std::move(over_recompute), kBlends, "at which TTFT the paper compares is not printed");
  sheet.add("blend.7.prefix_throughput", "the same over prefix caching", std::move(over_prefix), kBlends,
            "at which TTFT the paper compares is not printed");
}

// ---- quality ----

void quality(Sheet& sheet) {
  constexpr const char* kNoModel = "no model is run; the policies' quality_note says what is printed";
  sheet.not_comparable("blend.f12.quality", "F1 or Rouge-L below recompute, and above full reuse", kNoModel);
  sheet.not_comparable("blend.f16.quality", "F1 or Rouge-L below recompute at 5 to 18 %", kNoModel);
  sheet.not_comparable("blend.1.gain_over_reuse", "F1 and Rouge-L above full reuse", kNoModel);
}

}  // namespace

std::vector<Check> cacheblend_checks(Lab& lab) {
  Sheet sheet(lab, 0.15);
  layers(sheet);
  workload(sheet);
  one_question(sheet);
  throughput(sheet);
  quality(sheet);
  return sheet.take();
}

}  // namespace kvcap
