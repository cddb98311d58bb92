// Formulas: functions of numbers that expressions of a study may call, for published numbers that no scenario
// simulates.
#pragma once

#include <span>
#include <string>
#include <variant>

namespace kvcap {

struct Formula {
  using Any = double (*)(const double* arguments, int count);
  std::string name;
  std::variant<double (*)(double), double (*)(double, double), double (*)(double, double, double),
               double (*)(double, double, double, double), Any>
      value;
};

std::span<const Formula> formulas();

}  // namespace kvcap
