// What must hold before a plan is used: a plan may come from a damaged file, or from a compiler with a fault.
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

/// Every index, count, offset, size, role and name, with sizes at the symbols' bounds; steps give kernels
/// what these expect; they reach no element outside their buffers, and what kernels index by are such numbers
/// (both at extreme values of the symbols, and by executors at those of a launch); buffers that live at the
/// same time in the arena share memory only where a step declares it. Throws Error (invalid_file).
void validate(const Plan& plan);

/// That one step stays inside its buffers at these values. `place` names it in messages.
void check_ranges(const Plan& plan, const Step& step, const SymbolValues& values, const std::string& place);

/// That memory of the entry's arena is shared only as declared.
void check_lifetimes(const Plan& plan, const PlanEntry& entry);

/// Bytes of the arena that are a buffer's from one step to another, both ends included.
struct LiveRange {
  int64_t begin, end;
  int first, last;
  bool overlaps(const LiveRange& other) const {  // in memory and in time
    return begin < other.end && other.begin < end && first <= other.last && other.first <= last;
  }
};
/// One a part of the buffer, by address; one where it has no parts.
std::vector<LiveRange> live_ranges(const Buffer& buffer);

/// "kernel", "gemm", ...
std::string_view kind_name(const Step& step);
/// "entry 'train_step', step 12 (gemm h.0.attn)"
std::string describe_step(const PlanEntry& entry, size_t index);

/// Values at which sizes are extreme: all as small as can be, and each symbol in turn as large as the bounds
/// allow.
std::vector<SymbolValues> extreme_values(const Symbols& symbols);

inline bool in_arena(Role role) {
  return role == Role::saved || role == Role::temporary || role == Role::workspace;
}

}  // namespace smelt
