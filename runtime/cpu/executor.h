// Runs plans for the CPU: kernels over OpenMP threads, matmuls on a CBLAS.
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

class CpuExecutor : public Executor {
 public:
  CpuExecutor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options = {});

  std::span<std::byte> state(int index) override;
  void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox& random) override;
  RankGroups* ranks() const override { return options_.ranks; }
  std::vector<StepTime> profile() const override;
  std::unique_ptr<Executor> share(const ExecutorOptions& options) override;

 private:
  /// `owner`, where there is one, has the weights.
  CpuExecutor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options, const CpuExecutor* owner);
  void make_states(const CpuExecutor* owner);
  void load_code();
  void allocate();
  ResolvedEntry& resolved(const PlanEntry& entry, const SymbolValues& symbols);
  std::byte* staging(int buffer);
  void bind_inputs(const ResolvedEntry& resolved, std::span<const void* const> inputs);
  void bind_outputs(const ResolvedEntry& resolved, std::span<void* const> outputs);
  void copy_outputs(const ResolvedEntry& resolved, std::span<void* const> outputs) const;
  void poison(const ResolvedEntry& resolved);
  void check_indices() const;
  void launch_all(const ResolvedEntry& resolved, const Philox& random);
  void launch_watched(const ResolvedEntry& resolved, const Philox& random);

  std::shared_ptr<const Plan> plan_;
  ExecutorOptions options_;
  std::shared_ptr<const SharedObject> code_;          // of all executors that share weights
  std::vector<KernelFunctions> functions_;            // by kernel
  std::vector<std::shared_ptr<const Block>> states_;  // by state
  std::vector<Block> constants_;
  std::vector<int> index_faults_;  // states
  Block arena_;
  std::map<int, Block> staging_;    // of inputs and outputs that cannot be used where they lie
  std::vector<std::byte*> fixed_;   // by buffer; null for inputs and outputs
  std::vector<std::byte*> bound_;   // the same, with this run's inputs and outputs
  std::list<ResolvedEntry> cache_;  // the last one used first
  std::map<const PlanEntry*, std::vector<StepTime>> times_;
};

}  // namespace smelt
