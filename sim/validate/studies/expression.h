// Evaluates arithmetic expressions over figures with dotted names.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace kvcap {

// Returns the value of a name such as "off.mean_ttft_ms"; may throw InputError.
using FigureOf = std::function<double(const std::string& name)>;

// An expression with muParser's operators and functions (+ - * / ^ < && ?:, min, max, avg, sum, sqrt, ln,
// ...), floor, ceil, and the functions of formulas.cpp. Invalid expressions throw InputError, without a
// place.
class Expression {
 public:
  explicit Expression(const std::string& text);
  ~Expression();
  Expression(Expression&&) noexcept;

  // Evaluates the expression with the current values of the figures. For many rows of a table this is much
  // faster than a new expression per row.
  double value(const FigureOf& figure);

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

double evaluate(const std::string& expression, const FigureOf& figure);

}  // namespace kvcap
