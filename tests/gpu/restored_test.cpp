// Contexts that every policy restores on a GPU machine that is not there, against the same contexts prefilled
// as a whole: own kernels, graphs, streams and events of the twin, in every order of the stand-in.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "calibration/cases/run.h"
#include "gpu/machine.h"

namespace kvcap::calibration::gpu_restored_test {
namespace {

ModelSpec small_model() {
  ModelSpec model;
  model.name = "small";
  model.num_hidden_layers = 3;
  model.hidden_size = 128;
  model.num_attention_heads = 4;
  model.num_key_value_heads = 4;
  model.head_dim = 64;
  model.intermediate_size = 192;
  model.vocab_size = 300;
  return model;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

struct Policy {
  const char* name;
  TwinOptions options;
};

class RestoredOnGpu : public testing::TestWithParam<bool> {
 protected:
  // The largest distance of a layer's KV from the original, and of the next token's logits.
  double error_of(const Policy& policy, Tier tier, int64_t requests) {
    constexpr Format kFormat = Format::float16;
    const bool early = GetParam();
    gpu::set_machine({.order = {early, early}, .early = early});
    std::string why;
    const std::unique_ptr<Backend> backend = make_cuda_backend(&why);
    const ModelSpec shape = small_model();
    const TwinCase one{.policy = policy.name,
                       .options = policy.options,
                       .model = shape.name,
                       .tokens = 70,
                       .new_tokens = 9,
                       .tier = tier,
                       .requests = requests};
    const Transformer model(*backend, shape, kFormat, 7);
    const int64_t bytes = stored_bytes(one, shape, kFormat);
    ContextArena contexts(*backend, kFormat, bytes, std::filesystem::temp_directory_path(), bytes);
    Arena device(*backend, Place::device);
    Arena pinned(*backend, Place::pinned);
    CaseRun run({*backend, model, contexts, device, pinned, one, Contents::computed});
    Pipeline pipeline(*backend, contexts.file(), slot_bytes(one, shape, kFormat), 4);
    run.perform(pipeline);
    double most = 0;
    for (int64_t request = 0; request < requests; ++request) {
      const CaseRun::Values original = run.original(request);
      const CaseRun::Values restored = run.restored(request);
      const auto compare = [&most](const std::vector<float>& a, const std::vector<float>& b) {
        const double error = distance(a, b);
        if (!(error <= most) && !std::isnan(most)) most = error;  // a NaN stays
      };
      // HyperInfer's are in the order of importance.
      for (std::size_t layer = 0; layer < original.kv.size() && !policy.options.retention; ++layer) {
        compare(restored.kv[layer], original.kv[layer]);
      }
      if (requests == 1) compare(restored.logits, original.logits);
    }
    return most;
  }
};

TEST_P(RestoredOnGpu, EveryPolicyWithoutLossGivesWhatPrefillGives) {
  const Policy policies[] = {{"recompute", {}},
                             {"kv_offload", {}},
                             {"hcache", {}},
                             {"hcache", {.recomputed_layers = 1, .kv_layers = 1}},
                             {"cached_attention", {.read_buffer_layers = 2}},
                             {"cacheblend", {.recompute_ratio = 1, .full_layers = 2}},
                             {"hyperinfer", {.retention = 1}}};
  const bool early = GetParam();
  for (const Policy& policy : policies) {
    EXPECT_LT(error_of(policy, early ? Tier::dram : Tier::ssd, 1), 3e-3) << policy.name;
  }
  EXPECT_LT(error_of({"hcache", {}}, Tier::dram, 2), 3e-3);
}

TEST_P(RestoredOnGpu, LossIsSeen) {
  EXPECT_GT(error_of({"cacheblend", {.recompute_ratio = 0.1, .full_layers = 2}}, Tier::dram, 1), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Schedules, RestoredOnGpu, testing::Bool(),
                         [](const auto& of) { return of.param ? "early" : "late"; });

}  // namespace
}  // namespace kvcap::calibration::gpu_restored_test
