// What laws and formulas of studies say, against values worked out elsewhere and brute force.
#include "validate/studies/laws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <list>

#include "base/input_error.h"
#include "base/random.h"
#include "validate/studies/expression.h"
#include "workload/generators/named_workloads.h"

namespace kvcap::laws_test {
namespace {

double value(const std::string& expression) {
  return evaluate(expression, [](const std::string& name) -> double { throw InputError("no " + name); });
}

TEST(CacheFormulas, HitInProportionWhereAllAreAlike) {
  EXPECT_NEAR(value("lru_hit_rate(40, 0, 10)"), 0.25, 1e-12);
  EXPECT_NEAR(value("fifo_hit_rate(40, 0, 10)"), 0.25, 1e-12);
}

TEST(CacheFormulas, SolveChesEquationForTwoItems) {
  // Popularities 2/3 and 1/3, one place. With x = e^(-T/3), 2 - x^2 - x = 1 gives x = (sqrt(5) - 1) / 2; hit
  // rate 2 (1 - x^2) / 3 + (1 - x) / 3 = (1 + x) / 3.
  EXPECT_NEAR(value("lru_hit_rate(2, 1, 1)"), (1 + (std::sqrt(5.0) - 1) / 2) / 3, 1e-12);
  // FIFO with y = T / 3: 2 y / (1 + 2 y) + y / (1 + y) = 1, that is 2 y^2 = 1.
  const double y = std::sqrt(0.5);
  EXPECT_NEAR(value("fifo_hit_rate(2, 1, 1)"), 2 * 2 * y / (3 * (1 + 2 * y)) + y / (3 * (1 + y)), 1e-12);
}

TEST(CacheFormulas, OfATtlIsTheChanceOfAnotherUseInTime) {
  EXPECT_NEAR(value("ttl_hit_rate(1, 0, 2, 3)"), 1 - std::exp(-6), 1e-15);
  EXPECT_NEAR(value("ttl_hit_rate(2, 1, 1, 3)"), 2 * (1 - std::exp(-2)) / 3 + (1 - std::exp(-1)) / 3, 1e-15);
}

TEST(Zipf, DrawsInProportion) {
  const std::vector<double> p = zipf(3, 1);  // 1, 1/2, 1/3 of 11/6
  EXPECT_NEAR(p[0], 6.0 / 11, 1e-15);
  EXPECT_NEAR(p[2], 2.0 / 11, 1e-15);
}

// Prompts of one piece, of 1 to 7 tokens, and one more token.
TEST(Laws, FindInAnLruStackWhatAListInOrderOfUseFinds) {
  const RandomStream random(11, "stack");
  const auto size_of = [](uint64_t item) { return static_cast<uint32_t>(1 + item % 7); };
  constexpr int64_t kCapacity = 150;
  Workload workload;
  workload.piece_begin = {0};
  std::list<uint64_t> list;  // last used first
  double found = 0, prompts = 0;
  for (std::size_t i = 0; i < 5000; ++i) {
    const auto item = static_cast<uint64_t>(200 * std::pow(random.uniform(i), 3));
    workload.turns.push_back({.input_tokens = size_of(item) + 1, .output_tokens = 1});
    workload.pieces.push_back({.key = item, .tokens = size_of(item)});
    workload.piece_begin.push_back(workload.pieces.size());
    prompts += size_of(item) + 1;
    int64_t distance = 0;
    for (auto at = list.begin(); at != list.end(); ++at) {
      distance += size_of(*at);
      if (*at != item) continue;
      if (distance <= kCapacity) found += size_of(item);
      list.erase(at);
      break;
    }
    list.push_front(item);
  }
  const WorkloadParameters parameters(nlohmann::ordered_json{{"lru_tokens", kCapacity}});
  EXPECT_DOUBLE_EQ(law_of("lru_token_hit_rate")({workload, parameters, {}}), found / prompts);
}

// One server, a service of 2 s: arrivals at 0, 1 and 7 s wait 0, 1 and 0 s, half a service in three turns.
TEST(Laws, WaitByLindleysRecursion) {
  Workload workload;
  for (const double time_s : {0, 1, 7}) {
    workload.turns.push_back({.input_tokens = 1, .output_tokens = 1, .time_s = time_s});
  }
  const WorkloadParameters parameters(nlohmann::ordered_json{{"service_s", 2}});
  EXPECT_DOUBLE_EQ(law_of("lindley_wait")({workload, parameters, {}}), 0.5 / 3);
}

TEST(Laws, AnUnknownOneIsRefusedWithTheNearest) {
  try {
    law_of("lindley");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("law.lindley_wait"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace kvcap::laws_test
