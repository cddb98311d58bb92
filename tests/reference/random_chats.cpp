#include "reference/random_chats.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "reference/dice.h"

namespace kvcap::reference {
namespace {

using Json = nlohmann::json;

// Texts: documents, contexts of single sessions, inputs. Answers have their own.
constexpr Key kDocument = 1'000;
constexpr Key kContext = 2'000;
constexpr Key kInput = 10'000;

class Generator {
 public:
  explicit Generator(uint64_t number) : dice_(number * 104729 + 5), number_(number) {}

  ChatCase generate() {
    options_.block_size = dice_.pick({1, 4, 16});
    options_.max_num_seqs = dice_.pick({1, 4, 16, 64});
    options_.max_num_batched_tokens = dice_.pick({32, 100, 512, 4096});
    options_.step_overhead_s = dice_.within(0.002, 0.02);
    options_.step_overhead_per_sequence_s = dice_.chance(0.7) ? dice_.within(0.0001, 0.002) : 0;
    options_.async_scheduling = number_ % 2 == 0;
    options_.prefix_caching = dice_.chance(0.85);
    options_.cache_generated = dice_.chance(0.8);
    for (int64_t& tokens : documents_) tokens = dice_.between(1, 10 * options_.block_size + 30);
    const bool branches = dice_.chance(0.4);
    double now_s = 0;
    for (int64_t left = dice_.between(4, 14); left > 0; --left) {
      chats_.push_back(chat(now_s, branches));
      if (dice_.chance(0.8)) now_s += dice_.within(0, 20) * options_.step_overhead_s;
    }
    options_.blocks = pool_blocks(branches);
    return {options_, chats_};
  }

 private:
  Chat chat(double now_s, bool branches) {
    Chat chat;
    if (dice_.chance(0.5)) {
      chat.document = dice_.between(0, std::ssize(documents_) - 1);
      chat.context_tokens = documents_[static_cast<std::size_t>(*chat.document)];
      chat.grows = dice_.chance(0.75);
    } else if (dice_.chance(0.4)) {
      chat.context_tokens = dice_.between(1, 100);
      chat.grows = dice_.chance(0.5);
    }
    const int64_t turns = dice_.between(1, 7);
    for (int64_t i = 0; i < turns; ++i) {
      ChatTurn turn;
      turn.input_tokens = dice_.between(1, 60);
      turn.output_tokens = dice_.chance(0.15) ? 1 : dice_.between(1, 40);
      if (i > 0) {
        turn.parent = static_cast<std::size_t>(i - 1);
        if (branches && dice_.chance(0.5)) {
          const int64_t parent = dice_.between(-1, i - 1);
          turn.parent = parent < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(parent));
        }
        chat.branches = chat.branches || turn.parent != static_cast<std::size_t>(i - 1);
      }
      // Some arrive before the answer that they wait for.
      const double before_s = i == 0 ? now_s : chat.turns[turn.parent.value_or(0)].arrival_s;
      turn.arrival_s = i == 0 ? now_s : before_s + dice_.within(0, 60) * options_.step_overhead_s;
      chat.turns.push_back(turn);
    }
    return chat;
  }

  // From too small for the longest request up to room for all. A session that branches is never refused:
  // nobody says which of its other turns have arrived by then.
  int64_t pool_blocks(bool branches) {
    int64_t longest = 1, all = 0;
    for (std::size_t chat = 0; chat < chats_.size(); ++chat) {
      for (std::size_t turn = 0; turn < chats_[chat].turns.size(); ++turn) {
        const Request request = request_of(chats_, chat, turn, 0);
        const int64_t tokens = prompt_tokens(request) + request.output_tokens - 1;
        const int64_t blocks = (tokens + options_.block_size - 1) / options_.block_size;
        longest = std::max(longest, blocks);
        all += blocks;
      }
    }
    const double kind = dice_.within(0, 1);
    if (kind < 0.3 && !branches) return std::max(int64_t{1}, longest * dice_.between(50, 99) / 100);
    if (kind < 0.6) return longest + dice_.between(0, longest / 4);
    if (kind < 0.9) return longest + dice_.between(0, 2 * longest);
    return all;
  }

  Dice dice_;
  uint64_t number_;
  EngineOptions options_;
  std::array<int64_t, 3> documents_{};
  std::vector<Chat> chats_;
};

}  // namespace

ChatCase random_chats(uint64_t number) { return Generator(number).generate(); }

int64_t number_of(const std::vector<Chat>& chats, std::size_t chat, std::size_t turn) {
  std::size_t before = 0;
  for (std::size_t i = 0; i < chat; ++i) before += chats[i].turns.size();
  return static_cast<int64_t>(before + turn);
}

Request request_of(const std::vector<Chat>& chats, std::size_t chat, std::size_t turn, double arrival_s) {
  const Chat& of = chats[chat];
  const auto id_of = [&](std::size_t one) { return number_of(chats, chat, one); };
  const auto input_of = [&](std::size_t one) {
    return TextPart{kInput + static_cast<Key>(id_of(one)), of.turns[one].input_tokens};
  };
  std::vector<TextPart> prompt = {input_of(turn)};  // its last text first
  for (std::optional<std::size_t> before = of.turns[turn].parent; of.grows && before;
       before = of.turns[*before].parent) {
    prompt.push_back({answer_text(id_of(*before)), of.turns[*before].output_tokens});
    prompt.push_back(input_of(*before));
  }
  if (of.context_tokens > 0) {
    const Key text =
        of.document ? kDocument + static_cast<Key>(*of.document) : kContext + static_cast<Key>(chat);
    prompt.push_back({text, of.context_tokens});
  }
  std::reverse(prompt.begin(), prompt.end());
  return {id_of(turn), arrival_s, prompt, of.turns[turn].output_tokens};
}

std::string to_sessions_jsonl(const std::vector<Chat>& chats) {
  std::string lines;
  for (std::size_t i = 0; i < chats.size(); ++i) {
    const Chat& chat = chats[i];
    Json turns = Json::array();
    for (const ChatTurn& turn : chat.turns) {
      turns.push_back({{"input_tokens", turn.input_tokens},
                       {"output_tokens", turn.output_tokens},
                       {"arrival_s", turn.arrival_s},
                       {"parent", turn.parent ? Json(*turn.parent) : Json(nullptr)}});
    }
    Json row = {{"id", i}, {"history", chat.grows ? "grow" : "context"}, {"turns", turns}};
    if (chat.context_tokens > 0) row["context_tokens"] = chat.context_tokens;
    if (chat.document) row["context_id"] = *chat.document;
    lines += row.dump() + "\n";
  }
  return lines;
}

}  // namespace kvcap::reference
