// Quantity: a metric of a result with its title, its unit, and whether more or less is better.
//
// The table quantities() has one row per metric, under its dotted name in the JSON. A test fails if a result
// has a metric that the table lacks, or the table has a metric that results lack. The page of a report
// contains this table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// Unit on screen. The number shown is the number in the JSON times `scale`.
struct Unit {
  std::string_view symbol;  // "": a pure number
  double scale = 1;
};

enum class Better { neither, more, less };

enum class QuantityKind {
  metric,        // number in a result
  text,          // text in a result
  distribution,  // quantiles in a result
  series,        // time series in a result
};

// Where tables of results show a metric. The terminal omits rows for lack of room, except those of the last
// two kinds.
enum class Visibility {
  details,     // JSON, CSV and the page's tables of everything
  overview,    // Markdown and the page's first table
  known,       // also the terminal; like the kinds above, only if some result has a value
  headline,    // also the comparison of before and after
  everywhere,  // also if no result has a value
  alarm,       // whenever it is not 0
  target,      // whenever a target gives it a value, even 0
};

struct Quantity {
  std::string name;   // "p99_ttft_ms"
  std::string title;  // "p99 TTFT"
  Unit unit;
  Better better = Better::neither;
  QuantityKind kind = QuantityKind::metric;
  Visibility shown = Visibility::details;
  bool is_real_only = false;  // not meaningful for a bound, which cannot be built
};

const std::vector<Quantity>& quantities();
// Returns null for an unknown name.
const Quantity* find_quantity(std::string_view name);

// Returns the metrics that most readers look at first: those shown as headline or everywhere.
std::vector<const Quantity*> headline_metrics();

// Returns the names of all numeric metrics, and "stable" (RunResult::number).
std::vector<std::string> metric_names();

// The unit of scenario fields whose names have this ending; the first ending that matches applies.
struct UnitEnding {
  std::string_view ending;
  Unit unit;
};
std::span<const UnitEnding> unit_endings();

}  // namespace kvcap
