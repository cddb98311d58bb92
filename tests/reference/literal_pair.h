// One node that computes prompts and one that decodes, an event at a time: no prefix cache, one turn a
// session, steps that are planned one after the other and last the host's time alone. The decode node
// reserves blocks for a prompt and its whole answer (admission reserve_output), so that nobody is preempted,
// and pulls. It asks while it begins a step which KV has come, and knows it when the step has ended. Tests
// compare sim/engine with it.
#pragma once

#include <cstdint>
#include <vector>

namespace kvcap::reference {

struct PairOptions {
  int64_t block_size = 16;
  int64_t blocks = 0;  // of each node
  int64_t max_num_seqs = 1;
  int64_t max_num_batched_tokens = 1;
  double step_s = 0;               // of a step
  double step_per_sequence_s = 0;  // more for each sequence in it
  double latency_s = 0;            // of a transfer
  double s_per_token = 0;          // of the link
};

struct PairRequest {
  double arrival_s = 0;
  int64_t prompt_tokens = 1;
  int64_t output_tokens = 1;
};

struct PairOutcome {
  double prefilled_s = 0;  // dates
  double admitted_s = 0;   // by the decode node
  double arrived_s = 0;    // its KV
  double first_token_s = 0;
  double last_token_s = 0;
};

// REQUIRES: requests are in order of arrival, and each fits a node alone.
std::vector<PairOutcome> run_literally(const PairOptions& options, const std::vector<PairRequest>& requests);

}  // namespace kvcap::reference
