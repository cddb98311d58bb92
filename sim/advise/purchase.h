// Describes what to buy or rent for a plan's answer: machines and storage, the searched sizes, and the
// sources of the prices.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace kvcap {

// Returns "1x H100 80GB SXM5 with 64 GB of DRAM and 7.68 TB on 1 SSD for stored state, serving llama-2-13b
// with kv_offload". If whole servers are billed, the text names them.
std::string purchase(const Plan& plan, const Changes& changes);

// Returns notes on the searched sizes, on bills for a part of a server, and on the file that each price comes
// from.
std::vector<std::string> purchase_notes(const Plan& plan, const Changes& changes);

}  // namespace kvcap
