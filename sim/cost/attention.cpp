#include "cost/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "cost/gemm.h"
#include "cost/kernels.h"
#include "cost/layer_shapes.h"

namespace kvcap {
namespace {

// Thread blocks of a grid that process the same number of keys.
struct BlockGroup {
  int64_t blocks = 0;
  double keys = 0;
};

bool runs_in_blocks(const Efficiency& efficiency) {
  return efficiency.model == EfficiencyModel::wave || efficiency.model == EfficiencyModel::blocks;
}

// Returns the time that one thread block takes per key.
double key_s(const Efficiency& efficiency, const Gpu& gpu, const AttentionShape& shape) {
  KVCAP_CHECK(gpu.sm_count > 0 && efficiency.block_m > 0);
  const double flops =
      2 * static_cast<double>(efficiency.block_m) * static_cast<double>(shape.key_dim + shape.value_dim);
  return flops / (gpu.peak_flops * efficiency.efficiency / static_cast<double>(gpu.sm_count));
}

int64_t longest_rows(std::span<const PrefillChunk> chunks) {
  int64_t rows = 0;
  for (const PrefillChunk& chunk : chunks) rows = std::max(rows, chunk.new_tokens);
  return rows;
}

// Returns the sum of floor((offset + i step) / divisor) over i < count, as Euclid's algorithm finds it.
int64_t sum_of_quotients(int64_t count, int64_t step, int64_t divisor, int64_t offset) {
  if (count == 0) return 0;
  const int64_t whole = count * (count - 1) / 2 * (step / divisor) + count * (offset / divisor);
  const int64_t last = count * (step % divisor) + offset % divisor;
  return whole + sum_of_quotients(last / divisor, divisor, step % divisor, last % divisor);
}

// Computes the time of thread blocks that start on all multiprocessors in the order in which they are added.
class Waves {
 public:
  Waves(const Efficiency& efficiency, double key_s, int64_t sm_count)
      : efficiency_(efficiency), key_s_(key_s), sm_count_(sm_count) {}

  void add(const BlockGroup& group) {
    const double block_s = group.keys * key_s_ + efficiency_.block_s;
    if (blocks_ == 0) longest_s_ = block_s;
    blocks_ += group.blocks;
    work_s_ += static_cast<double>(group.blocks) * block_s;
    if (blocks_ <= waves_ * sm_count_) return;
    const int64_t now = divide_up(blocks_, sm_count_);
    waves_s_ += static_cast<double>(now - waves_) * block_s;
    waves_ = now;
  }

  // Adds `groups` groups, each with `keys_less` fewer keys than the one before. REQUIRES: a longer group
  // comes before them.
  void add_falling(const BlockGroup& first, int64_t groups, double keys_less) {
    if (groups == 0) return;
    const double first_s = first.keys * key_s_ + efficiency_.block_s, less_s = keys_less * key_s_;
    const int64_t before = blocks_;
    blocks_ += groups * first.blocks;
    work_s_ +=
        static_cast<double>(groups * first.blocks) * (first_s - less_s * static_cast<double>(groups - 1) / 2);
    // Wave w begins with block w sm_count, which belongs to one of these groups.
    const int64_t begun = divide_up(blocks_, sm_count_) - waves_;
    const int64_t passed = sum_of_quotients(begun, sm_count_, first.blocks, waves_ * sm_count_ - before);
    waves_s_ += static_cast<double>(begun) * first_s - static_cast<double>(passed) * less_s;
    waves_ += begun;
  }

  double seconds() const {
    if (blocks_ == 0 || efficiency_.model == EfficiencyModel::wave) return waves_s_;
    const double work_s = work_s_ / static_cast<double>(sm_count_);
    return std::max(longest_s_, work_s + efficiency_.wave_tail * (waves_s_ - work_s));
  }

 private:
  const Efficiency& efficiency_;
  double key_s_;
  int64_t sm_count_;
  double work_s_ = 0, waves_s_ = 0, longest_s_ = 0;
  int64_t blocks_ = 0, waves_ = 0;  // number started so far
};

// The thread blocks of one kernel call. The blocks with the most keys start first.
class Grid {
 public:
  Grid(const Efficiency& efficiency, const AttentionShape& shape, std::vector<BlockGroup>& groups)
      : efficiency_(efficiency),
        group_(efficiency.packed_heads ? shape.query_heads / shape.kv_heads : 1),
        heads_(efficiency.packed_heads ? shape.kv_heads : shape.query_heads),
        window_(shape.window),
        groups_(groups) {
    groups_.clear();
  }

  // Adds the blocks without queries that pad a prompt to `rows` rows, the number of rows of the longest
  // prompt in the call.
  void pad(PrefillChunk chunk, int64_t rows) {
    const int64_t blocks = row_blocks(rows) - row_blocks(chunk.new_tokens);
    if (chunk.new_tokens == 0 || blocks == 0 || chunk.cached_tokens == 0) return;
    groups_.push_back({heads_ * blocks, in_window(static_cast<double>(chunk.cached_tokens), 0)});
  }

  void add(PrefillChunk chunk) {
    if (chunk.new_tokens == 0) return;
    if (efficiency_.model == EfficiencyModel::wave) return groups_.push_back(whole(chunk));
    for (int64_t i = row_blocks(chunk.new_tokens); i > 0; --i) groups_.push_back({heads_, keys(chunk, i)});
  }

  void add(DecodeRows rows) {
    if (rows.sequences == 0) return;
    const double mean = static_cast<double>(rows.context_tokens) / static_cast<double>(rows.sequences);
    groups_.push_back({heads_ * row_blocks(rows.queries) * rows.sequences, in_window(mean, 0)});
  }

  double seconds(double key_s, int64_t sm_count) {
    // The groups of each prompt are sorted already.
    const auto longer = [](const BlockGroup& a, const BlockGroup& b) { return a.keys > b.keys; };
    auto sorted = std::is_sorted_until(groups_.begin(), groups_.end(), longer);
    while (sorted != groups_.end()) {
      const auto next = std::is_sorted_until(sorted, groups_.end(), longer);
      std::inplace_merge(groups_.begin(), sorted, next, longer);
      sorted = next;
    }
    Waves waves(efficiency_, key_s, sm_count);
    for (const BlockGroup& group : groups_) waves.add(group);
    return waves.seconds();
  }

  // The same for one prompt alone, without a loop over its groups: after the first one, as many as a window
  // allows have the same number of keys, and the number falls from there.
  double seconds(PrefillChunk chunk, double key_s, int64_t sm_count) const {
    if (chunk.new_tokens == 0) return 0;
    Waves waves(efficiency_, key_s, sm_count);
    if (efficiency_.model == EfficiencyModel::wave) {
      waves.add(whole(chunk));
      return waves.seconds();
    }
    const int64_t groups = row_blocks(chunk.new_tokens);
    int64_t falling = groups - 1;
    if (window_ > 0) {
      const double below = static_cast<double>(window_ - chunk.cached_tokens) / tokens_of_block();
      falling = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(below)), 0, falling);
    }
    waves.add({heads_, keys(chunk, groups)});
    const int64_t equal = groups - 1 - falling;
    if (equal > 0) waves.add({heads_ * equal, keys(chunk, groups - 1)});
    waves.add_falling({heads_, keys(chunk, falling)}, falling, tokens_of_block());
    return waves.seconds();
  }

 private:
  // In the model `wave` all blocks of a prompt have its mean number of keys.
  BlockGroup whole(PrefillChunk chunk) const {
    const auto cached = static_cast<double>(chunk.cached_tokens);
    const auto queries = static_cast<double>(chunk.new_tokens);
    const auto block_m = static_cast<double>(efficiency_.block_m);
    return {heads_ * divide_up(chunk.new_tokens, efficiency_.block_m),
            in_window(cached + queries / 2 + block_m / 2, block_m)};
  }
  // Returns the keys of the blocks of a prompt's i-th row block, from 1 on.
  double keys(PrefillChunk chunk, int64_t i) const {
    const double queries =
        std::min(static_cast<double>(chunk.new_tokens), static_cast<double>(i) * tokens_of_block());
    return in_window(static_cast<double>(chunk.cached_tokens) + queries, tokens_of_block());
  }
  double tokens_of_block() const {
    return static_cast<double>(efficiency_.block_m) / static_cast<double>(group_);
  }
  // Returns how many keys a block of `rows` queries reads. With a window, these are at most the window of the
  // block's first query plus the block's rows.
  double in_window(double keys, double rows) const {
    return window_ > 0 ? std::min(keys, static_cast<double>(window_) + rows) : keys;
  }
  int64_t row_blocks(int64_t tokens) const { return divide_up(tokens * group_, efficiency_.block_m); }

  const Efficiency& efficiency_;
  int64_t group_;  // query heads per block
  int64_t heads_;
  int64_t window_;  // 0: no window
  std::vector<BlockGroup>& groups_;
};

double grid_s(const Efficiency& efficiency, const Gpu& gpu, std::span<const PrefillChunk> chunks,
              const AttentionShape& shape, DecodeRows rows) {
  thread_local std::vector<BlockGroup> groups;
  Grid grid(efficiency, shape, groups);
  const double one_key_s = key_s(efficiency, gpu, shape);
  if (chunks.size() == 1 && rows.sequences == 0) return grid.seconds(chunks[0], one_key_s, gpu.sm_count);
  const int64_t padded_rows = efficiency.padded_rows ? longest_rows(chunks) : 0;
  for (const PrefillChunk chunk : chunks) {
    grid.add(chunk);
    if (padded_rows > 0) grid.pad(chunk, padded_rows);
  }
  grid.add(rows);
  return grid.seconds(one_key_s, gpu.sm_count);
}

struct Traffic {
  double flops = 0;
  double bytes = 0;
};

Traffic traffic_of(const Efficiency& efficiency, std::span<const PrefillChunk> chunks,
                   const AttentionShape& shape, DecodeRows rows) {
  const double query_bytes = static_cast<double>(shape.query_heads * (shape.key_dim + shape.value_dim)) *
                             shape.query_bytes_per_element;  // Q and O
  const double token_bytes = shape.kv_elements_per_token * shape.kv_bytes_per_element;
  auto context = static_cast<double>(rows.context_tokens);
  if (shape.window > 0) context = std::min(context, static_cast<double>(rows.sequences * shape.window));
  const auto queries_of_rows = static_cast<double>(rows.queries);
  const int64_t padded_rows = efficiency.padded_rows ? longest_rows(chunks) : 0;
  Traffic traffic{
      shape.pair_flops() * context * queries_of_rows,
      static_cast<double>(rows.sequences) * query_bytes * queries_of_rows + context * token_bytes};
  for (const PrefillChunk chunk : chunks) {
    if (chunk.new_tokens == 0) continue;
    const auto queries = static_cast<double>(chunk.new_tokens);
    const int64_t cached =
        shape.window > 0 ? std::min(chunk.cached_tokens, shape.window) : chunk.cached_tokens;
    const int64_t padding = padded_rows > 0 ? padded_rows - chunk.new_tokens : 0;
    traffic.flops += shape.pair_flops() * (causal_pairs(chunk, shape.window) +
                                           static_cast<double>(padding) * static_cast<double>(cached));
    traffic.bytes += queries * query_bytes + (static_cast<double>(cached) + queries) * token_bytes;
  }
  return traffic;
}

}  // namespace

double AttentionShape::pair_flops() const {
  return 2 * static_cast<double>(query_heads) * static_cast<double>(key_dim + value_dim);
}

double causal_pairs(PrefillChunk chunk, int64_t window) {
  const auto pairs = [](int64_t queries, int64_t cached) {
    const auto q = static_cast<double>(queries);
    return q * (static_cast<double>(cached) + q / 2);
  };
  if (window == 0) return pairs(chunk.new_tokens, chunk.cached_tokens);
  const int64_t growing = std::clamp<int64_t>(window - chunk.cached_tokens, 0, chunk.new_tokens);
  return pairs(growing, chunk.cached_tokens) +
         static_cast<double>(chunk.new_tokens - growing) * static_cast<double>(window);
}

void split_at_chunks(PrefillChunk chunk, int64_t size, std::vector<PrefillChunk>& parts) {
  for (int64_t at = chunk.cached_tokens, left = chunk.new_tokens; left > 0;) {
    const int64_t cached = at % size;
    const int64_t here = std::min(left, size - cached);
    parts.push_back({here, cached});
    at += here;
    left -= here;
  }
}

double prefill_attention_s(const Efficiency& efficiency, const Gpu& gpu, std::span<const PrefillChunk> chunks,
                           const AttentionShape& shape, DecodeRows rows) {
  KVCAP_CHECK(efficiency.model != EfficiencyModel::table);
  const Traffic traffic = traffic_of(efficiency, chunks, shape, rows);
  if (traffic.flops == 0) return 0;
  if (!runs_in_blocks(efficiency)) {
    return roofline_s(efficiency, gpu, traffic.flops, traffic.bytes) + fixed_s(efficiency);
  }
  double time_s = grid_s(efficiency, gpu, chunks, shape, rows);
  if (efficiency.model == EfficiencyModel::blocks) {
    time_s = std::max(time_s,
                      traffic.bytes / (gpu.memory_bandwidth_bytes_per_s * efficiency.bandwidth_efficiency));
  }
  return time_s + fixed_s(efficiency);
}

namespace {

// Returns the compute time per key for all queries of a sequence. In latent attention, all heads share one
// key per token, which is multiplied by the queries of all heads: 242 flops per byte for 128 heads, close to
// the ratio at which a GPU becomes compute-bound. Ordinary heads are limited by reading the keys.
double queries_s(const Efficiency& prefill, const Gpu& gpu, const AttentionShape& shape) {
  return static_cast<double>(shape.queries) * shape.pair_flops() / (gpu.peak_flops * prefill.efficiency);
}

}  // namespace

DecodeAttention decode_attention(const Efficiency& efficiency, const Gpu& gpu, const AttentionShape& shape) {
  KVCAP_CHECK(efficiency.model != EfficiencyModel::table);
  const double bytes = shape.kv_elements_per_token * shape.kv_bytes_per_element;  // per context token
  DecodeAttention time;
  time.fixed_s = fixed_s(efficiency);
  if (runs_in_blocks(efficiency)) {
    time.per_context_token_s =
        std::max(bytes / (gpu.memory_bandwidth_bytes_per_s * efficiency.bandwidth_efficiency),
                 queries_s(efficiency, gpu, shape));
  } else {
    // Flops and bytes are proportional to the context, and so is their maximum, whether hard or smooth.
    time.per_context_token_s =
        roofline_s(efficiency, gpu, static_cast<double>(shape.queries) * shape.pair_flops(), bytes);
  }
  return time;
}

DecodeAttention decode_attention(const DecodeEfficiency& efficiency, const Efficiency& prefill,
                                 const Gpu& gpu, const AttentionShape& shape, int64_t sequences) {
  const auto rows = static_cast<double>(sequences);
  const double token_bytes = shape.kv_elements_per_token * shape.kv_bytes_per_element;
  const double token_s = token_bytes / gpu.memory_bandwidth_bytes_per_s;
  double unsplit_s = 0;  // per context token; waves of blocks that each process one mean context
  const bool split = shape.query_heads / shape.kv_heads >= efficiency.split_from_group;
  if (!split && runs_in_blocks(prefill)) {
    const int64_t group = shape.query_heads / shape.kv_heads;
    const int64_t row_blocks = shape.queries > 1 ? divide_up(shape.queries * group, prefill.block_m) : 1;
    const int64_t waves = divide_up(sequences * shape.kv_heads * row_blocks, gpu.sm_count);
    unsplit_s = static_cast<double>(waves) * key_s(prefill, gpu, shape) / rows;
  }
  DecodeAttention time;
  const double least_token_s = std::max(unsplit_s, queries_s(prefill, gpu, shape));
  time.per_context_token_s = std::max(token_s / efficiency.bandwidth_efficiency, least_token_s);
  time.ramp_token_s = std::max(token_s / efficiency.ramp_efficiency, least_token_s);
  time.ramp_tokens = efficiency.ramp_bytes / token_bytes;
  time.least_tokens = rows * static_cast<double>(efficiency.least_tokens);
  time.fixed_s = efficiency.constant_s + rows * static_cast<double>(shape.kv_heads) * efficiency.block_s +
                 time.ramp_tokens * (time.ramp_token_s - time.per_context_token_s);
  return time;
}

double attention_s(const Efficiency& efficiency, const Gpu& gpu, PrefillChunk chunk, int64_t query_heads,
                   int64_t kv_heads, int64_t head_dim, double bytes_per_element) {
  const AttentionShape shape{
      query_heads,       head_dim,          head_dim, static_cast<double>(2 * kv_heads * head_dim),
      bytes_per_element, bytes_per_element, kv_heads};
  return prefill_attention_s(efficiency, gpu, {&chunk, 1}, shape);
}

}  // namespace kvcap
