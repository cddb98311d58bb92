// What a plan's answer buys, in words: machines and storage, the sizes that were searched, and whose prices
// make its cost.
#pragma once

#include <string>
#include <vector>

#include "plan/search/plan.h"

namespace kvcap {

// "1x H100 80GB SXM5 with 64 GB of DRAM and 7.68 TB on 1 SSD for stored state, serving llama-2-13b with
// kv_offload". Whole servers say so.
std::string purchase(const Plan& plan, const Changes& changes);

// Which sizes were searched, that a share of a server is billed, and which file each price is from.
std::vector<std::string> purchase_notes(const Plan& plan, const Changes& changes);

}  // namespace kvcap
