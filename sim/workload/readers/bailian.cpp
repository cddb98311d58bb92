// Reads the usage traces of Qwen on Alibaba's Bailian: turns of chats, each with the ids of its prompt's
// blocks of 16 tokens.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "workload/logs/json_fields.h"
#include "workload/logs/request_log.h"

namespace kvcap {
namespace {

using Json = nlohmann::json;

class Chats {
 public:
  Chats(const SourceOptions& options, std::optional<int64_t> most)
      : block_tokens_(options.block_tokens.value_or(kEngineBlockTokens)), log_(most) {}

  void take(const Json& row, int64_t line) {
    LoggedRequest request{.time_ns = time_ns_at(row, "timestamp", TimeUnit::s),
                          .input_tokens = tokens_at(row, "input_length"),
                          .output_tokens = tokens_at(row, "output_length", 0),
                          .row = line};
    if (!request.time_ns) throw BadRowError{"timestamp: missing, required"};
    const std::string chat = name_at(row, "chat_id"), parent = name_at(row, "parent_chat_id");
    if (chat.empty()) throw BadRowError{"chat_id: missing, required"};
    request.id = chat;
    entries_.push_back({request, read_blocks(row, request.input_tokens), chat, parent});
  }

  // Each prompt is whole, and its blocks identify the text that it shares with other prompts, so histories do
  // not grow.
  Source finish(const std::string& path, const BadRows& bad) {
    link_chats();
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[i];
      log_.add_turn(entries_[root_of(i)].chat, entry.request, std::move(entry.pieces));
    }
    return log_.finish(path, bad, History::context);
  }

 private:
  struct Entry {
    LoggedRequest request;
    std::vector<Piece> pieces;
    std::string chat, parent;
  };

  // Finds each chat's predecessor. A parent may follow its child in the file. The trace begins in the middle
  // of chats: a parent that is not in the file is ignored.
  void link_chats() {
    std::map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      before_.push_back(places.try_emplace(entries_[i].chat, i).first->second);
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const auto parent = places.find(entries_[i].parent);
      if (before_[i] != i || parent == places.end()) continue;
      if (root_of(parent->second) != i) before_[i] = parent->second;  // avoids cycles
    }
  }
  std::size_t root_of(std::size_t entry) {
    while (before_[entry] != entry) entry = before_[entry] = before_[before_[entry]];
    return entry;
  }

  // An id identifies the text of one block, whatever precedes it. The key of a prefix is therefore made of
  // the id of its last block and the key of the prefix before that block.
  std::vector<Piece> read_blocks(const Json& row, uint32_t input_tokens) {
    const Json* ids = find_dotted(row, "hash_ids");
    if (!ids) return {};
    const int64_t count = (input_tokens + block_tokens_ - 1) / block_tokens_;
    if (!ids->is_array() || std::ssize(*ids) != count) {
      throw BadRowError{"hash_ids: found " +
                        (ids->is_array() ? std::to_string(ids->size()) + " ids" : shown_in_row(*ids)) +
                        ", allowed: " + std::to_string(count) + ", one for each " +
                        std::to_string(block_tokens_) + " tokens of input_length"};
    }
    std::vector<Piece> pieces;
    uint64_t before = 0;
    for (const Json& id : *ids) {
      if (!id.is_number_integer()) bad_value("hash_ids", id, "an integer");
      const int64_t left = int64_t{input_tokens} - std::ssize(pieces) * block_tokens_;
      const auto tokens = static_cast<uint32_t>(std::min(block_tokens_, left));
      before = prefixes_.try_emplace({before, id.get<int64_t>(), tokens}, prefixes_.size() + 1).first->second;
      pieces.push_back({before, tokens});
    }
    return pieces;
  }

  int64_t block_tokens_;
  RequestLog log_;
  std::vector<Entry> entries_;
  // per entry: the index of its predecessor in the same or the parent chat; a root has its own index
  std::vector<std::size_t> before_;
  std::map<std::tuple<uint64_t, int64_t, uint32_t>, uint64_t> prefixes_;  // by prefix, block, tokens
};

}  // namespace

Source read_bailian(const SourceOptions& options, std::optional<int64_t> most) {
  refuse_growing_history(options);
  Chats chats(options, most);
  const auto take = [&](const Json& row, int64_t line) {
    chats.take(row, line);
    return true;
  };
  const BadRows bad = for_each_row(options.path, options.on_bad_row, take);
  return chats.finish(options.path, bad);
}

}  // namespace kvcap
