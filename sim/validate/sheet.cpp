#include "validate/sheet.h"

#include "validate/papers.h"

namespace kvcap {

void Sheet::add(const std::string& id, const std::string& what, Numbers simulated,
                const std::vector<std::string>& tuned, const std::string& reason, const Numbers& reference) {
  Check check = published(id);
  check.what = what;
  check.simulated = std::move(simulated);
  if (!reference.empty()) check.reference = reference;
  check.tolerance = tolerance_;
  check.tuned = tuned;
  check.reason = reason;
  judge(check);
  checks_.push_back(std::move(check));
}

void Sheet::add_share(const std::string& id, const std::string& what, Numbers simulated,
                      const std::vector<std::string>& tuned, const std::string& reason,
                      const Numbers& reference) {
  add(id, what, std::move(simulated), tuned, reason, reference);
  Check& check = checks_.back();
  check.absolute = true;
  check.exact_tolerance = 0.01;
  check.tolerance = 0.05;
  judge(check);
}

void Sheet::add_order(const std::string& id, const std::string& what, Numbers simulated, bool holds,
                      const std::vector<std::string>& tuned, const std::string& reason) {
  Check check = published(id);
  check.claim = Claim::order;
  check.what = what;
  check.simulated = std::move(simulated);
  check.reference.clear();
  check.holds = holds;
  check.tuned = tuned;
  check.reason = reason;
  judge(check);
  checks_.push_back(std::move(check));
}

void Sheet::not_comparable(const std::string& id, const std::string& what, const std::string& reason) {
  Check check = published(id);
  check.what = what;
  check.reason = reason;
  checks_.push_back(std::move(check));
}

double Sheet::ratio(const std::string& file, const Overrides& setting, const std::string& slow,
                    const std::string& fast, const std::string& metric, const StoredContexts& contexts) {
  return lab_.metric(file, setting + policy(slow), metric, contexts) /
         lab_.metric(file, setting + policy(fast), metric, contexts);
}

}  // namespace kvcap
