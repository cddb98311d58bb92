// Expression: arithmetic over figures of simulations, which dotted names stand for.
#pragma once

#include <functional>
#include <string>

namespace kvcap {

// muParser's operators and functions (+ - * / ^ < && ?:, min, max, avg, sum, sqrt, ln, ...), floor, ceil, and
// those of formulas.cpp. `figure` gives the value of a name, "off.mean_ttft_ms"; it may throw InputError.
// Throws InputError, without a place, for what is no expression.
double evaluate(const std::string& expression, const std::function<double(const std::string& name)>& figure);

}  // namespace kvcap
