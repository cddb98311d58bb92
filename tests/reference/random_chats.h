// Random sessions of several turns and engines that serve them: shared documents, histories that grow with
// the answers, branches. What a turn asks for is a request of the literal engine as soon as it is known when
// the turn arrives, which depends on the answers before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/literal_engine.h"

namespace kvcap::reference {

struct ChatTurn {
  int64_t input_tokens = 1;
  int64_t output_tokens = 1;
  std::optional<std::size_t> parent;  // none: the turn builds on the context alone
  double arrival_s = 0;               // not before the parent's answer
};

struct Chat {
  int64_t context_tokens = 0;
  std::optional<int64_t> document;  // its number, where others share the context
  bool grows = true;                // false: every turn builds on the context alone
  std::vector<ChatTurn> turns;
  bool branches = false;
};

struct ChatCase {
  EngineOptions options;
  std::vector<Chat> chats;  // in order of arrival, the first one at 0 s
};

// Number N is always the same case, on every machine.
ChatCase random_chats(uint64_t number);

// The number of a turn among all turns, which is the id of its request.
int64_t number_of(const std::vector<Chat>& chats, std::size_t chat, std::size_t turn);

Request request_of(const std::vector<Chat>& chats, std::size_t chat, std::size_t turn, double arrival_s);

// A file of `source: sessions`.
std::string to_sessions_jsonl(const std::vector<Chat>& chats);

}  // namespace kvcap::reference
