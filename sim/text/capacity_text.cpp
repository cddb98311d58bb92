#include "text/capacity_text.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text/format.h"
#include "metrics/quantity.h"

namespace kvcap {
namespace {

// Returns the goodput if there are targets, else the throughput, in requests/s.
double served_per_s(const LoadPoint& one) {
  const double goodput = one.metric("request_goodput").mean;
  return std::isnan(goodput) ? one.metric("request_throughput").mean : goodput;
}

}  // namespace

std::string curve_text(const CapacityQuestion& question, const CapacityAnswer& answer) {
  constexpr std::size_t kWidth = 11, kLongestMark = 12;
  std::vector<const Quantity*> columns;
  for (const CapacityColumn& one : kCapacityColumns) {
    const bool is_shown =
        !one.is_alarm || std::any_of(answer.curve.begin(), answer.curve.end(),
                                     [&](const LoadPoint& at) { return at.metric(one.metric).mean > 0; });
    // The bar and the number before it are the goodput.
    if (is_shown && one.metric != std::string_view("request_goodput"))
      columns.push_back(find_quantity(one.metric));
  }
  const std::size_t taken = kWidth * (columns.size() + 2) + 2 + kLongestMark;
  const double bar = std::min(20.0, static_cast<double>(kTextColumns - std::min(kTextColumns, taken)));
  double most = 0;
  for (const LoadPoint& one : answer.curve) most = std::max(most, served_per_s(one));
  std::string names = right_aligned(question.closed_loop ? "sessions" : "requests", kWidth);
  std::string units = right_aligned(question.closed_loop ? "active" : "/s", kWidth);
  for (const Quantity* one : columns) {
    names += right_aligned(one->title, kWidth);
    units += right_aligned(one->unit.symbol, kWidth);
  }
  std::string text =
      names + right_aligned("good", kWidth) + '\n' + units + right_aligned("requests/s", kWidth) + '\n';
  for (const LoadPoint& one : answer.curve) {
    text += right_aligned(format_number(one.load), kWidth);
    for (const Quantity* column : columns)
      text += right_aligned(format_number(one.metric(column->name).mean * column->unit.scale), kWidth);
    text += right_aligned(format_number(served_per_s(one)), kWidth) + "  ";
    text += std::string(static_cast<std::size_t>(std::lround(most > 0 ? bar * served_per_s(one) / most : 0)),
                        '#');
    const Verdict verdict = one.stability();
    if (verdict != Verdict::stable) {
      text.append(" ").append(name(verdict));
    } else if (!one.missed.empty()) {
      text += " misses";
    } else if (one.verdict == Judgement::unclear) {
      text += " unclear";
    }
    text += '\n';
  }
  return text;
}

}  // namespace kvcap
