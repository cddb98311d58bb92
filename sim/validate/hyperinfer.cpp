// HyperInfer's evaluation (a draft of 2025). Tuned for all of it: the GEMM efficiency of its testbed to the
// 99th percentile of recomputing, the rate and the overhead at which its engine copies chunks to the GPU to
// the other four, and how uneven prefixes are reused to the hit rate of frequency-based caching.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cost/identification.h"
#include "cost/importance.h"
#include "validate/papers.h"
#include "validate/sheet.h"

namespace kvcap {
namespace {

const std::string kHyperinferGemm = "a100-80g-2tb: gpu.gemm.efficiency";
const std::string kReuse = "workload.source.reuse_sigma";
// cost/importance.h: all eight parameters of the model, fitted to Figs. 4, 5a, 8, 20 and 21.
const std::vector<std::string> kImportance = {
    "importance: common_share_first", "importance: common_share_last", "importance: decline_depth",
    "importance: head_freedom",       "importance: stable_share",      "importance: asked_probability",
    "importance: asked_importance",   "importance: layer_correlation"};
const std::vector<std::string> kTuned = [] {
  std::vector<std::string> tuned = {kHyperinferGemm,
                                    kReuse,
                                    "a100-80g-2tb-flexgen: pcie.h2d_bandwidth_bytes_per_s",
                                    "a100-80g-2tb-flexgen: pcie.request_overhead_s",
                                    "a100-80g-2tb-flexgen: ssd.read_bandwidth_bytes_per_s",
                                    "a100-80g-2tb-flexgen: ssd.request_overhead_s"};
  tuned.insert(tuned.end(), kImportance.begin(), kImportance.end());
  return tuned;
}();

constexpr const char* kFigures = "hyperinfer/figure_17";
constexpr const char* kTtft = "mean_service_ttft_ms";
constexpr const char* kLoadOfTtft = "ttft_breakdown_ms.load";
const std::vector<std::string> kOptModels = {"opt-6.7b", "opt-13b", "opt-30b"};
const std::vector<std::string> kDatasets = {"piqa", "rte", "copa", "openbookqa"};
const std::vector<std::string> kBaselines = {"as_like", "h2o_lru", "h2o_lfu"};

Overrides on(const std::string& model, const std::string& dataset) {
  Overrides setting = {"model=" + model, "workload.source.dataset=" + dataset};
  if (model == "opt-30b") setting.emplace_back("workload.source.max_prefix_tokens=4000");
  return setting;
}

double retention_of(const std::string& dataset) { return dataset == "copa" ? 0.5 : 0.25; }

// The policy as the paper runs it on a data set.
Overrides system(const std::string& name, const std::string& dataset) {
  Overrides setting = policy(name);
  if (name == "recompute") setting.emplace_back("policy.tiers=[]");
  if (name != "recompute" && name != "as_like") {
    setting.push_back("policy.retention=" + std::to_string(retention_of(dataset)));
  }
  return setting;
}

// The techniques up to and without score-based caching.
Overrides reordered(const std::string& dataset) {
  return system("hyperinfer", dataset) + Overrides{"policy.score=frequency"};
}
Overrides identified(const std::string& dataset) {
  return reordered(dataset) + Overrides{"policy.reorder=false"};
}

// How much more of a metric the best of the baselines has.
double gain(Sheet& sheet, const std::string& file, const Overrides& setting, const std::string& dataset,
            const std::string& metric) {
  double best = std::numeric_limits<double>::infinity();
  for (const std::string& name : kBaselines) {
    best = std::min(best, sheet.lab().metric(file, setting + system(name, dataset), metric));
  }
  return best / sheet.lab().metric(file, setting + system("hyperinfer", dataset), metric);
}

// ---- sizes and closed forms ----

void cache_sizes(Sheet& sheet) {
  const ModelSpec opt_30b = sheet.lab().scenario(kFigures, {"model=opt-30b"}).model;
  sheet.add("hyper.2.3.kv30b", "OPT-30B: GB of keys and values of 2,600 tokens",
            {2600 * opt_30b.kv_bytes_per_token() / 1e9}, {}, "3.58 GB are 3.33 GiB");

  const Machine engine = sheet.lab().machine(kFigures, on("opt-30b", "rte"), 750);
  const double growth = engine.cost().prefill_s({2600 + 750, 0}) / engine.cost().prefill_s({750, 0});
  sheet.add("hyper.2b.lengths",
            "OPT-30B: TTFT of a 2,600-token prefix and a 750-token query over that of the query alone",
            {growth}, {kHyperinferGemm},
            "the prompt is 4.5 times as long, and attention adds little; 9 would take an "
            "engine that slows down to half its speed in between",
            {9});

  // So many requests that even the rarest prefix is among them.
  const auto prefix_tokens = [&](const std::string& model, const std::string& dataset) {
    const Overrides setting = on(model, dataset) + Overrides{"workload.sessions=60000"};
    return static_cast<double>(sheet.lab().workload(kFigures, setting).context_tokens());
  };
  const auto token_bytes = [&](const std::string& model) {
    return sheet.lab().scenario(kFigures, {"model=" + model}).model.kv_bytes_per_token();
  };
  Numbers stored_gb;
  for (const std::string& dataset : kDatasets) {
    const double bytes =
        prefix_tokens("opt-13b", dataset) * (token_bytes("opt-6.7b") + token_bytes("opt-13b")) +
        prefix_tokens("opt-30b", dataset) * token_bytes("opt-30b");
    stored_gb.push_back(bytes / 3e9);
  }
  sheet.add("hyper.6a.storage", "GB of all prefixes, mean of three models: PIQA, RTE, COPA, OpenBookQA",
            std::move(stored_gb), {kReuse},
            "13 prefixes are assumed, and their number is not printed (traces/few_shot.json)");
}

// Parts of all prompts as the policy of a setting uses them.
PartUse use_of_prompts(Sheet& sheet, const Overrides& setting) {
  const Machine machine = sheet.lab().machine(kFigures, setting, 5000);
  const Workload workload = sheet.lab().workload(kFigures, setting);
  PartUse sum;
  for (const Piece& piece : workload.pieces) sum += machine.policy().use({piece.tokens, 0, piece.tokens});
  return sum;
}

void importance(Sheet& sheet) {
  const Overrides half = on("opt-6.7b", "rte") + Overrides{"policy.retention=0.5", "policy.reorder=false"};
  const PartUse use = use_of_prompts(sheet, half);
  const double important = use.important_tokens / (64 * use.touched_chunks);
  sheet.add("hyper.f5.important_share",
            "OPT-6.7B, RTE, retention 0.5: share of important tokens in the chunks loaded; amplification",
            {important, 1 / important}, {}, "follows from how many chunks are partly empty");

  const auto statistics = [](double retention, int64_t layers) {
    return RestoreStatistics(ImportanceModel{}, {.retention = retention}, layers, 1);
  };
  sheet.add("hyper.f8.similarity", "OPT-30B: mean Jaccard index of heads at 40 and 10 %",
            {statistics(0.4, 48).mean_jaccard(), statistics(0.1, 48).mean_jaccard()}, kImportance,
            "the model's common share of heads is fitted to both at once");
  sheet.not_comparable("hyper.f7.similarity", "OPT-6.7B, middle layer: mean Jaccard index of heads",
                       "the retention is not printed; Fig. 8 has 0.68 at 40 %, so that it must be near 1");
  sheet.add("hyper.f4.static", "recall of a fixed set at 25 %: the tokens that are important in the mean",
            {statistics(0.25, 32).chunk(4096, 0, 1024, true).important_tokens / 1024}, kImportance,
            "no answers here, so no accuracy or F1 is lost", {0.8});

  Numbers fallback;
  for (double retention : {0.25, 0.5}) {
    for (int64_t layers : {32, 40, 48}) {
      fallback.push_back(statistics(retention, layers).mean_fallback_layers(5000) /
                         static_cast<double>(layers));
    }
  }
  sheet.add("hyper.f20.fallback", "share of layers that load all keys: 25 and 50 %, 32 to 48 layers",
            std::move(fallback), kImportance);

  Numbers chunks;
  for (const std::string& dataset : kDatasets) {
    const Overrides setting = on("opt-30b", dataset) + system("hyperinfer", dataset);
    chunks.push_back(use_of_prompts(sheet, setting + Overrides{"policy.reorder=false"}).touched_chunks /
                     use_of_prompts(sheet, setting).touched_chunks);
  }
  sheet.add("hyper.f21.reorder", "chunks touched without over with reordering, mean of the data sets",
            {std::accumulate(chunks.begin(), chunks.end(), 0.0) / 4}, kImportance,
            "the model is fitted to this figure and five others at once");
}

void identification(Sheet& sheet) {
  sheet.add("hyper.f9.vectors", "vectors of 4 tokens, 32 heads, 1 important: all keys, 3 probe heads",
            {static_cast<double>(vectors_with_all_keys(4, 1, 32)),
             static_cast<double>(vectors_with_probes(4, 1, 32, 3))},
            {});
  const auto threshold = [](double retention) { return similarity_threshold({.retention = retention}); };
  sheet.add("hyper.4b.threshold", "similarity threshold at 25 and 50 %: ((k/n) / (2 - k/n))^0.6",
            {threshold(0.25), threshold(0.5)}, {}, "",
            {std::pow(0.25 / 1.75, 0.6), std::pow(0.5 / 1.5, 0.6)});
  constexpr int64_t kTokens = 4000, kImportant = 1000, kHeads = 40;
  const double keys =
      static_cast<double>(vectors_with_probes(kTokens, kImportant, kHeads, 3) - kImportant * kHeads);
  sheet.add(
      "hyper.f11.keys", "OPT-13B at 25 %: keys loaded at threshold 1 over those at 0",
      {kTokens * kHeads / keys}, {},
      "4 is 1 / 0.25 and leaves out the probe heads' keys; 1 / (3/40 + 1/4) is 3.1. No answers here, so "
      "no accuracy",
      {4});

  // Chunk 1 of application A, half of it important, is used 1.5 times as often as chunk 2 of B.
  ChunkScore first, second;
  for (int use = 0; use < 15; ++use) first.use(0.5);
  for (int use = 0; use < 10; ++use) second.use(1);
  const bool keeps_second = second.value() > first.value();
  sheet.add("hyper.f15.scores",
            "scores of the two chunks; keys moved where the more frequent, the higher-scored one is cached",
            {first.value() / 10, second.value() / 10, 10.0 * 2, keeps_second ? 15.0 * 1 : 10.0 * 2}, {});

  Numbers probes, copies;
  for (double heads : {32.0, 40.0, 56.0}) {
    probes.push_back(3 / (3 + 2 * 0.25 * heads));
    copies.push_back(3 / (2 * heads));
  }
  const auto mean = [](const Numbers& of) { return std::accumulate(of.begin(), of.end(), 0.0) / 3; };
  sheet.add(
      "hyper.6e.overhead",
      "probe heads' keys: share of what a layer loads at 25 %, nothing cached; of what is stored; mean "
      "of three models",
      {mean(probes), mean(copies)}, {},
      "three whole heads of 32 to 56 are 4.7 to 2.7 % of what is stored, 1.2 % cannot hold; and their "
      "keys are read for all tokens. A mapping of 4 bytes a token and a score a chunk are below 0.1 %, as "
      "printed below 0.5 %",
      {0.06, 0.012});
  sheet.not_comparable("hyper.4d.mapping", "look-up in mapping lists; a whole reordering run",
                       "neither is modelled: the first is under 2 % of the TTFT, the second runs aside");
  sheet.not_comparable("hyper.6b.accuracy", "accuracy lost at 25 to 50 %",
                       "there are no answers here; the printed figure is the policy's quality note");
  sheet.not_comparable("hyper.6b.accuracy_max", "accuracy lost at any retention",
                       "there are no answers here; the printed figure is the policy's quality note");
}

// ---- Fig. 3: loading without computation to hide it ----

void io_share(Sheet& sheet) {
  Numbers share;
  for (int64_t tokens : {128, 256, 512, 1024, 2048, 4096, 8192}) {
    const StoredContexts one{.count = 1, .tokens = tokens};
    share.push_back(1 - 1 / sheet.ratio("hyperinfer/figure_3", {}, "as_like", "ideal", kTtft, one));
  }
  sheet.add("hyper.f3.io_share", "share of TTFT that loading from SSD adds: prefixes of 128 to 8K tokens",
            std::move(share), {}, "the model is not printed: OPT-6.7B at the links' own rates");
}

// ---- Fig. 17, 18, 22: whole runs ----

void dataset_latencies(Sheet& sheet) {
  Numbers ttft, loads, hits = {0, 0};
  bool shorter = true;
  Numbers by_model;
  for (const std::string& model : kOptModels) {
    for (const std::string& dataset : kDatasets) {
      const Overrides setting = on(model, dataset);
      ttft.push_back(gain(sheet, kFigures, setting, dataset, kTtft));
      loads.push_back(gain(sheet, kFigures, setting, dataset, kLoadOfTtft));
      // Keys and values that requests need: important tokens', and the keys of all in the heads that are
      // read.
      const auto on_gpu = [&](const std::string& name, double all_keys, double values) {
        const auto needed = [&](Tier tier) {
          const std::string suffix = "." + std::string(kvcap::name(tier));
          const auto metric = [&](const std::string& what) {
            return sheet.lab().metric(kFigures, setting + system(name, dataset), what + suffix);
          };
          return all_keys * metric("hit_tokens") + values * metric("used_tokens");
        };
        return needed(Tier::hbm) / (needed(Tier::hbm) + needed(Tier::dram) + needed(Tier::ssd));
      };
      const auto heads =
          static_cast<double>(sheet.lab().scenario(kFigures, setting).model.num_key_value_heads);
      hits[0] += on_gpu("h2o_lfu", 1, 1) / 12;
      hits[1] += on_gpu("hyperinfer", 3 / heads, 2) / 12;
      by_model.push_back(sheet.lab().metric(kFigures, setting + system("hyperinfer", dataset), kTtft) / 1e3);
    }
  }
  for (std::size_t i = 0; i < 4; ++i) shorter = shorter && by_model[8 + i] < by_model[4 + i];
  sheet.add("hyper.f17.ttft",
            "TTFT, best of as_like, h2o_lru and h2o_lfu over hyperinfer: 3 models, 4 data sets",
            std::move(ttft), kTuned, "above: OPT-30B, whose prefixes are the largest here, see f17.order");
  sheet.add("hyper.f18.io", "loading time, the same", std::move(loads), kTuned,
            "below: COPA on OPT-6.7B, whose prefixes nearly fit the GPU's cache");
  sheet.add_share(
      "hyper.f22.gpu_hit",
      "keys and values needed that are found on the GPU: frequency-based, score-based, mean of all",
      std::move(hits), kTuned, "a use counts at once and for ever here, and chunks are well ordered");
  sheet.add_order(
      "hyper.f17.order", "TTFT s of hyperinfer: OPT-13B on four data sets, then OPT-30B is less",
      {by_model.begin() + 4, by_model.end()}, shorter, kTuned,
      "4,000 tokens of OPT-30B are 5.5 GB, 5,000 of OPT-13B 4.1; the printed storage says so as well");

  Numbers p99_s;
  for (const char* name : {"recompute", "as_like", "h2o_lru", "h2o_lfu", "hyperinfer"}) {
    const Overrides setting = on("opt-30b", "rte") + system(name, "rte");
    p99_s.push_back(sheet.lab().metric(kFigures, setting, "p99_service_ttft_ms") / 1e3);
  }
  sheet.add("hyper.6b.p99", "OPT-30B, RTE: p99 TTFT s of recompute, as_like, h2o_lru, h2o_lfu, hyperinfer",
            std::move(p99_s), kTuned,
            "at the 99th percentile both h2o load all of a prefix that is not on the GPU, so that they tie");
}

// ---- Fig. 19, 23 to 26 ----

void ablations(Sheet& sheet) {
  Numbers shares;
  for (const auto& [model, dataset] : {std::pair{"opt-30b", "rte"}, {"opt-13b", "copa"}}) {
    const auto ttft = [&, setting = on(model, dataset)](const Overrides& of) {
      return sheet.lab().metric("hyperinfer/figure_19", setting + of, kTtft);
    };
    const double before = ttft(system("h2o_lfu", dataset)), after = ttft(system("hyperinfer", dataset));
    const double first = ttft(identified(dataset)), second = ttft(reordered(dataset));
    for (double step : {before - first, first - second, second - after}) {
      shares.push_back(step / (before - after));
    }
  }
  sheet.add_share(
      "hyper.f19.contrib",
      "share of the gain by identification, reordering, score: OPT-30B RTE; OPT-13B COPA", std::move(shares),
      kTuned,
      "reordering saves chunks, 1.2 times fewer by the paper's own count, which cannot be 30 % of a "
      "gain of two thirds unless all time goes into chunks; here most goes into vectors");

  Numbers alpha_s;
  for (const char* alpha : {"0", "0.3", "0.6", "1", "2"}) {
    alpha_s.push_back(sheet.lab().metric("hyperinfer/figure_23",
                                         {"policy.threshold_exponent=" + std::string(alpha)}, kTtft) /
                      1e3);
  }
  const bool falls = std::is_sorted(alpha_s.rbegin(), alpha_s.rend());
  sheet.add_order("hyper.f23.alpha", "TTFT s at alpha 0, 0.3, 0.6, 1, 2 never grows", std::move(alpha_s),
                  falls, kTuned);

  const auto over_lfu = [&](const std::string& file, const Overrides& setting) {
    return sheet.ratio(file, setting, "h2o_lfu", "hyperinfer", kTtft);
  };
  Numbers chunks, prefixes, llama;
  for (const char* tokens : {"16", "32", "64", "128", "256"}) {
    chunks.push_back(over_lfu("hyperinfer/figure_24", {"policy.chunk_tokens=" + std::string(tokens)}));
  }
  sheet.add("hyper.f24.chunk", "TTFT, h2o_lfu over hyperinfer: chunks of 16 to 256 tokens", std::move(chunks),
            kTuned, "the model is not printed: OPT-13B");
  for (const auto& [number, sigma] :
       {std::pair{"22", "2.4"}, {"44", "4.7"}, {"68", "7.3"}, {"135", "14.5"}}) {
    prefixes.push_back(
        over_lfu("hyperinfer/figure_25", {"workload.source.prefixes=" + std::string(number),
                                          "workload.source.reuse_sigma=" + std::string(sigma)}));
  }
  sheet.add(
      "hyper.f25.size", "OpenBookQA, h2o_lfu over hyperinfer: 65, 130, 200, 400 GB of prefixes",
      std::move(prefixes), kTuned,
      "the model is not printed: OPT-6.7B. The more there is, the more comes from SSD, in whole chunks");
  for (const char* model : {"llama-2-7b", "llama-2-13b"}) {
    for (const char* dataset : {"piqa", "copa"}) {
      llama.push_back(gain(sheet, "hyperinfer/figure_26", on(model, dataset), dataset, kTtft));
    }
  }
  sheet.add(
      "hyper.f26.llama", "TTFT, best baseline over hyperinfer: Llama-2-7B and 13B, PIQA and COPA",
      std::move(llama), kTuned,
      "below: COPA loads half of its tokens, and 7B's nearly fit the GPU's cache; what the paper compares "
      "with is not printed");
}

}  // namespace

std::vector<Check> hyperinfer_checks(Lab& lab) {
  Sheet sheet(lab, 0.15);
  cache_sizes(sheet);
  importance(sheet);
  identification(sheet);
  io_share(sheet);
  dataset_latencies(sheet);
  ablations(sheet);
  return sheet.take();
}

}  // namespace kvcap
