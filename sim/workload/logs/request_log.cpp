#include "workload/logs/request_log.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/input_error.h"
#include "workload/logs/log_time.h"

namespace kvcap {

namespace {

Key hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }

Key hash_of(double number) { return std::bit_cast<Key>(number); }

// Returns a hash of all values that are read from a row.
Key content_of_request(std::string_view session, const LoggedRequest& request,
                       std::span<const Piece> pieces) {
  Key key = chained(hash_of(session), hash_of(std::string_view(request.id)));
  for (Key one :
       {static_cast<Key>(request.time_ns.value_or(-1)), Key{request.input_tokens}, Key{request.output_tokens},
        hash_of(request.measured.ttft_s), hash_of(request.measured.e2el_s)}) {
    key = chained(key, one);
  }
  for (const Piece& piece : pieces) key = chained(key, piece.key);
  return key;
}

// True iff the time is recorded more finely than in milliseconds; false for NaN.
bool is_fine_time(double seconds) {
  const double steps = seconds / 1e-3;
  return std::abs(steps - std::round(steps)) > 1e-6;
}

// True iff no other request can have the same values: the request has an id, or times finer than a
// millisecond, which two requests of a real log never share. Requests of a simulated batch share such times,
// but they arrive at 0, which is a whole millisecond.
bool is_named_request(const LoggedRequest& request) {
  constexpr int64_t kMillisecond_ns = 1'000'000;
  const MeasuredTimes& measured = request.measured;
  return !request.id.empty() || (request.time_ns.value_or(0) % kMillisecond_ns != 0 &&
                                 (is_fine_time(measured.ttft_s) || is_fine_time(measured.e2el_s)));
}

}  // namespace

bool RequestLog::leaves_out(std::string_view session, const LoggedRequest& request,
                            std::span<const Piece> pieces) {
  if (request.output_tokens == 0) {
    ++unanswered_;
    return true;
  }
  const RowPlace place = odd_.place(request.row);
  const bool named = is_named_request(request);
  if ((named || request.time_ns) &&
      odd_.is_repeated(content_of_request(session, request, pieces), named, place)) {
    return true;
  }
  if (odd_.is_impossible(request.measured, place)) return true;
  if (counts_ids_ && !request.id.empty()) {
    repeated_ids_ += !ids_.insert(chained(hash_of(session), hash_of(std::string_view(request.id))));
  }
  return false;
}

void RequestLog::append(const LoggedRequest& request, uint32_t session, std::vector<Piece>&& pieces) {
  if (!pieces.empty() && pieces_.empty()) pieces_.resize(requests_.size());
  if (!pieces.empty() || !pieces_.empty()) pieces_.push_back(std::move(pieces));
  if (request.time_ns) {
    const int64_t time_ns = *request.time_ns;
    const int64_t latest_ns = latest_ns_.value_or(time_ns);
    // An arrival after a long gap may be wrong; only the remaining rows show whether it is.
    is_late_ =
        is_late_ || time_ns < latest_ns || static_cast<double>(time_ns - latest_ns) > kLongestGap_s * 1e9;
    latest_ns_ = std::max(latest_ns, time_ns);
  }
  requests_.push_back({request.time_ns, request.input_tokens, request.output_tokens, request.measured,
                       request.think_s, odd_.place(request.row), session});
}

bool RequestLog::add(const LoggedRequest& request, std::vector<Piece> pieces) {
  if (leaves_out({}, request, pieces)) return false;
  if (!request.id.empty() || !labels_.empty()) {
    labels_.resize(session_count_);
    labels_.push_back(request.id);
  }
  append(request, session_count_++, std::move(pieces));
  return true;
}

bool RequestLog::add_turn(std::string_view session, const LoggedRequest& request, std::vector<Piece> pieces) {
  if (leaves_out(session, request, pieces)) return false;
  auto found = names_.find(session);
  if (found == names_.end()) {
    found = names_.emplace(session, session_count_).first;
    labels_.resize(session_count_++);
    labels_.emplace_back(session);
  }
  append(request, found->second, std::move(pieces));
  return true;
}

void RequestLog::leave_out_distant_dates(const std::string& path) {
  constexpr double kSecond_ns = 1e9;
  std::vector<double> dates_s;
  for (const Entry& one : requests_) {
    if (one.time_ns) dates_s.push_back(static_cast<double>(*one.time_ns) / kSecond_ns);
  }
  const std::optional<DateRange> range = range_of_dates(path, std::move(dates_s));
  if (!range) return;
  const auto is_distant = [&](const Entry& one) {
    if (!one.time_ns) return false;
    const double date_s = static_cast<double>(*one.time_ns) / kSecond_ns;
    return date_s < range->first_s || date_s > range->last_s;
  };
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (is_distant(requests_[i])) {
      odd_.count_distant(requests_[i].place);
      continue;
    }
    if (!pieces_.empty() && kept != i) pieces_[kept] = std::move(pieces_[i]);
    requests_[kept++] = requests_[i];
  }
  requests_.resize(kept);
  if (!pieces_.empty()) pieces_.resize(kept);
}

void RequestLog::cut_pieces(const std::vector<uint32_t>& tokens) {
  for (std::vector<Piece>& pieces : pieces_) {
    for (Piece& piece : pieces) piece.tokens = std::min(piece.tokens, tokens[piece.key]);
  }
}

std::vector<std::size_t> RequestLog::sorted(std::vector<std::string>& notes) const {
  std::vector<std::size_t> order(requests_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  int64_t late = 0;
  std::optional<int64_t> latest_ns;
  for (const Entry& entry : requests_) {
    if (!entry.time_ns) return order;
    late += latest_ns && *entry.time_ns < *latest_ns;
    latest_ns = std::max(latest_ns.value_or(*entry.time_ns), *entry.time_ns);
  }
  if (late == 0) return order;
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return *requests_[a].time_ns < *requests_[b].time_ns;
  });
  notes.push_back(std::to_string(late) + " of " + std::to_string(order.size()) +
                  " rows follow a row that arrived later; all rows are sorted by arrival");
  return order;
}

Source RequestLog::finish(const std::string& path, const BadRows& bad, History history) {
  Source source;
  leave_out_distant_dates(path);
  const std::vector<std::size_t> order = sorted(source.notes);
  int64_t zero_ns = 0;
  if (!order.empty()) {
    const int64_t first_ns = requests_[order.front()].time_ns.value_or(0);
    if (first_ns >= kFirstEpoch_ns) zero_ns = first_ns;
  }
  std::vector<std::vector<std::size_t>> sessions;  // in the order of their first requests
  std::vector<uint32_t> place(session_count_, UINT32_MAX), number;
  for (std::size_t i : order) {
    const uint32_t session = requests_[i].session;
    if (place[session] == UINT32_MAX) {
      if (most_ && std::ssize(sessions) >= *most_) continue;
      place[session] = static_cast<uint32_t>(sessions.size());
      sessions.emplace_back();
      number.push_back(session);
    }
    sessions[place[session]].push_back(i);
  }
  labels_.resize(labels_.empty() ? 0 : session_count_);
  bool is_measured = false;
  for (std::size_t one = 0; one < sessions.size(); ++one) {
    std::vector<Turn> turns;
    std::vector<std::vector<Piece>> pieces;
    std::vector<double> think_times_s;
    for (std::size_t i : sessions[one]) {
      const Entry& request = requests_[i];
      const double time_s = request.time_ns ? static_cast<double>(*request.time_ns - zero_ns) / 1e9 : NAN;
      turns.push_back({request.input_tokens, request.output_tokens, time_s});
      if (!pieces_.empty()) pieces.push_back(std::move(pieces_[i]));
      think_times_s.push_back(turns.size() == 1 ? NAN : request.think_s);
      source.measured.push_back(request.measured);
      is_measured =
          is_measured || !std::isnan(request.measured.ttft_s) || !std::isnan(request.measured.e2el_s);
    }
    source.add({}, turns, pieces);
    const auto is_known = [](double time_s) { return !std::isnan(time_s); };
    if (std::any_of(think_times_s.begin(), think_times_s.end(), is_known)) {
      source.add_think_times(think_times_s);
    }
    if (history != History::automatic) source.histories.push_back(history);
    if (labels_.empty()) continue;
    const std::string& label = labels_[number[one]];
    const nlohmann::json id = label.empty() ? nlohmann::json(one) : nlohmann::json(label);
    source.labels.push_back({id.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), ""});
  }
  if (!is_measured) source.measured.clear();
  source.measured_itls_s = std::move(itls_s);
  odd_.tell(path, source);
  if (source.sessions.empty() && bad.count == 0 && unanswered_ > 0) {
    throw InputError(path + ": contains no sessions: none of " + count_of(unanswered_, "request") +
                     " has output tokens");
  }
  const std::string left_out_text = left_out.text();
  if (source.sessions.empty() && bad.count == 0 && !left_out_text.empty()) {
    throw InputError(path + ": contains no sessions: " + left_out_text);
  }
  report_bad_rows(path, bad, source);
  if (!left_out_text.empty()) source.notes.push_back(left_out_text);
  note_left_out(unanswered_, "request", " without output tokens", source);
  if (repeated_ids_ > 0) {
    source.notes.push_back(count_of(repeated_ids_, "request") + (repeated_ids_ == 1 ? " has" : " have") +
                           " the id of an earlier one, but not the same row: all are read");
  }
  return source;
}

}  // namespace kvcap
