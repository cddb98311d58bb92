#include "validate/suites.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/input_error.h"
#include "validate/fit_pairs.h"
#include "validate/measured.h"
#include "validate/papers.h"
#include "validate/twin.h"

namespace kvcap {
namespace {

struct Suite {
  std::string_view name;
  std::vector<Check> (*checks)(const SuiteOptions& options);
  std::vector<std::string_view> data = {};  // what it reads of the data folder
};

std::vector<Check> paper_checks(const SuiteOptions&) { return checks_of(papers()); }
std::vector<Check> stored_twin_checks(const SuiteOptions&) { return twin_checks(); }

const std::array kSuites = {Suite{"papers", paper_checks},
                            Suite{"queueing", queueing_checks},
                            Suite{"measured", measured_checks, {"hardware", "vllm-real", "runs"}},
                            Suite{"fit", fit_checks, {"runs"}},
                            Suite{"stacks", stacks_checks, {"stacks.json", "runs"}},
                            Suite{"hits", hits_checks, {"traces/mooncake_conversation_trace.jsonl.gz"}},
                            Suite{"uncertainty", uncertainty_checks, {"hardware", "device", "runs"}},
                            Suite{"fidelity", fidelity_checks},
                            Suite{"twin", stored_twin_checks}};

bool is_asked_for(const Suite& suite, const std::vector<std::string>& names) {
  return names.empty() || std::find(names.begin(), names.end(), suite.name) != names.end();
}

}  // namespace

std::string suite_names() {
  std::string names;
  for (const Suite& suite : kSuites) names += (names.empty() ? "" : ", ") + std::string(suite.name);
  return names;
}

std::span<const std::string_view> headlines() {
  static constexpr std::string_view kHeadlines[] = {"vllm-h100.ttft",
                                                    "vllm-h100.tpot",
                                                    "vllm-h100.e2el",
                                                    "vllm-h100.e2el.worst",
                                                    "fit.ttft",
                                                    "fit.tpot",
                                                    "fit.e2el",
                                                    "silicon.tpot",
                                                    "llm-d.round_robin.tokens",
                                                    "llm-d.precise_prefix.tokens",
                                                    "vllm.ttft.mean",
                                                    "vllm.tpot.mean",
                                                    "vllm.e2el.mean",
                                                    "stacks.vllm_offload.load_50k",
                                                    "stacks.published.near",
                                                    "stacks.pulses.hit_rate",
                                                    "gemm.bfloat16.h100-sxm-8x.median",
                                                    "gemm.fp8.h100-sxm-8x.median",
                                                    "moe.bfloat16.h100-sxm-8x.median",
                                                    "prefill.whole.h100-sxm.median",
                                                    "decode.large.h100-sxm.median",
                                                    "decode.small.h100-sxm.median",
                                                    "all_reduce.h100-sxm-8x.median",
                                                    "hits.mooncake.unbounded",
                                                    "epyc-2-cores.median_error"};
  return kHeadlines;
}

std::vector<Check> measured_checks(const SuiteOptions& options) {
  std::vector<Check> checks = kernel_checks(options.data_folder);
  for (const auto& checks_of_runs : {vllm_run_checks, vllm_h100_checks, silicon_checks, llmd_checks}) {
    const std::vector<Check> runs = checks_of_runs(options.data_folder);
    checks.insert(checks.end(), runs.begin(), runs.end());
  }
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
  for (const Suite& suite : kSuites) {
    if (!options.needs_data || !is_asked_for(suite, names)) continue;
    for (const std::string_view path : suite.data) {
      if (std::filesystem::exists(options.data_folder + "/" + std::string(path))) continue;
      throw InputError("--data: found no " + std::string(path) + " in " + options.data_folder +
                       ", which the suite " + std::string(suite.name) + " reads");
    }
  }
  std::vector<Check> checks;
  for (const Suite& suite : kSuites) {
    if (!is_asked_for(suite, names)) continue;
    std::vector<Check> more = suite.checks(options);
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

}  // namespace kvcap
