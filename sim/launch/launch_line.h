// Launch lines: an engine's own command line as the setting to start from, and back.
//
//   vllm serve MODEL ...            python -m vllm.entrypoints.[openai.]api_server --model MODEL ...
//   docker run ... vllm/vllm-openai:TAG --model MODEL ...
//   python -m sglang.launch_server  --model-path MODEL ...        sglang serve ...
//   trtllm-serve [serve] MODEL ...
//
// Variables may stand in front (LMCACHE_..., DYN_KVBM_...). Files that the line names (--config of vLLM and
// SGLang, --extra_llm_api_options, LMCACHE_CONFIG_FILE) are read from the working folder; the line's own
// flags win. A flag that is in no row of the table (flags.h) and one whose effect is not simulated are
// errors, unless they are left out by name. Notes name what else the line does not do. Where the line leaves
// open what the engine derives from the GPU's memory, defaults_on derives it as the engine does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/flags.h"
#include "scenario/scenario.h"

namespace kvcap {

// A flag as the line or a file ("serve.yaml:3: max-num-seqs") spells it, and the fields that it sets.
struct TakenFlag {
  std::string flag, value;
  std::vector<std::string> fields;  // "serving.max_num_seqs"
};

struct LaunchLine {
  Stack engine = Stack::vllm;
  std::string model;                   // a name of the catalogue, or a path
  std::string written_model;           // as the line names it
  bool is_8bit = false;                // by its name
  std::string engine_version;          // where an image's tag says it
  int64_t attention_ranks = 1;         // ranks of data parallel attention, which divide a chunk of prompts
  std::vector<std::string> overrides;  // "serving.max_num_seqs=64", for --set
  std::vector<std::string> notes;
  std::vector<TakenFlag> flags;
  std::vector<std::string> left_out;  // flags that the caller ignores
  // Of machines, for whoever knows the scenario's: KV of each GPU, blocks of the host cache, and whether the
  // longest sequence is as long as fits.
  std::optional<double> kv_bytes;
  std::optional<int64_t> host_blocks;
  bool has_longest_that_fits = false;

  // The tokens that one rank computes of a chunk of so many.
  int64_t rank_chunk(int64_t tokens) const { return std::max<int64_t>(1, tokens / attention_ranks); }
};

// Throws InputError where no engine is found, the model is not in the catalogue, a value cannot be read or a
// flag is not simulated. `ignored`: names of flags that are left out, "enforce-eager" or "--enforce-eager".
LaunchLine read_launch_line(std::string_view line, const std::vector<std::string>& ignored = {});
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
