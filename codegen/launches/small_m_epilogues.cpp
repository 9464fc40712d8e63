#include "codegen/launches/launch_passes.h"

#include <algorithm>
#include <set>

#include "codegen/launches/fused_small_m.h"
#include "codegen/launches/join_steps.h"
#include "ir/analysis/step_footprint.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {
namespace {

bool reads(const Step& step, int buffer) { return llvm::is_contained(step.reads, buffer); }
bool writes(const Step& step, int buffer) { return llvm::is_contained(step.writes, buffer); }

void add_once(std::vector<int>& to, const std::vector<int>& from) {
  for (const int buffer : from)
    if (!llvm::is_contained(to, buffer)) to.push_back(buffer);
}

/// The steps that become one: the matmul and, where they are there, its neighbours and the step that makes
/// its weights of packed codes.
struct Group {
  std::optional<size_t> before;
  size_t gemm;
  std::optional<size_t> reader, packed = {};

  /// In their order.
  std::vector<size_t> all() const {
    std::vector<size_t> steps = {gemm};
    for (const std::optional<size_t>& other : {before, reader, packed})
      if (other) steps.push_back(*other);
    std::ranges::sort(steps);
    return steps;
  }
};

class EntrySmallM {
 public:
  EntrySmallM(Program& program, PlanEntry& entry, const Target& target)
      : program_(program), entry_(entry), steps_(entry.steps), target_(target) {}

  bool run() {
    read_bytes_in_place();
    bool changed = false;
    for (size_t i = 0; i < steps_.size(); ++i)
      while (fuse(i)) changed = true;  // another step is in its place then
    return changed;
  }

 private:
  const GemmStep& gemm_of(size_t i) const { return std::get<GemmStep>(steps_[i].what); }
  int a_of(size_t i) const { return gemm_of(i).a.base.buffer; }
  int result_of(size_t i) const { return gemm_of(i).c.base.buffer; }

  bool is_kernel(size_t i) const {
    return std::holds_alternative<KernelStep>(steps_[i].what) && steps_[i].choice < 0;
  }

  // ---- weights that are bytes

  void read_bytes_in_place() {
    for (size_t i = 0; i < steps_.size(); ++i)
      if (const auto widens = step_that_widens(i)) i -= read_bytes(i, *widens);
  }

  /// The step that makes floats of the bytes that a matmul could read itself.
  std::optional<size_t> step_that_widens(size_t gemm) const {
    const auto* step = std::get_if<GemmStep>(&steps_[gemm].what);
    if (!step || steps_[gemm].choice >= 0) return std::nullopt;
    for (size_t i = gemm; i-- > 0;)
      if (writes(steps_[i], step->b.base.buffer))
        return takes_small_m(program_, entry_, with_bytes(*step, i), target_) ? std::optional(i)
                                                                              : std::nullopt;
    return std::nullopt;
  }

  GemmStep with_bytes(GemmStep gemm, size_t widens) const {
    const auto bytes = widened_bytes(program_, steps_[widens], gemm.b.base);
    if (bytes) gemm.b.base = *bytes, gemm.b_i8 = true;
    return gemm;
  }

  /// Makes the matmul read bytes; returns the number of erased steps before it.
  size_t read_bytes(size_t gemm, size_t widens) {
    const int floats = gemm_of(gemm).b.base.buffer;
    GemmStep made = with_bytes(gemm_of(gemm), widens);
    std::ranges::replace(steps_[gemm].reads, floats, made.b.base.buffer);
    steps_[gemm].what = std::move(made);
    if (is_seen_elsewhere(floats, {{}, widens, {}})) return 0;
    program_.buffers[static_cast<size_t>(floats)].elements = 0;
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(widens));
    return 1;
  }

  // ---- neighbours

  /// Fuses both neighbours, or the one that the template takes, or none. The template is used in any case,
  /// because its kernel can begin before the preceding one has ended.
  bool fuse(size_t gemm) {
    if (!std::holds_alternative<GemmStep>(steps_[gemm].what) || steps_[gemm].choice >= 0) return false;
    const auto packed = packed_weights(gemm);
    if (!packed && !takes_small_m(program_, entry_, gemm_of(gemm), target_)) return false;
    const auto before = maker_of_a(gemm), reader = reader_of(gemm);
    return (before && reader && fuse(Group{before, gemm, reader, packed})) ||
           (reader && fuse(Group{{}, gemm, reader, packed})) ||
           (before && fuse(Group{before, gemm, {}, packed})) || fuse(Group{{}, gemm, {}, packed});
  }

  /// The step that makes the weights of packed codes, for this matmul alone.
  std::optional<size_t> packed_weights(size_t gemm) const {
    const int weights = gemm_of(gemm).b.base.buffer;
    for (size_t i = gemm; i-- > 0;) {
      if (!writes(steps_[i], weights)) continue;
      const auto* step = std::get_if<DequantizeStep>(&steps_[i].what);
      const bool fits = step && takes_packed(program_, entry_, gemm_of(gemm), *step) &&
                        !is_seen_elsewhere(weights, {{}, gemm, {}, i});
      return fits ? std::optional(i) : std::nullopt;
    }
    return std::nullopt;
  }

  /// The last step in front that touches A, if it is a kernel that writes it.
  std::optional<size_t> maker_of_a(size_t gemm) const {
    for (size_t i = gemm; i-- > 0;)
      if (touches(steps_[i], a_of(gemm)))
        return writes(steps_[i], a_of(gemm)) && is_kernel(i) ? std::optional(i) : std::nullopt;
    return std::nullopt;
  }

  std::optional<size_t> reader_of(size_t gemm) const {
    for (size_t i = gemm + 1; i < steps_.size(); ++i)
      if (touches(steps_[i], result_of(gemm)))
        return reads(steps_[i], result_of(gemm)) && is_kernel(i) ? std::optional(i) : std::nullopt;
    return std::nullopt;
  }

  bool fuse(const Group& group) {
    if (!stand_together(group) || !keep_what_is_read(group)) return false;
    const bool keeps_a = group.before && is_seen_elsewhere(a_of(group.gemm), group),
               keeps_result = is_seen_elsewhere(result_of(group.gemm), group);
    const auto launch = [&](const std::optional<size_t>& i) {
      return i ? &std::get<KernelStep>(steps_[*i].what) : nullptr;
    };
    const auto* packed = group.packed ? &std::get<DequantizeStep>(steps_[*group.packed].what) : nullptr;
    auto made =
        fused_small_m(program_, gemm_of(group.gemm),
                      {packed, launch(group.before), launch(group.reader), keeps_a, keeps_result}, target_);
    if (!made) return false;
    std::set<int> gone;
    if (packed) gone.insert(packed->y.buffer);
    if (group.before && !keeps_a) gone.insert(a_of(group.gemm));
    if (group.reader && !keeps_result) gone.insert(result_of(group.gemm));
    replace(group, std::move(*made), gone);
    return true;
  }

  /// Returns whether a step outside of the group uses the buffer, or it is used after the run.
  bool is_seen_elsewhere(int buffer, const Group& group) const {
    if (!in_arena(program_.buffers[static_cast<size_t>(buffer)].role)) return true;
    const auto is_buffer = [&](const Port& port) { return port.buffer == buffer; };
    if (llvm::any_of(entry_.outputs, is_buffer) || llvm::any_of(entry_.inputs, is_buffer)) return true;
    const std::vector<size_t> own = group.all();
    for (size_t i = 0; i < steps_.size(); ++i)
      if (!llvm::is_contained(own, i) && touches(steps_[i], buffer)) return true;
    return false;
  }

  /// Returns whether the neighbours can move to the matmul: steps between them share no memory with them.
  bool stand_together(const Group& group) const {
    const auto can_cross = [&](size_t moved, size_t first, size_t last) {
      const Footprint own = footprint(program_, steps_[moved]);
      for (size_t i = first; i < last; ++i)
        if (conflict(own, footprint(program_, steps_[i]))) return false;
      return true;
    };
    return (!group.before || can_cross(*group.before, *group.before + 1, group.gemm)) &&
           (!group.packed || can_cross(*group.packed, *group.packed + 1, group.gemm)) &&
           (!group.reader || can_cross(*group.reader, group.gemm + 1, *group.reader));
  }

  int memory(int buffer) const {
    const int state = program_.buffers[static_cast<size_t>(buffer)].state;
    return state < 0 ? buffer : -2 - state;
  }

  /// Returns whether no step of the group writes data that another one reads, except for the buffers between
  /// them, because blocks run the prologue at different times.
  bool keep_what_is_read(const Group& group) const {
    std::set<int> written;
    for (const size_t i : group.all())
      for (const int buffer : steps_[i].writes) written.insert(memory(buffer));
    for (const size_t i : group.all())
      for (const int buffer : steps_[i].reads) {
        const bool handed = (i == group.gemm && group.before && buffer == a_of(group.gemm)) ||
                            (i == group.gemm && group.packed && buffer == gemm_of(i).b.base.buffer) ||
                            (i == group.reader && buffer == result_of(group.gemm));
        if (!handed && written.count(memory(buffer))) return false;
      }
    return true;
  }

  void replace(const Group& group, FusedSmallM made, const std::set<int>& gone) {
    Step step;
    step.phase = steps_[group.gemm].phase;
    step.recomputed = steps_[group.gemm].recomputed;
    for (const size_t i : group.all()) {
      add_once(step.reads, steps_[i].reads), add_once(step.writes, steps_[i].writes);
      for (const std::string& source : steps_[i].sources)
        if (!llvm::is_contained(step.sources, source)) step.sources.push_back(source);
    }
    // Buffers between the fused steps are not in memory any more, or are only written.
    llvm::erase_if(step.reads, [&](int buffer) { return llvm::is_contained(step.writes, buffer); });
    llvm::erase_if(step.writes, [&](int buffer) { return gone.count(buffer) > 0; });
    for (const int buffer : gone) program_.buffers[static_cast<size_t>(buffer)].elements = 0;
    program_.kernels.push_back(std::move(made.kernel));
    step.what = KernelStep{.kernel = static_cast<int>(program_.kernels.size()) - 1,
                           .arguments = std::move(made.arguments),
                           .random_ids = {}};
    steps_[group.gemm] = std::move(step);
    const std::vector<size_t> all = group.all();
    for (size_t i = all.size(); i-- > 0;)
      if (all[i] != group.gemm) steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(all[i]));
  }

  Program& program_;
  PlanEntry& entry_;
  std::vector<Step>& steps_;
  const Target& target_;
};

}  // namespace

bool fuse_small_m(Program& program, const Target& target) {
  if (!target.can.launches || target.gemm_epilogues == GemmEpilogues::off) return false;
  bool changed = false;
  for (PlanEntry& entry : program.entries) changed |= EntrySmallM(program, entry, target).run();
  if (changed) drop_unused_kernels(program);
  return changed;
}

}  // namespace smelt
