// Reads LMCache's lookup-hash log: the prompts that its server looked up, one per line, as hashes of their
// full chunks. The log contains no answers.
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "workload/logs/json_fields.h"
#include "workload/logs/request_log.h"
#include "workload/pieces.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

class Lookups {
 public:
  explicit Lookups(std::optional<int64_t> most) : log_(most) {}

  bool take(const Json& row, int64_t line) {
    const std::string id = name_at(row, "request_id");
    if (!id.empty() && ids_.contains(id)) {
      ++again_;
      return true;
    }
    LoggedRequest request{.time_ns = time_ns_at(row, "timestamp", TimeUnit::s),
                          .input_tokens = tokens_at(row, "seq_len"),
                          .output_tokens = 1,
                          .row = line,
                          .id = id};
    if (!request.time_ns) throw BadRowError{"timestamp: missing, required"};
    log_.add(request, read_chunks(row, request.input_tokens));
    // Comes last, so that bad rows, which throw above, are not recorded.
    if (!id.empty()) ids_.insert(id);
    models_.insert(name_at(row, "model_name"));
    return log_.wants_more_sorted();
  }

  Source finish(const std::string& path, const BadRows& bad) {
    Source source = log_.finish(path, bad);
    source.notes.push_back("the log has no answers: every request generates 1 token");
    note_left_out(again_, "further lookup", " of the same requests", source);
    if (models_.size() > 1) {
      source.notes.push_back("the log has lookups of " + std::to_string(models_.size()) +
                             " models, which are read as one model");
    }
    return source;
  }

 private:
  std::vector<Piece> read_chunks(const Json& row, uint32_t prompt_tokens) {
    const uint32_t chunk_tokens = tokens_at(row, "chunk_size");
    const Json& hashes = required(row, "chunk_hashes", "");
    if (!hashes.is_array()) bad_value("chunk_hashes", hashes, "an array of hashes");
    if (hashes.size() * uint64_t{chunk_tokens} > prompt_tokens) {
      throw BadRowError{"chunk_hashes: found " + std::to_string(hashes.size()) +
                        " hashes, allowed: at most " + std::to_string(prompt_tokens / chunk_tokens) +
                        ", one for each full " + std::to_string(chunk_tokens) + " tokens of seq_len"};
    }
    std::vector<Piece> pieces;
    for (const Json& hash : hashes) {
      if (!hash.is_string() && !hash.is_number_integer())
        bad_value("chunk_hashes", hash, "a string or an integer");
      const uint64_t key = keys_.try_emplace(hash.dump(), keys_.size()).first->second;
      pieces.push_back({key, chunk_tokens});
    }
    known_.take(pieces, "chunk_hashes");
    return pieces;
  }

  RequestLog log_;
  std::set<std::string> ids_, models_;
  std::map<std::string, uint64_t> keys_;  // by hash
  KnownPieces known_{PieceKeys::prefix};
  int64_t again_ = 0;
};

}  // namespace

Source read_lmcache_lookup(const SourceOptions& options, std::optional<int64_t> most) {
  Lookups lookups(most);
  const BadRows bad = for_each_row(options.path, options.on_bad_row,
                                   [&](const Json& row, int64_t line) { return lookups.take(row, line); });
  return lookups.finish(options.path, bad);
}

}  // namespace kvcap
