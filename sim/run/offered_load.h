// The GPU's part of the offered load: how long a full machine works for one turn, in closed form.
//
// With b requests at once, o tokens of an answer and c computed tokens of a prompt (means over turns), a step
// computes b decoding rows and b c / o rows of prompts, and b / o turns end with it. So the work of a turn is
// o / b steps of that size. b is the largest batch: max_num_seqs, what the KV capacity holds, and what a
// step's token budget leaves. An estimate: lengths enter by their means, every batch is full, and prompts are
// spread evenly over steps.
#pragma once

#include "metrics/recorder.h"
#include "run/machine.h"

namespace kvcap {

// Of one node.
double gpu_seconds_of_turn(const Machine& machine, const ServingOptions& serving, const MeanTurn& turn);

}  // namespace kvcap
