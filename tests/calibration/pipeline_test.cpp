#include "calibration/pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace kvcap::calibration::pipeline_test {
namespace {

// A context whose loads take a while, and one that throws while the first of them is under way.
class FailingPipeline : public testing::Test {
 protected:
  Stage slow_load() {
    Stage stage;
    stage.load = [this] {
      return Load{{}, [this](Stream&, const std::byte*) {
                    begun_ = true;
                    std::this_thread::sleep_for(std::chrono::milliseconds(30));
                    ++ended_;
                  }};
    };
    return stage;
  }
  Restoring loading() {
    Restoring context;
    for (int i = 0; i < 4; ++i) context.stages.push_back(slow_load());
    context.fused = true;
    return context;
  }
  void await_a_load() const {
    while (!begun_) std::this_thread::yield();
  }
  [[noreturn]] void fail() const {
    await_a_load();
    throw std::runtime_error("on purpose");
  }

  void expect_quiet_after(Restoring failing, const MakeStep& make_step) {
    std::vector<Restoring> contexts;
    contexts.push_back(loading());
    contexts.push_back(std::move(failing));
    EXPECT_THROW(pipeline_.run(std::move(contexts), make_step, kNoLimit), std::runtime_error);
    const int ended = ended_;
    EXPECT_GE(ended, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_EQ(ended_, ended) << "a load went on when the contexts were gone";
    // What comes next is served.
    std::vector<Restoring> next;
    next.push_back(loading());
    EXPECT_GT(pipeline_.run(std::move(next), no_step_, kNoLimit).front().first_token_s, 0);
    EXPECT_EQ(ended_, ended + 4);
  }

  const MakeStep no_step_ = [](std::span<const int64_t>) { return Step{}; };
  std::unique_ptr<Backend> cpu_ = make_cpu_backend();
  std::atomic<bool> begun_ = false;
  std::atomic<int> ended_ = 0;
  Pipeline pipeline_{*cpu_, nullptr, 0, 1};  // last: its threads use the members above
};

TEST_F(FailingPipeline, IsQuietWhenALoadCannotBeAskedFor) {
  Stage stage;
  stage.load = [this]() -> Load { fail(); };
  expect_quiet_after({.stages = {stage}}, no_step_);
}

TEST_F(FailingPipeline, IsQuietWhenAComputationThrows) {
  Stage stage;
  stage.compute = [this](Stream&) { fail(); };
  expect_quiet_after({.stages = {stage}}, no_step_);
}

TEST_F(FailingPipeline, IsQuietWhenWhatFollowsAComputationThrows) {
  Stage stage;
  stage.compute = [](Stream& stream) { stream.empty_kernel(); };
  stage.after = [this] { fail(); };
  expect_quiet_after({.stages = {stage}}, no_step_);
}

TEST_F(FailingPipeline, IsQuietWhenAStepCannotBeMade) {
  Stage stage;
  stage.compute = [this](Stream&) { await_a_load(); };
  expect_quiet_after({.stages = {stage}, .step_tokens = 1},
                     [this](std::span<const int64_t>) -> Step { fail(); });
}

// The reader or the copier has then ended, and no later run can be served.
TEST_F(FailingPipeline, IsQuietWhenALoadThrows) {
  Stage stage;
  stage.load = [this] { return Load{{}, [this](Stream&, const std::byte*) { fail(); }}; };
  std::vector<Restoring> contexts;
  contexts.push_back(loading());
  contexts.push_back({.stages = {stage}});
  EXPECT_THROW(pipeline_.run(std::move(contexts), no_step_, kNoLimit), std::runtime_error);
  EXPECT_EQ(ended_, 4);
  std::vector<Restoring> next;
  next.push_back(loading());
  EXPECT_THROW(pipeline_.run(std::move(next), no_step_, kNoLimit), std::runtime_error);
}

}  // namespace
}  // namespace kvcap::calibration::pipeline_test
