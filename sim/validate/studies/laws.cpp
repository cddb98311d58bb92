#include "validate/studies/laws.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/sums.h"
#include "validate/studies/turn_figures.h"

namespace kvcap {
namespace {

// ---- queues ----

using OfTurn = double (*)(const TurnRecord& turn);

double queue_s(const TurnRecord& turn) { return turn.ttft_s - turn.service_ttft_s; }
double serve_s(const TurnRecord& turn) { return turn.e2el_s - queue_s(turn); }

// Returns the share of turns after the warm-up that satisfy a condition.
template <class Condition>
double share_of(const RunResult& run, const Condition& condition) {
  double met = 0, all = 0;
  for (const TurnRecord& turn : run.turns) {
    if (turn.warmup) continue;
    met += condition(turn) ? 1 : 0;
    ++all;
  }
  return met / all;
}

// Returns the share of turns that wait longer than `services` service times. Turns that load a context wait
// for the link, other turns for the server.
double share_waiting(const LawInput& law, double services) {
  const double service_s = law.parameters.number("service_s");
  const bool loads = law.parameters.number("context_tokens") > 0;
  return share_of(law.run, [=](const TurnRecord& turn) {
    return (loads ? turn.restore_s - service_s : queue_s(turn)) > services * service_s;
  });
}
// Waits shorter than 1e-5 service times count as none, because the clock resolves a nanosecond and records
// have seven digits.
double waits(const LawInput& law) { return share_waiting(law, 1e-5); }
double waits_longer(const LawInput& law) {
  return share_waiting(law, law.parameters.number("longer_services"));
}

// Returns the mean wait after the warm-up, in service times, by Lindley's recursion (1952): W' = max(0, W + S
// - A).
double lindley_wait(const LawInput& law) {
  const double service_s = law.parameters.number("service_s");
  const Workload& workload = law.workload;
  double wait_s = 0, sum_s = 0;
  for (std::size_t i = 0; i < workload.turns.size(); ++i) {
    if (i > 0) {
      const double gap_s = workload.turns[i].time_s - workload.turns[i - 1].time_s;
      wait_s = std::max(0.0, wait_s + service_s - gap_s);
    }
    if (static_cast<int64_t>(i) >= workload.warmup_turns) sum_s += wait_s;
  }
  return sum_s / static_cast<double>(std::ssize(workload.turns) - workload.warmup_turns) / service_s;
}

// Little's law (1961). mean_level() returns the mean level of a series over the run; seconds_per_s() derives
// it from the seconds that each turn spends in that state. In a run that begins and ends empty, both are
// equal.
double mean_level(const RunResult& run, std::string_view level) {
  for (const auto& [name, values] : run.series) {
    if (name == level)
      return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
  return std::nan("");
}
double seconds_per_s(const RunResult& run, OfTurn seconds) {
  double sum_s = 0;
  for (const TurnRecord& turn : run.turns) sum_s += seconds(turn);
  return sum_s / run.number("duration");
}

// ---- caches ----

// LRU at all capacities in one pass (Mattson, Gecsei, Slutz, Traiger 1970): keeps the items in order of their
// last use. An item is a hit in every cache whose capacity is at least its distance.
class LruStack {
 public:
  explicit LruStack(std::size_t most_uses) : sizes_(most_uses) {}

  // Returns the stack distance of the item: its size plus that of all distinct items used since its last use;
  // -1 if it was never used.
  int64_t distance(uint64_t item) const {
    const auto last = last_.find(item);
    return last == last_.end() ? -1 : sizes_.first(used_) - sizes_.first(last->second.at);
  }
  // Moves the item to the top of the stack. REQUIRES: an item's size never changes.
  void use(uint64_t item, int64_t size) {
    Use& last = last_[item];
    sizes_.add(last.at, -last.size);
    last = {used_++, size};
    sizes_.add(last.at, size);
  }

 private:
  struct Use {
    std::size_t at = 0;
    int64_t size = 0;
  };
  std::unordered_map<uint64_t, Use> last_;
  Sums sizes_;  // indexed by last use
  std::size_t used_ = 0;
};

// Returns the hit tokens of each prompt in an LRU cache of lru_tokens: the tokens of its leading pieces whose
// stack distance is at most lru_tokens, except the last token of the prompt, which is always computed. The
// pieces of a prompt are used from last to first, so the last pieces, which are useless without the first
// ones, are evicted first.
std::vector<int64_t> found_by_lru(const LawInput& law) {
  const auto capacity_tokens = static_cast<int64_t>(law.parameters.number("lru_tokens"));
  const Workload& workload = law.workload;
  LruStack stack(workload.pieces.size());
  std::vector<int64_t> found;
  for (std::size_t turn = 0; turn < workload.turns.size(); ++turn) {
    const std::span<const Piece> pieces = workload.pieces_of(turn);
    int64_t tokens = 0;
    for (const Piece& piece : pieces) {
      const int64_t distance = stack.distance(piece.key);
      if (distance < 0 || distance > capacity_tokens) break;
      tokens += piece.tokens;
    }
    found.push_back(std::min(tokens, int64_t{workload.turns[turn].input_tokens} - 1));
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) stack.use(piece->key, piece->tokens);
  }
  return found;
}
double lru_token_hit_rate(const LawInput& law) {
  double found = 0, prompts = 0;
  for (const int64_t tokens : found_by_lru(law)) found += static_cast<double>(tokens);
  for (const Turn& turn : law.workload.turns) prompts += turn.input_tokens;
  return found / prompts;
}
double lru_hit_share(const LawInput& law) {
  const std::vector<int64_t> found = found_by_lru(law);
  const auto first = found.begin() + law.workload.warmup_turns;
  const auto hits = std::count_if(first, found.end(), [](int64_t tokens) { return tokens > 0; });
  return static_cast<double>(hits) / static_cast<double>(found.end() - first);
}
// Returns the number of prompts whose hit tokens differ from those of the LRU stack.
double unlike_lru(const LawInput& law) {
  const std::vector<int64_t> found = found_by_lru(law);
  double unlike = 0;
  for (std::size_t turn = 0; turn < found.size(); ++turn) {
    unlike += law.run.turns[turn].hit_tokens != found[turn];
  }
  return unlike;
}

bool is_hit(const TurnRecord& turn) { return turn.hit_tokens > 0; }

// Returns the number of prompts whose outcome, hit (x) or miss (.), differs from the parameter `hits`.
double unlike_hits(const LawInput& law) {
  std::istringstream expected(law.parameters.text("hits"));
  double unlike = 0;
  char letter = 0;
  for (const TurnRecord& turn : law.run.turns) unlike += (expected >> letter, letter == 'x') != is_hit(turn);
  return unlike;
}

struct LawRow {
  std::string_view name;
  Law law;
};
constexpr LawRow kLaws[] = {
    {"waits", waits},                // share of turns
    {"waits_longer", waits_longer},  // longer than longer_services
    {"lindley_wait", lindley_wait},
    {"waiting", [](const LawInput& law) { return mean_level(law.run, "waiting"); }},
    {"waiting_by_little", [](const LawInput& law) { return seconds_per_s(law.run, queue_s); }},
    {"running", [](const LawInput& law) { return mean_level(law.run, "running"); }},
    {"running_by_little", [](const LawInput& law) { return seconds_per_s(law.run, serve_s); }},
    {"rejected",
     [](const LawInput& law) {
       return share_of(law.run, [](const TurnRecord& turn) { return turn.rejected; });
     }},
    {"hits", [](const LawInput& law) { return share_of(law.run, is_hit); }},
    {"misses",
     [](const LawInput& law) {
       return static_cast<double>(std::ssize(law.run.turns) -
                                  std::count_if(law.run.turns.begin(), law.run.turns.end(), is_hit));
     }},
    {"unlike_hits", unlike_hits},
    {"lru_hits", lru_hit_share},
    {"lru_token_hit_rate", lru_token_hit_rate},
    {"unlike_lru", unlike_lru}};

}  // namespace

Law law_of(const std::string& name) {
  std::vector<std::string> names;
  for (const LawRow& row : kLaws) {
    if (row.name == name) return row.law;
    names.push_back("law." + std::string(row.name));
  }
  refuse_figure("law." + name, std::vector<std::string_view>(names.begin(), names.end()));
}

}  // namespace kvcap
