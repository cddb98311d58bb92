#include "plan/workers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/input_error.h"
#include "unit/process.h"

namespace kvcap::workers_test {
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
    run_in_workers(1, job, {.name = [](std::size_t) { return "the third"; }, .hint = "; go on"});
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the third died twice: Killed (memory may be short); go on");
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

std::vector<JobOutcome> outcomes_of(std::size_t jobs, const Job& job, const WorkerOptions& options = {}) {
  std::vector<JobOutcome> outcomes(jobs);
  run_each_in_worker(
      jobs, job,
      [&outcomes](std::vector<JobOutcome> ended) {
        for (JobOutcome& outcome : ended) outcomes[outcome.job] = std::move(outcome);
      },
      options);
  return outcomes;
}

TEST(Workers, GoOnWhenOneFails) {
  const Job job = [](std::size_t i, std::atomic<int64_t>&) -> std::string {
    if (i == 1) throw InputError("the model does not fit");
    if (i == 2) throw std::runtime_error("something else");
    if (i == 3) raise(SIGKILL);
    if (i == 4) _exit(0);
    return number(i);
  };
  const std::vector<JobOutcome> outcomes = outcomes_of(6, job, {.at_once = 2});
  EXPECT_EQ(outcomes[0].end, JobEnd::done);
  EXPECT_EQ(outcomes[0].text, "result 0");
  EXPECT_EQ(outcomes[1].end, JobEnd::bad_input);
  EXPECT_EQ(outcomes[1].text, "the model does not fit");
  EXPECT_EQ(outcomes[2].end, JobEnd::failed);
  EXPECT_EQ(outcomes[2].text, "something else");
  EXPECT_EQ(outcomes[3].text, "a simulation died twice: Killed (memory may be short)");
  EXPECT_EQ(outcomes[4].text, "a simulation ended without a result");
  EXPECT_EQ(outcomes[5].text, "result 5");
}

TEST(Workers, RunAJobOnceMoreWhenItsProcessIsKilled) {
  const std::string marks = testing::TempDir() + "kvcap_killed_" + std::to_string(getpid());
  const Job job = [&](std::size_t i, std::atomic<int64_t>& done_units) -> std::string {
    std::ofstream(marks, std::ios::app) << i;
    if (i == 1 && std::filesystem::file_size(marks) < 3) raise(SIGKILL);
    EXPECT_EQ(done_units.exchange(5), 0);
    return number(i);
  };
  const std::vector<JobOutcome> outcomes = outcomes_of(3, job, {.at_once = 1});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(outcomes[i].text, number(i));
  std::string begun;
  std::ifstream(marks) >> begun;
  std::filesystem::remove(marks);
  EXPECT_EQ(begun, "0112");
}

TEST(Workers, RunAJobThatFailsAnInvariantOnlyOnce) {
  const std::vector<JobOutcome> outcomes =
      outcomes_of(1, [](std::size_t, std::atomic<int64_t>&) -> std::string {
        signal(SIGABRT, SIG_DFL);
        abort();
      });
  EXPECT_EQ(outcomes[0].text, "a simulation died: Aborted");
}

TEST(Workers, AreStoppedAtTheirTimeLimitAndNotBefore) {
  const Job job = [](std::size_t i, std::atomic<int64_t>&) -> std::string {
    if (i == 0) std::this_thread::sleep_for(std::chrono::seconds(60));
    return "";
  };
  const auto start = std::chrono::steady_clock::now();
  const std::vector<JobOutcome> outcomes = outcomes_of(2, job, {.at_once = 1, .timeout_s = 0.3});
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(outcomes[0].end, JobEnd::timed_out);
  EXPECT_EQ(outcomes[0].text, "a simulation took longer than 0.3 s");
  EXPECT_EQ(outcomes[1].end, JobEnd::done);
  EXPECT_GE(took, std::chrono::milliseconds(300));
  EXPECT_LT(took, std::chrono::seconds(30));
}

TEST(Workers, FailWhenTheyNeedMoreMemoryThanTheyMayHave) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own memory exceeds any limit";
#endif
  const Job job = [](std::size_t i, std::atomic<int64_t>&) {
    return std::to_string(std::string(i == 0 ? 3'000'000'000 : 1'000'000, 'x').size());
  };
  const std::vector<JobOutcome> outcomes = outcomes_of(2, job, {.memory_bytes = 2'000'000'000});
  EXPECT_EQ(outcomes[0].end, JobEnd::bad_input);
  EXPECT_EQ(outcomes[0].text, "a simulation ran out of memory");
  EXPECT_EQ(outcomes[1].text, "1000000");
}

TEST(Workers, TellHowLongTheyComputed) {
  const Job job = [](std::size_t, std::atomic<int64_t>&) {
    const std::clock_t start = std::clock();
    while (std::clock() - start < CLOCKS_PER_SEC / 10) {
    }
    return std::string();
  };
  const double cpu_s = outcomes_of(1, job)[0].cpu_s;
  EXPECT_GE(cpu_s, 0.09);
  EXPECT_LT(cpu_s, 0.5);
}

TEST(Workers, DoNotOutliveTheirParent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = start_process([&] {
    close(ends[0]);
    const Job job = [&](std::size_t, std::atomic<int64_t>&) -> std::string {
      if (write(ends[1], "x", 1) == 1) std::this_thread::sleep_for(std::chrono::seconds(60));
      return "";
    };
    run_in_workers(1, job);
  });
  close(ends[1]);
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);  // the worker is at work
  const auto start = std::chrono::steady_clock::now();
  kill(parent, SIGKILL);
  wait_for_process(parent);
  // The end of the pipe: nobody who could write is left.
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  close(ends[0]);
}

}  // namespace
}  // namespace kvcap::workers_test
