// The literal engine does what the specification beside the project does, which is a program: what tests
// compare with the literal engine is compared with that program.
#include "reference/literal_engine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/random_requests.h"

namespace kvcap::reference {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// ---- by hand ----

// Blocks of 4 tokens; a step lasts 10 ms and 1 ms a sequence.
EngineOptions options(bool async) {
  return {.block_size = 4,
          .blocks = 100,
          .max_num_seqs = 8,
          .max_num_batched_tokens = 64,
          .async_scheduling = async,
          .step_overhead_s = 0.010,
          .step_overhead_per_sequence_s = 0.001};
}
std::vector<Outcome> run(const EngineOptions& with, const std::vector<Request>& requests) {
  return run_literally(with, requests).outcomes;
}

TEST(LiteralEngine, YieldsOneTokenAStep) {
  const Outcome one = run(options(false), {{0, 1.0, {{7, 10}}, 3}}).front();
  ASSERT_EQ(one.token_dates_s.size(), 3U);
  EXPECT_NEAR(one.token_dates_s[0], 1.011, 1e-12);
  EXPECT_NEAR(one.token_dates_s[2], 1.033, 1e-12);
  EXPECT_NEAR(one.ttft_s, 0.011, 1e-12);
  EXPECT_NEAR(one.e2el_s, 0.033, 1e-12);
}

TEST(LiteralEngine, ComputesALongPromptInSlicesOfTheBudget) {
  EXPECT_NEAR(run(options(false), {{0, 0, {{7, 64}}, 1}}).front().ttft_s, 0.011, 1e-12);
  EXPECT_NEAR(run(options(false), {{0, 0, {{7, 65}}, 1}}).front().ttft_s, 0.022, 1e-12);
}

TEST(LiteralEngine, FindsThePrefixThatARequestOfTheSameStepComputes) {
  const std::vector<Outcome> both = run(options(false), {{0, 0, {{7, 10}}, 1}, {1, 0, {{7, 10}}, 1}});
  EXPECT_EQ(both[0].hit_tokens, 0);
  EXPECT_EQ(both[1].hit_tokens, 8);
}

TEST(LiteralEngine, ComputesTheLastTokenOfAFullHitAgain) {
  const std::vector<Outcome> both = run(options(false), {{0, 0, {{7, 8}}, 1}, {1, 1, {{7, 8}}, 1}});
  EXPECT_EQ(both[1].hit_tokens, 4);
}

TEST(LiteralEngine, AdmitsInTheStepAfterNextWhatArrivesDuringAStepIfItPlansAhead) {
  const std::vector<Request> requests = {{0, 0, {{7, 4}}, 9}, {1, 0.001, {{8, 4}}, 1}};
  // Steps of one sequence end at 11 and 22 ms; the step with both lasts 12 ms.
  EXPECT_NEAR(run(options(false), requests)[1].ttft_s, 0.011 + 0.012 - 0.001, 1e-12);
  EXPECT_NEAR(run(options(true), requests)[1].ttft_s, 0.022 + 0.012 - 0.001, 1e-12);
}

TEST(LiteralEngine, LastsAsLongAsTheSlowerOfGpuAndHostIfItPlansAhead) {
  const GpuTime gpu_s = [](std::span<const SliceOfStep>) { return 0.004; };
  const GpuTime slow_s = [](std::span<const SliceOfStep>) { return 0.040; };
  const std::vector<Request> one = {{0, 0, {{7, 4}}, 1}};
  EXPECT_NEAR(run_literally(options(false), one, gpu_s).outcomes[0].ttft_s, 0.015, 1e-12);
  EXPECT_NEAR(run_literally(options(true), one, gpu_s).outcomes[0].ttft_s, 0.011, 1e-12);
  EXPECT_NEAR(run_literally(options(true), one, slow_s).outcomes[0].ttft_s, 0.040, 1e-12);
}

TEST(LiteralEngine, TellsTheGpuWhatEveryStepComputes) {
  std::vector<SliceOfStep> seen;
  const GpuTime gpu_s = [&seen](std::span<const SliceOfStep> step) {
    seen.insert(seen.end(), step.begin(), step.end());
    return 0.0;
  };
  run_literally(options(false), std::vector<Request>{{0, 0, {{7, 70}}, 2}}, gpu_s);
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].tokens, 64);
  EXPECT_FALSE(seen[0].yields_token);
  EXPECT_EQ(seen[1].tokens, 6);
  EXPECT_EQ(seen[1].cached_tokens, 64);
  EXPECT_TRUE(seen[1].yields_token);
  EXPECT_FALSE(seen[1].is_decode);
  EXPECT_EQ(seen[2].tokens, 1);
  EXPECT_EQ(seen[2].cached_tokens, 70);
  EXPECT_TRUE(seen[2].is_decode);
}

TEST(LiteralEngine, PreemptsTheLastAdmittedWhichFindsItsBlocksAgain) {
  EngineOptions tight = options(false);
  tight.blocks = 5;
  // 2 blocks each; both grow into their third blocks in the same step, and there is one.
  const EngineRun both = run_literally(tight, std::vector<Request>{{0, 0, {{7, 8}}, 5}, {1, 0, {{8, 8}}, 5}});
  EXPECT_EQ(both.outcomes[0].preemptions, 0);
  EXPECT_EQ(both.outcomes[1].preemptions, 1);
  // The last one has got its first token by then, and begins again when the first one has ended.
  EXPECT_NEAR(both.outcomes[0].e2el_s, 0.012 + 4 * 0.011, 1e-12);
  EXPECT_NEAR(both.outcomes[1].e2el_s, both.outcomes[0].e2el_s + 4 * 0.011, 1e-12);
}

TEST(LiteralEngine, RefusesWhatCanNeverFitAndServesTheNext) {
  EngineOptions tight = options(false);
  tight.blocks = 2;
  const std::vector<Outcome> both = run(tight, {{0, 0, {{7, 8}}, 2}, {1, 0, {{8, 8}}, 1}});
  EXPECT_TRUE(both[0].refused);
  EXPECT_TRUE(both[0].token_dates_s.empty());
  EXPECT_FALSE(both[1].refused);
}

// ---- against the specification ----

std::string name_of(Key text) {
  const Key first_answer = answer_text(0);
  return text >= first_answer ? "answer:" + std::to_string(text - first_answer) : "t" + std::to_string(text);
}

// Runs the specification and prints its outcomes and the blocks that were evicted. Chains get numbers,
// because their hashes do not tell what they were made of.
constexpr const char* kDriver = R"(
import json, os, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
sys.dont_write_bytecode = True
import engine_model

numbers = {}
def chain(self, i, size):
    mine = self.__dict__.setdefault("chains", {})
    if i not in mine:
        mine[i] = numbers.setdefault(tuple(self.stream[:(i + 1) * size]), len(numbers))
    return mine[i]
engine_model.Request.chain = chain

config = json.load(open(sys.argv[2]))
done, evicted = engine_model.simulate(config, [json.loads(line) for line in open(sys.argv[3])])
chains = list(numbers)
rows = [[len(chains[c]) // config["block_size"], chains[c][-1][0], chains[c][-1][1]] for c in evicted]
print(json.dumps({"done": done, "evicted": rows}))
)";

class EngineModel : public testing::Test {
 protected:
  EngineModel() : folder_(fs::temp_directory_path() / ("kvcap_model_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "driver.py") << kDriver;
  }
  ~EngineModel() override { fs::remove_all(folder_); }

  static fs::path model() {
    return fs::path(KVCAP_SOURCE_DIR) / ".." / "shared" / "design" / "engine_model.py";
  }

  Json specified(const RandomCase& one) const {
    const EngineOptions& with = one.options;
    std::ofstream(folder_ / "config.json") << Json{
        {"block_size", with.block_size},          {"blocks", with.blocks},
        {"max_num_seqs", with.max_num_seqs},      {"max_num_batched_tokens", with.max_num_batched_tokens},
        {"step_s", with.step_overhead_s},         {"per_sequence_s", with.step_overhead_per_sequence_s},
        {"prefix_caching", with.prefix_caching},  {"async_scheduling", with.async_scheduling},
        {"cache_generated", with.cache_generated}};
    {
      std::ofstream requests(folder_ / "requests.jsonl");
      for (const Request& request : one.requests) {
        Json tokens = Json::array();
        for (const TextPart& part : request.prompt) tokens.push_back({name_of(part.text), part.tokens});
        requests << Json{{"id", request.id},
                         {"arrival_s", request.arrival_s},
                         {"tokens", tokens},
                         {"output_tokens", request.output_tokens}}
                 << "\n";
      }
    }
    const std::string out = (folder_ / "out.json").string();
    const std::string command = "python3 '" + (folder_ / "driver.py").string() + "' '" + model().string() +
                                "' '" + (folder_ / "config.json").string() + "' '" +
                                (folder_ / "requests.jsonl").string() + "' > '" + out + "'";
    if (std::system(command.c_str()) != 0) return nullptr;
    std::ifstream file(out);
    return Json::parse(file);
  }

  fs::path folder_;
};

TEST_F(EngineModel, IsWhatTheLiteralEngineDoes) {
  if (!fs::exists(model())) {
    GTEST_SKIP() << "NOT COMPARED: there is no specification at " << model()
                 << "; put engine_model.py there to compare the literal engine with it.";
  }
  if (std::system("python3 -c pass") != 0) GTEST_SKIP() << "NOT COMPARED: there is no python3";
  int64_t preemptions = 0, hits = 0, refused = 0;
  std::size_t evictions = 0;
  for (uint64_t number = 1; number <= 24; ++number) {
    const RandomCase one = random_case(number);
    SCOPED_TRACE("case " + std::to_string(number) + ": " + describe(one.options));
    const Json model = specified(one);
    ASSERT_FALSE(model.is_null()) << "the specification did not run";
    const EngineRun run = run_literally(one.options, one.requests);
    std::map<int64_t, Json> done;
    for (const Json& row : model["done"]) done[row["id"].get<int64_t>()] = row;
    for (const Outcome& outcome : run.outcomes) {
      SCOPED_TRACE("request " + std::to_string(outcome.id));
      ASSERT_EQ(outcome.refused, !done.contains(outcome.id));
      if (outcome.refused) {
        ++refused;
        continue;
      }
      const Json& row = done.at(outcome.id);
      ASSERT_EQ(outcome.hit_tokens, row["hit_tokens"].get<int64_t>());
      ASSERT_EQ(outcome.preemptions, row["preemptions"].get<int64_t>());
      ASSERT_NEAR(outcome.ttft_s, row["ttft_s"].get<double>(), 1e-9);
      ASSERT_NEAR(outcome.e2el_s, row["e2el_s"].get<double>(), 1e-9);
      hits += outcome.hit_tokens;
    }
    ASSERT_EQ(run.evicted.size(), model["evicted"].size());
    for (std::size_t i = 0; i < run.evicted.size(); ++i) {
      const EvictedBlock& block = run.evicted[i];
      ASSERT_EQ((Json{block.blocks, name_of(block.last_token.text), block.last_token.index}),
                model["evicted"][i]);
    }
    preemptions += run.preemptions();
    evictions += run.evicted.size();
  }
  // The cases reach what they are there to reach.
  EXPECT_GT(hits, 1000);
  EXPECT_GT(preemptions, 20);
  EXPECT_GT(evictions, 1000U);
  EXPECT_GT(refused, 0);
}

// What the generator promises, counted over the cases that other tests run.
TEST(RandomRequests, CoverWhatTheEnginesDifferIn) {
  int64_t sliced = 0, single = 0, with_answers = 0, bursts = 0, preempting = 0, steps = 0;
  for (uint64_t number = 1; number <= 200; ++number) {
    const RandomCase one = random_case(number);
    double before_s = -1;
    for (std::size_t i = 0; i < one.requests.size(); ++i) {
      const Request& request = one.requests[i];
      ASSERT_EQ(request.id, static_cast<int64_t>(i));
      ASSERT_GE(request.arrival_s, before_s);
      ASSERT_GE(prompt_tokens(request), 1);
      ASSERT_GE(request.output_tokens, 1);
      if (request.arrival_s == before_s) ++bursts;
      if (prompt_tokens(request) > one.options.max_num_batched_tokens) ++sliced;
      if (request.output_tokens == 1) ++single;
      for (const TextPart& part : request.prompt) {
        ASSERT_NE(part.text, answer_text(request.id));
        if (part.text >= answer_text(0)) ++with_answers;
      }
      before_s = request.arrival_s;
    }
    const EngineRun run = run_literally(one.options, one.requests);
    if (run.preemptions() > 0) ++preempting;
    steps += run.steps;
    for (const Outcome& outcome : run.outcomes) {
      ASSERT_EQ(std::ssize(outcome.token_dates_s),
                outcome.refused ? 0 : one.requests[static_cast<std::size_t>(outcome.id)].output_tokens);
    }
  }
  EXPECT_GT(sliced, 500);
  EXPECT_GT(single, 500);
  EXPECT_GT(with_answers, 500);
  EXPECT_GT(bursts, 500);
  EXPECT_GT(preempting, 40);
  EXPECT_GT(steps, 10000);
}

}  // namespace
}  // namespace kvcap::reference
