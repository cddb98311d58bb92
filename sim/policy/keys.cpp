#include "policy/keys.h"

#include <array>

#include "policy/key_table.h"

namespace kvcap {

std::span<const std::string_view> policy_keys() {
  static constexpr auto kNames =
      std::apply([](const auto&... key) { return std::array<std::string_view, sizeof...(key)>{key.name...}; },
                 keys::kTable);
  return kNames;
}

std::vector<std::string_view> unused_keys(const PolicyOptions& given, const PolicyOptions& options,
                                          const KeySurroundings& where) {
  std::vector<std::string_view> unused;
  for_each_policy_key([&](const auto& key) {
    if (key.is_given(given) && !key.used({options, where})) unused.push_back(key.name);
  });
  return unused;
}

std::vector<std::string_view> heard_keys(const PolicyOptions& options) {
  std::vector<std::string_view> heard;
  KeySurroundings anywhere{.keeps = options.keep != Keep::all,
                           .host_tiers = options.keep == Keep::kv || options.keep == Keep::hidden,
                           .scores = options.keep != Keep::all,
                           .texts = true};
  for_each_policy_key([&](const auto& key) {
    bool used = false;
    for (bool pieces : {false, true}) {
      anywhere.pieces = pieces;
      used = used || key.used({options, anywhere});
    }
    if (used) heard.push_back(key.name);
  });
  return heard;
}

}  // namespace kvcap
