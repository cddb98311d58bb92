#include "validate/studies/turn_figures.h"

#include <algorithm>
#include <cmath>

#include "base/input_error.h"
#include "metrics/statistics/quantiles.h"

namespace kvcap {
namespace {

using OfTurn = double (*)(const TurnRecord& turn);

double prompt_tokens(const TurnRecord& turn) { return turn.history_tokens + turn.input_tokens; }
double output_tokens(const TurnRecord& turn) { return turn.output_tokens; }
double total_tokens(const TurnRecord& turn) { return prompt_tokens(turn) + turn.output_tokens; }
double hit_tokens(const TurnRecord& turn) { return turn.hit_tokens; }
double gpu_hit_tokens(const TurnRecord& turn) { return turn.tier_hit_tokens[index(Tier::hbm)]; }

struct Latency {
  std::string_view name;
  OfTurn of;
};
constexpr Latency kLatencies[] = {
    {"service_ttft_ms", [](const TurnRecord& turn) { return 1e3 * turn.service_ttft_s; }},
    {"queue_ms", [](const TurnRecord& turn) { return 1e3 * (turn.ttft_s - turn.service_ttft_s); }},
    {"restore_ms", [](const TurnRecord& turn) { return 1e3 * turn.restore_s; }},
    {"ttft_ms", [](const TurnRecord& turn) { return 1e3 * turn.ttft_s; }},
    {"e2el_ms", [](const TurnRecord& turn) { return 1e3 * turn.e2el_s; }},
    // (time of the last token - time of the first token) / (output tokens - 1)
    {"tpot_ms", [](const TurnRecord& turn) {
       return 1e3 * (turn.e2el_s - turn.ttft_s) / std::max(1.0, turn.output_tokens - 1.0);
     }}};

struct Quantile {
  std::string_view name;
  double share;
};
constexpr Quantile kQuantiles[] = {{"median_", 0.5}, {"p90_", 0.9}, {"p99_", 0.99}};
constexpr std::string_view kMean = "mean_";

double sum_of(const Turns& turns, OfTurn of) {
  double sum = 0;
  for (const TurnRecord& turn : turns.list) sum += of(turn);
  return sum;
}
double mean_of(const Turns& turns, OfTurn of) {
  return sum_of(turns, of) / static_cast<double>(turns.list.size());
}
std::vector<double> values_of_turns(const Turns& turns, OfTurn of) {
  std::vector<double> values;
  for (const TurnRecord& turn : turns.list) values.push_back(of(turn));
  return values;
}
double last_answer_s(const Turns& turns) {
  double last_s = 0;
  for (const TurnRecord& turn : turns.list) last_s = std::max(last_s, turn.arrival_s + turn.e2el_s);
  return last_s;
}
double first_arrival_s(const Turns& turns) {
  double first_s = INFINITY;
  for (const TurnRecord& turn : turns.list) first_s = std::min(first_s, turn.arrival_s);
  return first_s;
}
// Returns a sum over the turns divided by the time from turns.from_s to the end of the last answer.
double per_s(const Turns& turns, OfTurn of) {
  return sum_of(turns, of) / (last_answer_s(turns) - turns.from_s);
}

// Returns the token hit rate: hit tokens divided by prompt tokens.
double hit_share(const Turns& turns) { return sum_of(turns, hit_tokens) / sum_of(turns, prompt_tokens); }

struct Sum {
  std::string_view name;
  double (*of)(const Turns& turns);
};
constexpr Sum kSums[] = {{"count", [](const Turns& t) { return static_cast<double>(t.list.size()); }},
                         {"last_answer_s", last_answer_s},
                         {"prompt_tokens", [](const Turns& t) { return sum_of(t, prompt_tokens); }},
                         {"output_tokens", [](const Turns& t) { return sum_of(t, output_tokens); }},
                         {"hit_tokens", [](const Turns& t) { return sum_of(t, hit_tokens); }},
                         {"hit_share", hit_share},
                         {"gpu_hit_tokens", [](const Turns& t) { return sum_of(t, gpu_hit_tokens); }},
                         {"prompt_tokens_per_s", [](const Turns& t) { return per_s(t, prompt_tokens); }},
                         {"output_tokens_per_s", [](const Turns& t) { return per_s(t, output_tokens); }},
                         {"total_tokens_per_s", [](const Turns& t) { return per_s(t, total_tokens); }}};

std::vector<std::string> names_of_figures(const std::string& group) {
  std::vector<std::string> names;
  for (const Sum& sum : kSums) names.push_back(group + "." + std::string(sum.name));
  for (const Latency& latency : kLatencies) {
    names.push_back(group + "." + std::string(kMean) + std::string(latency.name));
    for (const Quantile& quantile : kQuantiles) {
      names.push_back(group + "." + std::string(quantile.name) + std::string(latency.name));
    }
  }
  return names;
}

// Returns null if the name does not end in a latency.
OfTurn latency_at_end_of(std::string_view name) {
  for (const Latency& latency : kLatencies) {
    if (name.ends_with(latency.name)) return latency.of;
  }
  return nullptr;
}

}  // namespace

Turns turns_within(std::span<const TurnRecord> all, const std::map<std::string, double>& bounds) {
  const auto bound = [&](const char* name, double absent) {
    const auto found = bounds.find(name);
    return found == bounds.end() ? absent : found->second;
  };
  const double from_s = bound("from_s", 0), to_s = bound("to_s", INFINITY);
  const double answered_by_s = bound("answered_by_s", INFINITY);
  const double first = bound("from_session", 0), last = bound("to_session", INFINITY);
  const double node = bound("node", -1);
  Turns turns{.list = {}, .from_s = from_s};
  for (const TurnRecord& turn : all) {
    const bool is_in_time = turn.arrival_s >= from_s && turn.arrival_s < to_s;
    const bool is_within = is_in_time && turn.session >= first && turn.session <= last &&
                           turn.arrival_s + turn.e2el_s <= answered_by_s && (node < 0 || turn.node == node);
    if (is_within && !turn.warmup && turn.answered()) turns.list.push_back(turn);
  }
  if (bounds.contains("from_session") && !bounds.contains("from_s")) turns.from_s = first_arrival_s(turns);
  return turns;
}

std::vector<TurnRecord> recorded_turns(const Source& source) {
  std::vector<TurnRecord> turns;
  for (std::size_t s = 0; s < source.sessions.size(); ++s) {
    const Session& session = source.sessions[s];
    for (uint32_t i = 0; i < session.turn_count; ++i) {
      const std::size_t at = session.first_turn + i;
      if (at >= source.measured.size()) continue;
      TurnRecord turn;
      turn.session = static_cast<uint32_t>(s);
      turn.turn = i;
      turn.input_tokens = source.turns[at].input_tokens;
      turn.output_tokens = source.turns[at].output_tokens;
      turn.arrival_s = source.turns[at].time_s;
      turn.ttft_s = source.measured[at].ttft_s;
      turn.e2el_s = source.measured[at].e2el_s;
      turns.push_back(turn);
    }
  }
  return turns;
}

double turns_figure(const Turns& turns, const std::string& group, const std::string& name) {
  for (const Sum& sum : kSums) {
    if (sum.name == name) return sum.of(turns);
  }
  if (const OfTurn of = latency_at_end_of(name)) {
    const std::string_view statistic = std::string_view(name).substr(0, name.find('_') + 1);
    if (statistic == kMean) return mean_of(turns, of);
    for (const Quantile& quantile : kQuantiles) {
      if (quantile.name == statistic) return quantile_of(values_of_turns(turns, of), quantile.share);
    }
  }
  const std::vector<std::string> names = names_of_figures(group);
  refuse_figure(group + "." + name, std::vector<std::string_view>(names.begin(), names.end()));
}

double turns_correlation(std::span<const TurnRecord> simulated, std::span<const TurnRecord> recorded,
                         const std::string& latency) {
  const OfTurn of = latency_at_end_of(latency + "_ms");
  if (!of) refuse_figure("measured." + latency + "_correlation", std::vector<std::string_view>());
  if (simulated.size() != recorded.size()) return std::nan("");
  const auto n = static_cast<double>(simulated.size());
  double x_mean = 0, y_mean = 0;
  for (std::size_t i = 0; i < simulated.size(); ++i) {
    x_mean += of(simulated[i]) / n;
    y_mean += of(recorded[i]) / n;
  }
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < simulated.size(); ++i) {
    const double dx = of(simulated[i]) - x_mean, dy = of(recorded[i]) - y_mean;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  return xy / std::sqrt(xx * yy);
}

void refuse_figure(const std::string& name, std::span<const std::string_view> known) {
  throw InputError("found the name \"" + name + "\", allowed: a setting's name and a figure" +
                   suggestion(name, known));
}

}  // namespace kvcap
