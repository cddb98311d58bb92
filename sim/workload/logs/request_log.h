// The requests of a log, as its reader finds them: in any order, each perhaps of a session, perhaps with what
// a real server took. They become a source: sorted by arrival, gathered into sessions.
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
  std::optional<int64_t> time_ns;  // since 1970, or since the log's own zero
  uint32_t input_tokens = 0;
  uint32_t output_tokens = 0;
  MeasuredTimes measured = {};
  // From the answer before it in its session; NaN where the log does not say.
  double think_s = std::numeric_limits<double>::quiet_NaN();
  int64_t row = 0;      // its line, or its index in the list that was entered
  std::string id = {};  // what the log calls it, perhaps nothing
};

class RequestLog {
 public:
  // `most`: so many sessions are wanted, the first ones.
  explicit RequestLog(std::optional<int64_t> most) : most_(most) {}

  // The rows that follow stand in a list of the file (odd_rows.h).
  void enter_list(std::string prefix) { odd_.enter_list(std::move(prefix)); }
  // Requests without output tokens, and rows that cannot be true, are left out, and notes of the source count
  // them: false. A request alone, and a turn of the session of this name.
  bool add(const LoggedRequest& request, std::vector<Piece> pieces = {});
  bool add_turn(std::string_view session, const LoggedRequest& request, std::vector<Piece> pieces = {});
  // A note counts the requests whose id an earlier one of their session has.
  void count_repeated_ids() { counts_ids_ = true; }
  bool has_sessions() const { return !names_.empty(); }
  // Pieces of key i have no more than tokens[i].
  void cut_pieces(const std::vector<uint32_t>& tokens);
  // Of a log whose rows stand in the order of their arrival, until one does not: false where no more rows can
  // matter.
  bool wants_more_sorted() const {
    return !most_ || is_late_ || !names_.empty() || std::ssize(requests_) < *most_;
  }

  // Times that count from 1970 count from the earliest one instead. `history`: of all sessions. Throws
  // InputError for a log without requests.
  Source finish(const std::string& path, const BadRows& bad, History history = History::automatic);

  std::vector<float> itls_s;  // measured, of all requests
  LeftOut left_out;           // by the reader

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
  // Indices of requests_ by arrival.
  std::vector<std::size_t> sorted(std::vector<std::string>& notes) const;

  std::optional<int64_t> most_;
  std::vector<Entry> requests_;
  std::optional<int64_t> latest_ns_;
  bool is_late_ = false;  // some request arrived before an earlier row's
  int64_t unanswered_ = 0;
  OddRows odd_;
  bool counts_ids_ = false;
  KeySet ids_;  // of requests with their sessions
  int64_t repeated_ids_ = 0;
  std::vector<std::vector<Piece>> pieces_;  // of requests_; empty where none has any
  uint32_t session_count_ = 0;
  std::map<std::string, uint32_t, std::less<>> names_;  // sessions
  std::vector<std::string> labels_;                     // by session; empty where none has one
};

}  // namespace kvcap
