#include "workload/tables.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/embedded.h"

namespace kvcap {

std::string_view embedded_text(std::string_view path) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return file.text;
  }
  KVCAP_BUG("a generator's tables are not embedded");
}

int64_t table_quantile(const std::vector<double>& probabilities, const std::vector<double>& values,
                       double p) {
  const auto above = std::upper_bound(probabilities.begin(), probabilities.end() - 1, p);
  const auto i = static_cast<std::size_t>(above - probabilities.begin());
  const double part = (p - probabilities[i - 1]) / (probabilities[i] - probabilities[i - 1]);
  return std::max<int64_t>(1, std::llround(values[i - 1] + part * (values[i] - values[i - 1])));
}

}  // namespace kvcap
