#include "passes/program/memory/allocation.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace smelt {
namespace {

class InPlaceMerger {
 public:
  explicit InPlaceMerger(const std::map<int, Lifetime>& lifetimes) {
    for (const auto& [buffer, life] : lifetimes) {
      index_of_[buffer] = allocations_.size();
      allocations_.push_back({{buffer}, life, {}});
    }
  }

  void merge(int step, int written, int read) {
    const auto out = index_of_.find(written), in = index_of_.find(read);
    if (out == index_of_.end() || in == index_of_.end() || out->second == in->second) return;
    Allocation &target = allocations_[in->second], &source = allocations_[out->second];
    // The input dies as the output is born, and the output fits.
    if (target.life.last != step || source.life.first != step || source.life.bytes > target.life.bytes)
      return;
    target.life.last = source.life.last;
    for (BufferPart& part : target.life.parts) {
      if (part.first_step < 0) part.first_step = step;
      part.last_step = source.life.last;
    }
    for (const int buffer : std::exchange(source.buffers, {})) {
      target.buffers.push_back(buffer);
      index_of_[buffer] = in->second;
    }
  }

  std::vector<Allocation> take() {
    std::erase_if(allocations_, [](const Allocation& a) { return a.buffers.empty(); });
    for (Allocation& allocation : allocations_) allocation.ranges = live_ranges(allocation.life, 0);
    return std::move(allocations_);
  }

 private:
  std::vector<Allocation> allocations_;
  std::map<int, size_t> index_of_;  // by buffer
};

int64_t least_bytes(const Allocation& allocation, const LiveRange& range) {
  if (allocation.life.parts.empty()) return aligned(range.end);
  return std::max<int64_t>(0, range.end / kArenaAlignment * kArenaAlignment - aligned(range.begin));
}

}  // namespace

int64_t aligned(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

std::vector<Allocation> make_allocations(const std::vector<Step>& steps,
                                         const std::map<int, Lifetime>& lifetimes) {
  InPlaceMerger merger(lifetimes);
  for (size_t i = 0; i < steps.size(); ++i)
    for (const auto& [written, read] : steps[i].may_alias) merger.merge(static_cast<int>(i), written, read);
  return merger.take();
}

std::vector<int64_t> least_bytes(const std::vector<Allocation>& allocations, size_t steps) {
  std::vector<int64_t> live(steps + 1);  // changes at first
  for (const Allocation& allocation : allocations)
    for (const LiveRange& range : allocation.ranges) {
      const int64_t bytes = least_bytes(allocation, range);
      live[static_cast<size_t>(range.first)] += bytes;
      live[static_cast<size_t>(range.last) + 1] -= bytes;
    }
  std::partial_sum(live.begin(), live.end(), live.begin());
  live.pop_back();
  return live;
}

}  // namespace smelt
