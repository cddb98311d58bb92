// Launch lines: converts an engine's own command line to scenario settings, and a scenario back to a line.
//
//   vllm serve MODEL ...            python -m vllm.entrypoints.[openai.]api_server --model MODEL ...
//   docker run ... vllm/vllm-openai:TAG --model MODEL ...
//   python -m sglang.launch_server  --model-path MODEL ...        sglang serve ...
//   trtllm-serve [serve] MODEL ...
//   python -m dynamo.{vllm,sglang,trtllm} --model MODEL ...
//
// A manifest (manifest.h) is converted to the words of a launch line, each with its place in the file.
//
// Variables may precede the line (LMCACHE_..., DYN_KVBM_...). Files that the line names (--config of vLLM and
// SGLang, --extra_llm_api_options, LMCACHE_CONFIG_FILE) are read relative to the working folder; flags on the
// line override them. A flag without a row in the table (flags.h) and a flag whose effect is not simulated
// are errors, unless the caller ignores them by name. Other deviations are listed in notes. defaults_on()
// computes the defaults that the engine derives from the GPU's memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/flags/flags.h"
#include "launch/line_words.h"
#include "scenario/scenario.h"

namespace kvcap {

// A flag as written on the line or in the file ("serve.yaml:3: max-num-seqs"), and the fields that it sets.
struct TakenFlag {
  std::string flag, value;
  std::vector<std::string> fields;  // "serving.max_num_seqs"
  std::string place = {};           // place in a manifest, followed by ": "; empty for a launch line
};

struct LaunchLine {
  Stack engine = Stack::vllm;
  std::string source;                  // "a.yaml, chat": file and engine; empty: a launch line
  std::string model;                   // a name of the catalogue, or a path
  std::string written_model;           // as written on the line
  bool is_8bit = false;                // 8-bit weights, according to the model's name
  std::string engine_version;          // version in the tag of a container image, if any
  int64_t attention_ranks = 1;         // ranks of data parallel attention, which divide a prefill chunk
  std::vector<std::string> overrides;  // "serving.max_num_seqs=64", for --set
  std::vector<std::string> notes;
  std::vector<TakenFlag> flags;
  std::vector<std::string> left_out;  // flags that the caller ignores
  // Settings that depend on the machine: KV bytes per GPU, blocks of the host cache, and whether the maximum
  // sequence length is the longest that fits the memory.
  std::optional<double> kv_bytes;
  std::optional<int64_t> host_blocks;
  bool has_longest_that_fits = false;

  // Returns how many tokens of a prefill chunk of `tokens` tokens one rank computes.
  int64_t rank_chunk(int64_t tokens) const { return std::max<int64_t>(1, tokens / attention_ranks); }
};

// Converts a launch line. Throws InputError if the line has no known engine, the model is not in the
// catalogue, a value cannot be read or a flag is not simulated. `ignored`: names of flags to skip,
// "enforce-eager" or "--enforce-eager".
LaunchLine read_launch_line(std::string_view line, const std::vector<std::string>& ignored = {});

struct LineInput {
  std::vector<LineWord> words;
  std::map<std::string, std::string> files = {};  // texts by name, read instead of files on disk
  std::vector<std::string> ignored = {};
};
LaunchLine read_launch_words(const LineInput& input);
// Reads a launch line, or a file, optionally followed by # and the name of an engine in it:
// "deployment.yaml", "deployment.yaml#chat". A file whose name ends with .sh contains a launch line; every
// other file is a manifest.
LaunchLine read_from(const std::string& text, const std::vector<std::string>& ignored = {});
// Returns the engine's defaults on these GPUs for fields that the line does not set: "path=value".
std::vector<std::string> defaults_on(const LaunchLine& line, const HardwareProfile& hardware);

// Returns the launch line of a scenario; empty if the flags of its engine cannot express the policy with its
// tiers, or the formats of the model's weights and KV. The line contains every flag that read_launch_line()
// understands, except those of several servers (fleet.replicas). Tiers without a given size have the size
// SIZE_GIB, SIZE_GB or SIZE_BYTES; with_filled_sizes() of run/billing.h derives sizes from a result.
std::string launch_line_of(const Scenario& scenario);
// Returns the flags of `to` that `from` does not have, e.g. "--kv-offloading-size 100", and the names of
// flags that `to` drops. Empty if one of the scenarios has no line.
std::string changed_flags(const Scenario& from, const Scenario& to);

}  // namespace kvcap
