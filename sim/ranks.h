// Data parallel ranks: each replica of a fleet is data_parallel_size engines on one server, each with
// tensor_parallel_size GPUs, a queue, a KV pool and a prefix cache of its own. For a simulation ranks are
// nodes, each with its part of what the server's GPUs share.
#pragma once

#include "scenario/scenario.h"

namespace kvcap {

// The scenario with ranks as nodes; as it is, where replicas have one. Each rank has 1 / data_parallel_size
// of the DRAM, the SSDs and the remote link, and of their bandwidths, as if all ranks used them all the time.
Scenario with_ranks_as_nodes(const Scenario& scenario);

}  // namespace kvcap
