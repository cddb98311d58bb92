// Quantity: the title, the unit and the better direction of a metric, one row each.
//
// Names are those of the JSON, dotted. A metric that a result has and this table does not know, or the other
// way round, fails a test. The report's page is given the table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// The number that people read is the JSON's times `scale`.
struct Unit {
  std::string_view symbol;  // "": a pure number
  double scale = 1;
};

enum class Better { neither, more, less };

enum class QuantityKind {
  metric,        // of results, a number
  text,          // of results, words
  distribution,  // of a result's quantiles
  series,        // of a result over time
};

struct Quantity {
  std::string name;   // "p99_ttft_ms"
  std::string title;  // "p99 TTFT"
  Unit unit;
  Better better = Better::neither;
  QuantityKind kind = QuantityKind::metric;
};

const std::vector<Quantity>& quantities();
// Null for a name that the table does not have.
const Quantity* find_quantity(std::string_view name);

// The metrics that most readers look at first.
std::vector<const Quantity*> headline_metrics();

// The names of the metrics that are numbers, and "stable" (RunResult::number).
std::vector<std::string> metric_names();

// Fields of scenarios are measured in what their names end in: the first of these that fits.
struct UnitEnding {
  std::string_view ending;
  Unit unit;
};
std::span<const UnitEnding> unit_endings();

}  // namespace kvcap
