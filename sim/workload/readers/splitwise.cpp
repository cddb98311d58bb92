// Reads the CSV that Splitwise's simulator (splitwise-sim) reads and generates: arrivals in seconds and
// lengths.
#include "workload/logs/csv.h"
#include "workload/logs/request_log.h"
#include "workload/source.h"

namespace kvcap {

Source read_splitwise(const SourceOptions& options, std::optional<int64_t> most) {
  constexpr std::size_t kArrival = 0, kPrompt = 1, kTokens = 2, kBatch = 3, kId = 4;
  constexpr LogColumn kColumns[] = {{"arrival_timestamp"},
                                    {"prompt_size"},
                                    {"token_size"},
                                    {"batch_size", Need::never},
                                    {"request_id", Need::never}};
  RequestLog log(most);
  LogClock clock("arrival_timestamp", TimeUnit::s);
  const auto take = [&](const LogRow& row) {
    if (row.says(kBatch) && row.tokens(kBatch) != 1) row.refuse(kBatch, "1, as splitwise-sim writes");
    LoggedRequest request{.time_ns = row.time_ns(kArrival, clock),
                          .output_tokens = row.tokens(kTokens, 0),
                          .row = row.line(),
                          .id = std::string(row.says(kId) ? row.text(kId) : std::string_view())};
    request.input_tokens = row.tokens(kPrompt, request.output_tokens == 0 ? 0 : 1);
    log.add(request);
    return log.wants_more_sorted();
  };
  return log.finish(options.path, for_each_csv_row(options.path, options.on_bad_row, kColumns, true, take));
}

}  // namespace kvcap
