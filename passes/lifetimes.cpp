#include "passes/lifetimes.h"

#include <algorithm>

namespace smelt {

bool in_arena(const Buffer& buffer) {
  return buffer.role == Role::temporary || buffer.role == Role::saved || buffer.role == Role::workspace;
}

int64_t bytes_at_bounds(const Program& program, const Buffer& buffer) {
  return program.symbols.upper(buffer.elements) * size_of(buffer.dtype);
}

std::map<int, Lifetime> lifetimes(const Program& program, const std::vector<Step>& steps) {
  std::map<int, Lifetime> result;
  for (size_t i = 0; i < steps.size(); ++i)
    for (const auto* buffers : {&steps[i].reads, &steps[i].writes})
      for (int buffer : *buffers) {
        if (!in_arena(program.buffers[buffer])) continue;
        Lifetime& life = result[buffer];
        if (life.first < 0)
          life = {static_cast<int>(i), 0, bytes_at_bounds(program, program.buffers[buffer])};
        life.last = static_cast<int>(i);
      }
  return result;
}

int64_t peak_live_bytes(const std::map<int, Lifetime>& lifetimes, size_t steps) {
  std::vector<int64_t> change(steps + 1);
  for (const auto& [buffer, life] : lifetimes) {
    change[life.first] += life.bytes;
    change[life.last + 1] -= life.bytes;
  }
  int64_t live = 0, peak = 0;
  for (int64_t bytes : change) peak = std::max(peak, live += bytes);
  return peak;
}

}  // namespace smelt
