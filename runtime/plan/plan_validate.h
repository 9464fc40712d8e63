// Validation of plans. Every plan is validated before use, because it may come from a damaged file or from a
// compiler with a bug.
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

/// Checks a plan. Throws Error (invalid_file) if one of these conditions does not hold:
///   - Every index, count, offset, size, role and name is valid. For this check, each symbol has its upper
///     bound as value.
///   - Steps launch kernels with the arguments that the kernels expect.
///   - At extreme_values of the symbols, steps access no element outside their buffers, and kernels index
///     tables in range. Executors check both again at the values of a launch.
///   - Buffers that are live at the same time share memory of the arena only if a step declares it
///     (Step::may_alias).
void validate(const Plan& plan);

/// Checks that a step accesses no element outside its buffers at these values. `place` describes the step in
/// messages. Throws Error (invalid_file).
void check_ranges(const Plan& plan, const Step& step, const SymbolValues& values, const std::string& place);

/// Checks that buffers of the entry share memory of the arena at the same time only as Step::may_alias
/// declares. Throws Error (invalid_file).
void check_lifetimes(const Plan& plan, const PlanEntry& entry);

/// A range of bytes [begin, end) of the arena that a buffer, or a part of it (BufferPart), occupies from step
/// `first` to step `last`, both included.
struct LiveRange {
  int64_t begin, end;
  int first, last;
  bool overlaps(const LiveRange& other) const {  // in memory and in time
    return begin < other.end && other.begin < end && first <= other.last && other.first <= last;
  }
};
/// Returns one range per part of the buffer (Buffer::parts) that steps use, in order of address; one range
/// for the whole buffer if it has no parts.
std::vector<LiveRange> live_ranges(const Buffer& buffer);

/// Returns "kernel", "gemm", ...
std::string_view kind_name(const Step& step);
/// Returns a text such as "entry 'train_step', step 12 (gemm h.0.attn)".
std::string describe_step(const PlanEntry& entry, size_t index);

/// Returns sets of values of the symbols at which sizes are extreme. In the first set, all symbols have their
/// minimum. Then there is one set per symbol. From the minimum, that symbol is raised first, as far as the
/// bounds allow, and then the other symbols one after another. The order matters because a bound may limit a
/// product of several symbols.
std::vector<SymbolValues> extreme_values(const Symbols& symbols);

/// Returns whether buffers of this role are in the arena of an entry.
inline bool in_arena(Role role) {
  return role == Role::saved || role == Role::temporary || role == Role::workspace;
}

}  // namespace smelt
