#include "validate/studies/expression.h"

#include <muParser.h>

#include <cmath>
#include <deque>
#include <exception>
#include <string_view>
#include <utility>

#include "base/input_error.h"
#include "validate/studies/formulas.h"

namespace kvcap {
namespace {

double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }

// True iff the expression contains an assignment, such as "x = 3", which muParser would silently execute.
bool assigns(const std::string& expression) {
  for (std::size_t at = 0; (at = expression.find('=', at)) != std::string::npos; ++at) {
    const bool is_comparison =
        at > 0 && std::string_view("<>!=").find(expression[at - 1]) != std::string_view::npos;
    if (is_comparison) continue;
    if (expression.substr(at, 2) != "==") return true;
    ++at;
  }
  return false;
}

}  // namespace

struct Expression::Parsed {
  std::string text;
  mu::Parser parser;
  const FigureOf* figure = nullptr;
  std::deque<std::pair<std::string, double>> values;  // by name; the parser holds pointers to the numbers
  std::exception_ptr error;  // thrown by a figure; kept because exceptions must not unwind muParser

  double of_name(const std::string& name) {
    try {
      if (!error) return (*figure)(name);
    } catch (...) {
      error = std::current_exception();
    }
    return std::nan("");
  }
};

Expression::Expression(const std::string& text) : parsed_(std::make_unique<Parsed>()) {
  if (assigns(text)) {
    throw InputError("cannot evaluate \"" + text + "\": found =, allowed: == to compare");
  }
  parsed_->text = text;
  mu::Parser& parser = parsed_->parser;
  parser.DefineNameChars("0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
  parser.DefineFun("floor", floor_of);
  parser.DefineFun("ceil", ceil_of);
  for (const Formula& one : formulas()) {
    std::visit([&](auto function) { parser.DefineFun(one.name, function); }, one.value);
  }
  parser.SetVarFactory(
      [](const char* name, void* user) {
        auto& parsed = *static_cast<Parsed*>(user);
        parsed.values.emplace_back(name, parsed.of_name(name));
        return &parsed.values.back().second;
      },
      parsed_.get());
  try {
    parser.SetExpr(text);
  } catch (const mu::ParserError& error) {
    throw InputError("cannot evaluate \"" + text + "\": " + error.GetMsg());
  }
}
Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;

double Expression::value(const FigureOf& figure) {
  Parsed& parsed = *parsed_;
  parsed.figure = &figure;
  for (auto& [name, number] : parsed.values) number = parsed.of_name(name);
  const auto rethrow = [&parsed] {
    if (parsed.error) std::rethrow_exception(std::exchange(parsed.error, nullptr));
  };
  try {
    int count = 0;
    const double* results = parsed.parser.Eval(count);
    rethrow();
    if (count != 1) throw InputError("found several values, allowed: one expression");
    return results[0];
  } catch (const mu::ParserError& error) {
    rethrow();
    throw InputError("cannot evaluate \"" + parsed.text + "\": " + error.GetMsg());
  }
}

double evaluate(const std::string& expression, const FigureOf& figure) {
  return Expression(expression).value(figure);
}

}  // namespace kvcap
