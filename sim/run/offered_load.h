// The GPU's part of the offered load: the seconds per turn on a fully loaded machine, in closed form.
//
// With b concurrent requests, o output tokens and c computed prompt tokens per turn (means over turns), a
// step computes b decoding rows and b c / o rows of prompts, and b / o turns end with it. So the work per
// turn is o / b steps of that size. b is the largest batch: the minimum of max_num_seqs, the KV capacity and
// the step's token budget. An estimate: it uses mean lengths, full batches, and prompts spread evenly over
// steps.
#pragma once

#include "metrics/recorder.h"
#include "run/machine.h"

namespace kvcap {

// Returns the GPU seconds per mean turn on one node.
double gpu_seconds_of_turn(const Machine& machine, const ServingOptions& serving, const MeanTurn& turn);

}  // namespace kvcap
