#include "plan/workers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/input_error.h"

namespace kvcap {
namespace {

std::string number(std::size_t job) { return "result " + std::to_string(job); }

TEST(Workers, ReturnResultsInTheOrderOfTheJobs) {
  const Job job = [](std::size_t i, std::atomic<int64_t>&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 2 == 0 ? 20 : 1));
    return number(i);
  };
  const std::vector<std::string> results = run_in_workers(7, job, {.at_once = 3});
  ASSERT_EQ(results.size(), 7U);
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i], number(i));
}

TEST(Workers, CarryResultsLargerThanAPipe) {
  const Job job = [](std::size_t, std::atomic<int64_t>&) { return std::string(5'000'000, 'x'); };
  EXPECT_EQ(run_in_workers(1, job).front().size(), 5'000'000U);
}

TEST(Workers, HandBadInputOn) {
  const Job job = [](std::size_t i, std::atomic<int64_t>&) -> std::string {
    if (i == 1) throw InputError("scenario.json: seed: found -1");
    return "";
  };
  try {
    run_in_workers(3, job);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "scenario.json: seed: found -1");
  }
}

TEST(Workers, SayWhatAJobDiedOf) {
  const Job job = [](std::size_t, std::atomic<int64_t>&) -> std::string {
    raise(SIGKILL);
    return "";
  };
  try {
    run_in_workers(1, job);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "a simulation died: Killed");
  }
}

TEST(Workers, StopAllWhenInterrupted) {
  const Job job = [](std::size_t i, std::atomic<int64_t>&) -> std::string {
    if (i == 0) kill(getppid(), SIGINT);
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return "";
  };
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(run_in_workers(2, job), Interrupted);
  // Not the 60 s that the jobs would have slept.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

}  // namespace
}  // namespace kvcap
