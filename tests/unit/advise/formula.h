// Plans whose configurations a formula evaluates instead of simulations.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "advise/judge.h"

namespace kvcap::plan_formulas {

using Values = std::map<std::string, double>;

struct Served {
  double usd_per_hour = 0, p99_ttft_ms = 0;
  bool stable = true;
  std::string reason;
};

inline Values values_of(const Changes& changes) {
  Values values;
  for (const std::string& change : changes) {
    const std::size_t equals = change.find('=');
    values[change.substr(0, equals)] = std::stod(change.substr(equals + 1));
  }
  return values;
}

// A formula in place of simulations. Short workloads are wrong by `short_error`, single runs by `noise`.
class Formula : public Evaluator {
 public:
  explicit Formula(std::function<Served(const Values&)> formula, double noise = 0, double short_error = 0)
      : formula_(std::move(formula)), noise_(noise), short_error_(short_error) {}

  std::vector<Answer> run(const std::vector<Ask>& asks) override {
    std::vector<Answer> answers;
    for (const Ask& ask : asks) {
      const Served machine = formula_(values_of(ask.changes));
      Answer& answer = answers.emplace_back();
      answer.reason = machine.reason;
      const double error = ask.share < 1 ? 1 + short_error_ : 1;
      // The same for every configuration: seeds are shared.
      const double sign = ask.replication % 2 == 0 ? 1 : -1;
      const double noise = 1 + sign * noise_ * (1 + static_cast<double>(ask.replication % 3));
      answer.result.metrics = {{"cost.usd_per_hour", machine.usd_per_hour},
                               {"p99_ttft_ms", machine.p99_ttft_ms * error * noise},
                               {"stable", machine.stable}};
      full_runs += ask.share == 1;
    }
    return answers;
  }

  int full_runs = 0;

 private:
  std::function<Served(const Values&)> formula_;
  double noise_, short_error_;
};

inline Dimension list(const std::string& path, const std::vector<double>& numbers, bool is_range = false) {
  Dimension dimension{.paths = {path}, .values = {}, .numbers = numbers, .is_range = is_range};
  for (double number : numbers) dimension.values.push_back(std::to_string(number));
  return dimension;
}

inline Dimension range(const std::string& path, int count) {
  std::vector<double> numbers;
  for (int i = 1; i <= count; ++i) numbers.push_back(i);
  return list(path, numbers, true);
}

inline Plan plan_of(std::vector<Dimension> search, double max_ttft_ms) {
  return {.name = "test",
          .base = "",
          .search = std::move(search),
          .meet = {{.metric = "p99_ttft_ms", .max = max_ttft_ms}}};
}

}  // namespace kvcap::plan_formulas
