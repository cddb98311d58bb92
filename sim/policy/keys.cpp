#include "policy/keys.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace kvcap {
namespace {

struct Use {
  const PolicyOptions& options;
  const KeySurroundings& where;

  bool restores(std::initializer_list<Restore> ways) const {
    return std::find(ways.begin(), ways.end(), *options.restore) != ways.end();
  }
  bool finds() const { return where.keeps || options.keep == Keep::all; }
  bool selects() const { return restores({Restore::important}) && options.retention.value_or(1) < 1; }
  bool identifies() const { return selects() && options.identification.value_or(false); }
};

using IsGiven = bool (*)(const PolicyOptions&);
using IsUsed = bool (*)(const Use&);

struct PolicyKey {
  std::string_view name;
  IsGiven given;
  IsUsed used;
};

template <auto kField>
constexpr IsGiven set = [](const PolicyOptions& options) { return (options.*kField).has_value(); };

constexpr IsUsed always = [](const Use&) { return true; };
constexpr IsUsed where_kept = [](const Use& use) { return use.where.keeps; };
constexpr IsUsed in_host_tiers = [](const Use& use) { return use.where.host_tiers; };
template <Restore... kWays>
constexpr IsUsed restoring = [](const Use& use) { return use.restores({kWays...}); };
constexpr IsUsed identifying = [](const Use& use) { return use.identifies(); };

using O = PolicyOptions;
constexpr std::array kKeys = {
    PolicyKey{"keep", set<&O::keep>, always},
    PolicyKey{"restore", set<&O::restore>, always},
    PolicyKey{"tiers", set<&O::tiers>, always},
    PolicyKey{"eviction", set<&O::eviction>, where_kept},
    PolicyKey{"match", set<&O::match>, [](const Use& use) { return use.finds(); }},
    PolicyKey{"look_ahead", set<&O::look_ahead>, in_host_tiers},
    PolicyKey{"inclusive", set<&O::inclusive>, in_host_tiers},
    PolicyKey{"ttl_s", set<&O::ttl_s>, where_kept},
    PolicyKey{"decoupled_positions", set<&O::decoupled_positions>,
              [](const Use& use) { return use.where.keeps && !use.where.pieces; }},
    PolicyKey{"retention", set<&O::retention>,
              [](const Use& use) { return !use.where.pieces || use.restores({Restore::important}); }},
    PolicyKey{"chunk_tokens", set<&O::chunk_tokens>,
              [](const Use& use) {
                return use.restores({Restore::important}) || (use.finds() && use.where.pieces);
              }},
    PolicyKey{"identification", set<&O::identification>, [](const Use& use) { return use.selects(); }},
    PolicyKey{"threshold_exponent", set<&O::threshold_exponent>, identifying},
    PolicyKey{"reorder", set<&O::reorder>, identifying},
    PolicyKey{"prefetch", set<&O::prefetch>, identifying},
    PolicyKey{"score", set<&O::score>, [](const Use& use) { return use.where.scores; }},
    PolicyKey{"stored_bits", set<&O::stored_bits>, in_host_tiers},
    PolicyKey{"unbounded", [](const O& options) { return options.unbounded; }, where_kept},
    PolicyKey{"ideal_load", set<&O::ideal_load>, in_host_tiers},
    PolicyKey{"recompute_ratio", set<&O::recompute_ratio>, restoring<Restore::blend>},
    PolicyKey{"full_layers", set<&O::full_layers>, restoring<Restore::blend>},
    PolicyKey{"partial_efficiency", set<&O::partial_efficiency>, restoring<Restore::blend>},
    PolicyKey{"calls", set<&O::calls>, [](const Use& use) { return use.where.texts; }},
    PolicyKey{"map_tokens", set<&O::map_tokens>,
              [](const Use& use) {
                return use.where.texts && use.options.calls.value_or(Calls::single) != Calls::single;
              }},
    PolicyKey{"preload", set<&O::preload>, restoring<Restore::load>},
    PolicyKey{"read_buffer_layers", set<&O::read_buffer_layers>, restoring<Restore::load, Restore::blend>},
    PolicyKey{"save", set<&O::save>,
              [](const Use& use) {
                return use.where.host_tiers &&
                       (use.options.save != SaveMode::direct_io || use.restores({Restore::project}));
              }},
    PolicyKey{"split", set<&O::split>, restoring<Restore::project>},
    PolicyKey{"recomputed_layers", set<&O::recomputed_layers>, restoring<Restore::project>},
    PolicyKey{"kv_layers", set<&O::kv_layers>, restoring<Restore::project>},
    PolicyKey{"split_tokens", set<&O::split_tokens>,
              restoring<Restore::project, Restore::fastest, Restore::blend>},
    PolicyKey{"store_hidden_for_recomputed", set<&O::store_hidden_for_recomputed>,
              restoring<Restore::project>},
    PolicyKey{"reserved_windows", set<&O::reserved_windows>, restoring<Restore::copy>},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kKeys.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kKeys[i].name;
  return names;
}();

}  // namespace

std::span<const std::string_view> policy_keys() { return kNames; }

std::vector<std::string_view> unused_keys(const PolicyOptions& given, const PolicyOptions& options,
                                          const KeySurroundings& where) {
  std::vector<std::string_view> unused;
  for (const PolicyKey& key : kKeys) {
    if (key.given(given) && !key.used({options, where})) unused.push_back(key.name);
  }
  return unused;
}

}  // namespace kvcap
