// Reads TraceV2 of the inference simulator BLIS: a CSV of requests that BLIS sent, simulated or read. The
// YAML header file is not needed.
#include <cmath>
#include <map>

#include "base/input_error.h"
#include "workload/logs/csv.h"
#include "workload/logs/request_log.h"
#include "workload/pieces.h"

namespace kvcap {
namespace {

constexpr std::size_t kIdColumn = 0, kSessionId = 1, kRound = 2, kGroup = 3, kPrefix = 4, kInputTokens = 5,
                      kServerInput = 6, kOutputTokens = 7, kArrivalTime = 8, kSend = 9, kFirst = 10,
                      kLast = 11, kStatus = 12;
constexpr LogColumn kColumns[] = {{"request_id"},
                                  {"session_id"},
                                  {"round_index"},
                                  {"prefix_group"},
                                  {"prefix_length"},
                                  {"input_tokens"},
                                  {"server_input_tokens", Need::never},
                                  {"output_tokens"},
                                  {"arrival_time_us"},
                                  {"send_time_us", Need::never},
                                  {"first_chunk_time_us", Need::never},
                                  {"last_chunk_time_us", Need::never},
                                  {"status"}};

// Returns the seconds from the request's start to a column's time; NaN for 0, which means not measured.
double since_s(const LogRow& row, std::size_t column, int64_t start_ns) {
  if (!row.says(column) || row.text(column) == "0") return NAN;
  LogClock clock("us", TimeUnit::us);
  const int64_t time_ns = row.time_ns(column, clock);
  if (time_ns < start_ns) row.refuse(column, "a time not before the request's start");
  return static_cast<double>(time_ns - start_ns) / 1e9;
}

// First round of each session by arrival: the prompt of this round begins with the group's prefix.
class Beginnings {
 public:
  void take(const LogRow& row, int64_t time_ns, bool has_prefix) {
    const uint32_t round = row.tokens(kRound, 0);
    Beginning& one =
        sessions_.try_emplace(std::string(row.text(kSessionId)), Beginning{time_ns, round, false})
            .first->second;
    if (time_ns < one.time_ns) {
      one.time_ns = time_ns;
      one.round = round;
    }
    one.has_prefix = one.has_prefix || has_prefix;
  }
  // Throws InputError if the first round of a session with a prefix is not round 0.
  void refuse_late_prefixes(const std::string& path) const {
    for (const auto& [session, one] : sessions_) {
      if (one.round == 0 || !one.has_prefix) continue;
      throw InputError(path + ": session_id " + session + ": found round_index " + std::to_string(one.round) +
                       " first, allowed: 0, whose prompt begins with the prefix_group");
    }
  }

 private:
  struct Beginning {
    int64_t time_ns = 0;
    uint32_t round = 0;
    bool has_prefix = false;
  };
  std::map<std::string, Beginning> sessions_;
};

class Records {
 public:
  explicit Records(std::optional<int64_t> most) : log_(most) {}

  void take(const LogRow& row) {
    if (row.text(kStatus) != "ok" && !row.text(kStatus).empty()) {
      ++failed_;
      return;
    }
    LogClock clock("us", TimeUnit::us);
    // The time at which the request was sent, after waiting in the client, is the better arrival.
    const bool sent = row.says(kSend) && row.text(kSend) != "0";
    LoggedRequest request{.time_ns = row.time_ns(sent ? kSend : kArrivalTime, clock),
                          .output_tokens = row.tokens(kOutputTokens, 0),
                          .row = row.line(),
                          .id = std::string(row.text(kIdColumn))};
    const uint32_t server = row.says(kServerInput) ? row.tokens(kServerInput, 0) : 0;
    const uint32_t prefix = row.says(kGroup) ? row.tokens(kPrefix, 0) : 0;
    request.input_tokens = row.tokens(kInputTokens) + prefix;
    // The server's count includes the chat template and any prefix.
    if (server > 0) request.input_tokens = std::max(server, prefix + 1);
    request.measured = {since_s(row, kFirst, *request.time_ns), since_s(row, kLast, *request.time_ns)};
    std::vector<Piece> pieces;
    if (prefix > 0 && row.tokens(kRound, 0) == 0) {
      const uint64_t key = groups_.try_emplace(std::string(row.text(kGroup)), groups_.size()).first->second;
      pieces.push_back({key, prefix});
      known_.take(pieces, "prefix_length");
    }
    if (row.says(kSessionId)) {
      if (request.output_tokens > 0) begin_.take(row, *request.time_ns, !pieces.empty());
      log_.add_turn(row.text(kSessionId), request, std::move(pieces));
    } else {
      log_.add(request, std::move(pieces));
    }
  }

  Source finish(const std::string& path, const BadRows& bad) {
    begin_.refuse_late_prefixes(path);
    Source source = log_.finish(path, bad);
    note_left_out(failed_, "request", " whose status is not ok", source);
    return source;
  }

 private:
  RequestLog log_;
  std::map<std::string, uint64_t> groups_;
  Beginnings begin_;
  KnownPieces known_{PieceKeys::prefix};
  int64_t failed_ = 0;
};

}  // namespace

Source read_blis(const SourceOptions& options, std::optional<int64_t> most) {
  Records records(most);
  const auto take = [&](const LogRow& row) {
    records.take(row);
    return true;
  };
  const BadRows bad = for_each_csv_row(options.path, options.on_bad_row, kColumns, true, take);
  return records.finish(options.path, bad);
}

}  // namespace kvcap
