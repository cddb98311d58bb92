// Returns titles for readers, in place of the dotted names of metrics and of a scenario's fields.
#pragma once

#include <limits>
#include <string>
#include <string_view>

namespace kvcap {

// Returns the title of a metric, "p99 TTFT" for "p99_ttft_ms"; other names unchanged.
std::string metric_title(std::string_view name);

// Returns a metric's value in its unit: "5.33 $/h" for 5.33 and "cost.usd_per_hour". half_width: NaN if
// unknown.
std::string metric_text(std::string_view name, double value,
                        double half_width = std::numeric_limits<double>::quiet_NaN());

// Returns a metric's title with its unit, as the head of a column: "cost ($/h)"; and a value for that column.
std::string column_title(std::string_view name);
std::string number_in_unit(std::string_view name, double value);

// Returns the unit of a difference of two values in `unit`: percentages differ by points.
std::string difference_unit(std::string_view unit);
// Returns a difference of a metric in its unit, without a sign for increases: "0.82 points" for 0.0082 and
// "offered_load".
std::string metric_change_text(std::string_view name, double change,
                               double half_width = std::numeric_limits<double>::quiet_NaN());

// Returns what a field is: "SSD read bandwidth" for "hardware.ssd.read_bandwidth_bytes_per_s". Engine options
// keep their engine's name: "max_num_seqs".
std::string field_title(std::string_view path);

// Returns a value of a field in a readable unit: "128 GB", "lmcache".
std::string field_text(std::string_view path, std::string_view value);
std::string field_text(std::string_view path, double value);

// Returns a change of one field, "hardware.gpu.count 1 -> 2", with its title and units: "GPUs 1 -> 2".
std::string step_text(std::string_view step);

// Returns a change "path=value" with its title and unit: "2 SSDs", "DRAM capacity 128 GB", "lmcache".
std::string change_title(std::string_view change);

// Returns a note in which titles replace the paths of fields and the names of metrics.
std::string without_paths(std::string_view note);

}  // namespace kvcap
