// Reads traces that contain block ids of prompts: equal ids stand for the same text after the same text.
// Mooncake's blocks cover the prompt; the last one may be partial. The blocks of a vLLM run are the full
// blocks of prompt and answer together, because vLLM's prefix cache can hit only full blocks.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "workload/logs/csv.h"
#include "workload/logs/json_fields.h"
#include "workload/logs/request_log.h"
#include "workload/logs/rows.h"
#include "workload/pieces.h"
#include "workload/source.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

struct Request {
  uint32_t input_tokens = 0;
  uint32_t output_tokens = 0;
  std::vector<Piece> pieces;
};

// Reads `count` block ids that cover `covered_tokens`; `meaning` explains the count in messages.
std::vector<Piece> read_blocks(const Json& row, int64_t block_tokens, int64_t covered_tokens, int64_t count,
                               const std::string& meaning) {
  const Json& ids = required(row, "hash_ids", "");
  if (!ids.is_array()) bad_value("hash_ids", ids, "an array of integers");
  if (std::ssize(ids) != count) {
    throw BadRowError{"hash_ids: found " + std::to_string(ids.size()) +
                      " ids, allowed: " + std::to_string(count) + ", " + meaning};
  }
  std::vector<Piece> pieces;
  for (const Json& id : ids) {
    const int64_t begin = std::ssize(pieces) * block_tokens;
    const auto tokens = static_cast<uint32_t>(std::min(block_tokens, covered_tokens - begin));
    pieces.push_back({piece_key(id, "hash_ids." + std::to_string(pieces.size())), tokens});
  }
  return pieces;
}

Request read_lengths(const Json& row) {
  return {.input_tokens = token_count(required(row, "input_length", ""), "input_length", 1),
          .output_tokens = token_count(required(row, "output_length", ""), "output_length", 0)};
}

// Reads milliseconds and returns seconds; NaN if the row lacks the key.
double read_ms_as_s(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || found->is_null()) return NAN;
  const double time_ms = found->is_number() ? found->get<double>() : -1;
  if (!(time_ms >= 0 && time_ms <= kMaxLogTime_s * 1e3)) {
    bad_value(key, *found, "milliseconds from 0 to 9e12");
  }
  return time_ms / 1e3;
}

// Mooncake's rows, including the extensions of AIPerf and Dynamo: rows without blocks, and sessions whose
// turns have a delay after the previous answer.
class MooncakeRows {
 public:
  MooncakeRows(const SourceOptions& options, std::optional<int64_t> most)
      : block_tokens_(options.block_tokens.value_or(kMooncakeBlockTokens)), log_(most) {}

  bool take(const Json& row, int64_t line) {
    const Request request = read_lengths(row);
    LoggedRequest entry{
        .input_tokens = request.input_tokens, .output_tokens = request.output_tokens, .row = line};
    const std::string session = name_at(row, "session_id");
    const double time_s = read_ms_as_s(row, "timestamp");
    if (!std::isnan(time_s)) entry.time_ns = std::llround(time_s * 1e9);
    if (session.empty()) {
      if (!entry.time_ns) throw BadRowError{"timestamp: missing, required"};
      log_.add(entry, blocks_of(row, request));
      return log_.wants_more_sorted();
    }
    entry.think_s = read_ms_as_s(row, "delay");
    log_.add_turn(session, entry, blocks_of(row, request));
    return true;
  }

  Source finish(const std::string& path, const BadRows& bad) {
    if (with_blocks_ > 0 && without_blocks_ > 0 && log_.has_sessions()) {
      throw InputError(path + ": hash_ids: found in " + std::to_string(with_blocks_) + " of " +
                       std::to_string(with_blocks_ + without_blocks_) +
                       " rows, allowed: in all or none of a file with session_id");
    }
    // Blocks cover a prompt from its beginning, so the prompt includes its history (Dynamo replays it that
    // way). Without blocks, a turn's tokens are appended to the history (AIPerf).
    const bool are_whole = with_blocks_ > 0 && log_.has_sessions();
    Source source = log_.finish(path, bad, are_whole ? History::context : History::automatic);
    if (are_whole) {
      source.notes.emplace_back(
          "prompts of sessions are read as whole: hash_ids name their blocks from the "
          "beginning");
    }
    return source;
  }

 private:
  std::vector<Piece> blocks_of(const Json& row, const Request& request) {
    if (!find_dotted(row, "hash_ids")) {
      if (!row.contains("session_id")) required(row, "hash_ids", "");
      ++without_blocks_;
      return {};
    }
    ++with_blocks_;
    const int64_t blocks = (request.input_tokens + block_tokens_ - 1) / block_tokens_;
    std::vector<Piece> pieces =
        read_blocks(row, block_tokens_, request.input_tokens, blocks,
                    "one for each " + std::to_string(block_tokens_) + " tokens of input_length");
    known_.take(pieces, "hash_ids");
    return pieces;
  }

  int64_t block_tokens_;
  RequestLog log_;
  KnownPieces known_{PieceKeys::prefix};
  int64_t with_blocks_ = 0, without_blocks_ = 0;
};

// Reads the requests of a vLLM run's workload, in the order of the file.
std::vector<Request> read_vllm_blocks(const std::string& path, int64_t block_tokens) {
  std::vector<Request> requests;
  KnownPieces known(PieceKeys::prefix);
  const std::string meaning =
      "one for each full " + std::to_string(block_tokens) + " tokens of input_length + output_length";
  for_each_row(path, BadRow::error, [&](const Json& row, int64_t) {
    Request request = read_lengths(row);
    const int64_t total = int64_t{request.input_tokens} + request.output_tokens;
    request.pieces = read_blocks(row, block_tokens, total, total / block_tokens, meaning);
    known.take(request.pieces, "hash_ids");
    requests.push_back(std::move(request));
    return true;
  });
  return requests;
}

// Blocks of the requests of a run. Each request may be requested only once.
class VllmBlocks {
 public:
  VllmBlocks(const std::string& path, int64_t block_tokens)
      : path_(path), requests_(read_vllm_blocks(path, block_tokens)), taken_(requests_.size(), false) {}

  // Returns the blocks of the request in this row. Throws BadRowError if the row's id or lengths do not
  // match.
  const std::vector<Piece>& of(const LogRow& row, std::size_t id_column, std::size_t input_column,
                               std::size_t output_column) {
    const uint32_t id = row.tokens(id_column, 0);
    if (id >= requests_.size()) {
      row.refuse(id_column, "at most " + std::to_string(std::ssize(requests_) - 1) + " (the lines of " +
                                path_ + ", counted from 0)");
    }
    const Request& request = requests_[id];
    const auto compare = [&](std::size_t column, uint32_t tokens) {
      if (row.tokens(column, 0) == tokens) return;
      row.refuse(column, std::to_string(tokens) + ", as request " + std::to_string(id) + " has in " + path_);
    };
    compare(input_column, request.input_tokens);
    compare(output_column, request.output_tokens);
    if (taken_[id]) row.refuse(id_column, "each request once");
    taken_[id] = true;
    return request.pieces;
  }
  int64_t left() const { return std::count(taken_.begin(), taken_.end(), false); }
  std::size_t size() const { return requests_.size(); }

 private:
  std::string path_;
  std::vector<Request> requests_;
  std::vector<bool> taken_;
};

}  // namespace

Source read_mooncake(const SourceOptions& options, std::optional<int64_t> most) {
  MooncakeRows rows(options, most);
  const auto take = [&](const Json& row, int64_t line) { return rows.take(row, line); };
  const BadRows bad = for_each_row(options.path, options.on_bad_row, take);
  return rows.finish(options.path, bad);
}

Source read_vllm(const SourceOptions& options, std::optional<int64_t> most) {
  constexpr std::size_t kArrivalColumn = 0, kInputColumn = 1, kOutputColumn = 2, kId = 3, kTtftColumn = 4,
                        kE2elColumn = 5;
  const bool with_blocks = !options.hash_ids.empty();
  const LogColumn columns[] = {
      {"arrival_s"},           {"input_tokens"},
      {"output_tokens"},       {"request_id", with_blocks ? Need::every_row : Need::never},
      {"ttft_s", Need::never}, {"e2e_s", Need::never}};
  std::optional<VllmBlocks> blocks;
  if (with_blocks) blocks.emplace(options.hash_ids, options.block_tokens.value_or(kEngineBlockTokens));
  RequestLog log(most);
  LogClock clock("arrival_s");
  const auto take = [&](const LogRow& row) {
    const LoggedRequest request{
        .time_ns = row.time_ns(kArrivalColumn, clock),
        .input_tokens = row.tokens(kInputColumn),
        .output_tokens = row.tokens(kOutputColumn, 0),
        .measured = {row.duration_s(kTtftColumn, TimeUnit::s), row.duration_s(kE2elColumn, TimeUnit::s)},
        .row = row.line(),
        .id = std::string(row.says(kId) ? row.text(kId) : std::string_view())};
    log.add(request, blocks ? blocks->of(row, kId, kInputColumn, kOutputColumn) : std::vector<Piece>());
    return true;
  };
  const BadRows bad = for_each_csv_row(options.path, options.on_bad_row, columns, true, take);
  Source source = log.finish(options.path, bad);
  if (blocks && !most && blocks->left() > 0) {
    source.notes.push_back(std::to_string(blocks->left()) + " of " + std::to_string(blocks->size()) +
                           " requests of " + options.hash_ids + " are not in " + options.path);
  }
  return source;
}

}  // namespace kvcap
