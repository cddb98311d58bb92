// Launch lines: an engine's own command line as the setting to start from, and back.
//
//   vllm serve MODEL ...            python -m vllm.entrypoints.openai.api_server --model MODEL ...
//   docker run ... vllm/vllm-openai:TAG --model MODEL ...
//   python -m sglang.launch_server  --model-path MODEL ...        sglang serve ...
//   trtllm-serve [serve] MODEL ...
//
// Variables may stand in front (LMCACHE_..., DYN_KVBM_...). Notes name flags that no row of the table
// (flags.h) reads and flags whose effect is not simulated. Where the line leaves open what the engine derives
// from the GPU's memory, defaults_on derives it as the engine does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launch/flags.h"
#include "scenario/scenario.h"

namespace kvcap {

struct LaunchLine {
  Stack engine = Stack::vllm;
  std::string model;                   // a name of the catalogue, or a path
  std::string written_model;           // as the line names it
  std::string engine_version;          // where an image's tag says it
  int64_t attention_ranks = 1;         // ranks of data parallel attention, which divide a chunk of prompts
  std::vector<std::string> overrides;  // "serving.max_num_seqs=64", for --set
  std::vector<std::string> notes;

  // The tokens that one rank computes of a chunk of so many.
  int64_t rank_chunk(int64_t tokens) const { return std::max<int64_t>(1, tokens / attention_ranks); }
};

// Throws InputError where no engine is found, the model is not in the catalogue or a value cannot be read.
LaunchLine read_launch_line(std::string_view line);
// The defaults of the engine on these GPUs for fields that the line leaves open: "path=value".
std::vector<std::string> defaults_on(const LaunchLine& line, const HardwareProfile& hardware);

// The line that a scenario stands for. Empty where no flags of its engine say what the policy and its tiers
// say.
// `model`: the name that engines know, where it is not the catalogue's.
std::string launch_line_of(const Scenario& scenario, const std::string& model = "");
// The words of `to` that `from` does not have: "--kv-offloading-size 100". Words of `from` alone are named as
// dropped. Empty where one of them has no line.
std::string changed_flags(const Scenario& from, const Scenario& to);

}  // namespace kvcap
