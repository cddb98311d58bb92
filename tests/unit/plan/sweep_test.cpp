#include "plan/sweep/sweep.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/input_error.h"
#include "base/sha256.h"
#include "plan/sweep/point.h"
#include "plan/sweep/results_file.h"
#include "plan/sweep/sample.h"

namespace kvcap::sweep_test {
namespace {

const std::string kBase =
    R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "a100-40g-4x-pm9a3",
    "workload": {"source": {"kind": "chat"}}})";

Sweep sweep_of(const std::string& parts) {
  return parse_sweep(
      R"({"schema": "kvcap.sweep/1", "base": )" + kBase + (parts.empty() ? "" : ", ") + parts + "}",
      "s.json");
}

std::vector<std::string> rows_of(const Sweep& sweep) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    std::string row;
    for (const std::string& value : sweep.values(i)) row += (row.empty() ? "" : " ") + value;
    rows.push_back(row);
  }
  return rows;
}

TEST(Sweep, TakesEveryCombinationOfAGridTheLastFieldFastest) {
  const Sweep sweep = sweep_of(R"("grid": {"policy.name": ["kv_offload", "hcache"], "seed": [1, 2, 3]})");
  EXPECT_EQ(sweep.paths(), (std::vector<std::string>{"policy.name", "seed"}));
  EXPECT_EQ(rows_of(sweep),
            (std::vector<std::string>{"\"kv_offload\" 1", "\"kv_offload\" 2", "\"kv_offload\" 3",
                                      "\"hcache\" 1", "\"hcache\" 2", "\"hcache\" 3"}));
  EXPECT_EQ(sweep.scenario(4).policy.name, "hcache");
  EXPECT_EQ(sweep.scenario(4).seed, 2U);
}

TEST(Sweep, MovesZippedFieldsTogether) {
  EXPECT_EQ(rows_of(sweep_of(R"("zip": {"seed": [1, 2], "replications": [5, 7]})")),
            (std::vector<std::string>{"1 5", "2 7"}));
}

TEST(Sweep, LeavesWhatAPointDoesNotNameAsTheBaseHasIt) {
  const Sweep sweep = sweep_of(R"("points": [{"seed": 4}, {}, {"replications": 2}])");
  EXPECT_EQ(rows_of(sweep), (std::vector<std::string>{"4 ", "", "2"}));
  EXPECT_EQ(sweep.values(2), (std::vector<std::string>{"", "2"}));
  EXPECT_EQ(sweep.scenario(2).seed, 1U);
  EXPECT_EQ(sweep.scenario(2).replications, 2);
}

TEST(Sweep, MultipliesItsParts) {
  const Sweep sweep = sweep_of(
      R"("grid": {"seed": [1, 2]}, "zip": {"policy.name": ["hcache", "ideal"]}, "points": [{"replications": 1},
      {"replications": 2}, {"replications": 3}], "sample": {"method": "random", "points": 5,
      "ranges": {"workload.arrivals.sessions_per_s": [0.1, 0.2]}})");
  EXPECT_EQ(sweep.size(), 2U * 2 * 3 * 5);
  std::set<std::string> different;
  for (const std::string& row : rows_of(sweep)) different.insert(row);
  EXPECT_EQ(different.size(), 60U);
}

TEST(Sweep, IsItsBaseWhenNothingIsVaried) { EXPECT_EQ(sweep_of("").size(), 1U); }

// Whatever their order in the file: an object would reset the members that were set before it.
TEST(Sweep, SetsAnObjectBeforeItsMembers) {
  const std::string policy = R"("policy": ["kv_offload"])", tiers = R"("policy.tiers": [[{"kind": "ssd"}]])",
                    arrivals = R"("workload.arrivals": [{"concurrency": 4}])",
                    concurrency = R"("workload.arrivals.concurrency": [9])";
  for (const std::string& grid : {policy + "," + tiers + "," + arrivals + "," + concurrency,
                                  concurrency + "," + arrivals + "," + tiers + "," + policy}) {
    const Scenario scenario = sweep_of("\"grid\": {" + grid + "}").scenario(0);
    EXPECT_EQ(scenario.policy.name, "kv_offload") << grid;
    ASSERT_TRUE(scenario.policy.tiers) << grid;
    EXPECT_EQ(scenario.policy.tiers->size(), 1U) << grid;
    EXPECT_EQ(scenario.workload.arrivals.concurrency, 9) << grid;
  }
}

TEST(Sweep, DrawsWithinRanges) {
  const Sweep sweep = sweep_of(
      R"("sample": {"method": "latin_hypercube", "points": 40, "seed": 3, "ranges": {
      "workload.arrivals.sessions_per_s": {"min": 0.01, "max": 1, "scale": "log"},
      "hardware.ssd.count": {"min": 1, "max": 4, "integer": true},
      "policy.name": {"values": ["hcache", "kv_offload"]}}})");
  std::vector<int> ssds(5);
  int slow = 0, hcache = 0;
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    const Scenario scenario = sweep.scenario(i);
    const double rate = scenario.workload.arrivals.sessions_per_s.value();
    EXPECT_GE(rate, 0.01);
    EXPECT_LE(rate, 1);
    slow += rate < 0.1 ? 1 : 0;
    hcache += scenario.policy.name == "hcache" ? 1 : 0;
    ++ssds[static_cast<std::size_t>(scenario.hardware.ssd->count)];
  }
  // Every 40th of a coordinate is hit once: half of the decades, a quarter of four counts, half of two names.
  EXPECT_EQ(slow, 20);
  EXPECT_EQ(ssds, (std::vector<int>{0, 10, 10, 10, 10}));
  EXPECT_EQ(hcache, 20);
}

TEST(Sample, OfALatinHypercubeHitsEverySliceOnce) {
  std::vector<double> values = sample(SampleMethod::latin_hypercube, 100, 1, "a");
  EXPECT_FALSE(std::is_sorted(values.begin(), values.end()));
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(static_cast<std::size_t>(values[i] * 100), i) << values[i];
}

TEST(Sample, OfOneCoordinateDoesNotDependOnOthers) {
  for (SampleMethod method : {SampleMethod::random, SampleMethod::latin_hypercube}) {
    EXPECT_EQ(sample(method, 50, 1, "a"), sample(method, 50, 1, "a"));
    EXPECT_NE(sample(method, 50, 1, "a"), sample(method, 50, 1, "b"));
    EXPECT_NE(sample(method, 50, 1, "a"), sample(method, 50, 2, "a"));
  }
}

std::string message_of(const std::string& parts) {
  try {
    const Sweep sweep = sweep_of(parts);
    for (std::size_t i = 0; i < sweep.size(); ++i) sweep.scenario(i);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Sweep, SaysInOneLineWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("grids": {})", "s.json: grids: unknown key; did you mean \"grid\"?"},
      {R"("grid": {"seed": 3})", "s.json: grid: seed: found 3, allowed: an array of at least one value"},
      {R"("grid": {"seed": []})",
       "s.json: grid: seed: found an array, allowed: an array of at least one value"},
      {R"("grid": {"sed": [1]})", "s.json: grid: sed=1: unknown key; did you mean \"seed\"?"},
      {R"("grid": {"seed": [1, -1]})",
       "s.json: grid: seed=-1: found -1, allowed: an integer from 0 to 9007199254740991"},
      {R"("zip": {"seed": [1, 2], "replications": [1]})",
       "s.json: zip: replications: found 1 values, allowed: 2, as many as the first field"},
      {R"("grid": {"seed": [1]}, "zip": {"seed": [2]})",
       "s.json: zip: seed is also set by another part of the sweep"},
      {R"("grid": {"seed": [1], "seed": [2]})",
       "s.json:2:75: grid: key \"seed\" is given twice in one object"},
      {R"("points": [])", "s.json: points: found an array, allowed: an array of at least one object"},
      {R"("points": [{"seed": 1}, {"fidelity": "layers"}])",
       "s.json: points.1: fidelity=\"layers\": found \"layers\", allowed: request, layer; did you mean "
       "\"layer\"?"},
      {R"("sample": {"method": "latin_hypercub", "points": 3, "ranges": {"seed": [1, 2]}})",
       "s.json: sample.method: found \"latin_hypercub\", allowed: random, latin_hypercube; did you mean "
       "\"latin_hypercube\"?"},
      {R"("sample": {"method": "random", "points": 0, "ranges": {"seed": [1, 2]}})",
       "s.json: sample.points: found 0, allowed: an integer from 1 to 10000000"},
      {R"("sample": {"method": "random", "points": 1000001, "ranges": {"seed": [1, 2], "policy.ttl_s": [1, 2]}})",
       "s.json: sample.points: found 1000001, allowed: at most 1000000 for 2 ranges"},
      {R"("sample": {"method": "random", "points": 3})", "s.json: sample.ranges: missing, required"},
      {R"("sample": {"method": "random", "points": 3, "ranges": {"seed": [2, 1]}})",
       "s.json: sample.ranges.seed.max: found 1, allowed: a number greater than min"},
      {R"("sample": {"method": "random", "points": 3, "ranges": {"seed": {"min": 0, "max": 1, "scale": "log"}}})",
       "s.json: sample.ranges.seed.min: found 0, allowed: a number greater than 0 where scale is log"},
      {R"("limits": {"timeout_s": 0})",
       "s.json: limits.timeout_s: found 0, allowed: a number from 1e-06 to 1000000000"},
      {R"("zip": {"g": [1, 2]}, "grid": {"a": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "b": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
       "c": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "d": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "e": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
       "f": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "h": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]})",
       "s.json: found more than 10,000,000 points, allowed: at most 10,000,000"},
  };
  for (const auto& [parts, message] : cases) EXPECT_EQ(message_of(parts), message) << parts;
  EXPECT_THROW(parse_sweep(R"({"schema": "kvcap.sweep/2", "base": {}})", "s.json"), InputError);
  EXPECT_THROW(parse_sweep(R"({"schema": "kvcap.sweep/1", "base": "none.json"})", "s.json"), InputError);
}

TEST(Sweep, OfEachExampleHasOnlyGoodPoints) {
  std::size_t files = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(KVCAP_SOURCE_DIR) + "/scenarios/sweeps")) {
    const Sweep sweep = load_sweep(file.path().string());
    EXPECT_GT(sweep.size(), 1U);
    for (std::size_t i = 0; i < sweep.size(); ++i) EXPECT_NO_THROW(sweep.scenario(i)) << file.path();
    ++files;
  }
  EXPECT_GE(files, 2U);
}

// A sweep that was stopped: its results have a row of every point, with nothing in those that did not run.
TEST(Sweep, HasARowOfEveryPointThoughNoneHasRun) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("kvcap_results_" + std::to_string(getpid()));
  int rows = 0;
  {
    ResultsFile file(path.string());
    file.set_swept({"seed"}, 2, [](std::size_t i) {
      return ResultsFile::SweptPoint{.point = i, .key = std::to_string(i), .values = {std::to_string(i)}};
    });
    file.each_result([&](const std::vector<std::string>&, const std::vector<Cell>&) { ++rows; });
  }
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + end);
  EXPECT_EQ(rows, 2);
}

TEST(Sha256, NamesTheExamplesOfItsStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  Sha256 hash;
  for (int i = 0; i < 1000; ++i) hash.add(std::string(1000, 'a'));
  EXPECT_EQ(hash.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(PointKey, IsThatOfWhatIsSimulated) {
  const std::filesystem::path trace =
      std::filesystem::temp_directory_path() / ("kvcap_key_" + std::to_string(getpid()) + ".jsonl");
  const auto write = [&trace](const std::string& line) { std::ofstream(trace) << line; };
  write(R"({"id": "a", "turns": [{"input_tokens": 9, "output_tokens": 2}]})");
  const std::string base =
      R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "a100-40g-4x-pm9a3",
      "workload": {"source": {"kind": "sessions", "path": ")" +
      trace.string() + "\"}}";
  const auto key = [&base](const std::string& more) {
    PointKeys keys;
    return keys.key(parse_scenario(base + more + "}", "s.json", {}));
  };
  const std::string plain = key("");
  EXPECT_EQ(key(R"(, "seed": 1)"), plain);  // its default
  EXPECT_NE(key(R"(, "seed": 2)"), plain);
  write(R"({"id": "a", "turns": [{"input_tokens": 8, "output_tokens": 2}]})");
  EXPECT_NE(key(""), plain);
  std::filesystem::remove(trace);
}

}  // namespace
}  // namespace kvcap::sweep_test
