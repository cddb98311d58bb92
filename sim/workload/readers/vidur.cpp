// Reads Vidur's CSV of requests (data/processed_traces): lengths and, in some files, arrivals in seconds.
#include "workload/logs/csv.h"
#include "workload/logs/request_log.h"
#include "workload/source.h"

namespace kvcap {

Source read_vidur(const SourceOptions& options, std::optional<int64_t> most) {
  constexpr std::size_t kArrival = 0, kPrefill = 1, kDecode = 2;
  constexpr LogColumn kColumns[] = {
      {"arrived_at", Need::never}, {"num_prefill_tokens"}, {"num_decode_tokens"}};
  RequestLog log(most);
  LogClock clock("arrived_at", TimeUnit::s);
  const auto take = [&](const LogRow& row) {
    LoggedRequest request{.output_tokens = row.tokens(kDecode, 0), .row = row.line()};
    request.input_tokens = row.tokens(kPrefill, request.output_tokens == 0 ? 0 : 1);
    if (row.has(kArrival)) request.time_ns = row.time_ns(kArrival, clock);
    log.add(request);
    return log.wants_more_sorted();
  };
  return log.finish(options.path, for_each_csv_row(options.path, options.on_bad_row, kColumns, true, take));
}

}  // namespace kvcap
