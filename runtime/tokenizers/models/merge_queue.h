// Priority queues of candidates for merges in byte pair encoding. The first candidate is the one with the
// lowest rank. Of several candidates with this rank, it is the leftmost one in the text. ShortMergeQueue is
// for words, LongMergeQueue for long texts without spaces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace smelt {

/// A pair of adjacent symbols that may be merged.
struct Candidate {
  uint32_t rank, position;  // rank of the merge (merge_table.h), and position of the left symbol
};

/// A queue with a binary heap.
class ShortMergeQueue {
 public:
  void push(Candidate candidate) {
    heap_.push_back(static_cast<uint64_t>(candidate.rank) << 32 | candidate.position);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  bool empty() const { return heap_.empty(); }
  Candidate pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const uint64_t key = heap_.back();
    heap_.pop_back();
    return {static_cast<uint32_t>(key >> 32), static_cast<uint32_t>(key)};
  }

 private:
  std::vector<uint64_t> heap_;
};

/// A queue with one list of positions per rank. A list is sorted when its rank becomes the lowest, and then
/// read from left to right. So the time is nearly linear in the length of the text. No positions are added to
/// a list while it is being read: a rank is for one pair of tokens, and each merge of this pair makes a
/// longer token. Every new pair contains that longer token, so it has another rank.
class LongMergeQueue {
 public:
  /// `ranks`: number of ranks (MergeTable::size).
  explicit LongMergeQueue(size_t ranks) : lists_(ranks) {}

  void push(Candidate candidate) {
    List& list = lists_[candidate.rank];
    if (list.next == list.positions.size()) {
      list = {};
      ranks_.push(candidate.rank);
    }
    list.sorted &= list.positions.empty() || list.positions.back() <= candidate.position;
    list.positions.push_back(candidate.position);
  }

  bool empty() {
    while (!ranks_.empty() && lists_[ranks_.top()].next == lists_[ranks_.top()].positions.size()) {
      lists_[ranks_.top()] = {};
      ranks_.pop();
    }
    return ranks_.empty();
  }

  /// Removes and returns the first candidate. Requires: the last call was empty(), and it returned false,
  /// because empty() also removes ranks without remaining positions.
  Candidate pop() {
    const uint32_t rank = ranks_.top();
    List& list = lists_[rank];
    if (!list.sorted) {
      std::sort(list.positions.begin() + static_cast<std::ptrdiff_t>(list.next), list.positions.end());
      list.sorted = true;
    }
    return {rank, list.positions[list.next++]};
  }

 private:
  struct List {
    std::vector<uint32_t> positions;
    size_t next = 0;     // index of the first position that is not popped
    bool sorted = true;  // whether the positions from `next` on are sorted
  };
  std::vector<List> lists_;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ranks_;  // of lists that are not empty
};

}  // namespace smelt
