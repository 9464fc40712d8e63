#include "compiler/driver/memory_choice.h"

#include <algorithm>

#include "codegen/lowering/lower.h"
#include "compiler/driver/pass_pipeline.h"
#include "ir/analysis/host_states.h"

namespace smelt {
namespace {

/// Bytes a second that pinned memory gives and takes at once over PCI Express 5.0 with 16 lanes.
constexpr double kBusRate = 50e9;
constexpr int kTrials = 4;  // windows in the arena may exceed the budget again

class Trials {
 public:
  Trials(const Module& prepared, const Target& target, const CompileOptions& options, int64_t budget)
      : prepared_(prepared), target_(target), options_(options), budget_(budget) {
    options_.passes = {};
    options_.passes.disabled = options.passes.disabled;
    options_.explain_fusion = options_.explain_sharding = false;
    options_.offload.share = 1;  // fusions as they are where states are moved
    auto module = fused({});
    movable_ = movable_states(lower(*module, target_)).bytes;
  }

  std::optional<OffloadChoice> run(const std::vector<MemoryPoint>& curve) {
    const MemoryPoint* best = nullptr;
    for (const MemoryPoint& point : curve)
      if (excess(point) <= movable_ && (!best || seconds(point) < seconds(*best))) best = &point;
    if (!best) return std::nullopt;
    OffloadChoice choice{best->policy, options_.offload};
    choice.offload.share = 0, choice.offload.bytes = excess(*best);
    for (int i = 0; i < kTrials && choice.offload.bytes > 0; ++i) {
      const int64_t over = bytes(choice) - budget_;
      if (over <= 0) return choice;
      choice.offload.bytes += over;
    }
    return choice.offload.bytes > 0 ? std::nullopt : std::optional(choice);
  }

 private:
  int64_t excess(const MemoryPoint& point) const { return std::max<int64_t>(0, point.bytes() - budget_); }
  double seconds(const MemoryPoint& point) const {
    return point.seconds + static_cast<double>(excess(point)) / kBusRate;
  }

  std::unique_ptr<Module> fused(const RecomputePolicy& policy) {
    options_.recompute = policy;
    auto module = prepared_.clone();
    run(recompute_passes(options_, target_), *module);
    run(fusion_passes(options_, target_), *module);
    return module;
  }

  Program run(const std::vector<PassCall>& calls, Module& module) const {
    Program program;
    PassManager(options_.passes, all_passes()).run(calls, module, program);
    return program;
  }

  /// States on the device, and the arena.
  int64_t bytes(const OffloadChoice& choice) {
    options_.offload = choice.offload;
    const Program program = run(program_passes(options_, target_), *fused(choice.recompute));
    int64_t states = 0, arena = 0;
    for (const State& state : program.states) states += device_bytes(program, state);
    for (const PlanEntry& entry : program.entries) arena = std::max(arena, entry.arena_bytes);
    return states + arena;
  }

  const Module& prepared_;
  const Target& target_;
  CompileOptions options_;
  const int64_t budget_;
  int64_t movable_ = 0;  // bytes of states
};

}  // namespace

std::optional<OffloadChoice> offload_within(const Module& prepared, const Target& target,
                                            const CompileOptions& options,
                                            const std::vector<MemoryPoint>& curve, int64_t budget) {
  return Trials(prepared, target, options, budget).run(curve);
}

}  // namespace smelt
