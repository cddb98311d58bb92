#include "validate/kernels/kernel_sets.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "base/input_error.h"
#include "metrics/statistics/quantiles.h"
#include "scenario/load.h"
#include "validate/kernels/kernel_functions.h"
#include "validate/studies/expression.h"
#include "validate/studies/study_rows.h"

namespace kvcap {

void describe(FieldVisitor& v, KernelMachine& o) {
  const auto rate = [](std::string_view meaning) {
    return FieldSpec{.meaning = meaning, .min = 0, .max = 1e30, .absent = "the profile's"};
  };
  v.field("id", o.id, {.meaning = "name of the GPU in checks", .required = true});
  v.field("profile", o.profile, {.meaning = "its hardware profile", .required = true});
  v.field("names", o.names, {.meaning = "texts that replace {NAME} in paths, conditions and descriptions"});
  v.field("numbers", o.numbers,
          {.meaning = "numbers that expressions may name", .min = -1e300, .max = 1e300});
  v.field("peak_flops", o.peak_flops, rate("of the measured GPU"));
  v.field("memory_bandwidth_bytes_per_s", o.memory_bandwidth_bytes_per_s, rate("of the measured GPU"));
  v.field("reason", o.reason, {.meaning = "why nothing is promised on this GPU"});
}

void describe(FieldVisitor& v, KernelTable& o) {
  v.field("csv", o.csv, {.meaning = "CSV of measured calls, one per row", .required = true});
  v.field("where", o.where, {.meaning = "keeps rows whose columns have these texts"});
  v.field("if", o.condition, {.meaning = "keeps rows that meet a condition over the columns"});
  v.field("split", o.split, {.meaning = "columns of numbers divided by /, and the names of their parts"});
  v.field("calls", o.calls,
          {.meaning = "expressions for the numbers of a call and its time_ms", .required = true});
  v.field("once", o.once, {.meaning = "skips calls that the set already has"});
  v.field("source", o.source, {.meaning = "the program that measured"});
}

void describe(FieldVisitor& v, KernelCheck& o) {
  v.field("id", o.id, {.meaning = "name of the check", .required = true});
  v.field("what", o.what, {.meaning = "end of its description"});
  v.field("if", o.condition, {.meaning = "condition of the summarised calls"});
  v.field("fitted_to", o.fitted_to, {.meaning = "field of the profile; the check is of the fitted calls"});
  v.field("reason", o.reason, {.meaning = "why nothing is promised"});
  v.field("reasons", o.reasons, {.meaning = "reasons, each with the GPUs that it concerns"});
}

void describe(FieldVisitor& v, KernelSet& o) {
  const auto limit = [](std::string_view meaning) {
    return FieldSpec{.meaning = meaning, .min = 0, .max = 1e3};
  };
  v.field(
      "name", o.name,
      {.meaning = "id of the one row that replaces the set where its data are missing", .required = true});
  v.field(
      "kernel", o.kernel,
      {.meaning = "gemm, experts, decode_attention, ...: the rows of kernel_functions.cpp, which lists the "
                  "numbers that a call needs",
       .required = true});
  v.field("machines", o.machines, {.meaning = "name of a list of GPUs", .required = true});
  v.field("what", o.what, {.meaning = "beginning of every description"});
  v.field("tables", o.tables, {.meaning = "the measured calls", .required = true, .least = 1});
  v.field("derived", o.derived, {.meaning = "further numbers of a call, as expressions, by name"});
  v.field("fitted", o.fitted, {.meaning = "condition of the calls that the profile was fitted to"});
  v.field("alternate", o.alternate,
          {.meaning = "instead of fitted: of the different values of these, every second was fitted to"});
  v.field("median", o.median, limit("limit of the median relative error"));
  v.field("p90", o.p90, limit("limit of its 90th percentile"));
  v.field("p90_reason", o.p90_reason, {.meaning = "why the 90th percentile is not promised"});
  v.field("checks", o.checks, {.meaning = "the calls that are summarised"});
  v.field("regimes", o.regimes,
          {.meaning = "conditions of the calls from which the stated errors of profiles follow, by regime"});
  v.field("other_program", o.other_program,
          {.meaning = "measured by a program to which no profile is fitted"});
}

void describe(FieldVisitor& v, KernelSets& o) {
  v.field("machines", o.machines, {.meaning = "lists of GPUs, by name", .required = true});
  v.field("sets", o.sets, {.meaning = "measured calls of one kernel on a list of GPUs", .required = true});
}

namespace {

std::string with_names(std::string text, const KernelMachine& machine) {
  std::map<std::string, std::string> names = machine.names;
  names["id"] = machine.id;
  names["profile"] = machine.profile;
  for (const auto& [name, value] : names) {
    const std::string written = "{" + name + "}";
    for (std::size_t at = 0; (at = text.find(written, at)) != std::string::npos; at += value.size()) {
      text.replace(at, written.size(), value);
    }
  }
  return text;
}

struct TimedCall {
  KernelCall numbers;
  std::string source;
  double modelled_s = 0, measured_s = 0;
  bool fitted = false;

  double error() const { return std::abs(modelled_s / measured_s - 1); }
};

Expression condition_of(const std::string& text) { return Expression(text.empty() ? "1" : text); }
double value_of(Expression& expression, const TimedCall& call, const KernelMachine& machine) {
  return expression.value([&](const std::string& name) {
    for (const auto* numbers : {&call.numbers, &machine.numbers}) {
      if (const auto found = numbers->find(name); found != numbers->end()) return found->second;
    }
    throw InputError("found the name \"" + name + "\", allowed: a number of the calls or of the machine");
  });
}

// Reads the measured calls of one set on one machine, and computes their modelled times.
class CallReader {
 public:
  CallReader(const KernelSet& set, const KernelMachine& machine, const DataPath& path_of)
      : set_(set), machine_(machine), path_of_(path_of) {}

  std::vector<TimedCall> calls() {
    for (const KernelTable& table : set_.tables) read(table);
    derive();
    mark_alternate();
    HardwareProfile hardware = load_hardware(machine_.profile);
    Gpu& gpu = hardware.gpu;
    gpu.peak_flops = machine_.peak_flops.value_or(gpu.peak_flops);
    gpu.memory_bandwidth_bytes_per_s =
        machine_.memory_bandwidth_bytes_per_s.value_or(gpu.memory_bandwidth_bytes_per_s);
    const KernelSeconds seconds = kernel_seconds(set_.kernel, hardware);
    for (TimedCall& call : calls_) {
      call.modelled_s = seconds(call.numbers);
      call.measured_s = 1e-3 * call.numbers.at("time_ms");
    }
    std::erase_if(calls_, [](const TimedCall& call) { return std::isnan(call.modelled_s); });
    return std::move(calls_);
  }

 private:
  bool is_wanted(const KernelTable& table, const TableRow& row) const {
    return std::all_of(table.where.begin(), table.where.end(), [&](const auto& condition) {
      const auto found = row.find(condition.first);
      if (found == row.end()) column_number(row, condition.first);
      return std::any_of(condition.second.begin(), condition.second.end(), [&](const std::string& text) {
        return with_names(text, machine_) == found->second;
      });
    });
  }

  void read(const KernelTable& table) {
    std::map<std::string, Expression> expressions;
    for (const auto& [name, text] : table.calls) expressions.emplace(name, text);
    Expression condition = condition_of(table.condition);
    for_each_table_row(path_of_(with_names(table.csv, machine_)), [&](TableRow& row) {
      if (!is_wanted(table, row)) return;
      for (const auto& [column, names] : table.split) split(row.at(column), names, row);
      const FigureOf figure = [&](const std::string& name) {
        const auto known = machine_.numbers.find(name);
        return known != machine_.numbers.end() ? known->second : column_number(row, name);
      };
      if (condition.value(figure) == 0) return;
      TimedCall call{.numbers = {}, .source = table.source};
      std::vector<double> shape;
      for (auto& [name, expression] : expressions) {
        call.numbers[name] = expression.value(figure);
        if (name != "time_ms") shape.push_back(call.numbers[name]);
      }
      if (!table.once || seen_.insert(shape).second) calls_.push_back(std::move(call));
    });
  }

  // Adds the parts of a cell such as "4096/14336/2/8" to the row, under the given names.
  static void split(const std::string& cell, const std::vector<std::string>& names, TableRow& row) {
    std::size_t begin = 0;
    for (const std::string& name : names) {
      const std::size_t end = std::min(cell.find('/', begin), cell.size());
      row[name] = cell.substr(begin, end - begin);
      begin = std::min(end + 1, cell.size());
    }
  }

  void derive() {
    for (const auto& [name, text] : set_.derived) {
      Expression expression(text);
      for (TimedCall& call : calls_) call.numbers[name] = value_of(expression, call, machine_);
    }
    if (set_.fitted.empty()) return;
    Expression fitted(set_.fitted);
    for (TimedCall& call : calls_) call.fitted = value_of(fitted, call, machine_) != 0;
  }

  void mark_alternate() {
    if (set_.alternate.empty()) return;
    const auto shape = [&](const TimedCall& call) {
      std::vector<double> numbers;
      for (const std::string& name : set_.alternate) numbers.push_back(call.numbers.at(name));
      return numbers;
    };
    std::set<std::vector<double>> shapes;
    for (const TimedCall& call : calls_) shapes.insert(shape(call));
    for (TimedCall& call : calls_) {
      call.fitted = std::distance(shapes.begin(), shapes.find(shape(call))) % 2 == 0;
    }
  }

  const KernelSet& set_;
  const KernelMachine& machine_;
  const DataPath& path_of_;
  std::vector<TimedCall> calls_;
  std::set<std::vector<double>> seen_;
};

const std::vector<KernelMachine>& machines_of(const KernelSets& sets, const KernelSet& set) {
  const auto found = sets.machines.find(set.machines);
  if (found != sets.machines.end()) return found->second;
  throw InputError("kernels: found the machines \"" + set.machines + "\" in " + set.name +
                   ", allowed: a list of kernels.machines");
}

// Returns the first file of a set that does not exist.
std::string missing_file(const KernelSets& sets, const KernelSet& set, const DataPath& path_of) {
  for (const KernelMachine& machine : machines_of(sets, set)) {
    for (const KernelTable& table : set.tables) {
      const std::string path = path_of(with_names(table.csv, machine));
      if (!std::filesystem::exists(path)) return path;
    }
  }
  return "";
}

std::string reason_of(const KernelCheck& check, const KernelMachine& machine) {
  for (const auto& [reason, machines] : check.reasons) {
    if (std::find(machines.begin(), machines.end(), machine.id) != machines.end()) return reason;
  }
  return machine.reason.empty() || !check.fitted_to.empty() ? check.reason : machine.reason;
}

// Builds the checks on quantiles of the errors.
struct Judged {
  const KernelSet& set;
  const KernelCheck& about;
  const KernelMachine& machine;
  const std::string& suite;
  const std::vector<double>& errors;

  Check check(const std::string& name, double share, double most, const std::string& unpromised) const {
    Check check{.id = with_names(about.id, machine) + "." + name,
                .suite = suite,
                .what = with_names(set.what + about.what, machine) + ", " + name + " of " +
                        std::to_string(errors.size()),
                .claim = Claim::at_most,
                .simulated = {quantile_of(errors, share)},
                .reference = {most},
                .reason = reason_of(about, machine)};
    if (check.reason.empty()) check.reason = unpromised;
    check.promised = check.reason.empty() && about.fitted_to.empty();
    if (!about.fitted_to.empty()) {
      check.role = Role::fitted;
      check.tuned = {with_names(about.fitted_to, machine)};
    }
    judge(check);
    return check;
  }
};

}  // namespace

std::vector<Check> kernel_checks(const KernelSets& sets, const std::string& suite, const DataPath& path_of) {
  std::vector<Check> checks;
  std::set<std::string> missing;
  for (const KernelSet& set : sets.sets) {
    if (set.checks.empty()) continue;
    if (const std::string path = missing_file(sets, set, path_of); !path.empty()) {
      if (!missing.insert(set.name).second) continue;
      checks.push_back({.id = set.name,
                        .suite = suite,
                        .what = set.name + " kernels: relative errors of their times",
                        .claim = Claim::at_most,
                        .reason = "no " + path + " (--data)"});
      continue;
    }
    for (const KernelMachine& machine : machines_of(sets, set)) {
      const std::vector<TimedCall> calls = CallReader(set, machine, path_of).calls();
      for (const KernelCheck& about : set.checks) {
        Expression condition = condition_of(about.condition);
        std::vector<double> errors;
        for (const TimedCall& call : calls) {
          if (call.fitted == !about.fitted_to.empty() && value_of(condition, call, machine) != 0)
            errors.push_back(call.error());
        }
        if (errors.empty()) continue;
        const Judged judged{set, about, machine, suite, errors};
        checks.push_back(judged.check("median", 0.5, set.median, ""));
        checks.push_back(judged.check("p90", 0.9, set.p90, set.p90_reason));
      }
    }
  }
  return checks;
}

std::vector<KernelError> kernel_errors(const KernelSets& sets, const DataPath& path_of) {
  std::vector<KernelError> errors;
  for (const KernelSet& set : sets.sets) {
    if (set.regimes.empty()) continue;
    for (const KernelMachine& machine : machines_of(sets, set)) {
      const std::vector<TimedCall> calls = CallReader(set, machine, path_of).calls();
      for (const auto& [regime, text] : set.regimes) {
        Expression condition = condition_of(text);
        for (const TimedCall& call : calls) {
          if (call.fitted || value_of(condition, call, machine) == 0) continue;
          errors.push_back({machine.profile, regime, call.source, std::log(call.measured_s / call.modelled_s),
                            set.other_program});
        }
      }
    }
  }
  return errors;
}

}  // namespace kvcap
