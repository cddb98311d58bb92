// Evaluates arithmetic expressions over figures of simulations with dotted names.
#pragma once

#include <functional>
#include <string>

namespace kvcap {

// Returns the value of an expression with muParser's operators and functions (+ - * / ^ < && ?:, min, max,
// avg, sum, sqrt, ln, ...), floor, ceil, and the functions of formulas.cpp. `figure` returns the value of a
// name such as "off.mean_ttft_ms"; it may throw InputError. Throws InputError, without a place, for an
// invalid expression.
double evaluate(const std::string& expression, const std::function<double(const std::string& name)>& figure);

}  // namespace kvcap
