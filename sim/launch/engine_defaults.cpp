// Computes defaults that engines derive from the GPU's memory.
#include <algorithm>
#include <cmath>

#include "engine/versions/engines.h"
#include "launch/flags/flag_rows.h"
#include "launch/launch_line.h"
#include "launch/values.h"
#include "scenario/load.h"

namespace kvcap {

std::vector<std::string> defaults_on(const LaunchLine& line, const HardwareProfile& hardware) {
  std::vector<std::string> defaults;
  // Returns the value that the line sets for a field; empty if it sets none.
  const auto said = [&](const std::string& start) -> std::string {
    for (const std::string& one : line.overrides) {
      if (one.starts_with(start)) return one.substr(start.size());
    }
    return "";
  };
  const auto says = [&](const std::string& start) {
    return std::any_of(line.overrides.begin(), line.overrides.end(),
                       [&](const std::string& one) { return one.starts_with(start); });
  };
  const auto add = [&](const std::string& path, const std::string& value) {
    if (!says(path + "=")) defaults.push_back(path + "=" + value);
  };
  if (line.engine == Stack::vllm) {
    // The server's other GPU-dependent values are already the defaults of scenarios.
    const ServingOptions server = server_options(EngineKind::vllm, hardware.gpu);
    int64_t sequences = server.max_num_seqs;
    const std::string tokens = said("serving.max_num_batched_tokens=");
    if (!tokens.empty()) sequences = std::min(sequences, integer_value("--max-num-batched-tokens", tokens));
    add("serving.max_num_seqs", std::to_string(sequences));
    // By default, a sequence may be as long as the model's context window. vLLM starts only if one such
    // sequence fits.
    if (!line.has_longest_that_fits && !line.model.empty()) {
      const std::string window = said("model.max_position_embeddings=");
      const int64_t own = load_model(line.model).max_position_embeddings;
      add("serving.max_model_len", window.empty() ? std::to_string(own) : window);
    }
    // Without chunked prefill, the token budget of a step is the length of the longest prompt, but at least
    // the usual budget.
    if (said("serving.chunked_prefill=") == "false" && !line.model.empty()) {
      std::string longest = said("serving.max_model_len=");
      if (longest.empty()) longest = said("model.max_position_embeddings=");
      const int64_t prompt = longest.empty() ? load_model(line.model).max_position_embeddings
                                             : integer_value("--max-model-len", longest);
      add("serving.max_num_batched_tokens", std::to_string(std::max(server.max_num_batched_tokens, prompt)));
    }
  }
  if (line.engine == Stack::sglang) {
    // python/sglang/srt/server_args.py derives the chunk size from the GPU's memory, and reserves 1.5 MB per
    // token of a chunk for activations and 2 MB per sequence of the largest CUDA graph.
    const double gib = hardware.gpu.memory_bytes / kGibBytes;
    const int64_t chunk = gib < 35 ? 2048 : gib < 60 ? 4096 : gib < 160 ? 8192 : 16384;
    const double graph = gib < 20 ? 8 : gib < 35 ? 24 : gib < 60 ? 32 : gib < 160 ? 256 : 512;
    add("serving.max_num_batched_tokens", std::to_string(line.rank_chunk(chunk)));
    const double share = 1 - (1.5 * static_cast<double>(chunk) + 2 * graph) / (1024 * gib);
    add("serving.gpu_memory_utilization", number_json(std::round(1000 * share) / 1000));
    if (says("policy.name=hicache")) add("serving.block_size", "64");
  }
  return defaults;
}

}  // namespace kvcap
