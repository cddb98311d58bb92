// Generates prompts of random tokens as server benchmarks send them: with fixed or uniformly distributed
// lengths, shared prefixes and recurring prompts (vllm bench serve's random and prefix_repetition,
// inference-perf's shared_prefix).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "workload/source.h"

namespace kvcap {
namespace {

// Independent draws of one prompt.
enum Draw : uint64_t { kInput, kOutput, kOrder };

std::vector<uint32_t> shuffled(std::size_t count, const RandomStream& random) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = count; i > 1; --i) {
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(random.uniform(i, kOrder) * static_cast<double>(i))]);
  }
  return order;
}

}  // namespace

Source generate_random_prompts(const SourceOptions& options, int64_t count, uint64_t seed) {
  const RandomStream random(seed, "random_prompts");
  const auto different = static_cast<uint32_t>(options.prompts.value_or(count));
  const uint32_t prefixes = static_cast<uint32_t>(options.prefixes.value_or(kRandomPrefixes));
  const bool has_pieces = options.prefix_tokens > 0 || options.prompts;
  const auto length = [&](int64_t longest, uint32_t prompt, Draw draw) {
    const double share = options.shortest_share + (1 - options.shortest_share) * random.uniform(prompt, draw);
    return static_cast<uint32_t>(std::max(1.0, std::ceil(share * static_cast<double>(longest))));
  };
  const std::vector<uint32_t> order =
      options.shuffled ? shuffled(different, random) : std::vector<uint32_t>();
  Source source;
  for (int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<uint32_t>(i % different);
    const uint32_t prompt = order.empty() ? place : order[place];
    const uint32_t own = length(options.input_tokens, prompt, kInput);
    const auto shared = static_cast<uint32_t>(options.prefix_tokens);
    const Turn turn{.input_tokens = shared + own,
                    .output_tokens = length(options.output_tokens, prompt, kOutput)};
    std::vector<Piece> pieces;
    if (shared > 0) pieces.push_back({prompt % prefixes, shared});
    if (has_pieces) pieces.push_back({uint64_t{prefixes} + prompt, own});
    if (has_pieces) {
      source.add(turn, pieces);
    } else {
      source.add(Session{}, {turn});
    }
  }
  return source;
}

}  // namespace kvcap
