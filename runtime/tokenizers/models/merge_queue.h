// Queues of merge candidates: the lowest rank comes first, and the leftmost among equal ranks.
// ShortMergeQueue is for words, LongMergeQueue for long texts without spaces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace smelt {

struct Candidate {
  uint32_t rank, position;  // of the left symbol
};

/// A heap.
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

/// A list of positions per rank, which is sorted when its rank becomes the lowest. Positions are then read
/// from left to right, so that the time stays nearly linear in the length. The rank that is being processed
/// gets no new positions, because every new pair contains a token that is longer than both tokens of its
/// pair.
class LongMergeQueue {
 public:
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

  /// Requires: empty() has just returned false, because empty() also removes the ranks that are used up.
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
    size_t next = 0;
    bool sorted = true;
  };
  std::vector<List> lists_;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ranks_;  // of lists that are not empty
};

}  // namespace smelt
