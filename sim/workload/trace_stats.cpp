#include "workload/trace_stats.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
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
  int64_t history_tokens = 0;  // context and ancestors; Follower adds the pieces of its input that hit
};

// Returns the arrivals of a session's turns if its first turn arrives at `first_s`.
std::vector<double> arrivals_of(const Workload& workload, const Session& session, double first_s) {
  const std::span<const Turn> turns = workload.turns_of(session);
  std::vector<double> times(turns.size(), first_s);
  for (uint32_t turn = 1; turn < turns.size(); ++turn) {
    const std::optional<uint32_t> parent = workload.parent_of(session, turn);
    times[turn] =
        workload.absolute_times ? turns[turn].time_s : times[parent.value_or(0)] + turns[turn].time_s;
  }
  return times;
}

// Returns all turns in the order of arrival.
std::vector<Access> accesses_of(const Workload& workload) {
  std::vector<Access> accesses;
  // closed_loop: times at which sessions end
  std::priority_queue<double, std::vector<double>, std::greater<>> free_s;
  for (int64_t i = 0; i < workload.concurrency; ++i) free_s.push(0);
  for (uint32_t i = 0; i < workload.sessions.size(); ++i) {
    const Session& session = workload.sessions[i];
    double first_s = workload.turns[session.first_turn].time_s;
    if (!free_s.empty()) {
      first_s += free_s.top();
      free_s.pop();
    }
    const std::vector<double> times = arrivals_of(workload, session, first_s);
    const std::vector<int64_t> histories = workload.histories_of(session);
    for (uint32_t turn = 0; turn < session.turn_count; ++turn) {
      accesses.push_back(
          {.time_s = times[turn], .session = i, .turn = turn, .history_tokens = histories[turn]});
    }
    if (workload.concurrency > 0) free_s.push(*std::max_element(times.begin(), times.end()));
  }
  std::stable_sort(accesses.begin(), accesses.end(),
                   [](const Access& a, const Access& b) { return a.time_s < b.time_s; });
  return accesses;
}

// Key of a stored text: a piece, or a text that belongs to one session, one turn or the sessions of one
// document.
struct TextKey {
  enum class Kind : uint8_t { piece, document, session, turn };
  Kind kind = Kind::piece;
  uint64_t number = 0;
  bool operator==(const TextKey&) const = default;
};
struct TextKeyHash {
  std::size_t operator()(const TextKey& key) const {
    return std::hash<uint64_t>()(key.number * 4 + static_cast<uint64_t>(key.kind));
  }
};

// A store that keeps everything, and the order of last use.
class Everything {
 public:
  explicit Everything(std::size_t accesses) : accesses_(accesses), by_last_use_(accesses) {}

  struct Use {
    int64_t tokens = 0;
    std::size_t access = 0;
    double time_s = 0;
  };
  int64_t accesses() const { return static_cast<int64_t>(accesses_); }
  // Returns null if the text has not been used.
  const Use* last_use(const TextKey& key) const {
    const auto found = uses_.find(key);
    return found == uses_.end() ? nullptr : &found->second;
  }
  // Returns the tokens of all texts used since `use`, up to access i.
  int64_t distance_tokens(const Use& use, std::size_t i) const {
    return by_last_use_.first(i) - by_last_use_.first(use.access);
  }
  void use(const TextKey& key, const Use& now) {
    Use& last = uses_[key];
    by_last_use_.add(last.access, -last.tokens);
    by_last_use_.add(now.access, now.tokens);
    last = now;
  }

 private:
  std::unordered_map<TextKey, Use, TextKeyHash> uses_;
  std::size_t accesses_;
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

// A text of a prompt, or a text that a turn leaves in the store.
struct Text {
  TextKey key;
  int64_t tokens = 0;
};

// Texts of prompts, in order. Without branches, a session's history is one growing text; with branches, each
// turn's own tokens are a text.
class Prompts {
 public:
  explicit Prompts(const Workload& workload) : workload_(workload) {
    for (const Session& session : workload.sessions) branches_.push_back(has_branches(session));
  }

  // Returns the texts before the turn's input: context, then the own tokens and the pieces of its ancestors.
  std::vector<Text> history_of(const Access& access) const {
    const Session& session = workload_.sessions[access.session];
    std::vector<Text> texts;
    int64_t own = session.context_tokens;
    if (session.document != kOwnContext) {
      texts.push_back({{TextKey::Kind::document, session.document}, own});
      own = 0;
    }
    const bool branching = branches_[access.session];
    if (!branching && workload_.piece_begin.empty()) {
      own += access.history_tokens - session.context_tokens;
      if (own > 0) texts.push_back({{TextKey::Kind::session, access.session}, own});
      return texts;
    }
    std::vector<Text> later;
    for (uint32_t turn : ancestors_of(session, access.turn)) {
      const int64_t tokens = workload_.own_tokens_of(session.first_turn + turn);
      if (branching) {
        if (tokens > 0) later.push_back({{TextKey::Kind::turn, session.first_turn + turn}, tokens});
      } else {
        own += tokens;
      }
      add_pieces(workload_.pieces_of(session.first_turn + turn), later);
    }
    if (own > 0) texts.push_back({{TextKey::Kind::session, access.session}, own});
    texts.insert(texts.end(), later.begin(), later.end());
    return texts;
  }

  // Returns the pieces of the turn's input.
  std::vector<Text> pieces_of(const Access& access) const {
    std::vector<Text> texts;
    add_pieces(workload_.prompt_pieces_of(turn_of(access)), texts);
    return texts;
  }

  // Returns all texts stored after the turn's answer, including its history.
  std::vector<Text> left_by(const Access& access) const {
    const Session& session = workload_.sessions[access.session];
    std::vector<Text> texts = history_of(access);
    if (workload_.keeps_history(session)) {
      const int64_t tokens = workload_.own_tokens_of(turn_of(access));
      const auto whole = std::find_if(texts.begin(), texts.end(), [](const Text& text) {
        return text.key.kind == TextKey::Kind::session;
      });
      if (branches_[access.session]) {
        texts.push_back({{TextKey::Kind::turn, turn_of(access)}, tokens});
      } else if (whole != texts.end()) {
        whole->tokens += tokens;
      } else {
        texts.push_back({{TextKey::Kind::session, access.session}, tokens});
      }
    }
    add_pieces(workload_.pieces_of(turn_of(access)), texts);
    return texts;
  }

 private:
  uint32_t turn_of(const Access& access) const {
    return workload_.sessions[access.session].first_turn + access.turn;
  }

  bool has_branches(const Session& session) const {
    if (workload_.parents.empty()) return false;
    for (uint32_t turn = 1; turn < session.turn_count; ++turn) {
      if (workload_.parent_of(session, turn) != turn - 1) return true;
    }
    return false;
  }

  // Returns the ancestors, from the root on.
  std::vector<uint32_t> ancestors_of(const Session& session, uint32_t turn) const {
    std::vector<uint32_t> turns;
    if (!session.history_grows) return turns;
    for (auto one = workload_.parent_of(session, turn); one; one = workload_.parent_of(session, *one)) {
      turns.push_back(*one);
    }
    std::reverse(turns.begin(), turns.end());
    return turns;
  }

  static void add_pieces(std::span<const Piece> pieces, std::vector<Text>& texts) {
    for (const Piece& piece : pieces) texts.push_back({{TextKey::Kind::piece, piece.key}, piece.tokens});
  }

  const Workload& workload_;
  std::vector<bool> branches_;  // per session
};

// Returns the number of prompts that contain each piece.
std::unordered_map<uint64_t, int64_t> count_prompts(const Prompts& prompts,
                                                    const std::vector<Access>& accesses) {
  std::unordered_map<uint64_t, int64_t> counts;
  std::unordered_set<uint64_t> inside;
  for (const Access& access : accesses) {
    inside.clear();
    for (const std::vector<Text>& texts : {prompts.history_of(access), prompts.pieces_of(access)}) {
      for (const Text& text : texts) {
        if (text.key.kind != TextKey::Kind::piece) continue;
        if (inside.insert(text.key.number).second) ++counts[text.key.number];
      }
    }
  }
  return counts;
}

// Returns the tokens of the largest piece if all pieces but the last of each prompt have that size; else 0
// (chunks, nodes of a tree).
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

// Sends all requests through a store that keeps everything. Contexts and blocks with prefix keys hit up to
// the first miss, chunks at any position. The pieces that hit are added to the accesses' histories.
class Follower {
 public:
  // `counts`: number of prompts that contain each piece.
  Follower(const Workload& workload, const Prompts& prompts,
           const std::unordered_map<uint64_t, int64_t>& counts, int64_t block_tokens, std::size_t accesses)
      : workload_(workload),
        prompts_(prompts),
        counts_(counts),
        block_tokens_(block_tokens),
        store_(accesses) {}

  void follow(std::vector<Access>& accesses) {
    for (std::size_t i = 0; i < accesses.size(); ++i) follow(accesses[i], i);
  }
  Reuse take() { return std::move(reuse_); }

 private:
  struct Found {
    bool all = true;  // the prompt up to here hits completely
    int64_t tokens = 0;
    int64_t farthest = 0;  // largest stack distance up to here
    const Everything::Use* oldest = nullptr;
  };

  void follow(Access& access, std::size_t i) {
    const std::size_t turn = workload_.sessions[access.session].first_turn + access.turn;
    const int64_t tokens = access.history_tokens + workload_.turns[turn].input_tokens;
    Found found;
    for (const Text& text : prompts_.history_of(access)) look_for(text, true, i, found);
    const int64_t of_history = found.tokens;
    for (const Text& text : prompts_.pieces_of(access)) {
      look_for(text, workload_.piece_keys == PieceKeys::prefix, i, found);
    }
    access.history_tokens += found.tokens - of_history;
    reuse_.add_prompt(tokens, access.history_tokens, found.tokens);
    if (workload_.piece_begin.empty()) count_blocks(tokens, found.tokens);
    if (found.oldest) {
      reuse_.add_distance(store_.distance_tokens(*found.oldest, i), access.time_s - found.oldest->time_s);
    }
    for (const Text& text : prompts_.left_by(access)) store_.use(text.key, {text.tokens, i, access.time_s});
  }

  // `in_order`: the text hits only if all texts before it hit.
  void look_for(const Text& text, bool in_order, std::size_t i, Found& found) {
    const bool is_piece = text.key.kind == TextKey::Kind::piece;
    const Everything::Use* last = store_.last_use(text.key);
    if (!last) found.all = false;
    const bool hit = last && (found.all || !in_order);
    const bool full = text.tokens == block_tokens_;
    if (is_piece) {
      ++reuse_.blocks;
      reuse_.full_blocks += full;
    }
    if (!hit) return;
    if (is_piece) {
      ++reuse_.found_blocks;
      reuse_.found_full_blocks += full;
    }
    found.tokens += text.tokens;
    const int64_t distance = store_.distance_tokens(*last, i);
    found.farthest = std::max(found.farthest, distance);
    reuse_.finds.push_back({in_order ? found.farthest : distance, text.tokens});
    if (is_piece && counts_.at(text.key.number) == store_.accesses()) return;
    if (!found.oldest || last->access < found.oldest->access) found.oldest = last;
  }

  void count_blocks(int64_t tokens, int64_t found) {
    reuse_.blocks += (tokens + kStatsBlockTokens - 1) / kStatsBlockTokens;
    reuse_.full_blocks += tokens / kStatsBlockTokens;
    reuse_.found_blocks += found / kStatsBlockTokens;
    reuse_.found_full_blocks += found / kStatsBlockTokens;
  }

  const Workload& workload_;
  const Prompts& prompts_;
  const std::unordered_map<uint64_t, int64_t>& counts_;
  const int64_t block_tokens_;
  Everything store_;
  Reuse reuse_;
};

void describe_reuse(const Workload& workload, std::vector<Access>& accesses, TraceStats& stats) {
  const Prompts prompts(workload);
  std::unordered_map<uint64_t, int64_t> counts;
  const bool in_pieces = !workload.piece_begin.empty();
  if (in_pieces) {
    counts = count_prompts(prompts, accesses);
    stats.unique_pieces = std::ssize(counts);
    stats.block_tokens = common_block_tokens(workload);
  }
  Follower follower(workload, prompts, counts, stats.block_tokens, accesses.size());
  follower.follow(accesses);
  Reuse reuse = follower.take();
  if (in_pieces) stats.pieces = reuse.blocks;
  std::vector<double> sizes;
  for_each_stored_text(workload, [&sizes](int64_t tokens) { sizes.push_back(static_cast<double>(tokens)); });
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
  stats.context_tokens = figure_of(std::move(sizes));
}

// Returns standard deviation / mean of the gaps; NaN for fewer than two gaps.
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
