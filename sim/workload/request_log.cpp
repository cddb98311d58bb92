#include "workload/request_log.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/input_error.h"
#include "workload/log_time.h"

namespace kvcap {

bool RequestLog::leaves_out(const LoggedRequest& request) {
  unanswered_ += request.output_tokens == 0;
  return request.output_tokens == 0;
}

void RequestLog::append(const LoggedRequest& request, uint32_t session, std::vector<Piece>&& pieces) {
  if (!pieces.empty() && pieces_.empty()) pieces_.resize(requests_.size());
  if (!pieces.empty() || !pieces_.empty()) pieces_.push_back(std::move(pieces));
  if (request.time_ns) {
    is_late_ = is_late_ || (latest_ns_ && *request.time_ns < *latest_ns_);
    latest_ns_ = std::max(latest_ns_.value_or(*request.time_ns), *request.time_ns);
  }
  requests_.push_back({request, session});
}

void RequestLog::add(const LoggedRequest& request, std::string_view id, std::vector<Piece> pieces) {
  if (leaves_out(request)) return;
  if (!id.empty() || !labels_.empty()) {
    labels_.resize(session_count_);
    labels_.emplace_back(id);
  }
  append(request, session_count_++, std::move(pieces));
}

void RequestLog::add_turn(std::string_view session, const LoggedRequest& request, std::vector<Piece> pieces) {
  if (leaves_out(request)) return;
  auto found = names_.find(session);
  if (found == names_.end()) {
    found = names_.emplace(session, session_count_).first;
    labels_.resize(session_count_++);
    labels_.emplace_back(session);
  }
  append(request, found->second, std::move(pieces));
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
    if (!entry.request.time_ns) return order;
    late += latest_ns && *entry.request.time_ns < *latest_ns;
    latest_ns = std::max(latest_ns.value_or(*entry.request.time_ns), *entry.request.time_ns);
  }
  if (late == 0) return order;
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return *requests_[a].request.time_ns < *requests_[b].request.time_ns;
  });
  notes.push_back(std::to_string(late) + " of " + std::to_string(order.size()) +
                  " rows stand after one that arrived later: all are sorted by their arrival");
  return order;
}

Source RequestLog::finish(const std::string& path, const BadRows& bad, History history) {
  Source source;
  const std::vector<std::size_t> order = sorted(source.notes);
  int64_t zero_ns = 0;
  if (!order.empty()) {
    const int64_t first_ns = requests_[order.front()].request.time_ns.value_or(0);
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
    for (std::size_t i : sessions[one]) {
      const LoggedRequest& request = requests_[i].request;
      const double time_s = request.time_ns ? static_cast<double>(*request.time_ns - zero_ns) / 1e9 : NAN;
      turns.push_back({request.input_tokens, request.output_tokens, time_s});
      if (!pieces_.empty()) pieces.push_back(std::move(pieces_[i]));
      source.measured.push_back(request.measured);
      is_measured =
          is_measured || !std::isnan(request.measured.ttft_s) || !std::isnan(request.measured.e2el_s);
    }
    source.add({}, turns, pieces);
    if (history != History::automatic) source.histories.push_back(history);
    if (labels_.empty()) continue;
    const std::string& label = labels_[number[one]];
    const nlohmann::json id = label.empty() ? nlohmann::json(one) : nlohmann::json(label);
    source.labels.push_back({id.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), ""});
  }
  if (!is_measured) source.measured.clear();
  source.measured_itls_s = std::move(itls_s);
  if (source.sessions.empty() && bad.count == 0 && unanswered_ > 0) {
    throw InputError(path + ": no sessions in it: none of " + count_of(unanswered_, "request") +
                     " has output tokens");
  }
  report_bad_rows(path, bad, source);
  note_left_out(unanswered_, "request", " without output tokens", source);
  if (repeated_ids_ > 0) {
    source.notes.push_back(count_of(repeated_ids_, "request") + (repeated_ids_ == 1 ? " has" : " have") +
                           " the id of an earlier one: all are read, though the log may hold them twice");
  }
  return source;
}

}  // namespace kvcap
