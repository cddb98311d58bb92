// The kernels and the runtime's use of calibration/cuda on a GPU machine that is not there.
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "calibration/check.h"
#include "calibration/number_format.h"
#include "calibration/random_value.h"
#include "gpu/machine.h"

namespace kvcap::calibration::gpu_kernels_test {
namespace {

std::unique_ptr<Backend> backend_on(const gpu::Machine& machine) {
  gpu::set_machine(machine);
  std::string why;
  std::unique_ptr<Backend> backend = make_cuda_backend(&why);
  EXPECT_TRUE(backend) << why;
  return backend;
}

void expect_all_right(const std::vector<CheckedOperation>& operations) {
  EXPECT_GE(operations.size(), 35U);
  for (const CheckedOperation& operation : operations) {
    EXPECT_TRUE(operation.right()) << operation.what << ": error " << operation.error << ", allowed "
                                   << operation.bound;
  }
}

// The formats share the code of the kernels, so that each takes one of the orders.
TEST(GpuKernels, AreRightWhenFirstWarpsAreFirstAndCopiesLate) {
  const auto backend = backend_on({.order = {.first_to_last = true, .late_copies = true}});
  expect_all_right(check_format(*backend, Format::float16));
}

TEST(GpuKernels, AreRightWhenLastWarpsAreFirstAndCopiesEarly) {
  const auto backend = backend_on({.order = {.first_to_last = false, .late_copies = false}, .early = true});
  expect_all_right(check_format(*backend, Format::bfloat16));
}

TEST(GpuKernels, ProductsOfFloat8AreRightWithOneScaleAndWithScalesOfBlocks) {
  const auto backend = backend_on({});
  ASSERT_EQ(backend->info().float8_scalings, (std::vector{Scaling::tensor, Scaling::blocks}));
  for (const Scaling scaling : backend->info().float8_scalings) {
    for (const CheckedOperation& operation : check_float8(*backend, scaling)) {
      EXPECT_TRUE(operation.right()) << operation.what << ": error " << operation.error;
    }
  }
  EXPECT_EQ(backend_on({.capability = 89})->info().float8_scalings, std::vector{Scaling::tensor});
  EXPECT_EQ(backend_on({.capability = 100})->info().float8_scalings, std::vector{Scaling::tensor});
  EXPECT_EQ(backend_on({.capability = 86})->info().float8_scalings, std::vector<Scaling>());
}

TEST(GpuKernels, AProductTakesTheScalesOfItsOwnCall) {
  const auto backend = backend_on({});
  const Buffer operands = backend->allocate(Place::device, 16 + 16 * 16);
  const std::byte* const data = operands.data();  // memory ends at a page, so this is no multiple of 256
  const Buffer scales = backend->allocate(Place::pinned, 2 * sizeof(float));
  const Buffer results = backend->allocate(Place::pinned, 2 * 16 * 16 * 2);
  auto* const scale = reinterpret_cast<float*>(scales.data());
  scale[0] = 1;
  scale[1] = 4;
  const auto stream = backend->make_stream();
  stream->fill_random(Format::float8, operands.data(), 16 + 16 * 16, 5);
  for (int64_t i = 0; i < 2; ++i) {
    stream->gemm(
        {Format::float8, 16, 16, 16, data, data, results.at(512 * i), Scaling::tensor, scale + i, scale});
  }
  stream->synchronize();
  const double first = value_at(Format::bfloat16, results.data(), 0);
  EXPECT_GT(first, 0.1);
  EXPECT_EQ(value_at(Format::bfloat16, results.at(512), 0), 4 * first);
}

TEST(GpuKernels, RandomNumbersOfFloat8AreTheNearest) {
  const auto backend = backend_on({});
  constexpr int64_t kCount = 20'000;
  const Buffer device = backend->allocate(Place::device, kCount);
  const Buffer host = backend->allocate(Place::pinned, kCount);
  const auto stream = backend->make_stream();
  stream->fill_random(Format::float8, device.data(), kCount, 3);
  stream->copy(host.data(), device.data(), kCount);
  stream->synchronize();
  for (int64_t i = 0; i < kCount; ++i) {
    const double value = static_cast<double>(random_value(3, static_cast<uint64_t>(i)));
    const double stored = value_at(Format::float8, host.data(), i);
    for (const int step : {-1, 1}) {  // the two neighbours of the stored number
      const std::byte next{static_cast<uint8_t>(std::to_integer<int>(host.data()[i]) + step)};
      const double other = value_at(Format::float8, &next, 0);  // NaN beside 0
      EXPECT_FALSE(std::abs(other - value) < std::abs(stored - value)) << value;
    }
  }
}

TEST(GpuKernels, AnOperationThatFailsCostsItsRowOfTheCheck) {
  const auto backend = backend_on({.failing_rows = 37});
  const std::vector<CheckedOperation> operations = check_float8(*backend, Scaling::tensor);
  ASSERT_EQ(operations.size(), 3U);
  EXPECT_TRUE(operations[0].right());
  EXPECT_FALSE(operations[1].right());
  EXPECT_EQ(operations[1].what,
            "gemm 37 x 96 x 64 float8: cuBLASLt: no algorithm for 37 x 96 x 64 float8: not supported");
  EXPECT_TRUE(operations[2].right());
}

TEST(GpuKernels, SumOverThreeGpusIsOnEachOfThem) {
  const auto backend = backend_on({.devices = 3});
  const auto collective = backend->make_collective();
  ASSERT_TRUE(collective);
  EXPECT_TRUE(check_all_reduce(*collective).right());
  // A ring of 3: each sends 4/3 of its vector.
  EXPECT_NEAR(collective->all_reduce_s(1 << 20, 20), 8e-6 + 4.0 / 3 * (1 << 20) / 20e9,
              2e-6);  // and the first launches
}

TEST(GpuKernels, ALaunchDoesNotReportAnAllocationThatFailedBefore) {
  const auto backend = backend_on({});
  EXPECT_THROW(backend->allocate(Place::device, int64_t{1} << 40), BackendError);
  const auto stream = backend->make_stream();
  EXPECT_NO_THROW(stream->empty_kernel());
}

// ---- what the stand-in itself finds ----

TEST(StandIn, FindsABarrierThatOneThreadMisses) {
  static int shared = 0;
  const auto lost_update = [] {
    if (gpu::threadIdx.x == 40) shared = 7;
    gpu::barrier();
    if (shared != 7) throw std::logic_error("the barrier did not hold");
  };
  gpu::run_grid({1, 1, 1}, {64, 1, 1}, {}, lost_update);
  const auto half_a_shuffle = [] {
    if (gpu::threadIdx.x != 5) gpu::with_warp(~0U, nullptr, [](void* const*) {});
  };
  EXPECT_THROW(gpu::run_grid({1, 1, 1}, {64, 1, 1}, {}, half_a_shuffle), gpu::KernelFault);
}

TEST(StandIn, ReadsPastTheEndOfMemoryEndTheProgram) {
  const auto backend = backend_on({});
  const Buffer data = backend->allocate(Place::device, 48);
  EXPECT_DEATH(static_cast<volatile std::byte*>(data.at(48))[0], "");
}

TEST(StandIn, ACopyThatNobodyWaitsForComesLate) {
  const auto backend = backend_on({});
  const Buffer device = backend->allocate(Place::device, 4096);
  const Buffer host = backend->allocate(Place::pinned, 4096);
  const auto producer = backend->make_stream();
  const auto consumer = backend->make_stream();
  const auto ready = backend->make_event();
  producer->zero(device.data(), 4096);
  producer->record(*ready);
  consumer->copy(host.data(), device.data(), 4096);
  consumer->synchronize();
  EXPECT_EQ(host.data()[5], std::byte{0xff});  // what device memory begins with
  consumer->wait(*ready);
  consumer->copy(host.data(), device.data(), 4096);
  consumer->synchronize();
  EXPECT_EQ(host.data()[5], std::byte{0});
}

TEST(StandIn, RoundsNumbersOf16BitsToTheNearest) {
  for (int bits = 0; bits < 0x7c00; ++bits) {
    const float value = __half2float({static_cast<uint16_t>(bits)});
    const float next = __half2float({static_cast<uint16_t>(bits + 1)});
    EXPECT_EQ(__float2half_rn(value).bits, bits);
    if (std::isinf(next)) continue;
    const float middle = (value + next) / 2;
    EXPECT_EQ(__float2half_rn(middle).bits, bits + bits % 2) << value;
    EXPECT_EQ(__float2half_rn(-std::nextafter(middle, next)).bits, 0x8000 + bits + 1) << value;
  }
  EXPECT_EQ(__half2float({0x3555}), 0.333251953125F);
  EXPECT_EQ(__half2float({0x0001}), 0x1p-24F);
  EXPECT_EQ(__float2bfloat16_rn(1.00390625F).bits, 0x3f80);  // the middle of two
  EXPECT_EQ(__float2bfloat16_rn(1.01171875F).bits, 0x3f82);
  EXPECT_EQ(__bfloat162float({0xc0a0}), -5.0F);
}

}  // namespace
}  // namespace kvcap::calibration::gpu_kernels_test
