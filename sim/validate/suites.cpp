#include "validate/suites.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/input_error.h"
#include "validate/measured.h"
#include "validate/papers.h"
#include "validate/twin.h"

namespace kvcap {
namespace {

struct Suite {
  std::string_view name;
  std::vector<Check> (*checks)(const SuiteOptions& options);
};

std::vector<Check> paper_checks(const SuiteOptions&) { return checks_of(papers()); }
std::vector<Check> stored_twin_checks(const SuiteOptions&) { return twin_checks(); }

constexpr std::array kSuites = {Suite{"papers", paper_checks},      Suite{"queueing", queueing_checks},
                                Suite{"measured", measured_checks}, Suite{"stacks", stacks_checks},
                                Suite{"hits", hits_checks},         Suite{"fidelity", fidelity_checks},
                                Suite{"twin", stored_twin_checks}};

}  // namespace

std::string suite_names() {
  std::string names;
  for (const Suite& suite : kSuites) names += (names.empty() ? "" : ", ") + std::string(suite.name);
  return names;
}

std::span<const std::string_view> headlines() {
  static constexpr std::string_view kHeadlines[] = {"hcache.f9.ttft_vs_offload",
                                                    "hcache.f9.ttft_vs_recompute",
                                                    "hcache.f11.gpu_vs_offload",
                                                    "hcache.t3.7b",
                                                    "ca.f13.hit_rate",
                                                    "ca.f16.gpu_time",
                                                    "blend.f12.ttft_vs_recompute",
                                                    "hyper.f17.ttft",
                                                    "hyper.6b.p99",
                                                    "queueing.md1.load_0.7.mean",
                                                    "queueing.mm4.load_0.7.mean",
                                                    "queueing.lru.zipf_0.8.che",
                                                    "hits.mooncake.unbounded",
                                                    "hits.mooncake.lru_4m",
                                                    "htp.full",
                                                    "vllm.ttft.mean",
                                                    "vllm.ttft.p99",
                                                    "vllm.tpot.mean",
                                                    "vllm.e2el.mean",
                                                    "gemm.a100-80g-sxm.median",
                                                    "gemm.h100-sxm.median",
                                                    "prefix.rtx-4090.median",
                                                    "epyc-2-cores.median_error",
                                                    "epyc-2-cores.ranking"};
  return kHeadlines;
}

std::vector<Check> measured_checks(const SuiteOptions& options) {
  std::vector<Check> checks = kernel_checks(options.data_folder);
  const std::vector<Check> run = vllm_run_checks(options.data_folder);
  checks.insert(checks.end(), run.begin(), run.end());
  return checks;
}

std::vector<Check> run_suites(const std::vector<std::string>& names, const SuiteOptions& options) {
  for (const std::string& name : names) {
    std::vector<std::string_view> known;
    for (const Suite& suite : kSuites) known.push_back(suite.name);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw InputError("--suite: found \"" + name + "\", allowed: " + suite_names() +
                       suggestion(name, known));
    }
  }
  std::vector<Check> checks;
  for (const Suite& suite : kSuites) {
    if (!names.empty() && std::find(names.begin(), names.end(), suite.name) == names.end()) continue;
    std::vector<Check> more = suite.checks(options);
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

}  // namespace kvcap
