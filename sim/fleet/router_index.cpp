#include "fleet/router_index.h"

#include <algorithm>

namespace kvcap {

RouterIndex::RouterIndex(const RouterOptions& options, std::size_t nodes) : options_(options), nodes_(nodes) {
  for (std::size_t i = 0; i < nodes; ++i) nodes_[i].number = static_cast<uint32_t>(i);
}

void RouterIndex::hear(double now_s) {
  if (options_.index == IndexKind::approximate && !options_.index_ttl_s) return;
  for (Node& node : nodes_) {
    hear(node, now_s);
    if (options_.index_ttl_s) forget(node, now_s);
  }
}

std::span<const uint32_t> RouterIndex::holders(std::span<const Part> prompt) const {
  const Slot slot = prompt.empty() ? kNoSlot : parts_.find(prompt.front().key);
  if (slot == kNoSlot) return {};
  return {holders_.at(slot).data(), holders_.at(slot).size()};
}

int64_t RouterIndex::believed_tokens(std::size_t node, std::span<const Part> prompt) const {
  int64_t believed = 0;
  for (const Part& part : prompt) {
    const Slot slot = nodes_[node].slots.find(part.key);
    if (slot == kNoSlot) break;
    const int64_t tokens = std::min(nodes_[node].entries.at(slot).tokens, part.tokens);
    believed += tokens;
    if (tokens < part.tokens) break;
  }
  return believed;
}

// Adds the parts from last to first, so that earlier parts are more recently used and are dropped later.
void RouterIndex::routed(std::size_t node, std::span<const Part> prompt, double now_s) {
  if (options_.index != IndexKind::approximate) return;
  for (auto part = prompt.rbegin(); part != prompt.rend(); ++part) {
    keep(nodes_[node], part->key, part->tokens, now_s);
  }
  forget(nodes_[node], now_s);
}

void RouterIndex::stored(std::size_t node, std::span<const Part> parts, double now_s) {
  if (options_.index != IndexKind::events) return;
  for (const Part& part : parts) {
    nodes_[node].events.push_back({now_s + options_.event_delay_s, part.key, part.tokens, true});
  }
}

void RouterIndex::evicted(std::size_t node, Key part, int64_t first_token, double now_s) {
  if (options_.index != IndexKind::events) return;
  nodes_[node].events.push_back({now_s + options_.event_delay_s, part, first_token, false});
}

void RouterIndex::lost(std::size_t number) {
  Node& node = nodes_[number];
  for (Slot oldest = node.order.first(); oldest != kNoSlot; oldest = node.order.first()) cut(node, oldest, 0);
  node = {.number = node.number};
}

void RouterIndex::hear(Node& node, double now_s) {
  for (; !node.events.empty() && node.events.front().at_s <= now_s; node.events.pop_front()) {
    const Event& event = node.events.front();
    if (event.is_stored) {
      keep(node, event.part, event.tokens, event.at_s);
    } else {
      cut(node, node.slots.find(event.part), event.tokens);
    }
  }
}

void RouterIndex::keep(Node& node, Key part, int64_t tokens, double now_s) {
  Slot slot = node.slots.find(part);
  if (slot == kNoSlot) {
    slot = node.slots.add(part);
    Slot shared = parts_.find(part);
    if (shared == kNoSlot) shared = parts_.add(part);
    holders_[shared].push_back(node.number);
  } else {
    node.order.erase(slot);
  }
  Entry& entry = node.entries[slot];
  node.tokens += std::max<int64_t>(0, tokens - entry.tokens);
  entry = {part, std::max(tokens, entry.tokens), now_s};
  node.order.insert(slot, ++node.uses);
}

// Shortens the entry in `slot`, if there is one, to its first `tokens` tokens.
void RouterIndex::cut(Node& node, Slot slot, int64_t tokens) {
  if (slot == kNoSlot || node.entries[slot].tokens < tokens) return;
  Entry& entry = node.entries[slot];
  node.tokens -= entry.tokens - tokens;
  entry.tokens = tokens;
  if (tokens > 0) return;
  node.order.erase(slot);
  node.slots.erase(entry.part);
  Holders& holders = holders_[parts_.find(entry.part)];
  *std::ranges::find(holders, node.number) = holders.back();
  holders.pop_back();
  if (holders.empty()) parts_.erase(entry.part);
}

void RouterIndex::forget(Node& node, double now_s) {
  if (options_.index != IndexKind::approximate) return;
  const auto is_too_much = [&](Slot oldest) {
    if (options_.index_tokens && node.tokens > *options_.index_tokens) return true;
    return options_.index_ttl_s && node.entries[oldest].used_s + *options_.index_ttl_s < now_s;
  };
  for (Slot oldest = node.order.first(); oldest != kNoSlot && is_too_much(oldest);
       oldest = node.order.first()) {
    cut(node, oldest, 0);
  }
}

}  // namespace kvcap
