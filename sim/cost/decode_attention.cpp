#include "cost/decode_attention.h"

#include <algorithm>

#include "base/check.h"

namespace kvcap {

void DecodeAttention::spread_over(double parts) {
  per_context_token_s /= parts;
  ramp_token_s /= parts;
  least_tokens *= parts;
  ramp_tokens *= parts;
}

double DecodeAttention::at_s(double context_tokens) const {
  const double tokens = std::max(context_tokens > most_tokens ? tokens_beyond : context_tokens, least_tokens);
  const double missing = std::max(ramp_tokens - tokens, 0.0);
  return fixed_s + per_context_token_s * tokens - (ramp_token_s - per_context_token_s) * missing;
}

double DecodeAttention::slope_s(double context_tokens) const {
  if (context_tokens < least_tokens || context_tokens > most_tokens) return 0;
  return context_tokens < ramp_tokens ? ramp_token_s : per_context_token_s;
}

double DecodeAttention::piece_end(double context_tokens) const {
  if (context_tokens > most_tokens) return std::numeric_limits<double>::infinity();
  double end = most_tokens;
  if (context_tokens < ramp_tokens) end = std::min(end, ramp_tokens);
  if (context_tokens < least_tokens) end = std::min(end, least_tokens);
  return end;
}

double DecodeAttentions::at_s(double context_tokens) const {
  double sum_s = 0;
  for (const Part& part : parts()) sum_s += part.share * part.attention.at_s(context_tokens);
  return sum_s;
}

double DecodeAttentions::slope_s(double context_tokens) const {
  double sum_s = 0;
  for (const Part& part : parts()) sum_s += part.share * part.attention.slope_s(context_tokens);
  return sum_s;
}

double DecodeAttentions::piece_end(double context_tokens) const {
  double end = std::numeric_limits<double>::infinity();
  for (const Part& part : parts()) end = std::min(end, part.attention.piece_end(context_tokens));
  return end;
}

void DecodeAttentions::add(const DecodeAttention& attention, double share) {
  KVCAP_CHECK(count_ < kMost);
  parts_[count_++] = {attention, share};
}

}  // namespace kvcap
