#include "calibration/backend.h"

#include <gtest/gtest.h>

#include <cstring>

#include "calibration/check.h"

namespace kvcap::calibration::backend_test {
namespace {

void expect_all_right(Backend& backend) {
  const std::vector<CheckedOperation> operations = check_backend(backend);
  EXPECT_GE(operations.size(), 31U);
  for (const CheckedOperation& operation : operations) {
    EXPECT_TRUE(operation.right()) << operation.what << ": error " << operation.error << ", allowed "
                                   << operation.bound;
  }
}

TEST(Backend, TheCpuComputesWhatAReferenceInFloat64Computes) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  expect_all_right(*cpu);
}

TEST(Backend, TheGpuComputesWhatAReferenceInFloat64Computes) {
  std::string why;
  const std::unique_ptr<Backend> gpu = make_cuda_backend(&why);
  if (!gpu) GTEST_SKIP() << "no GPU was tested: " << why;
  expect_all_right(*gpu);
}

TEST(Backend, AStreamWaitsForTheEventOfAnother) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  constexpr int64_t kCount = 1 << 20;
  const Buffer first = cpu->allocate(Place::device, kCount * 4);
  const Buffer second = cpu->allocate(Place::device, kCount * 4);
  const std::unique_ptr<Stream> producer = cpu->make_stream();
  const std::unique_ptr<Stream> consumer = cpu->make_stream();
  const std::unique_ptr<Event> ready = cpu->make_event();
  producer->fill_random(Format::float32, first.data(), kCount, 7);
  producer->record(*ready);
  consumer->wait(*ready);
  consumer->copy(second.data(), first.data(), second.bytes());
  consumer->synchronize();
  EXPECT_EQ(std::memcmp(first.data(), second.data(), static_cast<std::size_t>(second.bytes())), 0);
  float last = 0;
  std::memcpy(&last, second.at(second.bytes() - 4), 4);
  EXPECT_NE(last, 0.0F);
}

TEST(Backend, TwoEventsTimeTheWorkBetweenThem) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  const Buffer data = cpu->allocate(Place::device, 4 << 20);
  const std::unique_ptr<Stream> stream = cpu->make_stream();
  const std::unique_ptr<Event> start = cpu->make_event();
  const std::unique_ptr<Event> middle = cpu->make_event();
  const std::unique_ptr<Event> end = cpu->make_event();
  stream->record(*start);
  stream->fill_random(Format::float32, data.data(), 1 << 20, 1);
  stream->record(*middle);
  stream->record(*end);
  end->synchronize();
  EXPECT_GT(cpu->elapsed_s(*start, *middle), 1e-4);  // a million values
  EXPECT_GE(cpu->elapsed_s(*middle, *end), 0);
  EXPECT_GE(cpu->elapsed_s(*start, *end), cpu->elapsed_s(*start, *middle));
}

}  // namespace
}  // namespace kvcap::calibration::backend_test
