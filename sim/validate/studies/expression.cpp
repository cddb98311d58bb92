#include "validate/studies/expression.h"

#include <muParser.h>

#include <cmath>
#include <deque>
#include <exception>
#include <string_view>

#include "base/input_error.h"
#include "validate/studies/formulas.h"

namespace kvcap {
namespace {

using FigureOf = std::function<double(const std::string& name)>;

// The names of one expression; muParser holds pointers to their values.
struct NamedValues {
  const FigureOf& figure;
  std::deque<double> values = {};
  std::exception_ptr error = {};  // thrown by a figure; kept because exceptions must not unwind muParser
};

double* value_of_name(const char* name, void* user) {
  auto& names = *static_cast<NamedValues*>(user);
  names.values.push_back(std::nan(""));
  try {
    if (!names.error) names.values.back() = names.figure(name);
  } catch (...) {
    names.error = std::current_exception();
  }
  return &names.values.back();
}

double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }

// True iff the expression assigns, which muParser would do without a word: "x = 3".
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

double evaluate(const std::string& expression, const FigureOf& figure) {
  if (assigns(expression)) {
    throw InputError("cannot evaluate \"" + expression + "\": found =, allowed: == to compare");
  }
  NamedValues names{figure};
  try {
    mu::Parser parser;
    parser.DefineNameChars("0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    parser.DefineFun("floor", floor_of);
    parser.DefineFun("ceil", ceil_of);
    for (const Formula& one : formulas()) {
      std::visit([&](auto value) { parser.DefineFun(one.name, value); }, one.value);
    }
    parser.SetVarFactory(value_of_name, &names);
    parser.SetExpr(expression);
    int count = 0;
    const double* results = parser.Eval(count);
    if (names.error) std::rethrow_exception(names.error);
    if (count != 1) throw InputError("found several values, allowed: one expression");
    return results[0];
  } catch (const mu::ParserError& error) {
    if (names.error) std::rethrow_exception(names.error);
    throw InputError("cannot evaluate \"" + expression + "\": " + error.GetMsg());
  }
}

}  // namespace kvcap
