// Generates sessions of coding agents from traces/agents.json. A prompt consists of tools and system prompt,
// followed by the session's history. With each request, the prompt grows by a tool's result or a question.
// When the prompt reaches a limit, the history is compacted to a summary. Occasionally the whole history is
// replaced by a text of about the same size (files read again, a resumed session). Some sessions launch
// sub-agents, which have tools of their own, and continue when the one with the most requests has ended.
//
// Within a session, the growth of prompts, the lengths of answers and the think times are each correlated
// through a style of the session, as in generated chats: z = sqrt(r) style + sqrt(1 - r) noise, value =
// quantile(Phi(z)).
#include "workload/generators/agents.h"

#include <algorithm>
#include <cmath>

#include "base/key_map.h"
#include "base/random.h"
#include "workload/generators/draws.h"
#include "workload/generators/tables.h"
#include "workload/source.h"

namespace kvcap {
namespace {

constexpr std::string_view kAgentsTable = "traces/agents.json";
constexpr Key kSessionTexts = 0x6167656e7473;  // "agents"
constexpr Key kToolSets = 0x746f6f6c20736574;  // "tool set"
constexpr Key kSubAgentTools = ~Key{0};

using Values = std::vector<double>;

// Quantiles of one quantity.
struct Quantiles {
  Values probabilities, values;

  Quantiles(const Table& table, std::string_view key) {
    table.get("probabilities", probabilities);
    table.get(key, values);
  }
  double at(double p) const { return interpolated(probabilities, values, p); }
  int64_t tokens(double p) const { return table_quantile(probabilities, values, p); }
};

struct SubAgents {
  explicit SubAgents(const Table& table)
      : first_user(table, "first_user_tokens"),
        requests(table, "requests"),
        growth(table, "growth_tokens"),
        output(table, "output_tokens"),
        think_time_s(table, "think_time_s") {
    table.get("session_share", session_share);
    table.get("launch_probability", launch_probability);
    table.get("launch_time_s", launch_time_s);
    table.get("together", together);
    table.get("tools_and_system_tokens", tool_tokens);
  }

  double session_share = 0;       // share of sessions that launch sub-agents
  double launch_probability = 0;  // per request of such a session
  double launch_time_s = 0;       // after the answer that launches them
  Values together;                // weights of launching 1, 2, ... sub-agents at a time
  int64_t tool_tokens = 0;
  Quantiles first_user, requests, growth, output, think_time_s;
};

struct AgentTables {
  explicit AgentTables(const Table& table)
      : own_tool_set(table, "own_tool_set_tokens"),
        first_user(table, "first_user_tokens"),
        turns(table, "turns"),
        short_growth(table, "short_growth_tokens"),
        growth(table, "growth_tokens"),
        rewrite_ratio(table, "rewrite_ratio"),
        compacts_at(table, "compacts_at_tokens"),
        compacted_user(table, "compacted_user_tokens"),
        output(table, "output_tokens"),
        think_time_s(table, "think_time_s"),
        sub_agents(table.table("sub_agents")) {
    const Table sets = table.table("tool_sets");
    sets.get("tokens", tool_set_tokens);
    sets.get("weights", tool_set_weights);
    table.get("short_prompt_tokens", short_prompt);
    table.get("short_rewrite_probability", short_rewrite_probability);
    table.get("rewrite_probability", rewrite_probability);
    table.get("large_window_from_tokens", large_window_from);
    table.get("large_window_probability", large_window_probability);
    table.get("large_window_tokens", large_window);
    first_turns_correlation = normal_correlation(table.number("first_turns_rank_correlation"));
    growth_correlation = normal_correlation(table.number("growth_rank_correlation"));
    output_correlation = normal_correlation(table.number("output_rank_correlation"));
    think_correlation = normal_correlation(table.number("think_rank_correlation"));
  }

  Values tool_set_tokens, tool_set_weights;  // last entry, 0 tokens: a set unique to its session
  Quantiles own_tool_set, first_user, turns, short_growth, growth, rewrite_ratio, compacts_at, compacted_user;
  Quantiles output, think_time_s;
  int64_t short_prompt = 0, large_window_from = 0, large_window = 0;
  double short_rewrite_probability = 0, rewrite_probability = 0, large_window_probability = 0;
  double first_turns_correlation = 0, growth_correlation = 0, output_correlation = 0, think_correlation = 0;
  SubAgents sub_agents;
};

struct Streams {
  Streams(uint64_t seed, const AgentTables& tables)
      : growth(seed, "agents.growth", tables.growth_correlation),
        output(seed, "agents.output", tables.output_correlation),
        think_time(seed, "agents.think_time", tables.think_correlation),
        tool_set(seed, "agents.tool_set"),
        first(seed, "agents.first"),
        turns(seed, "agents.turns"),
        window(seed, "agents.window"),
        rewrite(seed, "agents.rewrite"),
        compaction(seed, "agents.compaction"),
        sub_agents(seed, "agents.sub_agents"),
        sub_requests(seed, "agents.sub_requests") {}

  StyledDraws growth, output, think_time;
  RandomStream tool_set, first, turns, window, rewrite, compaction, sub_agents, sub_requests;
};

// A prompt as pieces: tools and system prompt, then texts unique to the session.
class Prompt {
 public:
  Prompt(Key session, Piece tools) : session_(session), pieces_{tools}, tokens_(tools.tokens) {}

  int64_t tokens() const { return tokens_; }
  int64_t tool_tokens() const { return pieces_.front().tokens; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  // `text`: a number unique to the text within the session.
  void append(int64_t tokens, uint64_t text) {
    pieces_.push_back({chained(session_, text), static_cast<uint32_t>(tokens)});
    tokens_ += tokens;
  }
  // Replaces the history so that the prompt has `tokens` tokens, but at least one token of history remains.
  void replace(int64_t tokens, uint64_t text) {
    const int64_t user = std::max<int64_t>(1, tokens - tool_tokens());
    pieces_.resize(1);
    tokens_ = tool_tokens();
    append(user, text);
  }

 private:
  Key session_;
  std::vector<Piece> pieces_;
  int64_t tokens_ = 0;
};

class AgentSession {
 public:
  AgentSession(const AgentTables& tables, const Streams& streams, const SourceOptions& options,
               uint64_t number)
      : tables_(tables), streams_(streams), options_(options), number_(number), prompt_(key(), tools()) {}

  void generate(Source& source) {
    const double first_z = streams_.first.normal(number_);
    begin(normal_cdf(first_z));
    const double correlation = tables_.first_turns_correlation;
    const double turns_z =
        correlation * first_z + std::sqrt(1 - correlation * correlation) * streams_.turns.normal(number_);
    const int64_t turns = tables_.turns.tokens(normal_cdf(turns_z));
    const SubAgents& subs = tables_.sub_agents;
    const bool launches = streams_.sub_agents.uniform(number_) < subs.session_share;
    add_turn(prompt_, output(0), NAN, kNoParent);
    for (uint64_t i = 1; i < static_cast<uint64_t>(turns); ++i) {
      int32_t awaited = last();
      if (launches && streams_.sub_agents.uniform(number_, i) < subs.launch_probability) awaited = launch(i);
      grow(i);
      const double think_s = tables_.think_time_s.at(streams_.think_time.probability(number_, i));
      add_turn(prompt_, output(i), think_s, awaited);
    }
    source.add({}, turns_, pieces_, parents_);
    source.add_think_times(think_times_s_);
  }

 private:
  Key key() const { return chained(kSessionTexts, number_); }
  int32_t last() const { return static_cast<int32_t>(turns_.size()) - 1; }
  int64_t output(uint64_t i) const { return tables_.output.tokens(streams_.output.probability(number_, i)); }
  int64_t most_tokens() const { return options_.max_prompt_tokens.value_or(tables_.large_window); }

  Piece tools() const {
    const std::size_t set = Weighted(tables_.tool_set_weights).at(streams_.tool_set.uniform(number_));
    const bool own = set + 1 == tables_.tool_set_weights.size();
    const auto tokens = own ? tables_.own_tool_set.tokens(streams_.tool_set.uniform(number_, 1))
                            : static_cast<int64_t>(tables_.tool_set_tokens[set]);
    const bool shared = !own && options_.shared_tools;
    return {shared ? chained(kToolSets, set) : chained(key(), kToolSets), static_cast<uint32_t>(tokens)};
  }

  void begin(double p) {
    const int64_t first = prompt_.tool_tokens() + tables_.first_user.tokens(p);
    const double window = streams_.window.uniform(number_);
    has_large_window_ = first > tables_.large_window_from || window < tables_.large_window_probability;
    draw_limit(0);
    prompt_.replace(first > most_tokens() ? compacted_tokens(0) : first, 0);
  }

  // Draws the prompt length at which compaction i happens.
  void draw_limit(uint64_t i) {
    const int64_t drawn = has_large_window_
                              ? tables_.large_window
                              : tables_.compacts_at.tokens(streams_.window.uniform(number_, i + 1));
    limit_ = std::min(drawn, most_tokens());
  }
  int64_t compacted_tokens(uint64_t i) const {
    const int64_t user = tables_.compacted_user.tokens(streams_.compaction.uniform(number_, i));
    return std::min(prompt_.tool_tokens() + user, limit_);
  }

  // Grows the prompt from request i - 1 to request i.
  void grow(uint64_t i) {
    const bool is_short = prompt_.tokens() < tables_.short_prompt;
    const double rewrites = is_short ? tables_.short_rewrite_probability : tables_.rewrite_probability;
    if (streams_.rewrite.uniform(number_, i) < rewrites) {
      const double ratio = tables_.rewrite_ratio.at(streams_.rewrite.uniform(~number_, i));
      const int64_t tokens = std::llround(static_cast<double>(prompt_.tokens()) * ratio);
      return prompt_.replace(std::min(tokens, limit_), i);
    }
    const Quantiles& table = is_short ? tables_.short_growth : tables_.growth;
    const int64_t growth = table.tokens(streams_.growth.probability(number_, i));
    if (prompt_.tokens() + growth <= limit_) return prompt_.append(growth, i);
    prompt_.replace(compacted_tokens(i), i);
    draw_limit(i);
  }

  // Launches concurrent sub-agents. Returns the last request of the sub-agent with the most requests: the
  // session waits for it.
  int32_t launch(uint64_t i) {
    const SubAgents& subs = tables_.sub_agents;
    const int32_t parent = last();
    const std::size_t count = Weighted(subs.together).at(streams_.sub_agents.uniform(~number_, i)) + 1;
    int32_t awaited = parent;
    int64_t most = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const RandomStream& draw = streams_.sub_requests;
      const int64_t requests = subs.requests.tokens(draw.uniform(number_, ++drawn_));
      run_sub_agent(requests, parent);
      if (requests > most) awaited = last();
      most = std::max(most, requests);
    }
    return awaited;
  }

  void run_sub_agent(int64_t requests, int32_t parent) {
    const SubAgents& subs = tables_.sub_agents;
    const auto draw = [this] { return streams_.sub_requests.uniform(number_, ++drawn_); };
    const Key tools =
        options_.shared_tools ? chained(kToolSets, kSubAgentTools) : chained(key(), kSubAgentTools);
    Prompt prompt(chained(key(), ~drawn_), {tools, static_cast<uint32_t>(subs.tool_tokens)});
    prompt.append(subs.first_user.tokens(draw()), 0);
    for (int64_t i = 0; i < requests; ++i) {
      const double think_s = i == 0 ? subs.launch_time_s : subs.think_time_s.at(draw());
      if (i > 0 && prompt.tokens() < limit_) {
        const int64_t growth = std::min(subs.growth.tokens(draw()), limit_ - prompt.tokens());
        prompt.append(growth, static_cast<uint64_t>(i));
      }
      add_turn(prompt, subs.output.tokens(draw()), think_s, i == 0 ? parent : last());
    }
  }

  void add_turn(const Prompt& prompt, int64_t output_tokens, double think_s, int32_t parent) {
    turns_.push_back({static_cast<uint32_t>(prompt.tokens()), static_cast<uint32_t>(output_tokens), NAN});
    pieces_.push_back(prompt.pieces());
    parents_.push_back(parent);
    think_times_s_.push_back(think_s);
  }

  const AgentTables& tables_;
  const Streams& streams_;
  const SourceOptions& options_;
  uint64_t number_;
  Prompt prompt_;
  bool has_large_window_ = false;
  int64_t limit_ = 0;
  uint64_t drawn_ = 0;  // number of draws from the sub-agents' stream
  std::vector<Turn> turns_;
  std::vector<std::vector<Piece>> pieces_;
  std::vector<int32_t> parents_;
  std::vector<double> think_times_s_;
};

}  // namespace

int64_t agent_prompt_limit(int64_t window_tokens) {
  Values outputs;
  Table(kAgentsTable).get("output_tokens", outputs);
  return std::max<int64_t>(kLeastAgentPrompt_tokens, window_tokens - std::llround(outputs.back()));
}

Source generate_agents(const SourceOptions& options, int64_t count, uint64_t seed) {
  const AgentTables tables{Table(kAgentsTable)};
  const Streams streams(seed, tables);
  Source source;
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
    AgentSession(tables, streams, options, i).generate(source);
  }
  source.histories.assign(source.sessions.size(), History::context);
  source.notes.push_back("coding agents are drawn from statistics of the Weka trace (" +
                         std::string(kAgentsTable) + "); a prompt is compacted at " +
                         std::to_string(options.max_prompt_tokens.value_or(tables.large_window)) +
                         " tokens at the latest");
  source.notes.push_back(options.shared_tools
                             ? "assumed: sessions with the same set of tools begin with the same text "
                               "(workload.source.shared_tools)"
                             : "sessions share no text (workload.source.shared_tools assumes that those with "
                               "the same set of tools do)");
  return source;
}

}  // namespace kvcap
