// RequestLog: gathers the requests of a log in any order and converts them to a source: sorted by arrival and
// grouped into sessions, with measured latencies if the log has them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/key_map.h"
#include "workload/logs/odd_rows.h"
#include "workload/logs/rows.h"
#include "workload/source.h"

namespace kvcap {

struct LoggedRequest {
  std::optional<int64_t> time_ns;  // arrival since 1970, or since the log's own zero
  uint32_t input_tokens = 0;
  uint32_t output_tokens = 0;
  MeasuredTimes measured = {};
  // Seconds since the previous answer of its session; NaN if the log has none.
  double think_s = std::numeric_limits<double>::quiet_NaN();
  int64_t row = 0;      // line of the file, or index in the list that enter_list() named
  std::string id = {};  // id in the log; may be empty
};

class RequestLog {
 public:
  // `most`: number of sessions to keep, in the order of arrival.
  explicit RequestLog(std::optional<int64_t> most) : most_(most) {}

  // Names the list of the file that contains the following rows (odd_rows.h).
  void enter_list(std::string prefix) { odd_.enter_list(std::move(prefix)); }
  // Add an independent request, or a turn of the session with this name. Return false for requests without
  // output tokens and for rows that cannot be true; these are left out, and notes of the source count them.
  bool add(const LoggedRequest& request, std::vector<Piece> pieces = {});
  bool add_turn(std::string_view session, const LoggedRequest& request, std::vector<Piece> pieces = {});
  // Enables a note that counts requests with the id of an earlier request of their session.
  void count_repeated_ids() { counts_ids_ = true; }
  bool has_sessions() const { return !names_.empty(); }
  // Cuts pieces with key i to at most tokens[i].
  void cut_pieces(const std::vector<uint32_t>& tokens);
  // False if no further row can matter, provided that the log is sorted by arrival. Always true after a row
  // that is out of order.
  bool wants_more_sorted() const {
    return !most_ || is_late_ || !names_.empty() || std::ssize(requests_) < *most_;
  }

  // Returns the source. Times since 1970 are shifted so that the earliest is 0. `history`: the setting of all
  // sessions. Throws InputError for a log without requests.
  Source finish(const std::string& path, const BadRows& bad, History history = History::automatic);

  std::vector<float> itls_s;  // measured inter-token latencies of all requests
  LeftOut left_out;           // counted by the reader

 private:
  struct Entry {
    std::optional<int64_t> time_ns;
    uint32_t input_tokens = 0, output_tokens = 0;
    MeasuredTimes measured;
    double think_s = 0;
    RowPlace place;
    uint32_t session = 0;
  };
  bool leaves_out(std::string_view session, const LoggedRequest& request, std::span<const Piece> pieces);
  void leave_out_distant_dates(const std::string& path);
  void append(const LoggedRequest& request, uint32_t session, std::vector<Piece>&& pieces);
  // Returns the indices of requests_, sorted by arrival.
  std::vector<std::size_t> sorted(std::vector<std::string>& notes) const;

  std::optional<int64_t> most_;
  std::vector<Entry> requests_;
  std::optional<int64_t> latest_ns_;
  bool is_late_ = false;  // some row arrived before an earlier one, or over a year after all earlier ones
  int64_t unanswered_ = 0;
  OddRows odd_;
  bool counts_ids_ = false;
  KeySet ids_;  // hashes of request ids with their sessions
  int64_t repeated_ids_ = 0;
  std::vector<std::vector<Piece>> pieces_;  // per request; empty if no request has pieces
  uint32_t session_count_ = 0;
  std::map<std::string, uint32_t, std::less<>> names_;  // session numbers by name
  std::vector<std::string> labels_;                     // per session; empty if no session has a label
};

}  // namespace kvcap
