#include "validate/check.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace kvcap {
namespace {

double distance(double simulated, double low, double high) {
  if (simulated >= low && simulated <= high) return 0;
  return simulated < low ? 1 - simulated / low : simulated / high - 1;
}

// Returns the error of one simulated number against its reference.
double error_of(const Check& check, std::size_t i) {
  const std::vector<double>& reference = check.reference;
  if (check.absolute) {
    const double low = check.claim == Claim::range ? reference[0] : reference[i];
    const double high = check.claim == Claim::range ? reference[1] : reference[i];
    const double simulated = check.simulated[i];
    return simulated >= low && simulated <= high ? 0 : std::max(low - simulated, simulated - high);
  }
  if (check.claim == Claim::range) return distance(check.simulated[i], reference[0], reference[1]);
  if (reference[i] == 0) return check.simulated[i] == 0 ? 0 : 1;
  return std::abs(check.simulated[i] / reference[i] - 1);
}

// True iff a simulated mean differs from its reference by at most its half-width.
bool within_half_width(const Check& check, std::size_t i) {
  return !check.half_width.empty() &&
         std::abs(check.simulated[i] - check.reference[i]) <= check.half_width[i];
}

}  // namespace

void judge(Check& check) {
  check.error = 0;
  if (check.claim == Claim::order) {
    check.verdict = check.holds ? Agreement::inside : Agreement::outside;
    return;
  }
  KVCAP_CHECK(!check.simulated.empty());
  if (check.claim == Claim::at_most) {
    KVCAP_CHECK(check.simulated.size() == 1 && check.reference.size() == 1);
    check.tolerance = 0;
    check.error = check.simulated.front();
    check.verdict = check.error <= check.reference.front() ? Agreement::inside : Agreement::outside;
    return;
  }
  KVCAP_CHECK(check.reference.size() == (check.claim == Claim::range ? 2 : check.simulated.size()));
  double beyond = 0;  // largest error of a number that differs by more than its half-width
  for (std::size_t i = 0; i < check.simulated.size(); ++i) {
    const double error = error_of(check, i);
    // NaN is never inside.
    if (!(error <= check.error)) check.error = error;
    if (!(error <= beyond) && !within_half_width(check, i)) beyond = error;
    if (std::isnan(check.error)) break;
  }
  const double inside = check.claim == Claim::exact ? check.exact_tolerance : 0;
  if (beyond <= inside) {
    check.verdict = Agreement::inside;
  } else {
    check.verdict = beyond <= check.tolerance ? Agreement::near : Agreement::outside;
  }
}

std::string broken_promises(const std::vector<Check>& checks) {
  std::string ids;
  for (const Check& check : checks) {
    if (check.promised && check.verdict == Agreement::outside) ids += (ids.empty() ? "" : ", ") + check.id;
  }
  return ids;
}

}  // namespace kvcap
