#include "engine/speculative_options.h"

namespace kvcap {

double mean_tokens_of_step(const SpeculativeOptions& options, const ModelSpec& model) {
  if (options.acceptance_length) return *options.acceptance_length;
  const auto drafts = static_cast<double>(options.draft_tokens);
  if (options.acceptance_rate) return 1 + drafts * *options.acceptance_rate;
  const AssumedAcceptance& assumed = assumed_acceptance(options, model);
  double length = 1, all_so_far = assumed.first;
  for (int64_t i = 0; i < options.draft_tokens; ++i, all_so_far *= assumed.next) length += all_so_far;
  return length;
}

}  // namespace kvcap
