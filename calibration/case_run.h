// CaseRun: one case of the twin made ready to be performed: contexts in the vault, memory on the device, and
// what every policy loads and computes, as stages for the pipeline. The same schedules that kvcap simulates,
// written a second time, with real bytes and real kernels.
//
//   recompute         nothing is kept, one step prefills everything
//   kv_offload        KV of every layer loaded, then the new tokens prefilled
//   hcache            layers recomputed from tokens, then layers projected from hidden states, then KV
//   cached_attention  KV without positions, loaded layer by layer under the new tokens' prefill; what that
//                     computes is saved aside
//   cacheblend        KV of chunks; leading layers compute all tokens, the others those that deviate most
//   hyperinfer        probe heads' keys, then keys and values of the tokens that turn out to be important
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/pipeline.h"
#include "calibration/transformer.h"
#include "calibration/vault.h"

namespace kvcap::calibration {

// As kvcap's fields of the same names; absent: of no meaning for the policy.
struct TwinOptions {
  std::optional<int64_t> recomputed_layers, kv_layers;  // hcache; the others come from hidden states
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
  int64_t requests = 1;  // at once, each with a context of its own
};

// What a case may take of the vault at most.
int64_t stored_bytes(const TwinCase& one, const ModelSpec& model, Format format);
// And of one slot for loads from the file.
int64_t slot_bytes(const TwinCase& one, const ModelSpec& model, Format format);

// drawn: random contexts, and important tokens as kvcap's model of importance has them (its draws, for a
// random transformer finds nothing important). computed: contexts that were really prefilled, and important
// tokens that were really identified.
enum class Contents : uint8_t { drawn, computed };

class CaseRun {
 public:
  // The arenas and the vault are this case's until the next one is built from them.
  CaseRun(Backend& backend, const Transformer& transformer, Vault& vault, Arena& device, Arena& pinned,
          const TwinCase& one, Contents contents);
  ~CaseRun();
  CaseRun(const CaseRun&) = delete;
  CaseRun& operator=(const CaseRun&) = delete;

  std::vector<Answered> perform(Pipeline& pipeline);

  // For comparison, after perform(): floats of the device's memory (Format::float32 only).
  struct Values {
    std::vector<std::vector<float>> kv;  // by layer, tokens x (keys, values)
    std::vector<float> logits;
  };
  Values restored(int64_t request) const;
  // The same context prefilled as a whole.
  Values original(int64_t request) const;
  // What cached_attention has saved of the new tokens at a layer: keys, without positions, and values.
  std::vector<float> saved(int64_t request, int64_t layer) const;
  // And what its cache holds of them, with positions.
  std::vector<float> cached_new(int64_t request, int64_t layer) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kvcap::calibration
