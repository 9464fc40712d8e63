#include "passes/program/memory/buffer_parts.h"

#include <algorithm>

#include "ir/analysis/step_footprint.h"
#include "runtime/plan/choices.h"

namespace smelt {
namespace {

/// Elements [begin, end) that a step touches.
struct Use {
  int64_t begin, end;
  int first, last;  // the step, and up to which one it needs them
};

std::map<int, std::vector<Use>> uses_by_buffer(const Program& program, const std::vector<Step>& steps,
                                               const std::map<int, Lifetime>& lifetimes) {
  std::map<int, std::vector<Use>> uses;
  for (size_t i = 0; i < steps.size(); ++i)
    for (const Touch& touch : footprint(program, steps[i])) {
      if (!lifetimes.contains(touch.memory)) continue;
      const auto size = program.buffers[static_cast<size_t>(touch.memory)].elements.constant();
      if (!size || touch.begin >= std::min(touch.end, *size)) continue;
      const size_t last = used_until(steps, i, touch.memory, !touch.written);
      uses[touch.memory].push_back(
          {touch.begin, std::min(touch.end, *size), static_cast<int>(i), static_cast<int>(last)});
    }
  return uses;
}

/// Returns the begins and ends of uses and of the buffer.
std::vector<int64_t> borders(const std::vector<Use>& uses, int64_t elements) {
  std::vector<int64_t> result = {0, elements};
  for (const Use& use : uses) result.insert(result.end(), {use.begin, use.end});
  std::ranges::sort(result);
  result.erase(std::ranges::unique(result).begin(), result.end());
  return result;
}

/// Parts between neighbouring borders, in elements. Uses come in the order of their steps.
std::vector<BufferPart> parts_between(const std::vector<int64_t>& borders, const std::vector<Use>& uses) {
  std::vector<BufferPart> parts;
  for (size_t i = 0; i + 1 < borders.size(); ++i) parts.push_back({borders[i], -1, -1});
  for (const Use& use : uses) {
    auto part = std::ranges::lower_bound(parts, use.begin, {}, &BufferPart::begin);
    for (; part != parts.end() && part->begin < use.end; ++part) {
      if (part->first_step < 0) part->first_step = use.first;
      part->last_step = std::max(part->last_step, use.last);
    }
  }
  return parts;
}

bool alive_alike(const BufferPart& a, const BufferPart& b) {
  return a.first_step == b.first_step && a.last_step == b.last_step;
}

}  // namespace

void find_parts(const Program& program, const std::vector<Step>& steps, std::map<int, Lifetime>& lifetimes) {
  for (const auto& [number, uses] : uses_by_buffer(program, steps, lifetimes)) {
    Lifetime& life = lifetimes.at(number);
    const Buffer& buffer = program.buffers[static_cast<size_t>(number)];
    std::vector<BufferPart> parts = parts_between(borders(uses, *buffer.elements.constant()), uses);
    for (BufferPart& part : parts) part.begin *= size_of(buffer.dtype);
    parts.erase(std::ranges::unique(parts, alive_alike).begin(), parts.end());
    if (parts.size() > 1) life.parts = std::move(parts);
  }
}

}  // namespace smelt
