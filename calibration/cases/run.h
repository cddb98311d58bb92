// CaseRun prepares and performs one case of the twin on real hardware: contexts in the context arena, memory
// on the device, and the loads and computations of each policy as stages of the pipeline. A policy is a file
// of its name here and a row of a table; it performs the schedule that kvcap simulates with real bytes and
// kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

// A case and the machine that performs it. The case owns the contents of the arenas and the context arena
// until the next case is prepared.
struct CaseSetup {
  Backend& backend;
  const Transformer& transformer;
  ContextArena& context_arena;
  Arena& device;
  Arena& pinned;
  TwinCase one;
  Contents contents;

  const ModelSpec& model() const { return transformer.model(); }
  int64_t layers() const { return model().num_hidden_layers; }
  int64_t heads() const { return model().num_key_value_heads; }
  int64_t all_tokens() const { return one.tokens + one.new_tokens; }
  int64_t head_bytes() const { return model().head_dim * transformer.element_bytes(); }
  int64_t key_bytes() const { return heads() * head_bytes(); }
};

class CaseContext;

struct TwinPolicy {
  std::string_view name;
  std::vector<std::unique_ptr<CaseContext>> (*contexts)(const CaseSetup&);  // of a case, one per request
  bool stores = true;  // false: the context arena stays empty
  // JSON: this program's fixed behaviour as the policy's fields in a scenario.
  const char* fixed_fields = "{}";
};

const TwinPolicy& twin_policy(const std::string& name);

class CaseRun {
 public:
  explicit CaseRun(const CaseSetup& setup);
  ~CaseRun();

  std::vector<Answered> perform(Pipeline& pipeline);

  // Values in device memory, for comparison after perform().
  struct Values {
    // By layer, tokens x (keys, values), of hyperinfer keys alone: the context's and the new tokens'.
    std::vector<std::vector<float>> kv, new_kv;
    std::vector<float> logits;
    std::vector<std::vector<float>> saved;  // cached_attention: new_kv as saved, keys without positions
  };
  Values restored(int64_t request) const;
  // Throws BackendError if a logit is not finite after perform().
  void require_finite_logits() const;
  // Returns the values of the request's context prefilled as a whole.
  Values original(int64_t request) const;

 private:
  const CaseContext& context(int64_t request) const { return *contexts_[static_cast<std::size_t>(request)]; }
  // Returns one step that computes the contexts' step_part().
  Step make_step(std::span<const int64_t> members) const;

  CaseSetup setup_;
  std::vector<std::unique_ptr<CaseContext>> contexts_;
  Activations step_activations_;
};

}  // namespace kvcap::calibration
