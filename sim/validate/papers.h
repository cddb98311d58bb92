// What papers print, beside what their scenarios give. One file and one function a paper; the printed numbers
// are scenarios/papers/published.json, the settings scenarios/papers/*/.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"
#include "validate/lab.h"

namespace kvcap {

// A check of the published number `id`: what is printed, without simulated numbers.
Check published(const std::string& id);
// Ids of all published numbers of a paper, in order.
std::vector<std::string> published_ids(const std::string& paper);

std::vector<Check> hcache_checks(Lab& lab);
std::vector<Check> npu_checks(Lab& lab);

// Every paper, all simulations run.
std::vector<Check> paper_checks();

}  // namespace kvcap
