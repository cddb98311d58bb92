// Launch lines: an engine's own command line as the setting to start from, and back.
//
//   vllm serve MODEL ...            python -m vllm.entrypoints.openai.api_server --model MODEL ...
//   docker run ... vllm/vllm-openai:TAG --model MODEL ...
//   python -m sglang.launch_server  --model-path MODEL ...        sglang serve ...
//   trtllm-serve [serve] MODEL ...
//
// Variables may stand in front (LMCACHE_..., DYN_KVBM_...). Flags that are in no row of the table (flags.h)
// and flags whose effect is not simulated are told in notes. What the engine decides by the GPU's memory
// where the line does not say, it decides here, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/flags.h"
#include "scenario/scenario.h"

namespace kvcap {

struct LaunchLine {
  Stack engine = Stack::vllm;
  std::string model;                   // a name of the catalogue, or a path
  int64_t attention_ranks = 1;         // that share a chunk of prompts: data parallel attention
  std::vector<std::string> overrides;  // "serving.max_num_seqs=64", for --set
  std::vector<std::string> notes;
};

// Words as a shell splits them: quotes, backslashes, line ends behind a backslash. Throws InputError for a
// quote that does not end.
std::vector<std::string> shell_words(std::string_view line);

// Throws InputError where no engine is found, the model is not in the catalogue or a value cannot be read.
LaunchLine read_launch_line(std::string_view line);
// What the engine takes by default on these GPUs, of what the line leaves open: "path=value".
std::vector<std::string> defaults_on(const LaunchLine& line, const HardwareProfile& hardware);

// The line that a scenario stands for; empty where its policy is none that a stack has.
std::string launch_line_of(const Scenario& scenario);
// The words of `to` that `from` does not have: "--kv-offloading-size 100". Words of `from` alone are named as
// dropped. Empty where one of them has no line.
std::string changed_flags(const Scenario& from, const Scenario& to);

}  // namespace kvcap
