#include <algorithm>

#include "base/input_error.h"
#include "scenario/hugging_face/hf_quantisation.h"

namespace kvcap {
namespace {

bool matches_glob(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() != '*') {
    return !text.empty() && pattern.front() == text.front() &&
           matches_glob(pattern.substr(1), text.substr(1));
  }
  while (!pattern.empty() && pattern.front() == '*') pattern.remove_prefix(1);
  if (pattern.empty()) return true;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (matches_glob(pattern, text.substr(i))) return true;
  }
  return false;
}

// Returns "layers.3." for a module of layer 3; "" for a module outside layers.
std::string layer_of(const std::string& module) {
  if (!module.starts_with("layers.")) return "";
  const std::size_t end = module.find_first_not_of("0123456789", 7);
  return end == 7 || end == std::string::npos || module[end] != '.' ? "" : module.substr(0, end + 1);
}

// True iff the glob matches the module or one of its parents.
bool has_glob(const std::string& glob, const std::string& module) {
  for (std::size_t end = module.size(); end != std::string::npos && end > 0;
       end = module.rfind('.', end - 1)) {
    if (matches_glob(glob, std::string_view(module).substr(0, end))) return true;
  }
  return matches_glob(glob, "x." + module);
}

bool has_name(const std::string& name, const std::string& module) {
  return ("." + module + ".").find("." + name + ".") != std::string::npos;
}

bool is_matched_by(const std::regex& expression, const std::string& module) {
  for (const char* prefix : {"model.", "model.language_model.", "language_model.model.", ""}) {
    if (std::regex_search(prefix + module, expression, std::regex_constants::match_continuous)) return true;
  }
  return false;
}

// True iff the expression repeats a repetition, as in "(a*)*", for which std::regex may take exponential
// time.
bool repeats_repetitions(const std::string& text) {
  std::vector<bool> repeats = {false};  // one per open group
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '\\') {
      ++i;
    } else if (letter == '(') {
      repeats.push_back(false);
    } else if (letter == ')' && repeats.size() > 1) {
      const bool inner = repeats.back();
      repeats.pop_back();
      const bool outer =
          i + 1 < text.size() && (text[i + 1] == '*' || text[i + 1] == '+' || text[i + 1] == '{');
      if (inner && outer) return true;
      repeats.back() = repeats.back() || inner || outer;
    } else if (letter == '*' || letter == '+' || letter == '{') {
      repeats.back() = true;
    }
  }
  return false;
}

// True iff one of the patterns for `layer` matches. A `layer` of "" stands for patterns that apply to all
// layers.
template <class ByLayer, class Matches>
bool any_of_layer(const ByLayer& patterns, const std::string& layer, const Matches& matches) {
  const auto found = patterns.find(layer);
  return found != patterns.end() && std::any_of(found->second.begin(), found->second.end(), matches);
}

}  // namespace

std::string canonical_module(std::string_view name) {
  for (bool again = true; again;) {
    again = false;
    for (std::string_view prefix :
         {"model.", "language_model.", "backbone.", "transformer.", "decoder.", "llm."}) {
      if (!name.starts_with(prefix)) continue;
      name.remove_prefix(prefix.size());
      again = true;
    }
  }
  return std::string(name == "head" || name == "output" ? "lm_head" : name);
}

void Modules::add(const std::string& name, const std::string& place) {
  if (name.starts_with("re:")) {
    const std::string text = name.substr(3);
    try {
      if (repeats_repetitions(text)) throw std::regex_error(std::regex_constants::error_complexity);
      expressions_.push_back(
          {std::regex(text, std::regex::ECMAScript | std::regex::optimize),
           text.find_first_of("0123456789[") != std::string::npos || text.find("\\d") != std::string::npos});
    } catch (const std::regex_error&) {
      throw InputError(place + ": found \"" + name +
                       "\", allowed: re: and a regular expression that repeats no repetition");
    }
    return;
  }
  const std::string plain = canonical_module(name);
  ByLayer& patterns = plain.find('*') == std::string::npos ? names_ : globs_;
  patterns[layer_of(plain)].push_back(plain);
}

void Modules::add_listed(const HfConfig& config, std::initializer_list<std::string_view> keys) {
  const Json* found = config.find(keys);
  if (!found) return;
  const std::string key(*keys.begin());
  if (!found->is_array()) config.fail(key, shown(*found), "a list of module names");
  for (const Json& name : *found) {
    if (!name.is_string()) config.fail(key, shown(name), "module names");
    add(name.get<std::string>(), config.place() + ": " + key);
  }
}

bool Modules::have(const std::string& module) const {
  const auto is_named = [&](const std::string& name) { return has_name(name, module); };
  const auto is_matched = [&](const std::string& glob) { return has_glob(glob, module); };
  for (const std::string& layer : {layer_of(module), std::string()}) {
    if (any_of_layer(names_, layer, is_named) || any_of_layer(globs_, layer, is_matched)) return true;
  }
  const std::string layer = layer_of(module);
  const std::string of_any_layer = layer.empty() ? module : "layers.0." + module.substr(layer.size());
  for (const Expression& one : expressions_) {
    const std::string& asked = one.may_tell_layers ? module : of_any_layer;
    const auto [known, is_new] = one.answers.try_emplace(asked, false);
    if (is_new) known->second = is_matched_by(one.expression, asked);
    if (known->second) return true;
  }
  return false;
}

Stored Quantisation::of(const std::string& module) const {
  for (std::size_t end = module.size(); !named.empty() && end != std::string::npos && end > 0;
       end = module.rfind('.', end - 1)) {
    if (const auto found = named.find(module.substr(0, end)); found != named.end()) return found->second;
  }
  if (ignored.have(module)) return {};
  for (const Group& group : groups) {
    if (group.modules.have(module)) return group.stored;
  }
  return others.value_or(Stored{});
}

}  // namespace kvcap
