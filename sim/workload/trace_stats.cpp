#include "workload/trace_stats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

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

// Sums over ranges of a sequence whose items change (a Fenwick tree).
class Sums {
 public:
  explicit Sums(std::size_t size) : tree_(size + 1, 0) {}
  void add(std::size_t i, int64_t value) {
    for (++i; i < tree_.size(); i += i & (~i + 1)) tree_[i] += value;
  }
  int64_t first(std::size_t count) const {
    int64_t sum = 0;
    for (; count > 0; count -= count & (~count + 1)) sum += tree_[count];
    return sum;
  }

 private:
  std::vector<int64_t> tree_;
};

// A store that keeps everything, and the order of last use in it.
class Everything {
 public:
  explicit Everything(std::size_t accesses) : by_last_use_(accesses) {}

  struct Found {
    int64_t tokens = 0;
    int64_t distance_tokens = 0;
    double distance_s = 0;
  };
  // The i-th access: what is found, after which the context has `tokens`.
  Found access(std::size_t i, uint64_t key, double time_s, int64_t tokens) {
    Found found;
    const auto [entry, is_new] = contexts_.try_emplace(key);
    Context& context = entry->second;
    if (!is_new) {
      found = {context.tokens, by_last_use_.first(i) - by_last_use_.first(context.last),
               time_s - context.last_s};
      by_last_use_.add(context.last, -context.tokens);
    }
    context = {tokens, i, time_s};
    by_last_use_.add(i, tokens);
    return found;
  }
  std::vector<double> context_tokens() const {
    std::vector<double> sizes;
    for (const auto& [key, context] : contexts_) sizes.push_back(static_cast<double>(context.tokens));
    return sizes;
  }

 private:
  struct Context {
    int64_t tokens = 0;
    std::size_t last = 0;
    double last_s = 0;
  };
  std::map<uint64_t, Context> contexts_;
  Sums by_last_use_;
};

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void describe_reuse(const Workload& workload, const std::vector<Access>& accesses, TraceStats& stats) {
  Everything store(accesses.size());
  int64_t prompt = 0, history = 0, hit = 0, blocks = 0, hit_blocks = 0;
  std::vector<double> distances_tokens, distances_s;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const Access& access = accesses[i];
    const Session& session = workload.sessions[access.session];
    const Turn& turn = workload.turns_of(session)[access.turn];
    const int64_t added = session.history_grows ? int64_t{turn.input_tokens} + turn.output_tokens : 0;
    const auto found =
        store.access(i, workload.context_key(access.session), access.time_s, access.history_tokens + added);
    const int64_t tokens = access.history_tokens + turn.input_tokens;
    prompt += tokens;
    history += access.history_tokens;
    hit += found.tokens;
    blocks += (tokens + kStatsBlockTokens - 1) / kStatsBlockTokens;
    hit_blocks += found.tokens / kStatsBlockTokens;
    if (found.tokens == 0) continue;
    distances_tokens.push_back(static_cast<double>(found.distance_tokens));
    distances_s.push_back(found.distance_s);
  }
  stats.history_token_share = share(history, prompt);
  stats.infinite_cache_token_hit_rate = share(hit, prompt);
  stats.infinite_cache_block_hit_rate = share(hit_blocks, blocks);
  stats.reuses = std::ssize(distances_s);
  stats.reuse_distance_tokens = figure_of(std::move(distances_tokens));
  stats.reuse_distance_s = figure_of(std::move(distances_s));
  stats.context_tokens = figure_of(store.context_tokens());
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
  const std::vector<Access> accesses = accesses_of(workload);
  for (const Access& access : accesses) histories.push_back(static_cast<double>(access.history_tokens));
  stats.multi_turn_share = share(multi_turn, stats.sessions);
  stats.turns = figure_of(std::move(turns));
  stats.input_tokens = figure_of(std::move(inputs));
  stats.output_tokens = figure_of(std::move(outputs));
  stats.history_tokens = figure_of(std::move(histories));
  if (workload.absolute_times && !accesses.empty()) {
    stats.duration_s = accesses.back().time_s - accesses.front().time_s;
  }
  describe_reuse(workload, accesses, stats);
  return stats;
}

}  // namespace kvcap
