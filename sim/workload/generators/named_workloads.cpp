#include "workload/generators/named_workloads.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <sstream>
#include <vector>

#include "base/input_error.h"
#include "base/random.h"
#include "base/read_fields.h"
#include "base/text/joined.h"
#include "workload/logs/csv.h"
#include "workload/logs/lines.h"

namespace kvcap {

using Json = nlohmann::ordered_json;

namespace {

using Parameters = WorkloadParameters;

// Adds a session of one turn.
void add(Workload& workload, const Turn& turn) {
  workload.sessions.push_back({.first_turn = static_cast<uint32_t>(workload.turns.size()), .turn_count = 1});
  workload.turns.push_back(turn);
}
// Assigns the pieces added last to the turn added last.
void end_pieces(Workload& workload) { workload.piece_begin.push_back(workload.pieces.size()); }

// Returns prompts that all arrive at time 0. A share of them is stored beforehand; `order` places the stored
// prompts first, last or at random.
Workload hit_burst(const Parameters& parameters) {
  const uint32_t prompts = parameters.count("prompts"), tokens = parameters.count("tokens");
  const double hit_share = parameters.number("hit_share");
  const std::string order = parameters.text("order");
  const RandomStream random(1, "hits");
  Workload workload;
  workload.warm_start = true;
  for (uint32_t i = 0; i < prompts; ++i) {
    const uint32_t place = order == "last" ? prompts - 1 - i : i;
    const bool is_hit = order == "drawn" ? random.uniform(i, 0) < hit_share : place < hit_share * prompts;
    // The last token of a fully stored prompt is computed again.
    add(workload, {.input_tokens = is_hit ? 1 : tokens, .output_tokens = 1});
    workload.sessions.back().context_tokens = is_hit ? tokens - 1 : 0;
    workload.sessions.back().history_grows = !is_hit;
  }
  return workload;
}

// ---- chats in rounds (SGLang's benchmark/hicache/bench_multiturn.py) ----
//
// Clients send requests in random order, `at_once` of them concurrently. Each request contains the whole
// conversation with its answers, and a fixed number of new tokens. With a barrier, a round begins when all
// clients have ended the previous one.
class ChatsInRounds {
 public:
  explicit ChatsInRounds(const Parameters& parameters)
      : clients_(parameters.count("clients")),
        at_once_(parameters.count("at_once")),
        rounds_(parameters.count("rounds")),
        has_barrier_(parameters.number("barrier") != 0),
        random_(3 + parameters.count("order"), "rounds") {}

  // Returns the clients in the order of their requests.
  std::vector<uint32_t> order() const {
    std::vector<uint32_t> order, done(clients_, 0);
    for (uint64_t draw = 0; order.size() < std::size_t{clients_} * rounds_; ++draw) {
      const std::vector<uint32_t> ready = ready_clients(order, done);
      const auto which =
          static_cast<std::size_t>(random_.uniform(draw, 0) * static_cast<double>(ready.size()));
      ++done[ready[which]];
      order.push_back(ready[which]);
    }
    return order;
  }

 private:
  // Returns the clients that may send the next request: not in service and with rounds left; with a barrier,
  // not yet served in this round.
  std::vector<uint32_t> ready_clients(const std::vector<uint32_t>& order,
                                      const std::vector<uint32_t>& done) const {
    const auto round = static_cast<uint32_t>(order.size() / clients_);
    std::vector<uint32_t> ready;
    for (uint32_t client = 0; client < clients_; ++client) {
      const bool may =
          has_barrier_ ? done[client] == round : done[client] < rounds_ && !is_served(order, client);
      if (may) ready.push_back(client);
    }
    // If all remaining clients are in service, one of them sends the next request.
    for (uint32_t client = 0; ready.empty() && client < clients_; ++client) {
      if (done[client] < rounds_) ready.push_back(client);
    }
    return ready;
  }
  bool is_served(const std::vector<uint32_t>& order, uint32_t client) const {
    const std::size_t from = order.size() - std::min<std::size_t>(order.size(), at_once_);
    return std::find(order.begin() + static_cast<std::ptrdiff_t>(from), order.end(), client) != order.end();
  }

  uint32_t clients_, at_once_, rounds_;
  bool has_barrier_;
  RandomStream random_;
};

Workload chats_in_rounds(const Parameters& parameters) {
  const uint32_t input_tokens = parameters.count("input_tokens"),
                 output_tokens = parameters.count("output_tokens");
  const uint32_t rounds = parameters.count("rounds"), clients = parameters.count("clients");
  const std::vector<uint32_t> order = ChatsInRounds(parameters).order();
  Workload workload;
  workload.concurrency = parameters.count("at_once");
  if (parameters.number("barrier") != 0) workload.round_sessions = clients;
  workload.piece_begin = {0};
  for (uint32_t time = 0; time < parameters.count("times"); ++time) {
    std::vector<uint32_t> done(clients, 0);
    for (const uint32_t client : order) {
      const uint32_t round = done[client]++;
      add(workload, {(round + 1) * input_tokens + round * output_tokens, output_tokens});
      for (uint32_t said = 0; said <= round; ++said) {
        const uint64_t key = 2 * (uint64_t{client} * rounds + said);
        workload.pieces.push_back({key, input_tokens});
        workload.pieces.push_back({key + 1, output_tokens});
      }
      end_pieces(workload);
    }
  }
  return workload;
}

// ---- users of LMBenchmark's multi-round-qa.py ----
//
// Each user is a session that sends a request every `between_s` seconds, or at its previous answer if that is
// later. The first users are in different rounds when the run begins, with an empty cache; further users join
// one by one.
struct User {
  double first_s = 0;
  uint32_t rounds = 0;
};

std::vector<User> users_of(uint32_t users, uint32_t rounds, double between_s, double lasts_s) {
  const double joins_s = between_s * (rounds - 1) / users;
  std::vector<User> list;
  for (uint32_t user = 1; user < users; ++user) {
    const double passed_s = joins_s * (users - user);
    const auto passed = static_cast<uint32_t>(passed_s / between_s) + 1;
    list.push_back({passed * between_s - passed_s, rounds - passed});
  }
  for (double join_s = 0; join_s < lasts_s; join_s += joins_s) list.push_back({join_s, rounds});
  std::stable_sort(list.begin(), list.end(),
                   [](const User& a, const User& b) { return a.first_s < b.first_s; });
  return list;
}

Workload multi_round_users(const Parameters& parameters) {
  const double between_s = parameters.number("between_s"), lasts_s = parameters.number("lasts_s");
  const uint32_t shared = parameters.count("shared_tokens"), own = parameters.count("own_tokens");
  const uint32_t question = parameters.count("question_tokens"), answer = parameters.count("answer_tokens");
  Workload workload;
  workload.absolute_times = true;
  workload.piece_begin = {0};
  for (const User& user :
       users_of(parameters.count("users"), parameters.count("rounds"), between_s, lasts_s)) {
    const auto first = static_cast<uint32_t>(workload.turns.size());
    double time_s = user.first_s;
    for (uint32_t round = 0; round < user.rounds && time_s < lasts_s; ++round) {
      workload.turns.push_back({(round == 0 ? shared + own : 0) + question, answer, time_s});
      if (round == 0) workload.pieces.push_back({0, shared});
      end_pieces(workload);
      time_s += between_s;
    }
    const auto turns = static_cast<uint32_t>(workload.turns.size()) - first;
    workload.sessions.push_back({.first_turn = first, .turn_count = turns});
  }
  return workload;
}

// ---- recorded requests ----

// Reads a CSV with columns arrival_s, prompt_id and input_tokens: prompts that have a common beginning and
// recur. All answers have the same length. In the file, one request in fifty has the prompt_id of a
// neighbouring request; the length of such a request identifies its prompt.
Workload repeated_prompts(const Parameters& parameters) {
  constexpr uint64_t kShared = uint64_t{1} << 40, kUnknown = 1000;
  struct PromptRow {
    double arrival_s;
    uint64_t prompt;
    uint32_t tokens;
  };
  std::vector<PromptRow> requests;
  std::map<uint64_t, std::map<uint32_t, int>> lengths;  // per prompt, the count of each length
  static constexpr CsvColumn kColumns[] = {{"arrival_s"}, {"prompt_id"}, {"input_tokens"}};
  for_each_csv_row(parameters.text("path"), BadRow::error, kColumns, true, [&](const CsvRow& row) {
    const auto number = [&row](std::size_t i) {
      return std::strtod(std::string(row.text(i)).c_str(), nullptr);
    };
    requests.push_back({number(0), static_cast<uint64_t>(number(1)), static_cast<uint32_t>(number(2))});
    ++lengths[requests.back().prompt][requests.back().tokens];
    return true;
  });
  std::map<uint64_t, uint32_t> length_of;
  std::map<uint32_t, uint64_t> of_length;
  for (const auto& [prompt, counts] : lengths) {
    const auto usual = std::max_element(counts.begin(), counts.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    length_of[prompt] = usual->first;
    of_length.emplace(usual->first, prompt);
  }
  const uint32_t shared = parameters.count("shared_tokens");
  Workload workload;
  workload.absolute_times = true;
  workload.piece_begin = {0};
  for (const PromptRow& request : requests) {
    const auto other = of_length.find(request.tokens);
    const uint64_t prompt = length_of[request.prompt] == request.tokens ? request.prompt
                            : other == of_length.end()                  ? kUnknown + request.tokens
                                                                        : other->second;
    add(workload, {request.tokens, parameters.count("output_tokens"), request.arrival_s});
    workload.pieces.push_back({kShared, shared});
    workload.pieces.push_back({prompt, request.tokens - shared});
    end_pieces(workload);
  }
  return workload;
}

// Reads requests in Mooncake's format whose hash_ids name every full block of 16 tokens of prompt and answer;
// pieces are the blocks within the prompt.
Workload hashed_blocks(const Parameters& parameters) {
  constexpr uint32_t kBlockTokens = 16;
  constexpr uint64_t kOwn = uint64_t{1} << 40;
  Workload workload;
  workload.absolute_times = true;
  workload.piece_begin = {0};
  LineReader lines(parameters.text("path"));
  for (std::string_view line; lines.next(line);) {
    const Json row = Json::parse(line);
    const auto input = row.at("input_length").get<uint32_t>();
    add(workload, {input, row.at("output_length").get<uint32_t>(), row.at("timestamp").get<double>() / 1e3});
    for (uint32_t block = 0; block < input / kBlockTokens; ++block) {
      workload.pieces.push_back({row.at("hash_ids").at(block).get<uint64_t>(), kBlockTokens});
    }
    if (input % kBlockTokens != 0) {
      workload.pieces.push_back({kOwn + workload.turns.size(), input % kBlockTokens});
    }
    end_pieces(workload);
  }
  return workload;
}

// Returns the requests of a trace in Mooncake's format in order, one per second, each with an answer of one
// token.
Workload in_order(const Parameters& parameters) {
  WorkloadOptions options;
  options.source = {.kind = "mooncake", .path = parameters.text("path")};
  options.arrivals.process = ArrivalProcess::trace;
  Workload workload = make_workload(options, 1);
  for (std::size_t i = 0; i < workload.turns.size(); ++i) {
    workload.turns[i].time_s = static_cast<double>(i);
    workload.turns[i].output_tokens = 1;
  }
  return workload;
}

// ---- independent turns, whose results theory predicts (laws.cpp) ----

std::vector<double> arrivals_s(std::size_t count, double per_s, uint64_t seed) {
  const RandomStream random(seed, "arrivals");
  std::vector<double> arrivals_s(count);
  double now_s = 0;
  for (std::size_t i = 0; i < count; ++i) arrivals_s[i] = now_s += random.exponential(i) / per_s;
  return arrivals_s;
}

// Returns Poisson arrivals of prompts of one token, which may have a stored context. Lengths of answers are
// constant, or 1 + floor(m E) for an exponential E, which is geometric with mean 1 / (1 - e^(-1/m)) and c^2 =
// e^(-1/m).
Workload poisson_turns(const Parameters& parameters) {
  const auto seed = static_cast<uint64_t>(parameters.number("seed"));
  const uint32_t output_tokens = parameters.count("output_tokens");
  const bool is_drawn = parameters.number("is_drawn") != 0;
  const RandomStream random(seed, "lengths");
  Workload workload;
  for (const double time_s : arrivals_s(parameters.count("turns"), parameters.number("per_s"), seed)) {
    const auto drawn = static_cast<uint32_t>(output_tokens * random.exponential(workload.turns.size()));
    add(workload, {1, is_drawn ? 1 + drawn : output_tokens, time_s});
    workload.sessions.back().context_tokens = parameters.count("context_tokens");
    workload.sessions.back().history_grows = workload.sessions.back().context_tokens == 0;
  }
  workload.warm_start = parameters.number("context_tokens") > 0;
  workload.warmup_turns = parameters.count("warmup_turns");
  return workload;
}

constexpr uint32_t kPieceTokens = 64;

// Adds a prompt of shared pieces and one more token, with an answer of one token.
void add_prompt(Workload& workload, double time_s, const std::vector<uint64_t>& keys) {
  if (workload.piece_begin.empty()) workload.piece_begin = {0};
  add(workload, {kPieceTokens * static_cast<uint32_t>(keys.size()) + 1, 1, time_s});
  for (const uint64_t key : keys) workload.pieces.push_back({.key = key, .tokens = kPieceTokens});
  end_pieces(workload);
}

// Returns one prompt per second, so that every prompt and its saves end before the next one. "1+2 3": a
// prompt of pieces 1 and 2, and one of piece 3.
Workload references(const Parameters& parameters) {
  Workload workload;
  std::istringstream prompts(parameters.text("prompts"));
  for (std::string prompt; prompts >> prompt;) {
    std::vector<uint64_t> keys;
    std::istringstream pieces(prompt);
    for (std::string key; std::getline(pieces, key, '+');) keys.push_back(std::stoull(key));
    add_prompt(workload, static_cast<double>(workload.turns.size()), keys);
  }
  return workload;
}

// Returns prompts that each consist of one of `items` pieces, drawn with Zipf popularities. They arrive as a
// Poisson process with the rate `per_s`; if it is 0, one prompt arrives per second.
Workload drawn_references(const Parameters& parameters) {
  const auto seed = static_cast<uint64_t>(parameters.number("seed"));
  const std::size_t turns = parameters.count("turns");
  const double per_s = parameters.number("per_s");
  const std::vector<double> random_s = arrivals_s(turns, per_s > 0 ? per_s : 1, seed);
  std::vector<double> cumulated;
  double sum = 0;
  for (const double p : zipf(parameters.count("items"), parameters.number("alpha")))
    cumulated.push_back(sum += p);
  const RandomStream random(seed, "references");
  Workload workload;
  for (std::size_t i = 0; i < turns; ++i) {
    const auto drawn = std::upper_bound(cumulated.begin(), cumulated.end() - 1, sum * random.uniform(i));
    add_prompt(workload, per_s > 0 ? random_s[i] : static_cast<double>(i),
               {static_cast<uint64_t>(drawn - cumulated.begin())});
  }
  workload.warmup_turns = parameters.count("warmup_turns");
  return workload;
}

// Returns turns of one token at time 0 on stored contexts of these lengths: "30000 10000".
Workload stored_at_once(const Parameters& parameters) {
  Workload workload;
  workload.warm_start = true;
  std::istringstream lengths(parameters.text("contexts"));
  for (uint32_t tokens = 0; lengths >> tokens;) {
    add(workload, {1, 1, 0});
    workload.sessions.back().context_tokens = tokens;
    workload.sessions.back().history_grows = false;
  }
  return workload;
}

// ---- the table ----

struct Kind {
  std::string_view name;
  std::vector<std::string_view> parameters;
  Workload (*make)(const Parameters& parameters);
};
const Kind kKinds[] = {
    {"hit_burst", {"prompts", "tokens", "hit_share", "order"}, hit_burst},
    {"chats_in_rounds",
     {"clients", "at_once", "rounds", "input_tokens", "output_tokens", "barrier", "times", "order"},
     chats_in_rounds},
    {"multi_round_users",
     {"users", "rounds", "between_s", "lasts_s", "shared_tokens", "own_tokens", "question_tokens",
      "answer_tokens"},
     multi_round_users},
    {"repeated_prompts", {"path", "shared_tokens", "output_tokens"}, repeated_prompts},
    {"hashed_blocks", {"path"}, hashed_blocks},
    // Parameters at the end of some lists, such as lru_tokens, are read only by the predictions in laws.cpp.
    {"in_order", {"path", "lru_tokens"}, in_order},
    {"poisson_turns",
     {"turns", "per_s", "seed", "output_tokens", "is_drawn", "context_tokens", "warmup_turns", "service_s",
      "longer_services"},
     poisson_turns},
    {"references", {"prompts", "hits"}, references},
    {"drawn_references",
     {"turns", "per_s", "seed", "items", "alpha", "warmup_turns", "lru_tokens"},
     drawn_references},
    {"stored_at_once", {"contexts"}, stored_at_once}};

}  // namespace

const Json& Parameters::at(const char* name) const {
  if (!request_.contains(name)) throw InputError(std::string(name) + ": missing, required");
  return request_.at(name);
}
double Parameters::number(const char* name) const {
  const Json& value = at(name);
  if (!value.is_number())
    throw InputError(std::string(name) + ": found " + shown(value) + ", allowed: a number");
  return value.get<double>();
}
uint32_t Parameters::count(const char* name) const {
  return static_cast<uint32_t>(std::llround(number(name)));
}
std::string Parameters::text(const char* name) const {
  const Json& value = at(name);
  if (!value.is_string())
    throw InputError(std::string(name) + ": found " + shown(value) + ", allowed: a string");
  return value.get<std::string>();
}

std::vector<double> zipf(std::size_t count, double alpha) {
  std::vector<double> popularity(count);
  for (std::size_t i = 0; i < count; ++i) popularity[i] = std::pow(static_cast<double>(i + 1), -alpha);
  const double sum = std::accumulate(popularity.begin(), popularity.end(), 0.0);
  for (double& p : popularity) p /= sum;
  return popularity;
}

Workload named_workload(const Json& request) {
  std::vector<std::string_view> names;
  for (const Kind& kind : kKinds) names.push_back(kind.name);
  const bool has_kind = request.is_object() && request.contains("kind") && request.at("kind").is_string();
  const std::string name = has_kind ? request.at("kind").get<std::string>() : "";
  const auto kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& one) { return one.name == name; });
  if (kind == std::end(kKinds)) {
    throw InputError("workload.kind: found \"" + name + "\", allowed: " + joined(names) +
                     suggestion(name, names));
  }
  for (const auto& [key, value] : request.items()) {
    const bool is_known = key == "kind" || std::find(kind->parameters.begin(), kind->parameters.end(), key) !=
                                               kind->parameters.end();
    if (!is_known) {
      throw InputError("workload: found the field \"" + key + "\", allowed: " + joined(kind->parameters) +
                       suggestion(key, kind->parameters));
    }
  }
  return kind->make(Parameters(request));
}

}  // namespace kvcap
