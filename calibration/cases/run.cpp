#include "calibration/cases/run.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "calibration/cases/context.h"

namespace kvcap::calibration {
namespace {

constexpr TwinPolicy kPolicies[] = {
    {.name = "recompute", .contexts = recompute, .stores = false},
    {"kv_offload", kv_offload},
    {"hcache", hcache},
    {"cached_attention", cached_attention},
    // Scattered rows are gathered before GEMMs, which then run at full speed.
    {.name = "cacheblend", .contexts = cacheblend, .fixed_fields = R"({"partial_efficiency": 1})"},
    // Nothing is prefetched speculatively.
    {.name = "hyperinfer", .contexts = hyperinfer, .fixed_fields = R"({"prefetch": false})"},
};

}  // namespace

const TwinPolicy& twin_policy(const std::string& name) {
  const auto* const found = std::ranges::find(kPolicies, name, &TwinPolicy::name);
  KVCAP_CHECK(found != std::end(kPolicies));
  return *found;
}

int64_t stored_bytes(const TwinCase& one, const ModelSpec& model, Format format) {
  if (!twin_policy(one.policy).stores) return 0;
  const int64_t kv_width = 2 * model.num_key_value_heads * model.head_dim;
  const int64_t widest = std::max(model.hidden_size, kv_width + kProbeHeads * model.head_dim);
  const int64_t layer_bytes =
      chunks(one.tokens) * kChunkTokens * widest * bytes_of(format) + 3 * kDirectBytes;
  return one.requests * model.num_hidden_layers * layer_bytes;
}

int64_t slot_bytes(const TwinCase& one, const ModelSpec& model, Format format) {
  const int64_t widest = std::max(model.hidden_size, 2 * model.num_key_value_heads * model.head_dim);
  return chunks(one.tokens) * kChunkTokens * widest * bytes_of(format) + kDirectBytes;
}

CaseRun::CaseRun(const CaseSetup& setup) : setup_(setup) {
  setup.context_arena.clear();
  setup.device.clear();
  setup.pinned.clear();
  contexts_ = twin_policy(setup.one.policy).contexts(setup);
  const int64_t most_rows = setup.one.requests * contexts_.front()->step_part(0).rows;
  step_activations_ = setup.transformer.activations(setup.device, std::min(most_rows, setup.all_tokens()));
  if (setup.contents == Contents::drawn) return;
  for (const auto& context : contexts_) context->compute_contents();
}

CaseRun::~CaseRun() = default;

std::vector<Answered> CaseRun::perform(Pipeline& pipeline) {
  std::vector<Restoring> restorings;
  for (const auto& context : contexts_) restorings.push_back(context->restoring());
  std::vector<Answered> answered = pipeline.run(
      std::move(restorings), [this](std::span<const int64_t> members) { return make_step(members); },
      setup_.all_tokens());
  for (const auto& context : contexts_) context->finish();
  return answered;
}

Step CaseRun::make_step(std::span<const int64_t> members) const {
  const std::vector<int64_t> batch(members.begin(), members.end());
  const auto parts_at = [this, batch](int64_t layer) {
    std::vector<Part> parts;
    for (const int64_t member : batch) parts.push_back(context(member).step_part(layer));
    return parts;
  };
  Step step;
  for (int64_t layer = 0; layer < setup_.layers(); ++layer) {
    step.push_back([=, this](Stream& stream) {
      const std::vector<Part> parts = parts_at(layer);
      int64_t row = 0;
      for (std::size_t i = 0; layer == 0 && i < parts.size(); ++i) {
        context(batch[i]).embed(stream, step_activations_, row, parts[i]);
        row += parts[i].rows;
      }
      setup_.transformer.layer(stream, layer, parts, step_activations_);
    });
  }
  step.push_back(
      [=, this](Stream& stream) { setup_.transformer.head(stream, parts_at(0), step_activations_); });
  return step;
}

CaseRun::Values CaseRun::restored(int64_t request) const {
  return context(request).restored(step_activations_);
}

void CaseRun::require_finite_logits() const {
  for (const auto& context : contexts_) {
    for (const float logit : context->logits(step_activations_)) {
      if (!std::isfinite(logit)) throw BackendError("wrong result: a logit is not finite");
    }
  }
}

CaseRun::Values CaseRun::original(int64_t request) const { return context(request).original(); }

}  // namespace kvcap::calibration
