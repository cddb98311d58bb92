// A small random transformer's contexts, really stored and really restored by every policy, against the same
// contexts prefilled as a whole.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "calibration/cases/run.h"

namespace kvcap::calibration::case_run_test {
namespace {

ModelSpec small_model(int64_t kv_heads = 8) {
  ModelSpec model;
  model.name = "small";
  model.num_hidden_layers = 5;
  model.hidden_size = 128;
  model.num_attention_heads = 8;
  model.num_key_value_heads = kv_heads;
  model.head_dim = 16;
  model.intermediate_size = 192;
  model.vocab_size = 300;
  model.weight_bytes_per_element = model.kv_bytes_per_element = model.hidden_bytes_per_element = 4;
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

class Restored : public ::testing::TestWithParam<std::tuple<Tier, int64_t>> {
 protected:
  // Everything of one case, small enough to be made anew.
  struct Machine {
    Machine(const TwinCase& of, const ModelSpec& shape)
        : one(of),
          backend(make_cpu_backend()),
          model(*backend, shape, Format::float32, 7),
          context_arena(*backend, Format::float32, stored_bytes(one, shape, Format::float32),
                        std::filesystem::temp_directory_path(), stored_bytes(one, shape, Format::float32)),
          device(*backend, Place::device),
          pinned(*backend, Place::pinned),
          run({*backend, model, context_arena, device, pinned, one, Contents::computed}),
          pipeline(*backend, context_arena.file(), slot_bytes(one, shape, Format::float32), 4) {}
    TwinCase one;
    std::unique_ptr<Backend> backend;
    Transformer model;
    ContextArena context_arena;
    Arena device, pinned;
    CaseRun run;
    Pipeline pipeline;
  };

  TwinCase one(const std::string& policy, const TwinOptions& options) const {
    const auto [tier, requests] = GetParam();
    return {.policy = policy,
            .options = options,
            .model = "small",
            .tokens = 150,
            .new_tokens = 9,
            .tier = tier,
            .requests = requests};
  }

  // Keys, values and the next token's logits as if the whole prompt had been prefilled.
  void expect_original(const TwinCase& one) {
    Machine machine(one, small_model());
    for (int repeat = 0; repeat < 2; ++repeat) {
      const std::vector<Answered> answered = machine.run.perform(machine.pipeline);
      ASSERT_EQ(answered.size(), static_cast<std::size_t>(one.requests));
      for (int64_t request = 0; request < one.requests; ++request) {
        const CaseRun::Values original = machine.run.original(request);
        const CaseRun::Values restored = machine.run.restored(request);
        for (std::size_t layer = 0; layer < original.kv.size(); ++layer) {
          EXPECT_LT(distance(restored.kv[layer], original.kv[layer]), 1e-5) << "layer " << layer;
        }
        if (one.requests == 1) {
          EXPECT_LT(distance(restored.logits, original.logits), 1e-5);
        }
        EXPECT_GE(answered[static_cast<std::size_t>(request)].first_token_s,
                  answered[static_cast<std::size_t>(request)].restored_s);
      }
    }
  }
};

TEST_P(Restored, RecomputationIsPrefill) { expect_original(one("recompute", {})); }

TEST_P(Restored, LoadedKvIsTheOriginal) { expect_original(one("kv_offload", {})); }

TEST_P(Restored, ProjectedHiddenStatesAreTheOriginalKv) { expect_original(one("hcache", {})); }

TEST_P(Restored, HiddenStatesAndKvOfDifferentLayersMeet) {
  expect_original(one("hcache", {.recomputed_layers = 0, .kv_layers = 2}));
}

TEST_P(Restored, RecomputedLayersAndHiddenStatesMeet) {
  expect_original(one("hcache", {.recomputed_layers = 2, .kv_layers = 0}));
}

TEST_P(Restored, KvWithoutPositionsGetsThemBackLayerByLayer) {
  expect_original(one("cached_attention", {.read_buffer_layers = 2}));
}

TEST_P(Restored, BlendingAllTokensIsPrefill) {
  expect_original(one("cacheblend", {.recompute_ratio = 1, .full_layers = 2}));
}

TEST_P(Restored, BlendingMoreTokensComesNearerToPrefill) {
  double before = 2;  // of rows that have nothing to do with each other: sqrt(2)
  for (const double ratio : {0.05, 0.3, 0.7}) {
    Machine machine(one("cacheblend", {.recompute_ratio = ratio, .full_layers = 2}), small_model());
    machine.run.perform(machine.pipeline);
    const CaseRun::Values original = machine.run.original(0);
    const CaseRun::Values restored = machine.run.restored(0);
    EXPECT_LT(distance(restored.kv[1], original.kv[1]), 1e-5) << "a layer that computes all tokens";
    const double error = distance(restored.kv.back(), original.kv.back());
    EXPECT_GT(error, 1e-3);
    EXPECT_LT(error, 0.95 * before);
    before = error;
  }
}

TEST_P(Restored, AllTokensImportantIsPrefill) {
  Machine machine(one("hyperinfer", {.retention = 1}), small_model());
  machine.run.perform(machine.pipeline);
  const CaseRun::Values original = machine.run.original(0);
  const CaseRun::Values restored = machine.run.restored(0);
  EXPECT_LT(distance(restored.logits, original.logits), 1e-5);
}

TEST_P(Restored, FewerImportantTokensChangeTheAnswerLittleByLittle) {
  double before = 0;
  for (const double retention : {0.9, 0.5, 0.2}) {
    Machine machine(one("hyperinfer", {.retention = retention}), small_model());
    machine.run.perform(machine.pipeline);
    const double error = distance(machine.run.restored(0).logits, machine.run.original(0).logits);
    EXPECT_GT(error, before);
    EXPECT_LT(error, 1);
    before = error;
  }
}

// Keys of `rows` tokens (rows hold keys and values) as they are at positions from `position` on.
std::vector<float> at_positions(std::vector<float> rows, const ModelSpec& model, int64_t position) {
  const int64_t width = model.num_key_value_heads * model.head_dim;
  const int64_t half = model.head_dim / 2;
  for (int64_t start = 0; start < std::ssize(rows); start += 2 * width, ++position) {
    for (int64_t head = 0; head < model.num_key_value_heads; ++head) {
      float* key = &rows[static_cast<std::size_t>(start + head * model.head_dim)];
      for (int64_t i = 0; i < half; ++i) {
        const double angle =
            static_cast<double>(position) *
            std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(model.head_dim));
        const double low = key[i], high = key[i + half];
        key[i] = static_cast<float>(low * std::cos(angle) - high * std::sin(angle));
        key[i + half] = static_cast<float>(high * std::cos(angle) + low * std::sin(angle));
      }
    }
  }
  return rows;
}

TEST_P(Restored, WhatIsSavedAsideIsTheNewTokensKvWithoutPositions) {
  const ModelSpec model = small_model();
  Machine machine(one("cached_attention", {.read_buffer_layers = 1}), model);
  machine.run.perform(machine.pipeline);
  for (int64_t request = 0; request < machine.one.requests; ++request) {
    const CaseRun::Values restored = machine.run.restored(request);
    for (int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
      const std::vector<float>& saved = restored.saved[static_cast<std::size_t>(layer)];
      const std::vector<float>& cached = restored.new_kv[static_cast<std::size_t>(layer)];
      EXPECT_EQ(std::ssize(saved), machine.one.new_tokens * 2 * 8 * 16);
      EXPECT_GT(distance(saved, cached), 0.1) << "keys have positions in the cache";
      EXPECT_LT(distance(at_positions(saved, model, machine.one.tokens), cached), 1e-5)
          << "request " << request << ", layer " << layer;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, Restored,
                         ::testing::Values(std::tuple{Tier::dram, int64_t{3}},
                                           std::tuple{Tier::ssd, int64_t{1}}),
                         [](const auto& instance) {
                           return std::string(name(std::get<0>(instance.param))) + "_" +
                                  std::to_string(std::get<1>(instance.param)) + "_at_once";
                         });

}  // namespace
}  // namespace kvcap::calibration::case_run_test
