#include "commands/show/model.h"

#include <cstdio>
#include <vector>

namespace kvcap {
namespace {

std::string bytes_text(double bytes) {
  constexpr double kMiB = 1024.0 * 1024;
  char text[32];
  if (bytes >= 1e4 * kMiB) {
    std::snprintf(text, sizeof text, "%.1f GB", bytes / 1e9);
  } else if (bytes >= kMiB) {
    std::snprintf(text, sizeof text, "%.1f MiB", bytes / kMiB);
  } else {
    std::snprintf(text, sizeof text, "%.4g KiB", bytes / 1024);
  }
  return text;
}

// Returns the KV bytes that the windowed layers keep for a sequence that fills every window.
double window_bytes(const ModelSpec& model) {
  double bytes = 0;
  for (const LayerGroup& group : model.groups()) {
    if (!group.keeps_window()) continue;
    bytes += static_cast<double>(group.layers * group.window_tokens) * group.kv_bytes_per_token_layer();
  }
  return bytes;
}

std::string group_text(const LayerGroup& group) {
  const auto layers = static_cast<double>(group.layers);
  const double token_bytes = layers * group.kv_bytes_per_token_layer();
  const std::string count = std::to_string(group.layers);
  const std::string window = std::to_string(group.window_tokens);
  switch (group.attention) {
    case AttentionKind::full:
      return count + " full layers: " + bytes_text(token_bytes) + " for every token";
    case AttentionKind::latent:
      return count + " latent layers: " + bytes_text(token_bytes) + " for every token" +
             (group.indexer ? ", the indexer's keys included" : "");
    case AttentionKind::sliding:
      return count + " sliding layers: " + bytes_text(token_bytes) + " for each of the newest " + window +
             " tokens, at most " + bytes_text(token_bytes * static_cast<double>(group.window_tokens));
    case AttentionKind::chunked:
      return count + " chunked layers: " + bytes_text(token_bytes) + " for each token of a chunk of " +
             window + ", at most " + bytes_text(token_bytes * static_cast<double>(group.window_tokens));
    case AttentionKind::recurrent:
      return count + " recurrent layers: " + bytes_text(layers * group.recurrent->bytes()) +
             " for a sequence, and for each checkpoint of it";
  }
  return "";
}

}  // namespace

nlohmann::ordered_json sizes_json(const ModelSpec& model) {
  return {{"parameters", model.parameter_count()},
          {"weight_bytes", model.weight_bytes()},
          {"kv_bytes_per_token", model.kv_bytes_per_token()},
          {"window_bytes", window_bytes(model)},
          {"recurrent_state_bytes", model.recurrent_state_bytes()},
          {"vision_parameters", model.vision_parameters},
          {"draft_weight_bytes", model.draft_weight_bytes()}};
}

std::string sizes_summary(const ModelSpec& model) {
  char text[160];
  std::snprintf(text, sizeof text,
                "%.1f B parameters, %lld layers, %.0f KiB of KV and %.0f KiB of hidden states a token",
                model.parameter_count() / 1e9, static_cast<long long>(model.num_hidden_layers),
                model.kv_bytes_per_token() / 1024,
                static_cast<double>(model.num_hidden_layers) * model.hidden_bytes_per_token_layer() / 1024);
  std::string summary = text;
  if (window_bytes(model) > 0) summary += ", " + bytes_text(window_bytes(model)) + " of windows";
  if (model.is_recurrent()) summary += ", " + bytes_text(model.recurrent_state_bytes()) + " of state";
  return summary;
}

std::string sizes_text(const ModelSpec& model) {
  std::string text = "State of a sequence on the GPUs:\n";
  for (const LayerGroup& group : model.groups()) text += "  " + group_text(group) + "\n";
  text += "Weights: " + bytes_text(model.weight_bytes());
  if (model.vision_parameters > 0) {
    text += ", of which " + bytes_text(model.vision_parameters * model.hidden_bytes_per_element) +
            " are a vision tower and its projector";
  }
  if (model.draft_layers > 0) {
    text += "; not loaded without speculative decoding: " + bytes_text(model.draft_weight_bytes()) +
            " of layers for multi-token prediction";
  }
  return text + "\n";
}

}  // namespace kvcap
