// ByteTrie: a trie over bytes. All edges are in one hash table: (node, byte) -> child node.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace smelt {

class ByteTrie {
 public:
  static constexpr uint32_t kRoot = 0, kNone = ~0u;

  ByteTrie() { rehash(1024); }

  /// Returns the node of a key, and adds it if it is new.
  uint32_t insert(std::string_view key) {
    uint32_t node = kRoot;
    for (const char byte : key) node = insert_child(node, byte);
    return node;
  }

  /// Returns the child of a node along the edge `byte`; kNone if there is none.
  uint32_t child(uint32_t node, char byte) const {
    const uint64_t key = key_of(node, byte);
    for (size_t at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].child == kNone) return kNone;
      if (slots_[at].key == key) return slots_[at].child;
    }
  }

  /// Returns the node that is reached from `node` along the bytes of `key`; kNone if there is none. From the
  /// root, the result is not kNone if and only if `key` is a prefix of an inserted key.
  uint32_t find(std::string_view key, uint32_t node = kRoot) const {
    for (const char byte : key) {
      node = child(node, byte);
      if (node == kNone) break;
    }
    return node;
  }

  /// Returns the number of nodes. They are numbered from 0, the root.
  uint32_t nodes() const { return nodes_; }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t child = kNone;
  };
  static uint64_t key_of(uint32_t node, char byte) {
    return static_cast<uint64_t>(node) << 8 | static_cast<unsigned char>(byte);
  }
  /// Returns the index of the slot at which the search for a key begins.
  size_t place(uint64_t key) const { return key * 0x9E3779B97F4A7C15u >> shift_; }

  uint32_t insert_child(uint32_t node, char byte) {
    if (const uint32_t known = child(node, byte); known != kNone) return known;
    if (2 * static_cast<size_t>(nodes_) >= slots_.size()) rehash(2 * slots_.size());
    put({key_of(node, byte), nodes_});
    return nodes_++;
  }

  void put(const Slot& slot) {
    size_t at = place(slot.key);
    while (slots_[at].child != kNone) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }

  void rehash(size_t size) {
    std::vector<Slot> before(size);
    before.swap(slots_);
    shift_ = 64 - std::countr_zero(size);
    for (const Slot& slot : before)
      if (slot.child != kNone) put(slot);
  }

  std::vector<Slot> slots_;
  int shift_ = 0;
  uint32_t nodes_ = 1;
};

}  // namespace smelt
