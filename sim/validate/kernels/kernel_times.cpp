#include "validate/kernels/kernel_times.h"

#include <cstdlib>

namespace kvcap {

void for_each_kernel_row(const std::string& path, const std::vector<CsvColumn>& columns, std::size_t texts,
                         const TakeKernelRow& take) {
  std::vector<double> numbers(columns.size() - texts);
  for_each_csv_row(path, BadRow::skip, columns, true, [&](const CsvRow& row) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = std::strtod(std::string(row.text(texts + i)).c_str(), nullptr);
    }
    take(row, numbers);
    return true;
  });
}

}  // namespace kvcap
