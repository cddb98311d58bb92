// Reads Azure's and BurstGPT's traces, which contain times and lengths of requests but no texts or blocks.
#include "workload/logs/csv.h"
#include "workload/logs/request_log.h"
#include "workload/source.h"

namespace kvcap {

Source read_azure(const SourceOptions& options, std::optional<int64_t> most) {
  constexpr std::size_t kTime = 0, kInputColumn = 1, kOutputColumn = 2;
  constexpr LogColumn kColumns[] = {{"TIMESTAMP"}, {"ContextTokens"}, {"GeneratedTokens"}};
  RequestLog log(most);
  const auto take = [&](const LogRow& row) {
    const std::optional<int64_t> time_ns = parse_date_ns(row.text(kTime));
    if (!time_ns) row.refuse(kTime, "a time such as 2023-11-16 18:15:46.6805900");
    log.add({.time_ns = time_ns,
             .input_tokens = row.tokens(kInputColumn),
             .output_tokens = row.tokens(kOutputColumn, 0),
             .row = row.line()});
    return log.wants_more_sorted();
  };
  return log.finish(options.path, for_each_csv_row(options.path, options.on_bad_row, kColumns, true, take));
}

Source read_burstgpt(const SourceOptions& options, std::optional<int64_t> most) {
  constexpr std::size_t kTime = 0, kInputColumn = 1, kOutputColumn = 2, kSessionColumn = 3;
  constexpr LogColumn kColumns[] = {
      {"Timestamp"}, {"Request tokens"}, {"Response tokens"}, {"Session ID", Need::never}};
  RequestLog log(most);
  LogClock clock("Timestamp", TimeUnit::s);
  int64_t failed = 0;
  const auto take = [&](const LogRow& row) {
    LoggedRequest request{.time_ns = row.time_ns(kTime, clock),
                          .output_tokens = row.tokens(kOutputColumn, 0),
                          .row = row.line()};
    if (request.output_tokens == 0) {
      ++failed;
      return true;
    }
    request.input_tokens = row.tokens(kInputColumn);
    if (row.says(kSessionColumn)) {
      log.add_turn(row.text(kSessionColumn), request);
    } else {
      log.add(request);
    }
    return row.has(kSessionColumn) || log.wants_more_sorted();
  };
  Source source =
      log.finish(options.path, for_each_csv_row(options.path, options.on_bad_row, kColumns, true, take));
  note_left_out(failed, "failed request", " (0 Response tokens)", source);
  return source;
}

}  // namespace kvcap
