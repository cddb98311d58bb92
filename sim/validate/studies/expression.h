// Expression: an arithmetic expression over figures with dotted names, such as "off.mean_ttft_ms / 2".
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace kvcap {

// Returns the value of a name such as "off.mean_ttft_ms"; may throw InputError.
using FigureOf = std::function<double(const std::string& name)>;

// An expression with muParser's operators and functions (+ - * / ^ < && ?:, min, max, avg, sum, sqrt, ln,
// ...), floor, ceil, and the functions of formulas.cpp. Invalid expressions throw InputError; the message
// does not name the file, which callers add.
class Expression {
 public:
  explicit Expression(const std::string& text);
  ~Expression();
  Expression(Expression&&) noexcept;

  // Evaluates the expression with the current values of the figures. To evaluate many rows of a table, reuse
  // one expression: parsing a new one per row is much slower.
  double value(const FigureOf& figure);

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

double evaluate(const std::string& expression, const FigureOf& figure);

}  // namespace kvcap
