// CaseRun prepares and performs one case of the twin on real hardware: contexts in the context arena, memory
// on the device, and the loads and computations of each policy as stages of the pipeline. It reimplements the
// schedules that kvcap simulates with real bytes and kernels.
//
//   recompute         stores nothing; one step prefills everything
//   kv_offload        loads KV of every layer, then prefills the new tokens
//   hcache            recomputes layers from tokens, projects layers from hidden states, loads KV of the rest
//   cached_attention  loads KV without positions layer by layer while the new tokens are prefilled, and saves
//                     the new tokens' KV
//   cacheblend        loads KV of chunks; the leading layers compute all tokens, the others those with the
//                     largest deviation
//   hyperinfer        loads the probe heads' keys, then keys and values of the tokens identified as important
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/context_arena.h"
#include "calibration/pipeline.h"
#include "calibration/transformer.h"

namespace kvcap::calibration {

// Options with the names and meaning of kvcap's fields; absent if the policy does not use them.
struct TwinOptions {
  std::optional<int64_t> recomputed_layers, kv_layers;  // hcache; other layers use hidden states
  std::optional<int64_t> read_buffer_layers;            // cached_attention
  std::optional<double> recompute_ratio;                // cacheblend
  std::optional<int64_t> full_layers;                   // cacheblend
  std::optional<double> retention;                      // hyperinfer
};

struct TwinCase {
  std::string policy;
  TwinOptions options;
  std::string model;
  int64_t tokens = 0;
  int64_t new_tokens = 0;
  Tier tier = Tier::dram;
  int64_t requests = 1;  // number of concurrent requests, each with its own context
};

// Returns an upper bound of the bytes that a case stores in the context arena.
int64_t stored_bytes(const TwinCase& one, const ModelSpec& model, Format format);
// Returns an upper bound of the bytes of one load from the file.
int64_t slot_bytes(const TwinCase& one, const ModelSpec& model, Format format);

// drawn: contexts are random, and important tokens are drawn from kvcap's importance model, because a random
// transformer has no important tokens. computed: contexts are prefilled and important tokens identified.
enum class Contents : uint8_t { drawn, computed };

class CaseRun {
 public:
  // The case owns the contents of the arenas and the context arena until the next case is constructed.
  CaseRun(Backend& backend, const Transformer& transformer, ContextArena& context_arena, Arena& device,
          Arena& pinned, const TwinCase& one, Contents contents);
  ~CaseRun();
  CaseRun(const CaseRun&) = delete;
  CaseRun& operator=(const CaseRun&) = delete;

  std::vector<Answered> perform(Pipeline& pipeline);

  // Float values in device memory, for comparison after perform(); requires Format::float32.
  struct Values {
    std::vector<std::vector<float>> kv;  // by layer, tokens x (keys, values)
    std::vector<float> logits;
  };
  Values restored(int64_t request) const;
  // Returns the values of the request's context prefilled as a whole.
  Values original(int64_t request) const;
  // Returns the new tokens' KV that cached_attention saved at a layer: keys without positions, and values.
  std::vector<float> saved(int64_t request, int64_t layer) const;
  // Returns the new tokens' KV in the device's cache at a layer: keys with positions, and values.
  std::vector<float> cached_new(int64_t request, int64_t layer) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kvcap::calibration
