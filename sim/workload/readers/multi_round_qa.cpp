// The summary CSV of multi-round-qa, the benchmark of LMCache and vLLM's production-stack: the rounds of each
// user's conversation, of which the server counted the whole prompt.
#include <cmath>

#include "workload/logs/csv.h"
#include "workload/logs/request_log.h"
#include "workload/source.h"

namespace kvcap {

Source read_multi_round_qa(const SourceOptions& options, std::optional<int64_t> most) {
  constexpr std::size_t kLaunch = 0, kPrompt = 1, kGenerated = 2, kUser = 3, kTtft = 4, kFinish = 5;
  constexpr LogColumn kColumns[] = {{"launch_time"}, {"prompt_tokens"},     {"generation_tokens"},
                                    {"user_id"},     {"ttft", Need::never}, {"finish_time", Need::never}};
  RequestLog log(most);
  LogClock launch("launch_time", TimeUnit::s), finish("finish_time", TimeUnit::s);
  const auto take = [&](const LogRow& row) {
    LoggedRequest request{.time_ns = row.time_ns(kLaunch, launch),
                          .output_tokens = row.tokens(kGenerated, 0),
                          .row = row.line()};
    // Both are 0 where the server answered nothing.
    request.input_tokens = row.tokens(kPrompt, request.output_tokens == 0 ? 0 : 1);
    request.measured.ttft_s = row.duration_s(kTtft, TimeUnit::s);
    if (row.says(kFinish)) {
      request.measured.e2el_s = static_cast<double>(row.time_ns(kFinish, finish) - *request.time_ns) / 1e9;
    }
    log.add_turn(row.text(kUser), request);
    return true;
  };
  return log.finish(options.path, for_each_csv_row(options.path, options.on_bad_row, kColumns, true, take));
}

}  // namespace kvcap
