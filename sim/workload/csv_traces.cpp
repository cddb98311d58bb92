// Traces of requests without a word on their text: what was asked when, and at most of which session.
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "workload/csv.h"
#include "workload/source.h"

namespace kvcap {
namespace {

// The number in `count` digits from `at`; -1 where they are none.
int64_t digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return -1;
  int64_t number = 0;
  for (char one : text.substr(at, count)) {
    if (one < '0' || one > '9') return -1;
    number = number * 10 + (one - '0');
  }
  return number;
}

// "2023-11-16 18:15:46.6805900" with up to nine decimals or none, and perhaps "+00:00", in nanoseconds
// since 1970; nothing where it is no such time.
std::optional<int64_t> parse_utc_ns(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-dd dd:dd:dd";
  if (text.ends_with("+00:00")) text.remove_suffix(6);
  if (text.size() < kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == 'd' ? digits(text, i, 1) < 0 : text[i] != kForm[i]) return std::nullopt;
  }
  using namespace std::chrono;
  const year_month_day date{year(static_cast<int>(digits(text, 0, 4))),
                            month(static_cast<unsigned>(digits(text, 5, 2))),
                            day(static_cast<unsigned>(digits(text, 8, 2)))};
  const int64_t hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  if (date.year() < year(1970) || date.year() > year(2200)) return std::nullopt;  // 64 bits end in 2262
  int64_t time_ns =
      (((sys_days(date).time_since_epoch().count() * 24 + hour) * 60 + minute) * 60 + second) * 1'000'000'000;
  if (text.size() == kForm.size()) return time_ns;
  const std::size_t decimals = text.size() - kForm.size() - 1;
  if (text[kForm.size()] != '.' || decimals < 1 || decimals > 9) return std::nullopt;
  int64_t fraction = digits(text, kForm.size() + 1, decimals);
  if (fraction < 0) return std::nullopt;
  for (std::size_t i = decimals; i < 9; ++i) fraction *= 10;
  return time_ns + fraction;
}

}  // namespace

Source read_azure(const SourceOptions& options, std::optional<int64_t> most) {
  enum : std::size_t { kTime, kInput, kOutput };
  constexpr CsvColumn kColumns[] = {{"TIMESTAMP"}, {"ContextTokens"}, {"GeneratedTokens"}};
  Source source;
  std::optional<int64_t> first_ns;
  int64_t last_ns = 0;
  const auto take = [&](const CsvRow& row) {
    const std::optional<int64_t> time_ns = parse_utc_ns(row.text(kTime));
    if (!time_ns) row.refuse(kTime, "a time such as 2023-11-16 18:15:46.6805900");
    if (first_ns && *time_ns < last_ns) row.refuse(kTime, "no less than that of the row before");
    const uint32_t input = row.tokens(kInput), output = row.tokens(kOutput);
    if (!first_ns) first_ns = time_ns;
    last_ns = *time_ns;
    source.add({}, {{input, output, static_cast<double>(last_ns - *first_ns) * 1e-9}});
    return !most || std::ssize(source.sessions) < *most;
  };
  report_bad_rows(options.path, for_each_csv_row(options.path, options.on_bad_row, kColumns, true, take),
                  source);
  return source;
}

Source read_burstgpt(const SourceOptions& options, std::optional<int64_t> most) {
  enum : std::size_t { kTime, kInput, kOutput };
  constexpr CsvColumn kColumns[] = {{"Timestamp"}, {"Request tokens"}, {"Response tokens"}};
  Source source;
  double last_s = 0;
  int64_t failed = 0;
  const auto take = [&](const CsvRow& row) {
    const double time_s = row.arrival_s(kTime, last_s);
    const uint32_t output = row.tokens(kOutput, 0);
    if (output > 0) {
      source.add({}, {{row.tokens(kInput), output, time_s}});
    } else {
      ++failed;
    }
    last_s = time_s;
    return !most || std::ssize(source.sessions) < *most;
  };
  report_bad_rows(options.path, for_each_csv_row(options.path, options.on_bad_row, kColumns, true, take),
                  source);
  if (failed > 0) {
    source.notes.push_back(std::to_string(failed) + " failed requests (0 Response tokens) are left out");
  }
  return source;
}

Source read_csv(const SourceOptions& options, std::optional<int64_t> most) {
  enum : std::size_t { kTime, kInput, kOutput, kSession };
  constexpr CsvColumn kColumns[] = {{"arrival_s"}, {"input_tokens"}, {"output_tokens"}, {"session", false}};
  std::vector<std::vector<Turn>> sessions;  // in the order of their first rows
  std::map<std::string, std::size_t, std::less<>> numbers;
  std::vector<SessionLabel> labels;
  double last_s = 0;
  const auto take = [&](const CsvRow& row) {
    const Turn turn{row.tokens(kInput), row.tokens(kOutput), row.arrival_s(kTime, last_s)};
    const bool full = most && std::ssize(sessions) >= *most;
    last_s = turn.time_s;
    if (!row.has(kSession)) {
      sessions.push_back({turn});
      return !most || std::ssize(sessions) < *most;
    }
    if (row.text(kSession).empty()) row.refuse(kSession, "a name");
    const auto found = numbers.find(row.text(kSession));
    if (found != numbers.end()) {
      sessions[found->second].push_back(turn);
    } else if (!full) {
      const std::string name(row.text(kSession));
      numbers.emplace(name, sessions.size());
      sessions.push_back({turn});
      using Json = nlohmann::json;
      labels.push_back({Json(name).dump(-1, ' ', false, Json::error_handler_t::replace), ""});
    }
    return true;  // later rows may go on with the sessions that are wanted
  };
  const BadRows bad = for_each_csv_row(options.path, options.on_bad_row, kColumns, false, take);
  Source source;
  for (const std::vector<Turn>& turns : sessions) source.add({}, turns);
  source.labels = std::move(labels);
  report_bad_rows(options.path, bad, source);
  return source;
}

}  // namespace kvcap
