#include <algorithm>
#include <chrono>

#include "calibration/sweeps/sweeps.h"

namespace kvcap::calibration {

Budgets quick_budgets() {
  return {.gemm_s = 15,
          .attention_s = 7,
          .elementwise_s = 2,
          .copies_s = 6,
          .disk_s = 9,
          .elementwise_tokens = 4096,
          .copy_bytes = 64 << 20,
          .disk_bytes = 512 << 20};
}

namespace {

int64_t left_of(const Sweep& sweep, const std::vector<Point>& points) {
  return std::count_if(points.begin(), points.end(),
                       [&](const Point& point) { return !sweep.journal.has(point.key); });
}

}  // namespace

int64_t run_points(const Sweep& sweep, const std::string& what, const std::vector<Point>& points,
                   double budget_s) {
  const auto start = std::chrono::steady_clock::now();
  int64_t left_out = 0;
  double done = 0;
  for (const Point& point : points) {
    sweep.progress.show(what, done++ / static_cast<double>(points.size()));
    const double spent_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (spent_s > 1.5 * budget_s && !sweep.journal.has(point.key)) {
      ++left_out;
      continue;
    }
    // The remaining points come before narrow intervals.
    sweep.bench.allow_more_batches(spent_s <= budget_s * (done - 1) / static_cast<double>(points.size()));
    try {
      point.keep(sweep.journal.sample(point.key, point.run));
    } catch (const BudgetSpent&) {
      throw BudgetSpent(what + " (" + std::to_string(left_of(sweep, points)) + " of " +
                        std::to_string(points.size()) + " points)");
    } catch (const BackendError& error) {
      if (!sweep.failures) throw;
      sweep.bench.stream().synchronize();  // throws if the device runs nothing more
      sweep.failures->push_back("not measured: " + point.key + ": " + error.what());
    }
  }
  sweep.progress.show(what, 1);
  return left_out;
}

void run_noted_points(const Sweep& sweep, const std::string& what, const std::vector<Point>& points,
                      double budget_s, std::vector<std::string>* notes) {
  const int64_t left_out = run_points(sweep, what, points, budget_s);
  if (left_out == 0) return;
  notes->push_back(what + ": " + std::to_string(left_out) + " of " + std::to_string(points.size()) +
                   " points left out for time");
}

}  // namespace kvcap::calibration
