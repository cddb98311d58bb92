#include "state/orders.h"

namespace kvcap {

void SlotHeap::settle(std::size_t at, const Node& node) {
  while (at > 0) {
    const std::size_t parent = (at - 1) / 4;
    if (!(node.rank < nodes_[parent].rank)) break;
    nodes_[at] = nodes_[parent];
    place_[nodes_[at].slot].at = static_cast<uint32_t>(at);
    at = parent;
  }
  for (std::size_t child = 4 * at + 1; child < nodes_.size(); child = 4 * at + 1) {
    std::size_t least = child;
    for (std::size_t i = child + 1; i < std::min(child + 4, nodes_.size()); ++i) {
      if (nodes_[i].rank < nodes_[least].rank) least = i;
    }
    if (!(nodes_[least].rank < node.rank)) break;
    nodes_[at] = nodes_[least];
    place_[nodes_[at].slot].at = static_cast<uint32_t>(at);
    at = least;
  }
  nodes_[at] = node;
  place_[node.slot].at = static_cast<uint32_t>(at);
}

void SlotHeap::insert(Slot slot, Rank rank) {
  uint32_t at = place_[slot].at;
  if (at == kNoSlot) {
    at = static_cast<uint32_t>(nodes_.size());
    nodes_.emplace_back();
  }
  settle(at, {rank, slot});
}

void SlotHeap::erase(Slot slot) {
  const uint32_t at = place_[slot].at;
  KVCAP_CHECK(at != kNoSlot);
  place_[slot].at = kNoSlot;
  const Node last = nodes_.back();
  nodes_.pop_back();
  if (last.slot != slot) settle(at, last);
}

Slot SlotQueue::first() const {
  const Slot returned = returned_.first();
  if (returned == kNoSlot || front_ == kNoSlot) return returned == kNoSlot ? front_ : returned;
  return returned_.first_rank().serial < serial(front_) ? returned : front_;
}

void SlotQueue::insert(Slot slot, uint64_t serial) {
  Link& link = links_[slot];
  link = {.before = back_, .serial = serial};
  if (back_ != kNoSlot && serial < links_[back_].serial) {
    returned_.insert(slot, {.serial = serial});
    return;
  }
  (back_ == kNoSlot ? front_ : links_[back_].after) = slot;
  back_ = slot;
}

void SlotQueue::erase(Slot slot) {
  if (returned_.contains(slot)) {
    returned_.erase(slot);
    return;
  }
  const Link& link = links_[slot];
  KVCAP_CHECK(front_ != kNoSlot);
  (link.before == kNoSlot ? front_ : links_[link.before].after) = link.after;
  (link.after == kNoSlot ? back_ : links_[link.after].before) = link.before;
}

}  // namespace kvcap
