// A CSV of two columns: the tokens of a prompt and of its answer, one request a row.
#include "workload/csv.h"
#include "workload/request_log.h"
#include "workload/source.h"

namespace kvcap {

Source read_lengths(const SourceOptions& options, std::optional<int64_t> most) {
  constexpr std::size_t kPrompt = 0, kAnswer = 1;
  constexpr LogColumn kColumns[] = {{"prompt_length"}, {"answer_length"}};
  RequestLog log(most);
  int64_t rows = 0;
  const auto take = [&](const LogRow& row) {
    LoggedRequest request{
        .time_ns = 1000000000 * rows++, .output_tokens = row.tokens(kAnswer, 0), .row = row.line()};
    request.input_tokens = row.tokens(kPrompt, 1);
    log.add(request);
    return log.wants_more_sorted();
  };
  return log.finish(options.path, for_each_csv_row(options.path, options.on_bad_row, kColumns, true, take));
}

}  // namespace kvcap
