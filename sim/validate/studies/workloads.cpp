#include "validate/studies/workloads.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/input_error.h"
#include "base/random.h"
#include "base/text/joined.h"
#include "validate/studies/study_rows.h"
#include "workload/logs/lines.h"

namespace kvcap {
namespace {

// The parameters of a workload; all are required.
class Parameters {
 public:
  explicit Parameters(const Json& request) : request_(request) {}
  double number(const char* name) const {
    const Json& value = at(name);
    if (!value.is_number())
      throw InputError(std::string(name) + ": found " + shown(value) + ", allowed: a number");
    return value.get<double>();
  }
  uint32_t count(const char* name) const { return static_cast<uint32_t>(std::llround(number(name))); }
  std::string text(const char* name) const {
    const Json& value = at(name);
    if (!value.is_string())
      throw InputError(std::string(name) + ": found " + shown(value) + ", allowed: a string");
    return value.get<std::string>();
  }

 private:
  const Json& at(const char* name) const {
    if (!request_.contains(name)) throw InputError(std::string(name) + ": missing, required");
    return request_.at(name);
  }
  const Json& request_;
};

// Adds a session of one turn.
void add(Workload& workload, const Turn& turn) {
  workload.sessions.push_back({.first_turn = static_cast<uint32_t>(workload.turns.size()), .turn_count = 1});
  workload.turns.push_back(turn);
}
// The pieces that were added last belong to the turn that was.
void end_pieces(Workload& workload) { workload.piece_begin.push_back(workload.pieces.size()); }

// Prompts that all come at once, of which a share lies in the store: in an order that is drawn, or first, or
// last.
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
    // Of a prompt that is found as a whole the last token is computed again.
    add(workload, {.input_tokens = is_hit ? 1 : tokens, .output_tokens = 1});
    workload.sessions.back().context_tokens = is_hit ? tokens - 1 : 0;
    workload.sessions.back().history_grows = !is_hit;
  }
  return workload;
}

// ---- chats in rounds (SGLang's benchmark/hicache/bench_multiturn.py) ----
//
// Clients, some of whom are served at once, each of whom sends all that was said, the answer too, and a fixed
// number of tokens more, in a random order. With a barrier nobody begins a round before all have ended the
// last one.
class ChatsInRounds {
 public:
  explicit ChatsInRounds(const Parameters& parameters)
      : clients_(parameters.count("clients")),
        at_once_(parameters.count("at_once")),
        rounds_(parameters.count("rounds")),
        has_barrier_(parameters.number("barrier") != 0),
        random_(3 + parameters.count("order"), "rounds") {}

  // Whose request is next, over and over.
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
  // Who may be next: who is not served and has rounds left, with a barrier each once in a round.
  std::vector<uint32_t> ready_clients(const std::vector<uint32_t>& order,
                                      const std::vector<uint32_t>& done) const {
    const auto round = static_cast<uint32_t>(order.size() / clients_);
    std::vector<uint32_t> ready;
    for (uint32_t client = 0; client < clients_; ++client) {
      const bool may =
          has_barrier_ ? done[client] == round : done[client] < rounds_ && !is_served(order, client);
      if (may) ready.push_back(client);
    }
    // All who are left are served: the next place is for one of them, a little later.
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
// Each user is a session that asks every so many seconds, or with the last answer. The first users are at
// rounds of their own when the run begins, but nothing is cached of them; others join one by one.
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

// Of a CSV with columns arrival_s, prompt_id and input_tokens: prompts that begin alike and come again and
// again, with answers of one length. One request in fifty of the file has the number of its neighbour: the
// length says which prompt it is.
Workload repeated_prompts(const Parameters& parameters) {
  constexpr uint64_t kShared = uint64_t{1} << 40, kUnknown = 1000;
  struct PromptRow {
    double arrival_s;
    uint64_t prompt;
    uint32_t tokens;
  };
  std::vector<PromptRow> requests;
  std::map<uint64_t, std::map<uint32_t, int>> lengths;  // of a prompt, how often
  for (const TableRow& row : rows_of_table(parameters.text("path"))) {
    requests.push_back({column_number(row, "arrival_s"),
                        static_cast<uint64_t>(column_number(row, "prompt_id")),
                        static_cast<uint32_t>(column_number(row, "input_tokens"))});
    ++lengths[requests.back().prompt][requests.back().tokens];
  }
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
    {"repeated_prompts", {"path", "shared_tokens", "output_tokens"}, repeated_prompts}};

}  // namespace

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
