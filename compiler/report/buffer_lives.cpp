#include "compiler/report/buffer_lives.h"

#include <algorithm>
#include <set>

namespace smelt {

std::vector<int> buffers_of(const PlanEntry& entry) {
  std::set<int> used;
  for (const Step& step : entry.steps) {
    used.insert(step.reads.begin(), step.reads.end());
    used.insert(step.writes.begin(), step.writes.end());
  }
  for (const auto* ports : {&entry.inputs, &entry.outputs})
    for (const Port& port : *ports) used.insert(port.buffer);
  return {used.begin(), used.end()};
}

std::vector<BufferLife> buffer_lives(const std::vector<Buffer>& buffers, const PlanEntry& entry) {
  std::vector<BufferLife> lives;
  for (const int number : buffers_of(entry)) {
    const Buffer& buffer = buffers[static_cast<size_t>(number)];
    if (in_arena(buffer.role) && buffer.bytes > 0) lives.push_back({number, live_ranges(buffer)});
  }
  return lives;
}

namespace {

/// Bytes of the union.
int64_t covered(std::vector<std::pair<int64_t, int64_t>> ranges) {
  std::ranges::sort(ranges);
  int64_t bytes = 0, end = 0;
  for (const auto& [begin, stop] : ranges) {
    bytes += std::max<int64_t>(0, stop - std::max(begin, end));
    end = std::max(end, stop);
  }
  return bytes;
}

}  // namespace

std::vector<int64_t> used_bytes(const std::vector<BufferLife>& lives, size_t steps) {
  std::vector<std::vector<std::pair<int64_t, int64_t>>> at(steps);
  for (const BufferLife& life : lives)
    for (const LiveRange& range : life.ranges)
      for (int step = std::max(range.first, 0); step <= range.last && step < static_cast<int>(steps); ++step)
        at[static_cast<size_t>(step)].emplace_back(range.begin, range.end);
  std::vector<int64_t> used;
  for (auto& ranges : at) used.push_back(covered(std::move(ranges)));
  return used;
}

}  // namespace smelt
