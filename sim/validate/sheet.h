// Sheet: the checks of one paper in the making. A check takes what is printed from published.json, what is
// simulated from a Lab, and is judged when it is added.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "validate/check.h"
#include "validate/lab.h"

namespace kvcap {

using Numbers = std::vector<double>;

inline Overrides operator+(Overrides base, const Overrides& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}
inline Overrides policy(const std::string& name) { return {"policy.name=" + name}; }

class Sheet {
 public:
  // `tolerance`: how far off a number may be to count as near.
  explicit Sheet(Lab& lab, double tolerance = 0.1) : lab_(lab), tolerance_(tolerance) {}

  // `reason` is printed when the check is not inside. `reference`: where the paper prints a formula or means
  // something else than it prints.
  void add(const std::string& id, const std::string& what, Numbers simulated,
           const std::vector<std::string>& tuned, const std::string& reason = "",
           const Numbers& reference = {});
  // Hit rates and other shares: near within so many points (0.05 is five percentage points).
  void add_share(const std::string& id, const std::string& what, Numbers simulated,
                 const std::vector<std::string>& tuned, const std::string& reason = "",
                 const Numbers& reference = {});
  void add_order(const std::string& id, const std::string& what, Numbers simulated, bool holds,
                 const std::vector<std::string>& tuned, const std::string& reason = "");
  void not_comparable(const std::string& id, const std::string& what, const std::string& reason);

  // metric under policy `slow` / metric under policy `fast`.
  double ratio(const std::string& file, const Overrides& setting, const std::string& slow,
               const std::string& fast, const std::string& metric, const StoredContexts& contexts = {});

  Lab& lab() { return lab_; }
  std::vector<Check> take() { return std::move(checks_); }

 private:
  Lab& lab_;
  double tolerance_;
  std::vector<Check> checks_;
};

}  // namespace kvcap
