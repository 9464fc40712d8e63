#include "passes/program/memory/lifetimes.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/error.h"
#include "runtime/plan/choices.h"
#include "runtime/plan/row_parts.h"

namespace smelt {

constexpr int64_t kMostBytes = int64_t{1} << 56;  // as in plans

bool in_arena(const Buffer& buffer) {
  return buffer.role == Role::temporary || buffer.role == Role::saved || buffer.role == Role::workspace;
}

int64_t bytes_at_bounds(const Program& program, const Buffer& buffer) {
  return bytes_at_bounds(program.symbols, buffer.elements, buffer.dtype);
}

void check_sizes(const Program& program) {
  int64_t total = 0;
  for (const Buffer& buffer : program.buffers) {
    const int64_t elements = program.symbols.upper(buffer.elements), size = size_of(buffer.dtype);
    if (elements > kMostBytes / size)
      fail(
          "the buffer of '{}' holds {} elements of {} at the bounds ({}): expected at most 2^56 bytes; lower "
          "its extents or the bounds of its symbols (--max)",
          buffer.name, elements, name(buffer.dtype), buffer.elements.str());
    total += elements * size;
    if (total > kMostBytes)
      fail(
          "the buffers up to that of '{}' hold {} bytes at the bounds: expected at most 2^56; lower their "
          "extents or the bounds of their symbols (--max)",
          buffer.name, total);
  }
}

/// A product that begins before all parts of a gather have come leaves the gather's operand to other ranks
/// until its own end; parts of a product that are sent before all are there are written by other ranks
/// during it.
void lengthen_by_parts(const std::vector<Step>& steps, std::map<int, Lifetime>& lives) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto* collective = std::get_if<CollectiveStep>(&steps[i].what);
    if (!collective) continue;
    const auto from = lives.find(collective->from.buffer), to = lives.find(collective->to.buffer);
    if (const auto reader = reader_in_parts(steps, i); reader && from != lives.end())
      from->second.last = std::max(from->second.last, static_cast<int>(*reader));
    if (const auto maker = maker_in_parts(steps, i); maker && to != lives.end())
      to->second.first = std::min(to->second.first, static_cast<int>(*maker));
  }
}

std::map<int, Lifetime> lifetimes(const Program& program, const std::vector<Step>& steps) {
  std::map<int, Lifetime> result;
  for (size_t i = 0; i < steps.size(); ++i)
    for (const auto* buffers : {&steps[i].reads, &steps[i].writes})
      for (int buffer : *buffers) {
        if (!in_arena(program.buffers[buffer])) continue;
        Lifetime& life = result[buffer];
        if (life.first < 0)
          life = {static_cast<int>(i), 0, bytes_at_bounds(program, program.buffers[buffer]), {}};
        const bool reads = buffers == &steps[i].reads;
        life.last = std::max(life.last, static_cast<int>(used_until(steps, i, buffer, reads)));
      }
  lengthen_by_parts(steps, result);
  return result;
}

std::vector<LiveRange> live_ranges(const Lifetime& life, int64_t offset_bytes) {
  Buffer buffer;
  buffer.offset_bytes = offset_bytes, buffer.bytes = life.bytes;
  buffer.first_step = life.first, buffer.last_step = life.last;
  buffer.parts = life.parts;
  return live_ranges(buffer);
}

std::vector<int64_t> live_bytes(const std::map<int, Lifetime>& lifetimes, size_t steps) {
  std::vector<int64_t> live(steps + 1);  // changes at first
  for (const auto& [buffer, life] : lifetimes)
    for (const LiveRange& range : live_ranges(life, 0)) {
      live[static_cast<size_t>(range.first)] += range.end - range.begin;
      live[static_cast<size_t>(range.last) + 1] -= range.end - range.begin;
    }
  std::partial_sum(live.begin(), live.end(), live.begin());
  live.pop_back();
  return live;
}

int64_t peak_live_bytes(const std::map<int, Lifetime>& lifetimes, size_t steps) {
  int64_t peak = 0;
  for (const int64_t bytes : live_bytes(lifetimes, steps)) peak = std::max(peak, bytes);
  return peak;
}

}  // namespace smelt
