// Compares `kvcap run` with the engine's specification: hits, first and last tokens, preemptions and refusals
// are equal. GPU and links take no time on this machine, so that a step lasts step_overhead_s +
// step_overhead_per_sequence_s x sequences.
//
// Other tests compare the engine in this process. This one goes through files, as users do: traces of every
// form with shared text, the scenario, the hardware profile, requests.csv.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reference/engine_model.h"
#include "reference/literal_engine.h"
#include "reference/random_chats.h"
#include "reference/random_requests.h"
#include "reference/request_workload.h"
#include "unit/cli.h"

namespace kvcap::reference::program_engine_test {
namespace {

using Json = nlohmann::json;

// Users compare to 0.1 ms. The remaining differences are SimGrid's merging of dates closer than 1e-9 s, and
// kTie_s.
constexpr double kTolerance_s = 1e-6;

// A turn that arrives with an answer arrives exactly when a step ends. In the reference it arrives earlier by
// this time, so that rounding does not make it late for the step that begins then.
constexpr double kTie_s = 1e-7;

Json one_layer() {
  return {{"schema", "kvcap.model/1"}, {"name", "one-layer"},
          {"num_hidden_layers", 1},    {"hidden_size", 64},
          {"num_attention_heads", 1},  {"intermediate_size", 64},
          {"vocab_size", 256},         {"max_position_embeddings", 1'000'000}};
}

Json host_alone() {
  const Json all_of_it = {{"model", "constant"}, {"efficiency", 1}};
  return {
      {"schema", "kvcap.hardware/1"},
      {"name", "host-alone"},
      {"provenance", {{"kind", "datasheet"}, {"source", "a machine whose steps cost only the host's time"}}},
      {"gpu",
       {{"name", "instant"},
        {"count", 1},
        {"peak_flops", 1e18},
        {"memory_bytes", 1e12},
        {"memory_bandwidth_bytes_per_s", 1e18},
        {"sm_count", 1},
        {"gemm", all_of_it},
        {"attention", all_of_it}}},
      {"pcie", {{"h2d_bandwidth_bytes_per_s", 1e12}, {"d2h_bandwidth_bytes_per_s", 1e12}}}};
}

Json serving(const EngineOptions& options) {
  return {{"block_size", options.block_size},
          {"kv_capacity_tokens", options.blocks * options.block_size},
          {"max_num_seqs", options.max_num_seqs},
          {"max_num_batched_tokens", options.max_num_batched_tokens},
          {"max_model_len", 1'000'000},
          {"allow_impossible", true},
          {"prefix_caching", options.prefix_caching},
          {"async_scheduling", options.async_scheduling},
          {"cache_generated", options.cache_generated},
          {"step_overhead_s", options.step_overhead_s},
          {"step_overhead_per_sequence_s", options.step_overhead_per_sequence_s},
          {"host_times", "none"}};
}

// A row of requests.csv.
struct Row {
  std::size_t session = 0, turn = 0;
  double arrival_s = 0;
  int64_t hit_tokens = 0;
  bool rejected = false;
  double ttft_s = 0, e2el_s = 0;
  double answered_s() const { return arrival_s + e2el_s; }
};

struct Served {
  std::vector<Row> rows;
  int64_t preemptions = 0;
};

std::vector<Row> read_rows(const std::string& csv) {
  std::istringstream lines(csv);
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream rest(line);
    for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
    return cells;
  };
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> columns = cells_of(line);
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    std::map<std::string, std::string> cells;
    const std::vector<std::string> values = cells_of(line);
    for (std::size_t i = 0; i < std::min(columns.size(), values.size()); ++i) cells[columns[i]] = values[i];
    Row row = {.session = std::stoul(cells.at("session")),
               .turn = std::stoul(cells.at("turn")),
               .arrival_s = std::stod(cells.at("arrival_s")),
               .hit_tokens = std::stoll(cells.at("hit_tokens")),
               .rejected = cells.at("rejected") == "1"};
    if (!row.rejected) {
      row.ttft_s = std::stod(cells.at("ttft_ms")) / 1e3;
      row.e2el_s = std::stod(cells.at("e2el_ms")) / 1e3;
    }
    rows.push_back(row);
  }
  return rows;
}

class Program : public Cli {
 protected:
  Served serve(const EngineOptions& options, const Json& workload) const {
    write("scenario.json", Json{{"schema", "kvcap.scenario/1"},
                                {"model", one_layer()},
                                {"hardware", host_alone()},
                                {"serving", serving(options)},
                                {"workload", workload},
                                {"policy", "recompute"}}
                               .dump());
    const Cli::Outcome run = kvcap({"run", path("scenario.json"), "--out", path("results"), "--check"});
    if (run.exit_code != 0) throw std::runtime_error(run.err);
    const Json result = Json::parse(read_file(path("results/result.json")));
    return {read_rows(read_file(path("results/requests.csv"))), result["metrics"]["preemptions"]};
  }
  Served serve_trace(const EngineOptions& options, const Json& source) const {
    return serve(options, {{"source", source}, {"arrivals", {{"process", "trace"}}}});
  }

  // ---- one turn a session; its number is the request's ----

  Served serve_pieces(const EngineOptions& options, const std::vector<Request>& requests) const {
    write("pieces.jsonl", to_sessions_jsonl(requests));
    return serve_trace(options, {{"kind", "sessions"}, {"path", "pieces.jsonl"}});
  }
  Served serve_mooncake(const EngineOptions& options, const std::vector<Request>& requests) const;
  Served serve_vllm(const EngineOptions& options, const std::vector<Request>& requests) const;
};

void expect_same(const Row& row, const reference::Outcome& outcome) {
  SCOPED_TRACE("request " + std::to_string(outcome.id) + ", which arrives at " +
               std::to_string(row.arrival_s) + " s");
  ASSERT_EQ(row.rejected, outcome.refused);
  if (outcome.refused) return;
  EXPECT_EQ(row.hit_tokens, outcome.hit_tokens);
  EXPECT_NEAR(row.ttft_s, outcome.ttft_s, kTolerance_s);
  EXPECT_NEAR(row.e2el_s, outcome.e2el_s, kTolerance_s);
}

// Compares runs in which every session has one turn.
void expect_same(const Served& served, const EngineRun& run) {
  ASSERT_EQ(served.rows.size(), run.outcomes.size());
  for (const Row& row : served.rows) {
    expect_same(row, run.outcomes.at(row.session));
    if (testing::Test::HasFailure()) return;  // reports only the first request that differs
  }
  EXPECT_EQ(served.preemptions, run.preemptions());
}

// ---- blocks of traces ----

constexpr int64_t kTraceBlock = 16;

// Returns the ids of the full blocks of `parts`: equal blocks after equal blocks have equal ids.
std::vector<Chain> ids_of(Chains& chains, const std::vector<TextPart>& parts) {
  std::vector<Token> tokens;
  for (const TextPart& part : parts) {
    for (int64_t i = 0; i < part.tokens; ++i) tokens.push_back({part.text, i});
  }
  return chains.of(tokens, kTraceBlock);
}

Served Program::serve_mooncake(const EngineOptions& options, const std::vector<Request>& requests) const {
  Chains chains;
  std::string lines;
  for (const Request& request : requests) {
    std::vector<Chain> ids = ids_of(chains, request.prompt);
    // The last block is never found if it is not full.
    if (prompt_tokens(request) % kTraceBlock > 0) ids.push_back(1'000'000 + request.id);
    lines += Json{{"timestamp", 1e3 * request.arrival_s},
                  {"input_length", prompt_tokens(request)},
                  {"output_length", request.output_tokens},
                  {"hash_ids", ids}}
                 .dump() +
             "\n";
  }
  write("mooncake.jsonl", lines);
  return serve_trace(options,
                     {{"kind", "mooncake"}, {"path", "mooncake.jsonl"}, {"block_tokens", kTraceBlock}});
}

Served Program::serve_vllm(const EngineOptions& options, const std::vector<Request>& requests) const {
  Chains chains;
  std::string lines;
  std::ostringstream csv;
  csv.precision(17);
  csv << "request_id,arrival_s,input_tokens,output_tokens\n";
  for (const Request& request : requests) {
    std::vector<TextPart> texts = request.prompt;
    texts.push_back({answer_text(request.id), request.output_tokens});
    lines += Json{{"timestamp", 0},
                  {"input_length", prompt_tokens(request)},
                  {"output_length", request.output_tokens},
                  {"hash_ids", ids_of(chains, texts)}}
                 .dump() +
             "\n";
    csv << request.id << ',' << request.arrival_s << ',' << prompt_tokens(request) << ','
        << request.output_tokens << '\n';
  }
  write("run.csv", csv.str());
  write("blocks.jsonl", lines);
  return serve_trace(options, {{"kind", "vllm"}, {"path", "run.csv"}, {"hash_ids", "blocks.jsonl"}});
}

// Returns requests whose prompts a trace can describe in its blocks: the engine's blocks are as large, or
// twice as large.
RandomCase in_trace_blocks(uint64_t number) {
  RandomCase one = random_case(number);
  const int64_t tokens = one.options.blocks * one.options.block_size;
  one.options.block_size = number % 3 == 0 ? 2 * kTraceBlock : kTraceBlock;
  one.options.blocks = (tokens + one.options.block_size - 1) / one.options.block_size;
  return one;
}

// Mooncake's blocks describe prompts only: answers are never found.
RandomCase without_answers(RandomCase one) {
  constexpr Key kOther = 1'000'000;
  for (Request& request : one.requests) {
    for (TextPart& part : request.prompt) {
      if (part.text >= answer_text(0)) part.text += kOther - answer_text(0);
    }
  }
  return one;
}

// ---- chats ----

// Returns the requests of the rows' turns, in order of arrival.
std::vector<Request> requests_of(const std::vector<Chat>& chats, std::vector<Row> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& one, const Row& other) {
    return std::tie(one.arrival_s, one.session, one.turn) <
           std::tie(other.arrival_s, other.session, other.turn);
  });
  std::vector<double> answers_s;
  for (const Row& row : rows) {
    if (!row.rejected) answers_s.push_back(row.answered_s());
  }
  std::set<std::size_t> ended;  // sessions with a refused turn: their later turns never arrive
  std::vector<Request> requests;
  for (const Row& row : rows) {
    if (ended.contains(row.session)) continue;
    if (row.rejected) ended.insert(row.session);
    const bool tie = std::any_of(answers_s.begin(), answers_s.end(),
                                 [&](double at_s) { return std::abs(at_s - row.arrival_s) < kTie_s; });
    requests.push_back(request_of(chats, row.session, row.turn, row.arrival_s - (tie ? kTie_s : 0)));
  }
  return requests;
}

void expect_turns_wait_for_answers(const std::vector<Chat>& chats, const std::vector<Row>& rows, bool timed) {
  std::map<std::pair<std::size_t, std::size_t>, Row> by_turn;
  for (const Row& row : rows) by_turn[{row.session, row.turn}] = row;
  for (const auto& [where, row] : by_turn) {
    const ChatTurn& turn = chats[row.session].turns[row.turn];
    if (row.rejected || (!turn.parent && !timed)) continue;
    double earliest_s = timed ? turn.arrival_s : 0;
    if (turn.parent) earliest_s = std::max(earliest_s, by_turn.at({row.session, *turn.parent}).answered_s());
    SCOPED_TRACE("turn " + std::to_string(row.turn) + " of session " + std::to_string(row.session));
    if (timed) {
      EXPECT_NEAR(row.arrival_s, earliest_s, kTolerance_s);
    } else {
      EXPECT_GT(row.arrival_s, earliest_s);
    }
  }
}

// ---- requests whose dates are written down ----

// Recorded output of engine_model.py for the requests; comments explain the first of each kind.
struct WrittenRow {
  int64_t hit_tokens = 0;
  double ttft_ms = 0, e2el_ms = 0;
  int64_t preemptions = 0;
};
constexpr WrittenRow kRefused = {.hit_tokens = -1};
struct WrittenDown {
  std::string what;
  EngineOptions options;
  std::vector<Request> requests;
  std::vector<WrittenRow> rows;
  std::vector<Chat> chats;  // the chats of the requests, if any
};

// Blocks have 4 tokens; a step lasts 10 ms plus 1 ms per sequence.
EngineOptions by_hand(bool async, int64_t blocks) {
  return {.block_size = 4,
          .blocks = blocks,
          .max_num_seqs = 8,
          .max_num_batched_tokens = 64,
          .async_scheduling = async,
          .step_overhead_s = 0.010,
          .step_overhead_per_sequence_s = 0.001};
}

// Returns three concurrent prompts with one prefix: the second continues differently, and the third is the
// prefix itself. Then the first comes again with its answer.
std::vector<Request> burst() {
  return {{0, 0, {{7, 16}, {1, 5}}, 3},
          {1, 0, {{7, 16}, {2, 5}}, 3},
          {2, 0, {{7, 16}}, 1},
          {3, 0.015, {{7, 16}, {1, 5}, {answer_text(0), 3}, {3, 2}}, 2}};
}
std::vector<WrittenDown> bursts() {
  const EngineOptions sync = by_hand(false, 100), async = by_hand(true, 100);
  EngineOptions stateless = sync;
  stateless.prefix_caching = false;
  return {
      // The first step has three sequences: 10 + 3 x 1 = 13 ms. The second one has two and ends at 25 ms. The
      // last request arrived at 15 ms and joins the third: 25 + 13 = 38 ms, TTFT 38 - 15.
      {"a burst, step by step", sync, burst(), {{0, 13, 38}, {16, 13, 38}, {12, 13, 13}, {20, 23, 34}}, {}},
      // At 13 ms the third step is planned without the last request: 13 + 12 + 12 = 37 ms. The request joins
      // the fourth step, alone: 37 + 11 = 48 ms.
      {"a burst, planned ahead", async, burst(), {{0, 13, 37}, {16, 13, 37}, {12, 13, 13}, {20, 33, 44}}, {}},
      {"a burst without a prefix cache",
       stateless,
       burst(),
       {{0, 13, 38}, {0, 13, 38}, {0, 13, 13}, {0, 23, 34}},
       {}}};
}

std::vector<WrittenDown> full_pools() {
  const std::vector<Request> two = {{0, 0, {{7, 8}}, 5}, {1, 0, {{8, 8}}, 5}};
  const std::vector<Request> waits = {{0, 0, {{7, 8}}, 8},
                                      {1, 0.015, {{7, 8}, {answer_text(0), 4}, {8, 8}}, 1}};
  return {// Two blocks each; for the second token both want a third one, and there is one. The request that
          // was admitted last begins again when the other has ended, after 12 + 4 x 11 = 56 ms.
          {"a preemption", by_hand(false, 5), two, {{0, 12, 56}, {0, 12, 100, 1}}, {}},
          {"a preemption, planned ahead", by_hand(true, 5), two, {{0, 12, 56}, {0, 12, 100, 1}}, {}},
          // The second prompt wants all five blocks, of which the first request holds three, two of them
          // named. Its answer fills the third with its fourth token, at 44 ms: the next step, of two
          // sequences, takes the second request, which finds 12 tokens. 44 + 12 - 15 = 41 ms.
          {"a request that waits for another's answer to fill a block",
           by_hand(false, 5),
           waits,
           {{0, 11, 89}, {12, 41, 41}},
           {}},
          // The plan of that step was made earlier, and the next step first takes a fourth block.
          {"the same, planned ahead", by_hand(true, 5), waits, {{0, 11, 88}, {12, 84, 84}}, {}},
          {"a request that can never fit",
           by_hand(false, 2),
           {{0, 0, {{7, 8}}, 2}, {1, 0, {{8, 8}}, 1}},
           {kRefused, {0, 11, 11}},
           {}}};
}

// Returns two sessions about one document of 10 tokens, with a budget of 8.
std::vector<WrittenDown> two_chats() {
  const std::vector<Chat> chats = {
      {.context_tokens = 10, .document = 0, .turns = {{3, 4, {}, 0}, {5, 3, 0, 0.200}}},
      {.context_tokens = 10, .document = 0, .turns = {{6, 2, {}, 0.005}, {1, 2, 0, 0.205}}}};
  std::vector<Request> requests;
  for (std::size_t chat = 0; chat < chats.size(); ++chat) {
    for (std::size_t turn = 0; turn < chats[chat].turns.size(); ++turn)
      requests.push_back(request_of(chats, chat, turn, chats[chat].turns[turn].arrival_s));
  }
  EngineOptions sync = by_hand(false, 100);
  sync.max_num_batched_tokens = 8;
  EngineOptions async = sync, prompts_only = sync;
  async.async_scheduling = true;
  prompts_only.cache_generated = false;
  // The first prompt, of 13 tokens, takes two steps. The second session's prompt takes 3 tokens of the budget
  // of the second step: 11 + 12 = 23 ms. The history of 17 tokens is found in 4 full blocks; the remaining 6
  // of 22 tokens are computed in one step of 11 ms.
  return {
      {"chats, step by step", sync, requests, {{0, 23, 58}, {16, 11, 35}, {8, 30, 42}, {16, 18, 30}}, chats},
      {"chats, planned ahead",
       async,
       requests,
       {{0, 22, 58}, {16, 11, 34}, {8, 41, 53}, {16, 29, 40}},
       chats},
      {"chats whose answers are not cached",
       prompts_only,
       requests,
       {{0, 23, 58}, {12, 23, 46}, {8, 30, 42}, {16, 18, 30}},
       chats}};
}

std::vector<WrittenDown> all_written_down() {
  std::vector<WrittenDown> all;
  for (const auto& some : {bursts(), full_pools(), two_chats()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

EngineRun run_of(const WrittenDown& one) {
  EngineRun run;
  for (std::size_t i = 0; i < one.rows.size(); ++i) {
    const WrittenRow& row = one.rows[i];
    if (row.hit_tokens < 0) {
      run.outcomes.push_back({.id = one.requests[i].id, .refused = true});
      continue;
    }
    run.outcomes.push_back({.id = one.requests[i].id,
                            .hit_tokens = row.hit_tokens,
                            .ttft_s = row.ttft_ms / 1e3,
                            .e2el_s = row.e2el_ms / 1e3,
                            .preemptions = row.preemptions});
  }
  return run;
}

TEST_F(Program, ServesRequestsAsIsWrittenDown) {
  for (const WrittenDown& one : all_written_down()) {
    SCOPED_TRACE(one.what);
    Served served;
    if (one.chats.empty()) {
      served = serve_pieces(one.options, one.requests);
    } else {
      write("chats.jsonl", to_sessions_jsonl(one.chats));
      served = serve_trace(one.options, {{"kind", "sessions"}, {"path", "chats.jsonl"}});
    }
    ASSERT_EQ(served.rows.size(), one.rows.size());
    const EngineRun written = run_of(one);
    for (const Row& row : served.rows) {
      const int64_t number =
          one.chats.empty() ? static_cast<int64_t>(row.session) : number_of(one.chats, row.session, row.turn);
      expect_same(row, written.outcomes.at(static_cast<std::size_t>(number)));
    }
    EXPECT_EQ(served.preemptions, written.preemptions());
  }
}

TEST(EngineModel, SaysWhatIsWrittenDown) {
  if (const std::string why = EngineModel::missing(); !why.empty()) GTEST_SKIP() << why;
  const EngineModel model;
  for (const WrittenDown& one : all_written_down()) {
    SCOPED_TRACE(one.what);
    const EngineRun says = model.run(one.options, one.requests), written = run_of(one);
    for (std::size_t i = 0; i < one.requests.size(); ++i) {
      EXPECT_EQ(says.outcomes[i].refused, written.outcomes[i].refused);
      EXPECT_EQ(says.outcomes[i].hit_tokens, written.outcomes[i].hit_tokens);
      EXPECT_EQ(says.outcomes[i].preemptions, written.outcomes[i].preemptions);
      EXPECT_NEAR(says.outcomes[i].ttft_s, written.outcomes[i].ttft_s, 1e-9);
      EXPECT_NEAR(says.outcomes[i].e2el_s, written.outcomes[i].e2el_s, 1e-9);
    }
  }
}

// ---- random requests, against the literal engine and against the specification itself ----

struct Reference {
  const char* name;
  bool is_specification;
  uint64_t first_case;
  uint64_t cases;  // the specification takes one process per case
};
void PrintTo(const Reference& reference, std::ostream* out) { *out << reference.name; }

class ProgramAgainst : public Program, public testing::WithParamInterface<Reference> {
 protected:
  void SetUp() override {
    if (!GetParam().is_specification) return;
    if (const std::string why = EngineModel::missing(); !why.empty()) GTEST_SKIP() << why;
  }
  EngineRun run(const EngineOptions& options, const std::vector<Request>& requests) {
    const EngineRun run =
        GetParam().is_specification ? EngineModel().run(options, requests) : run_literally(options, requests);
    preemptions_ += run.preemptions();
    for (const reference::Outcome& outcome : run.outcomes) {
      hits_ += outcome.hit_tokens;
      refused_ += outcome.refused;
      ++requests_;
    }
    return run;
  }
  // Checks that the random cases cover what they are meant to cover.
  void expect_coverage() const {
    const auto cases = static_cast<int64_t>(GetParam().cases);
    EXPECT_GT(requests_, 20 * cases);
    EXPECT_GT(hits_, 500 * cases);
    EXPECT_GT(preemptions_, cases / 2);
    EXPECT_GT(refused_, 0);
  }
  static std::vector<uint64_t> cases() {
    std::vector<uint64_t> numbers;
    for (uint64_t i = 0; i < GetParam().cases; ++i) numbers.push_back(GetParam().first_case + i);
    return numbers;
  }

 private:
  int64_t requests_ = 0, hits_ = 0, preemptions_ = 0, refused_ = 0;
};
INSTANTIATE_TEST_SUITE_P(References, ProgramAgainst,
                         testing::Values(Reference{"the_literal_engine", false, 201, 24},
                                         Reference{"the_specification", true, 401, 8}),
                         [](const auto& reference) { return reference.param.name; });

TEST_P(ProgramAgainst, ServesTextsThatPromptsShareAlike) {
  for (const uint64_t number : cases()) {
    const RandomCase one = random_case(number);
    SCOPED_TRACE("case " + std::to_string(number) + ": " + describe(one.options));
    expect_same(serve_pieces(one.options, one.requests), run(one.options, one.requests));
    if (HasFailure()) return;
  }
  expect_coverage();
}

TEST_P(ProgramAgainst, ServesBlocksOfTracesAlike) {
  for (const uint64_t number : cases()) {
    const RandomCase one = in_trace_blocks(number);
    SCOPED_TRACE("case " + std::to_string(number) + ": " + describe(one.options));
    expect_same(serve_vllm(one.options, one.requests), run(one.options, one.requests));
    const RandomCase other = without_answers(one);
    expect_same(serve_mooncake(other.options, other.requests), run(other.options, other.requests));
    if (HasFailure()) return;
  }
  expect_coverage();
}

TEST_P(ProgramAgainst, ServesChatsAlike) {
  for (const uint64_t number : cases()) {
    const ChatCase one = random_chats(number);
    SCOPED_TRACE("case " + std::to_string(number) + ": " + describe(one.options));
    write("chats.jsonl", to_sessions_jsonl(one.chats));
    const bool timed = number % 4 < 2;
    const double step_s = one.options.step_overhead_s;
    Json workload = {{"source", {{"kind", "sessions"}, {"path", "chats.jsonl"}}},
                     {"arrivals", {{"process", "trace"}}}};
    if (!timed) {
      workload["arrivals"] = {{"process", "poisson"}, {"sessions_per_s", 0.1 / step_s}};
      workload["think_time"] = {{"distribution", "exponential"}, {"mean_s", 10 * step_s}};
    }
    const Served served = serve(one.options, workload);
    expect_turns_wait_for_answers(one.chats, served.rows, timed);
    const std::vector<Request> requests = requests_of(one.chats, served.rows);
    const EngineRun expected = run(one.options, requests);
    std::map<int64_t, Row> rows;
    for (const Row& row : served.rows) rows[number_of(one.chats, row.session, row.turn)] = row;
    for (const reference::Outcome& outcome : expected.outcomes) {
      expect_same(rows.at(outcome.id), outcome);
      if (HasFailure()) return;
    }
    EXPECT_EQ(served.preemptions, expected.preemptions());
  }
  expect_coverage();
}

}  // namespace
}  // namespace kvcap::reference::program_engine_test
