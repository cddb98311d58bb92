#include "workload/trace_stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/sums.h"

namespace kvcap {
namespace {

TraceFigure figure_of(std::vector<double> values) {
  if (values.empty()) return {NAN, NAN, NAN, NAN, NAN};
  std::sort(values.begin(), values.end());
  const auto quantile = [&values](double q) {
    const double position = q * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], position - static_cast<double>(below));
  };
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()), quantile(0.5), quantile(0.9), quantile(0.99),
          values.back()};
}

struct Access {
  double time_s = 0;
  uint32_t session = 0;
  uint32_t turn = 0;
  int64_t history_tokens = 0;
};

// All turns in the order of their arrivals.
std::vector<Access> accesses_of(const Workload& workload) {
  std::vector<Access> accesses;
  for (uint32_t i = 0; i < workload.sessions.size(); ++i) {
    const Session& session = workload.sessions[i];
    Access access{.session = i, .history_tokens = session.context_tokens};
    for (const Turn& turn : workload.turns_of(session)) {
      const bool after = access.turn > 0 && !workload.absolute_times;
      access.time_s = after ? access.time_s + turn.time_s : turn.time_s;
      accesses.push_back(access);
      ++access.turn;
      if (session.history_grows) access.history_tokens += int64_t{turn.input_tokens} + turn.output_tokens;
    }
  }
  std::stable_sort(accesses.begin(), accesses.end(),
                   [](const Access& a, const Access& b) { return a.time_s < b.time_s; });
  return accesses;
}

// A store that keeps everything, and the order of last use in it.
class Everything {
 public:
  explicit Everything(std::size_t accesses) : by_last_use_(accesses) {}

  struct Use {
    int64_t tokens = 0;
    std::size_t access = 0;
    double time_s = 0;
  };
  // Null for what nobody has used.
  const Use* last_use(uint64_t key) const {
    const auto found = uses_.find(key);
    return found == uses_.end() ? nullptr : &found->second;
  }
  // Tokens of all that was used since, up to access i.
  int64_t distance_tokens(const Use& use, std::size_t i) const {
    return by_last_use_.first(i) - by_last_use_.first(use.access);
  }
  void use(uint64_t key, const Use& now) {
    Use& last = uses_[key];
    by_last_use_.add(last.access, -last.tokens);
    by_last_use_.add(now.access, now.tokens);
    last = now;
  }
  std::vector<double> sizes() const {
    std::vector<double> tokens;
    for (const auto& [key, use] : uses_) tokens.push_back(static_cast<double>(use.tokens));
    return tokens;
  }

 private:
  std::unordered_map<uint64_t, Use> uses_;
  Sums by_last_use_;
};

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Sums over all requests.
struct Reuse {
  int64_t prompt_tokens = 0, history_tokens = 0, found_tokens = 0;
  int64_t blocks = 0, full_blocks = 0, found_blocks = 0, found_full_blocks = 0;
  double hit_rates = 0;
  std::vector<double> distances_tokens, distances_s;
  std::vector<StackFind> finds;

  void add_prompt(int64_t tokens, int64_t history, int64_t found) {
    prompt_tokens += tokens;
    history_tokens += history;
    found_tokens += found;
    hit_rates += share(found, tokens);
  }
  void add_distance(int64_t tokens, double time_s) {
    distances_tokens.push_back(static_cast<double>(tokens));
    distances_s.push_back(time_s);
  }
};

void follow_contexts(const Workload& workload, const std::vector<Access>& accesses, Everything& store,
                     Reuse& reuse) {
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const Access& access = accesses[i];
    const Session& session = workload.sessions[access.session];
    const Turn& turn = workload.turns_of(session)[access.turn];
    const uint64_t key = workload.context_key(access.session);
    const int64_t tokens = access.history_tokens + turn.input_tokens;
    const Everything::Use* last = store.last_use(key);
    const int64_t found = last ? last->tokens : 0;
    reuse.add_prompt(tokens, access.history_tokens, found);
    reuse.blocks += (tokens + kStatsBlockTokens - 1) / kStatsBlockTokens;
    reuse.full_blocks += tokens / kStatsBlockTokens;
    reuse.found_blocks += found / kStatsBlockTokens;
    reuse.found_full_blocks += found / kStatsBlockTokens;
    if (found > 0) {
      const int64_t distance = store.distance_tokens(*last, i);
      reuse.add_distance(distance, access.time_s - last->time_s);
      reuse.finds.push_back({distance, found});
    }
    const int64_t added = session.history_grows ? int64_t{turn.input_tokens} + turn.output_tokens : 0;
    store.use(key, {access.history_tokens + added, i, access.time_s});
  }
}

// In how many prompts each piece is.
std::unordered_map<uint64_t, int64_t> count_prompts(const Workload& workload) {
  std::unordered_map<uint64_t, int64_t> prompts;
  std::unordered_set<uint64_t> inside;
  for (std::size_t turn = 0; turn < workload.turns.size(); ++turn) {
    inside.clear();
    for (const Piece& piece : workload.prompt_pieces_of(turn)) {
      if (inside.insert(piece.key).second) ++prompts[piece.key];
    }
  }
  return prompts;
}

// Of the largest piece, where the last of a prompt alone may be smaller; else 0: chunks, nodes of a tree.
int64_t common_block_tokens(const Workload& workload) {
  int64_t tokens = 0;
  for (const Piece& piece : workload.pieces) tokens = std::max<int64_t>(tokens, piece.tokens);
  for (std::size_t turn = 0; turn < workload.turns.size(); ++turn) {
    const std::span<const Piece> pieces = workload.pieces_of(turn);
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
      if (pieces[i].tokens < tokens) return 0;
    }
  }
  return workload.piece_keys == PieceKeys::prefix ? tokens : 0;
}

// Blocks are found up to the first that is not, chunks wherever they stand. Fills the accesses' histories.
void follow_pieces(const Workload& workload, const std::unordered_map<uint64_t, int64_t>& prompts,
                   int64_t block_tokens, std::vector<Access>& accesses, Everything& store, Reuse& reuse) {
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    Access& access = accesses[i];
    const uint32_t turn = workload.sessions[access.session].first_turn;
    bool finds = true;
    const Everything::Use* oldest = nullptr;
    int64_t farthest = 0;  // of the pieces up to this one
    for (const Piece& piece : workload.prompt_pieces_of(turn)) {
      const Everything::Use* last = store.last_use(piece.key);
      if (!last && workload.piece_keys == PieceKeys::prefix) finds = false;
      const bool found = finds && last;
      const bool full = piece.tokens == block_tokens;
      ++reuse.blocks;
      reuse.full_blocks += full;
      if (!found) continue;
      ++reuse.found_blocks;
      reuse.found_full_blocks += full;
      access.history_tokens += piece.tokens;
      const int64_t distance = store.distance_tokens(*last, i);
      farthest = std::max(farthest, distance);
      reuse.finds.push_back({workload.piece_keys == PieceKeys::prefix ? farthest : distance, piece.tokens});
      if (prompts.at(piece.key) == std::ssize(accesses)) continue;
      if (!oldest || last->access < oldest->access) oldest = last;
    }
    reuse.add_prompt(workload.turns[turn].input_tokens, access.history_tokens, access.history_tokens);
    if (oldest) reuse.add_distance(store.distance_tokens(*oldest, i), access.time_s - oldest->time_s);
    for (const Piece& piece : workload.pieces_of(turn)) {
      store.use(piece.key, {piece.tokens, i, access.time_s});
    }
  }
}

void describe_reuse(const Workload& workload, std::vector<Access>& accesses, TraceStats& stats) {
  Everything store(accesses.size());
  Reuse reuse;
  if (workload.piece_begin.empty()) {
    follow_contexts(workload, accesses, store, reuse);
  } else {
    const auto prompts = count_prompts(workload);
    stats.unique_pieces = std::ssize(prompts);
    stats.block_tokens = common_block_tokens(workload);
    follow_pieces(workload, prompts, stats.block_tokens, accesses, store, reuse);
    stats.pieces = reuse.blocks;
  }
  stats.history_token_share = share(reuse.history_tokens, reuse.prompt_tokens);
  stats.infinite_cache_token_hit_rate = share(reuse.found_tokens, reuse.prompt_tokens);
  stats.mean_request_hit_rate = accesses.empty() ? 0 : reuse.hit_rates / static_cast<double>(accesses.size());
  stats.infinite_cache_block_hit_rate = share(reuse.found_blocks, reuse.blocks);
  stats.infinite_cache_full_block_hit_rate =
      stats.block_tokens == 0 ? NAN : share(reuse.found_full_blocks, reuse.full_blocks);
  stats.reuses = std::ssize(reuse.distances_s);
  stats.miss_ratio_curve = miss_ratio_curve(std::move(reuse.finds), reuse.prompt_tokens);
  stats.reuse_distance_tokens = figure_of(std::move(reuse.distances_tokens));
  stats.reuse_distance_s = figure_of(std::move(reuse.distances_s));
  stats.context_tokens = figure_of(store.sizes());
}

// Standard deviation over mean of the gaps; NaN for fewer than two.
double gap_cv(const std::vector<Access>& accesses) {
  if (accesses.size() < 3) return NAN;
  const double gaps = static_cast<double>(accesses.size() - 1);
  const double mean_s = (accesses.back().time_s - accesses.front().time_s) / gaps;
  double squares = 0;
  for (std::size_t i = 1; i < accesses.size(); ++i) {
    squares += std::pow(accesses[i].time_s - accesses[i - 1].time_s - mean_s, 2);
  }
  return std::sqrt(squares / gaps) / mean_s;
}

}  // namespace

TraceStats trace_stats(const Workload& workload) {
  TraceStats stats;
  stats.sessions = std::ssize(workload.sessions);
  stats.requests = std::ssize(workload.turns);
  stats.total_context_tokens = workload.context_tokens();
  std::vector<double> turns, inputs, outputs, histories;
  int64_t multi_turn = 0;
  for (const Session& session : workload.sessions) {
    turns.push_back(session.turn_count);
    multi_turn += session.turn_count > 1;
  }
  for (const Turn& turn : workload.turns) {
    inputs.push_back(turn.input_tokens);
    outputs.push_back(turn.output_tokens);
  }
  std::vector<Access> accesses = accesses_of(workload);
  describe_reuse(workload, accesses, stats);
  for (const Access& access : accesses) histories.push_back(static_cast<double>(access.history_tokens));
  stats.multi_turn_share = share(multi_turn, stats.sessions);
  stats.turns = figure_of(std::move(turns));
  stats.input_tokens = figure_of(std::move(inputs));
  stats.output_tokens = figure_of(std::move(outputs));
  stats.history_tokens = figure_of(std::move(histories));
  if (workload.absolute_times && !accesses.empty()) {
    stats.duration_s = accesses.back().time_s - accesses.front().time_s;
    stats.request_gap_cv = gap_cv(accesses);
  }
  return stats;
}

}  // namespace kvcap
