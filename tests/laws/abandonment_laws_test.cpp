// Laws of clients that give up: every turn is accounted for, abandoned requests release their resources, and
// a queue matches a literal one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "laws/machines.h"
#include "metrics/serialize.h"

namespace kvcap::laws::abandonment_laws_test {
namespace {

constexpr double kNear_s = 1e-7;  // SimGrid merges dates that are closer than 1e-9 s

Workload impatient(Workload workload, double timeout_s, const RetryOptions& retries = {}) {
  workload.clients = {.timeout_s = timeout_s, .retries = retries};
  return workload;
}

double longest_s(const RunResult& result) {
  double longest = 0;
  for (const TurnRecord& turn : result.turns) longest = std::max(longest, turn.e2el_s);
  return longest;
}

double median_s(const RunResult& result) { return 1e-3 * result.number("median_e2el_ms"); }

// Checks that every turn has one record: an answered turn met its timeout, and an unanswered one used up its
// retries or was never sent.
void expect_all_accounted(const RunResult& result, const Workload& workload) {
  const double timeout_s = workload.clients.timeout_s;
  std::set<std::pair<uint32_t, uint32_t>> seen;
  double abandoned = 0;
  for (const TurnRecord& turn : result.turns) {
    EXPECT_TRUE(seen.insert({turn.session, turn.turn}).second);
    abandoned += turn.abandoned;
    if (turn.answered()) {
      EXPECT_LT(turn.e2el_s - turn.earlier_s, timeout_s);
      EXPECT_EQ(turn.abandoned > 0, turn.earlier_s > 0);
    } else if (turn.failed) {
      EXPECT_TRUE(turn.abandoned == workload.clients.retries.count + 1 || turn.abandoned == 0);
    }
  }
  EXPECT_EQ(seen.size(), workload.turns.size());
  EXPECT_EQ(result.number("completed") + result.number("rejected") + result.number("failed"),
            static_cast<double>(workload.turns.size()));
  EXPECT_EQ(result.number("abandoned"), abandoned);
}

// ---- every policy ----

class ImpatientClients : public testing::TestWithParam<std::string_view> {
 protected:
  static Scenario tight(bool vllm, Fidelity fidelity) {
    Scenario tight = scenario(std::string(GetParam()));
    tight.serving.kv_capacity_tokens = 12000;
    tight.serving.max_model_len = 6000;
    tight.serving.prefix_caching = tight.serving.async_scheduling = vllm;
    tight.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = 3e9},
                          {.kind = Tier::ssd, .capacity_bytes = 6e9}};
    tight.fidelity = fidelity;
    return tight;
  }
};

INSTANTIATE_TEST_SUITE_P(Abandonment, ImpatientClients,
                         testing::ValuesIn(policy_names().begin(), policy_names().end()),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(ImpatientClients, ServesClientsAlikeWhoseTimeoutIsLongerThanAnyRequest) {
  const Workload workload = chats(60, 1, 5, 2);
  const Scenario machine = tight(true, Fidelity::request);
  const RunResult patient = run(machine, workload);
  const Workload just_enough = impatient(workload, 1.001 * longest_s(patient), {.count = 2});
  EXPECT_EQ(serialize(patient), serialize(run(machine, just_enough)));
}

// The runs also check that abandoned requests hold nothing in the end.
TEST_P(ImpatientClients, AnswersOrFailsEveryTurn) {
  const Workload workload = chats(60, 1, 5, 2);
  std::vector<Case> cases;
  for (const bool vllm : {false, true}) {
    for (const Fidelity fidelity : {Fidelity::request, Fidelity::layer}) {
      const double timeout_s = 0.6 * median_s(run(tight(vllm, fidelity), workload));
      cases.push_back({tight(vllm, fidelity), impatient(workload, timeout_s)});
      cases.push_back(
          {tight(vllm, fidelity), impatient(workload, timeout_s, {.count = 2, .backoff_s = 0.1})});
      cases.push_back({tight(vllm, fidelity), impatient(workload, timeout_s / 30, {.count = 3})});
    }
  }
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(i);
    expect_all_accounted(runs[i], cases[i].workload);
    EXPECT_GT(runs[i].number("failed"), 0);
  }
}

// ---- a queue by hand ----

// Returns a server with one sequence slot; requests are equal and compute one token per step.
constexpr uint32_t kTokens = 20;
Scenario one_server(Fidelity fidelity) {
  Scenario server = scenario("recompute");
  server.serving.max_num_seqs = 1;
  server.fidelity = fidelity;
  return server;
}
Workload requests(const std::vector<double>& arrivals_s, uint32_t output_tokens = kTokens) {
  Workload workload;
  for (const double arrival_s : arrivals_s) {
    const auto number = static_cast<uint32_t>(workload.turns.size());
    workload.sessions.push_back({.first_turn = number, .turn_count = 1});
    workload.turns.push_back({.input_tokens = 100, .output_tokens = output_tokens, .time_s = arrival_s});
  }
  return workload;
}

// Returns the times of the tokens of an undelayed request; [0] is 0.
std::vector<double> token_dates_s(Fidelity fidelity) {
  std::vector<Case> cases;
  for (uint32_t n = 1; n <= kTokens; ++n) cases.push_back({one_server(fidelity), requests({0}, n)});
  std::vector<double> dates_s = {0};
  for (const RunResult& run : run_all(cases)) dates_s.push_back(run.turns.front().e2el_s);
  return dates_s;
}

struct Attempt {
  double sent_s = 0;
  std::size_t request = 0;
  int64_t number = 0;
  bool operator>(const Attempt& other) const { return sent_s > other.sent_s; }
};

// Simulates a first-come, first-served queue. The server learns that a client gave up after the current step.
// Returns the time of each answer; NaN: never answered.
std::vector<double> literal_answers_s(const std::vector<double>& arrivals_s, const Clients& clients,
                                      const std::vector<double>& token_dates_s) {
  std::priority_queue<Attempt, std::vector<Attempt>, std::greater<>> attempts;
  for (std::size_t i = 0; i < arrivals_s.size(); ++i) attempts.push({arrivals_s[i], i, 0});
  std::vector<double> answers_s(arrivals_s.size(), std::nan(""));
  double free_s = 0;
  for (; !attempts.empty();) {
    const Attempt attempt = attempts.top();
    attempts.pop();
    const double starts_s = std::max(attempt.sent_s, free_s);
    const double gives_up_s = attempt.sent_s + clients.timeout_s;
    if (starts_s + token_dates_s.back() < gives_up_s) {
      answers_s[attempt.request] = free_s = starts_s + token_dates_s.back();
      continue;
    }
    for (std::size_t n = 1; n < token_dates_s.size() && free_s < gives_up_s && starts_s < gives_up_s; ++n)
      free_s = starts_s + token_dates_s[n];
    const RetryOptions& retries = clients.retries;
    if (attempt.number == retries.count) continue;
    const double backoff_s =
        std::min(retries.max_backoff_s,
                 retries.backoff_s * std::pow(retries.multiplier, static_cast<double>(attempt.number)));
    attempts.push({gives_up_s + backoff_s, attempt.request, attempt.number + 1});
  }
  return answers_s;
}

// 150 requests at 1.4 times the service rate, with and without retries.
TEST(Abandonment, LeavesAQueueAsALiteralServerDoes) {
  std::vector<double> arrivals_s;
  const RandomStream random(3, "law");
  for (const Fidelity fidelity : {Fidelity::request, Fidelity::layer}) {
    const std::vector<double> dates_s = token_dates_s(fidelity);
    const double service_s = dates_s.back();
    arrivals_s = {0.01};
    for (uint64_t i = 1; i < 150; ++i)
      arrivals_s.push_back(arrivals_s.back() + random.exponential(i) * service_s / 1.4);
    for (const int64_t retries : {0, 3}) {
      const Clients clients{.timeout_s = 2.63 * service_s,
                            .retries = {.count = retries,
                                        .backoff_s = 0.37 * service_s,
                                        .max_backoff_s = 1.1 * service_s,
                                        .jitter = 0}};
      Workload workload = requests(arrivals_s);
      workload.clients = clients;
      const RunResult result = run(one_server(fidelity), workload);
      const std::vector<double> expected_s = literal_answers_s(arrivals_s, clients, dates_s);
      ASSERT_EQ(result.turns.size(), expected_s.size());
      for (const TurnRecord& turn : result.turns) {
        const double answer_s = expected_s[turn.session];
        ASSERT_EQ(turn.failed, std::isnan(answer_s)) << turn.session << " with " << retries << " retries";
        if (turn.failed) continue;
        ASSERT_NEAR(turn.arrival_s + turn.e2el_s, answer_s, kNear_s) << turn.session;
      }
      EXPECT_GT(result.number("failed"), 10);
      EXPECT_GT(result.number("wasted_output_tokens"), 0);
      EXPECT_EQ(result.text("stable.verdict"), "saturated");
    }
  }
}

// The first of two requests takes a time of 1; clients wait for 1.01. The second is sent at 0.02, starts at
// 1, is abandoned at 1.03 before its answer is complete, and is served immediately when it is sent again.
TEST(Abandonment, LatenciesCountFromTheFirstAttempt) {
  const Scenario server = one_server(Fidelity::request);
  const double first_s = run(server, requests({0}, 400)).turns[0].e2el_s;
  const TurnRecord alone = run(server, requests({0})).turns[0];
  ASSERT_GT(alone.e2el_s, 0.03 * first_s);
  Workload workload = requests({0, 0.02 * first_s});
  workload.turns[0].output_tokens = 400;
  const double timeout_s = 1.01 * first_s, backoff_s = 0.5;
  const RunResult result =
      run(server, impatient(workload, timeout_s, {.count = 5, .backoff_s = backoff_s, .jitter = 0}));
  EXPECT_EQ(result.turns[0].abandoned, 0);
  const TurnRecord& second = result.turns[1];
  EXPECT_EQ(second.abandoned, 1);
  EXPECT_NEAR(second.arrival_s, 0.02 * first_s, kNear_s);
  EXPECT_NEAR(second.earlier_s, timeout_s + backoff_s, kNear_s);
  EXPECT_NEAR(second.ttft_s, second.earlier_s + alone.ttft_s, kNear_s);
  EXPECT_NEAR(second.e2el_s, second.earlier_s + alone.e2el_s, kNear_s);
  EXPECT_NEAR(result.number("ttft_breakdown_ms.retries"), 1e3 * (timeout_s + backoff_s) / 2, 1e-3);
  EXPECT_NEAR(result.number("ttft_breakdown_ms.queue"), 0, 1e-3);
}

TEST(Abandonment, OfATurnAtTheBeginningStartsNoEarlier) {
  std::vector<Case> cases;
  for (int i = 1; i <= 20; ++i) {
    const Workload asked = requests(std::vector<double>(20, 0), 400);
    cases.push_back({one_server(Fidelity::request), impatient(asked, 0.03 * i, {.count = 2})});
  }
  for (const RunResult& result : run_all(cases)) {
    for (const TurnRecord& turn : result.turns) EXPECT_GE(turn.arrival_s, 0);
  }
}

// The client gives up while the fifth of eight slices of its prompt is computed. The current step completes
// first, and with asynchronous scheduling also the step planned next. The retry finds their blocks.
TEST(Abandonment, LeavesTheBlocksOfAPromptToItsRetry) {
  std::vector<double> found;
  for (const bool async : {false, true}) {
    Scenario machine = one_server(Fidelity::request);
    machine.serving.max_num_batched_tokens = 512;
    machine.serving.prefix_caching = true;
    machine.serving.async_scheduling = async;
    Workload workload = requests({0}, 1);
    workload.turns[0].input_tokens = 8 * 512;
    const double prefill_s = run(machine, workload).turns[0].ttft_s;
    workload.clients = {.timeout_s = 0.55 * prefill_s, .retries = {.count = 1}};
    const RunResult result = run(machine, workload);
    const TurnRecord& turn = result.turns[0];
    EXPECT_TRUE(turn.answered());
    EXPECT_EQ(turn.hit_tokens, async ? 6 * 512U : 5 * 512U);
    EXPECT_EQ(result.number("wasted_prompt_tokens"), turn.hit_tokens);
    EXPECT_EQ(result.number("total_input_tokens"), 8 * 512);
  }
}

// The client abandons the second of three turns and so has no answer to continue from.
TEST(Abandonment, OfATurnEndsItsSession) {
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 3});
  for (const uint32_t tokens : {10U, 1000U, 10U})
    workload.turns.push_back({.input_tokens = 10, .output_tokens = tokens, .time_s = 0});
  const Scenario server = one_server(Fidelity::request);
  const double all_s = run(server, workload).number("duration");
  const RunResult result = run(server, impatient(workload, 0.5 * all_s, {.count = 1, .backoff_s = 1}));
  EXPECT_EQ(result.number("completed"), 1);
  EXPECT_EQ(result.number("failed"), 2);
  EXPECT_EQ(result.number("abandoned"), 2);
  EXPECT_FALSE(result.turns[0].failed);
  EXPECT_EQ(result.turns[1].abandoned, 2);
  EXPECT_EQ(result.turns[2].abandoned, 0);
  EXPECT_EQ(result.number("total_output_tokens"), 10);
}

// ---- engines of several kinds and numbers ----

TEST(Abandonment, LosesNobodyWhereDraftsAreVerified) {
  const Workload workload = chats(60, 1, 5, 2);
  std::vector<Case> cases;
  for (const bool async : {false, true}) {
    Scenario machine = scenario("kv_offload");
    machine.serving.kv_capacity_tokens = 12000;
    machine.serving.max_model_len = 6000;
    machine.serving.prefix_caching = true;
    machine.serving.async_scheduling = async;
    machine.serving.speculative =
        SpeculativeOptions{.method = DraftMethod::ngram, .draft_tokens = 3, .acceptance_rate = 0.6};
    for (const double timeout_s : {0.4, 4.0})
      cases.push_back({machine, impatient(workload, timeout_s, {.count = 2})});
  }
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(i);
    expect_all_accounted(runs[i], cases[i].workload);
    EXPECT_GT(runs[i].number("abandoned"), 0);
  }
}

TEST(Abandonment, LosesNobodyWhereNodesFail) {
  const Workload workload = chats(80, 1.5, 4, 2);
  std::vector<Case> cases;
  for (const Routing routing : {Routing::round_robin, Routing::prefix_aware, Routing::cache_aware}) {
    Scenario machine = scenario("kv_offload");
    machine.serving.kv_capacity_tokens = 12000;
    machine.serving.max_model_len = 6000;
    machine.serving.prefix_caching = machine.serving.async_scheduling = true;
    machine.fleet.replicas = 2;
    machine.fleet.routing = routing;
    // For some time no node is up.
    machine.fleet.failures = {{.replica = 0, .at_s = 10, .down_s = 20},
                              {.replica = 1, .at_s = 15, .down_s = 8}};
    for (const double timeout_s : {0.7, 6.0})
      cases.push_back({machine, impatient(workload, timeout_s, {.count = 2})});
  }
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(i);
    expect_all_accounted(runs[i], cases[i].workload);
    EXPECT_GT(runs[i].number("abandoned"), 0);
  }
}

TEST(Abandonment, LosesNobodyBetweenPrefillAndDecode) {
  const Workload workload = chats(80, 1.5, 4, 2);
  std::vector<Case> cases;
  for (const KvTransfer transfer : {KvTransfer::pull, KvTransfer::push}) {
    for (const TransferGranularity granularity : {TransferGranularity::end, TransferGranularity::layerwise}) {
      if (transfer == KvTransfer::pull && granularity == TransferGranularity::layerwise) continue;
      for (const bool leases : {false, true}) {
        Scenario machine = scenario("kv_offload");
        machine.hardware.nic = Nic{.count = 2, .bandwidth_bytes_per_s = 1e9, .latency_s = 0.002};
        machine.serving.kv_capacity_tokens = 9000;
        machine.serving.max_model_len = 6000;
        machine.serving.prefix_caching = machine.serving.async_scheduling = true;
        machine.fleet.replicas = 3;
        machine.fleet.disaggregation =
            DisaggregationOptions{.prefill_replicas = 1, .transfer = transfer, .granularity = granularity};
        if (leases) machine.fleet.disaggregation->lease_s = 0.5;
        for (const double timeout_s : {0.15, 0.7, 6.0})
          cases.push_back({machine, impatient(workload, timeout_s, {.count = 2})});
      }
    }
  }
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(i);
    expect_all_accounted(runs[i], cases[i].workload);
    EXPECT_GT(runs[i].number("abandoned"), 0);
    EXPECT_GT(runs[i].number("wasted_prompt_tokens"), 0);
  }
}

// The number of active sessions stays constant: another begins when one has failed.
TEST(Abandonment, OfAClosedLoopMakesRoomForTheNextSession) {
  Workload workload = chats(60, 1, 5, 2);
  for (const Session& session : workload.sessions) workload.turns[session.first_turn].time_s = 0;
  workload.concurrency = 12;
  Scenario machine = scenario("recompute");
  machine.serving.max_num_seqs = 4;
  const double timeout_s = 0.6 * median_s(run(machine, workload));
  const Workload hurried = impatient(workload, timeout_s, {.count = 1});
  const RunResult result = run(machine, hurried);
  expect_all_accounted(result, hurried);
  EXPECT_GT(result.number("failed"), 0);
  EXPECT_GT(result.number("completed"), 0);
  EXPECT_EQ(result.text("stable.verdict"), "saturated");
}

}  // namespace
}  // namespace kvcap::laws::abandonment_laws_test
