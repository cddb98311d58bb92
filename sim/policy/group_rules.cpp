#include "policy/group_rules.h"

#include <algorithm>

namespace kvcap {
namespace {

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

bool has_windows(const std::vector<LayerGroup>& groups) {
  return std::any_of(groups.begin(), groups.end(),
                     [](const LayerGroup& group) { return group.keeps_window(); });
}

// Returns the requirement of the restoration that layers with a window or a recurrent state do not meet;
// empty if there is none.
std::string_view asks(Restore restore) {
  switch (restore) {
    case Restore::blend:
      return "it recomputes individual tokens, which attend to the keys and values of all other tokens";
    case Restore::important:
      return "it chooses among the keys of all tokens in every layer";
    case Restore::copy:
      return "its static graph has one buffer of all tokens' keys and values";
    case Restore::none:
    case Restore::recompute:
    case Restore::load:
    case Restore::project:
    case Restore::fastest:
      break;
  }
  return "";
}

bool splits_tokens(const PolicyOptions& options) {
  const Split split = options.split.value_or(Split::best);
  return options.restore == Restore::project && (split == Split::token || split == Split::token_rounded);
}

}  // namespace

int64_t needed_tokens(const LayerGroup& group, int64_t found, int64_t resident) {
  return std::min(found, group.kept_tokens(resident + found));
}

std::optional<GroupRefusal> refusal(const PolicyOptions& options, const ModelSpec& model) {
  const bool recurs = model.is_recurrent();
  if (!recurs && !has_windows(model.layer_groups)) return std::nullopt;
  const std::string layers = recurs ? "recurrent layers" : "layers with a window";
  const Restore restore = *options.restore;
  if (const std::string_view reason = asks(restore); !reason.empty()) {
    return GroupRefusal{"restore", quoted(name(restore)) + " for a model with " + layers,
                        "none, recompute, load, project, fastest (" + std::string(reason) + ")"};
  }
  if (splits_tokens(options)) {
    return GroupRefusal{"split", "a split of tokens for a model with " + layers,
                        "a split of layers (layers need different tokens of a context)"};
  }
  if (!recurs) return std::nullopt;
  if (options.decoupled_positions.value_or(false)) {
    return GroupRefusal{"decoupled_positions", "true for a model with recurrent layers",
                        "false (a recurrent state holds all tokens before it; none can be cut away)"};
  }
  if (options.match == Match::chunk && options.keep != Keep::none) {
    return GroupRefusal{"match", "\"chunk\" for a model with recurrent layers",
                        "session, prefix (a recurrent state stands for all text before it, not for a chunk)"};
  }
  return std::nullopt;
}

}  // namespace kvcap
