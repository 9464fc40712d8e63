// Executor of plans on the CPU: kernels run on OpenMP threads, and a CBLAS computes matmuls.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "runtime/cpu/memory.h"
#include "runtime/cpu/resolve.h"
#include "runtime/cpu/shared_object.h"
#include "runtime/session/executor.h"

namespace smelt {

/// Executor of one plan. Functions without a comment are described in runtime/session/executor.h.
class CpuExecutor : public Executor {
 public:
  /// Allocates the plan's memory and loads its code. Throws Error if the plan is not valid, if it is for
  /// another processor, or if there is too little memory.
  CpuExecutor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options = {});

  std::span<std::byte> state(int index) override;
  void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox& random) override;
  RankGroups* ranks() const override { return options_.ranks; }
  std::vector<StepTime> profile() const override;
  std::unique_ptr<Executor> share(const ExecutorOptions& options) override;

 private:
  /// `owner` is the executor whose weights and code this one shares; null: this one has its own.
  CpuExecutor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options, const CpuExecutor* owner);
  void make_states(const CpuExecutor* owner);
  void load_code();
  void allocate();
  ResolvedEntry& resolved(const PlanEntry& entry, const SymbolValues& symbols);
  /// Returns the memory of the buffer in `staging_`. The first call allocates it.
  std::byte* staging(int buffer);
  void bind_inputs(const ResolvedEntry& resolved, std::span<const void* const> inputs);
  void bind_outputs(const ResolvedEntry& resolved, std::span<void* const> outputs);
  void copy_outputs(const ResolvedEntry& resolved, std::span<void* const> outputs) const;
  /// Fills the arena and the outputs with NaNs, so that reads of undefined values show.
  void poison(const ResolvedEntry& resolved);
  /// Throws Error if the run has recorded an index that is out of bounds.
  void check_indices() const;
  void launch_all(const ResolvedEntry& resolved, const Philox& random);
  /// Runs the steps, and calls ExecutorOptions::after_step after each.
  void launch_watched(const ResolvedEntry& resolved, const Philox& random);

  std::shared_ptr<const Plan> plan_;
  ExecutorOptions options_;
  std::shared_ptr<const SharedObject> code_;          // shared by executors that share weights
  std::vector<KernelFunctions> functions_;            // per kernel
  std::vector<std::shared_ptr<const Block>> states_;  // per state; weights may be shared
  std::vector<Block> constants_;
  std::vector<int> index_faults_;  // numbers of the states that record indices out of bounds
  Block arena_;
  std::map<int, Block> staging_;    // by buffer: copies of inputs and outputs that steps cannot use in place
  std::vector<std::byte*> fixed_;   // address of each buffer; null for inputs and outputs
  std::vector<std::byte*> bound_;   // address of each buffer in this run
  std::list<ResolvedEntry> cache_;  // the most recently used first
  std::map<const PlanEntry*, std::vector<StepTime>> times_;
};

}  // namespace smelt
