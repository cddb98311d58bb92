#include "workload/logs/csv.h"

#include <csv.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <new>
#include <vector>

#include "base/check.h"
#include "base/input_error.h"
#include "workload/logs/lines.h"

namespace kvcap {
namespace {

constexpr std::size_t kLongestRowBytes = 64 << 20;

// Reads the rows of a CSV file one at a time with libcsv.
class Rows {
 public:
  explicit Rows(const std::string& path) : path_(path), lines_(path) { begin(); }
  ~Rows() { csv_free(&parser_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  // Reads the next row, whose fields field() then returns; returns false at the end of the file. Throws
  // BadRowError for misplaced quotes; the next row then begins at the line after the bad row's first line.
  bool next();
  // Makes next() read the current row's lines again, except the first: a stray quote may have joined lines
  // that are rows of their own.
  void read_again();
  int64_t line_number() const { return row_line_; }  // line in which the row begins
  std::size_t size() const { return ends_.size(); }
  // Valid until next().
  std::string_view field(std::size_t i) const {
    const std::size_t start = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(start, ends_[i] - start);
  }

 private:
  struct Line {
    std::string text;
    int64_t number = 0;
  };

  void begin();
  void feed(std::string_view text);
  bool next_line(std::string_view& line);

  std::string path_;
  LineReader lines_;
  csv_parser parser_{};
  char separator_ = ',';
  int64_t row_line_ = 0;
  int64_t line_ = 0;               // number of the line read last
  Line again_now_;                 // the line read last, if it came from again_
  std::deque<Line> again_;         // lines that next() reads before the file's next line
  std::vector<Line> row_more_;     // the row's lines after its first line
  std::string text_;               // text of all fields
  std::vector<std::size_t> ends_;  // end of each field in text_
  bool is_whole_ = false;
};

void Rows::begin() {
  KVCAP_CHECK(csv_init(&parser_, CSV_STRICT) == 0);
  constexpr std::size_t kGrowBytes = 1 << 14;
  csv_set_blk_size(&parser_, kGrowBytes);
  csv_set_delim(&parser_, static_cast<unsigned char>(separator_));
  // A line ends with \n alone; a carriage return within it is a character.
  csv_set_term_func(&parser_, [](unsigned char one) { return static_cast<int>(one == '\n'); });
}

void Rows::feed(std::string_view text) {
  const auto take_field = [](void* field, std::size_t bytes, void* rows) {
    auto& self = *static_cast<Rows*>(rows);
    self.text_.append(static_cast<const char*>(field), bytes);
    self.ends_.push_back(self.text_.size());
  };
  const auto take_row = [](int, void* rows) { static_cast<Rows*>(rows)->is_whole_ = true; };
  if (csv_parse(&parser_, text.data(), text.size(), take_field, take_row, this) == text.size()) return;
  const int code = csv_error(&parser_);
  csv_free(&parser_);
  begin();
  if (code == CSV_ENOMEM) throw std::bad_alloc();
  read_again();
  throw BadRowError{
      "found a quote within a field, allowed: quotes around a whole field, with quotes inside it doubled"};
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t") == std::string_view::npos; }

// Returns the known separator that is most frequent in the first line.
char separator_of(std::string_view line) {
  char most = ',';
  for (char one : {';', '\t'}) {
    if (std::count(line.begin(), line.end(), one) > std::count(line.begin(), line.end(), most)) most = one;
  }
  return most;
}

bool Rows::next_line(std::string_view& line) {
  if (again_.empty()) {
    if (!lines_.next(line)) return false;
    line_ = lines_.line_number();
    return true;
  }
  again_now_ = std::move(again_.front());
  again_.pop_front();
  line = again_now_.text;
  line_ = again_now_.number;
  return true;
}

void Rows::read_again() {
  again_.insert(again_.begin(), std::make_move_iterator(row_more_.begin()),
                std::make_move_iterator(row_more_.end()));
  row_more_.clear();
}

bool Rows::next() {
  const bool is_first = row_line_ == 0;
  text_.clear();
  ends_.clear();
  row_more_.clear();
  is_whole_ = false;
  bool is_begun = false;
  std::size_t bytes = 0;
  for (std::string_view line; next_line(line);) {
    if (!is_begun && is_blank(line)) continue;
    if (!is_begun) {
      row_line_ = line_;
    } else {
      row_more_.push_back({std::string(line), line_});
    }
    if (!is_begun && is_first) {
      separator_ = separator_of(line);
      csv_set_delim(&parser_, static_cast<unsigned char>(separator_));
    }
    is_begun = true;
    feed(line);
    feed("\n");
    if (is_whole_) return true;
    bytes += line.size() + 1;
    if (bytes > kLongestRowBytes) break;
  }
  if (!is_begun) return false;
  csv_free(&parser_);
  begin();
  read_again();
  throw BadRowError{"found a field without its closing quote, allowed: quotes around a whole field"};
}

// Returns the positions of the wanted columns in the first row; nullopt for missing columns.
std::vector<std::optional<std::size_t>> positions_in(const Rows& rows, std::span<const LogColumn> columns,
                                                     bool others_allowed) {
  std::vector<std::string> names;
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < rows.size(); ++i) names.emplace_back(rows.field(i));
  for (const LogColumn& column : columns) known.push_back(column.name);
  for (const std::string& name : names) {
    const bool wanted = !name.empty() && std::find(known.begin(), known.end(), name) != known.end();
    if (!wanted && !others_allowed) {
      throw BadRowError{name + ": unknown column" + suggestion(name, known)};
    }
    if (wanted && std::count(names.begin(), names.end(), name) > 1) {
      throw BadRowError{name + ": found twice, allowed: each column once"};
    }
  }
  std::vector<std::optional<std::size_t>> positions;
  for (const LogColumn& column : columns) {
    positions.emplace_back();
    if (column.name.empty()) continue;
    const auto found = std::find(names.begin(), names.end(), column.name);
    if (found == names.end() && column.need != Need::never) throw no_such_column(column.name, names);
    if (found != names.end()) positions.back() = static_cast<std::size_t>(found - names.begin());
  }
  return positions;
}

}  // namespace

BadRows for_each_csv_row(const std::string& path, BadRow on_bad_row, std::span<const LogColumn> columns,
                         bool others_allowed, const std::function<bool(const LogRow&)>& take) {
  Rows rows(path);
  const auto place = [&] { return path + ":" + std::to_string(rows.line_number()) + ": "; };
  std::vector<std::optional<std::size_t>> positions;
  std::size_t width = 0;
  try {
    if (!rows.next()) return {};
    positions = positions_in(rows, columns, others_allowed);
    width = rows.size();
  } catch (const BadRowError& error) {
    throw InputError(place() + error.reason);
  }
  BadRows bad;
  LogRow row(columns);
  while (true) {
    try {
      if (!rows.next()) return bad;
      if (rows.size() != width) {
        rows.read_again();
        throw BadRowError{"found " + std::to_string(rows.size()) +
                          " fields, allowed: " + std::to_string(width) + ", as many as the first line has"};
      }
      for (std::size_t i = 0; i < positions.size(); ++i) {
        if (positions[i]) row.set(i, rows.field(*positions[i]));
      }
      row.set_line(rows.line_number());
      if (!take(row)) return bad;
    } catch (const BadRowError& error) {
      count_bad_row(place() + error.reason, on_bad_row, bad);
    }
  }
}

}  // namespace kvcap
