#include "fleet/router_index.h"

#include <algorithm>
#include <iterator>

namespace kvcap {

int64_t RouterIndex::believed_tokens(std::size_t node, std::span<const Part> prompt, double now_s) {
  hear(nodes_[node], now_s);
  forget(nodes_[node], now_s);
  int64_t believed = 0;
  for (const Part& part : prompt) {
    const auto found = nodes_[node].places.find(part.key);
    if (found == nodes_[node].places.end()) break;
    const int64_t tokens = std::min(found->second->tokens, part.tokens);
    believed += tokens;
    if (tokens < part.tokens) break;
  }
  return believed;
}

// Adds the last part first: earlier parts become more recently used and are dropped later.
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

void RouterIndex::lost(std::size_t node) { nodes_[node] = {}; }

void RouterIndex::hear(Node& node, double now_s) {
  for (; !node.events.empty() && node.events.front().at_s <= now_s; node.events.pop_front()) {
    const Event& event = node.events.front();
    if (event.is_stored) {
      keep(node, event.part, event.tokens, event.at_s);
    } else {
      cut(node, event.part, event.tokens);
    }
  }
}

void RouterIndex::keep(Node& node, Key part, int64_t tokens, double now_s) {
  const auto found = node.places.find(part);
  if (found == node.places.end()) {
    node.entries.push_back({part, tokens, now_s});
    node.places[part] = std::prev(node.entries.end());
    node.tokens += tokens;
    return;
  }
  Entry& entry = *found->second;
  node.tokens += std::max<int64_t>(0, tokens - entry.tokens);
  entry.tokens = std::max(entry.tokens, tokens);
  entry.used_s = now_s;
  node.entries.splice(node.entries.end(), node.entries, found->second);
}

void RouterIndex::cut(Node& node, Key part, int64_t tokens) {
  const auto found = node.places.find(part);
  if (found == node.places.end() || found->second->tokens <= tokens) return;
  if (tokens == 0) return drop(node, found->second);
  node.tokens -= found->second->tokens - tokens;
  found->second->tokens = tokens;
}

void RouterIndex::drop(Node& node, std::list<Entry>::iterator entry) {
  node.tokens -= entry->tokens;
  node.places.erase(entry->part);
  node.entries.erase(entry);
}

void RouterIndex::forget(Node& node, double now_s) const {
  if (options_.index != IndexKind::approximate) return;
  const auto is_too_much = [&] {
    const Entry& oldest = node.entries.front();
    if (options_.index_ttl_s && oldest.used_s + *options_.index_ttl_s < now_s) return true;
    return options_.index_tokens && node.tokens > *options_.index_tokens;
  };
  while (!node.entries.empty() && is_too_much()) drop(node, node.entries.begin());
}

}  // namespace kvcap
