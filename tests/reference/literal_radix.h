// SGLang's radix cache, node by node, and the pool of pages below it (radix_cache.py@006b0e3,
// common.py@0057abe). Nothing here is fast, and nothing here is clever.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "base/check.h"
#include "reference/literal_pool.h"

namespace kvcap::reference {

class LiteralRadix {
 public:
  struct Node {
    Node* parent = nullptr;
    std::list<Node> children;
    std::vector<Token> key;
    int64_t locks = 0;
    int64_t last_access = 0;
  };
  struct Match {
    int64_t tokens = 0;
    Node* last = nullptr;
  };

  LiteralRadix(int64_t pool_tokens, int64_t page, bool caches)
      : page_(page), caches_(caches), available_(pool_tokens) {
    KVCAP_CHECK(pool_tokens % page == 0);
  }
  LiteralRadix(const LiteralRadix&) = delete;
  LiteralRadix& operator=(const LiteralRadix&) = delete;

  // Tokens in pages that nobody has, and tokens in nodes that nobody locks.
  int64_t available() const { return available_; }
  int64_t evictable() const { return unlocked(root_); }
  int64_t evicted() const { return evicted_; }  // tokens so far

  // The longest cached prefix in whole pages. It becomes a node of its own.
  Match match(std::span<const Token> tokens) {
    Match found{0, &root_};
    if (!caches_) return found;
    tokens = tokens.first(aligned(tokens));
    const int64_t now = ++clock_;
    root_.last_access = now;
    while (!tokens.empty()) {
      Node* child = child_of(*found.last, tokens);
      if (child == nullptr) break;
      child->last_access = now;
      const std::size_t same = equal_tokens(child->key, tokens);
      const bool ends_inside = same < child->key.size();
      found.last = ends_inside ? &split(*child, same) : child;
      found.tokens += static_cast<int64_t>(same);
      if (ends_inside) break;
      tokens = tokens.subspan(same);
    }
    return found;
  }

  // Returns how many of the tokens were there. The pages of the others become the tree's.
  int64_t insert(std::span<const Token> tokens) {
    KVCAP_CHECK(caches_ && aligned(tokens) == tokens.size());
    const Match found = match(tokens);
    const std::span<const Token> rest = tokens.subspan(static_cast<std::size_t>(found.tokens));
    if (!rest.empty()) {
      Node& leaf = found.last->children.emplace_back();
      leaf.parent = found.last;
      leaf.key.assign(rest.begin(), rest.end());
      leaf.last_access = ++clock_;
    }
    return found.tokens;
  }

  void lock(Node* node) {
    for (; node->parent != nullptr; node = node->parent) ++node->locks;
  }
  void unlock(Node* node) {
    for (; node->parent != nullptr; node = node->parent) --node->locks;
  }

  // Evicts whole leaves, least recently used first, until `tokens` are available or no leaf is left.
  void evict_for(int64_t tokens) {
    while (available_ < tokens) {
      Node* leaf = oldest_leaf(root_);
      if (leaf == nullptr) return;
      give_back(static_cast<int64_t>(leaf->key.size()));
      evicted_ += static_cast<int64_t>(leaf->key.size());
      leaf->parent->children.remove_if([leaf](const Node& one) { return &one == leaf; });
    }
  }

  // REQUIRES: so many are available; whole pages.
  void take(int64_t tokens) {
    KVCAP_CHECK(tokens <= available_ && tokens % page_ == 0);
    available_ -= tokens;
  }
  void give_back(int64_t tokens) {
    KVCAP_CHECK(tokens >= 0 && tokens % page_ == 0);
    available_ += tokens;
  }

  std::size_t aligned(std::span<const Token> tokens) const {
    const auto page = static_cast<std::size_t>(page_);
    return tokens.size() / page * page;
  }

 private:
  // Equal tokens in whole pages.
  std::size_t equal_tokens(std::span<const Token> a, std::span<const Token> b) const {
    const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return aligned(a.first(static_cast<std::size_t>(end - a.begin())));
  }

  // The child that begins with the same page.
  Node* child_of(Node& node, std::span<const Token> tokens) const {
    for (Node& child : node.children) {
      if (equal_tokens(child.key, tokens) > 0) return &child;
    }
    return nullptr;
  }

  // Cuts the node in two; returns the front, which has its locks.
  Node& split(Node& node, std::size_t tokens) {
    std::list<Node>& siblings = node.parent->children;
    const auto at =
        std::find_if(siblings.begin(), siblings.end(), [&node](const Node& one) { return &one == &node; });
    Node& front = *siblings.emplace(at);
    front.parent = node.parent;
    front.key.assign(node.key.begin(), node.key.begin() + static_cast<std::ptrdiff_t>(tokens));
    front.locks = node.locks;
    front.last_access = ++clock_;
    node.key.erase(node.key.begin(), node.key.begin() + static_cast<std::ptrdiff_t>(tokens));
    node.parent = &front;
    front.children.splice(front.children.begin(), siblings, at);
    return front;
  }

  int64_t unlocked(const Node& node) const {
    int64_t tokens = node.locks == 0 ? static_cast<int64_t>(node.key.size()) : 0;
    for (const Node& child : node.children) tokens += unlocked(child);
    return tokens;
  }

  Node* oldest_leaf(Node& node) {
    if (node.children.empty()) return node.parent == nullptr || node.locks > 0 ? nullptr : &node;
    Node* oldest = nullptr;
    for (Node& child : node.children) {
      Node* leaf = oldest_leaf(child);
      if (leaf == nullptr) continue;
      if (oldest == nullptr || leaf->last_access < oldest->last_access) oldest = leaf;
    }
    return oldest;
  }

  int64_t page_;
  bool caches_;
  int64_t available_;
  int64_t evicted_ = 0;
  int64_t clock_ = 0;
  Node root_;
};

}  // namespace kvcap::reference
