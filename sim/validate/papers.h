// What papers print, beside what their scenarios give. One file and one function a paper; the printed numbers
// are scenarios/papers/published.json, the settings scenarios/papers/*/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validate/check.h"
#include "validate/lab.h"

namespace kvcap {

// A check of the published number `id`: what is printed, without simulated numbers.
Check published(const std::string& id);
// Ids of all published numbers of a paper, in order.
std::vector<std::string> published_ids(const std::string& paper);

std::vector<Check> hcache_checks(Lab& lab);
std::vector<Check> cached_attention_checks(Lab& lab);
std::vector<Check> cacheblend_checks(Lab& lab);
std::vector<Check> hyperinfer_checks(Lab& lab);
std::vector<Check> npu_checks(Lab& lab);

struct Paper {
  std::string_view prefix;  // of its ids
  std::vector<Check> (*checks)(Lab& lab);
};
std::span<const Paper> papers();

// The checks of some papers, all simulations run.
std::vector<Check> checks_of(std::span<const Paper> some);

}  // namespace kvcap
