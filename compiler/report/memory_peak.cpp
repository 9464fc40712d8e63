#include "compiler/report/memory_peak.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "compiler/report/buffer_lives.h"

namespace smelt {
namespace {

struct LivePart {
  int64_t begin, end;
  int buffer;
};

/// Returns the live buffers in the order of their begins.
std::vector<LivePart> parts_at(const std::vector<BufferLife>& lives, int step) {
  std::vector<LivePart> parts;
  for (const BufferLife& life : lives)
    for (const LiveRange& range : life.ranges)
      if (range.first <= step && step <= range.last) parts.push_back({range.begin, range.end, life.buffer});
  std::ranges::sort(parts, {}, &LivePart::begin);
  return parts;
}

/// Bytes of each buffer; what two share is the first one's.
std::map<int, int64_t> bytes_at(const std::vector<BufferLife>& lives, int step) {
  std::map<int, int64_t> bytes;
  int64_t end = 0;
  for (const LivePart& part : parts_at(lives, step)) {
    bytes[part.buffer] += std::max<int64_t>(0, part.end - std::max(part.begin, end));
    end = std::max(end, part.end);
  }
  return bytes;
}

int64_t sum_of(const std::map<int, int64_t>& bytes) {
  int64_t sum = 0;
  for (const auto& [buffer, own] : bytes) sum += own;
  return sum;
}

/// Bytes of all ranges at each step: more than are in use where buffers share memory in place.
std::vector<int64_t> most_used(const std::vector<BufferLife>& lives, size_t steps) {
  std::vector<int64_t> bytes(steps + 1);  // changes at first
  for (const BufferLife& life : lives)
    for (const LiveRange& range : life.ranges) {
      bytes[static_cast<size_t>(range.first)] += range.end - range.begin;
      bytes[static_cast<size_t>(range.last) + 1] -= range.end - range.begin;
    }
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  bytes.pop_back();
  return bytes;
}

/// Looks at steps in the order of what they can have at most, until no other can have more.
int peak_step(const std::vector<BufferLife>& lives, size_t steps) {
  const std::vector<int64_t> most = most_used(lives, steps);
  std::vector<int> order(steps);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](int step) { return most[static_cast<size_t>(step)]; });
  int peak = -1;
  int64_t largest = 0;
  for (const int step : order) {
    if (most[static_cast<size_t>(step)] < std::max<int64_t>(largest, 1)) break;
    const int64_t used = sum_of(bytes_at(lives, step));
    if (used > largest || (used == largest && step < peak)) peak = step, largest = used;
  }
  return peak;
}

std::vector<PeakGroup> groups_of(const std::vector<Buffer>& buffers, const std::map<int, int64_t>& bytes) {
  std::map<std::pair<Role, std::string>, PeakGroup> groups;
  for (const auto& [number, own] : bytes) {
    const Buffer& buffer = buffers[static_cast<size_t>(number)];
    const std::string source = without_layer_numbers(buffer.name);
    PeakGroup& group = groups[{buffer.role, source}];
    group.role = buffer.role, group.source = source;
    group.bytes += own, ++group.buffers;
  }
  std::vector<PeakGroup> sorted;
  for (const auto& [key, group] : groups)
    if (group.bytes > 0) sorted.push_back(group);
  std::ranges::stable_sort(sorted, std::greater(), &PeakGroup::bytes);
  return sorted;
}

bool is_digit(char c) { return '0' <= c && c <= '9'; }

}  // namespace

MemoryPeak memory_peak(const std::vector<Buffer>& buffers, const PlanEntry& entry) {
  const std::vector<BufferLife> lives = buffer_lives(buffers, entry);
  MemoryPeak peak{.step = peak_step(lives, entry.steps.size()), .groups = {}};
  if (peak.step < 0) return peak;
  const std::map<int, int64_t> bytes = bytes_at(lives, peak.step);
  peak.bytes = sum_of(bytes);
  peak.groups = groups_of(buffers, bytes);
  return peak;
}

std::string without_layer_numbers(std::string_view source) {
  std::string folded;
  for (size_t i = 0; i < source.size();) {
    const bool begins = i == 0 || source[i - 1] == '.' || source[i - 1] == ' ';
    size_t end = i;
    while (end < source.size() && is_digit(source[end])) ++end;
    const bool ends = end == source.size() || source[end] == '.' || source[end] == ' ';
    const bool is_number = begins && ends && end > i;
    folded += is_number ? "*" : source.substr(i, std::max<size_t>(1, end - i));
    i = std::max(i + 1, end);
  }
  return folded;
}

}  // namespace smelt
