// Runs plans on an NVIDIA GPU: an entry of known sizes is one CUDA graph. A shape that is seen for the first
// time runs uncaptured, while its GEMMs choose their algorithms.
//
// After a kernel fault (an access to memory that does not exist) every call in this process on that GPU
// throws the Error of that fault, because the driver refuses all further work there.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/cuda/collectives.h"
#include "runtime/cuda/device_states.h"
#include "runtime/cuda/host_copies.h"
#include "runtime/cuda/loaded_kernels.h"
#include "runtime/cuda/random_keys.h"
#include "runtime/cuda/resolve.h"
#include "runtime/cuda/step_choices.h"
#include "runtime/cuda/template_launch.h"
#include "runtime/cuda/transfers.h"
#include "runtime/session/executor.h"

namespace smelt::cuda {

/// The executor itself has no memory for ports that a stage of a pipeline keeps (transfers.h): throws Error
/// if one of them has no place.
void require_places(const Plan& plan, const PlanEntry& entry, std::span<const DevicePointer> places);

class CudaExecutor : public Executor {
 public:
  explicit CudaExecutor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options = {});
  ~CudaExecutor() override;

  std::span<std::byte> state(int index) override;
  std::span<const std::byte> read_state(int index) override;
  void clear_state(int index) override;
  void fill_state(int index, const MakePart& make) override;
  /// Uses the plan's kernel for it, where there is one.
  bool initialize_state(int index, uint32_t seed) override;
  /// Uses the plan's kernel for it, so that the host holds neither state; the host converts where a plan has
  /// none.
  void round_state(int from, int to, DType to_type) override;
  /// Returns when the requested outputs have arrived; without any, it returns while the device still works.
  void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox& random) override;
  /// Events order it with the caller's stream (execute_on_device.cpp).
  void run_on_device(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
                     std::span<void* const> outputs, const Philox& random, const DevicePorts& ports) override;
  void repeat(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
              const Philox& random, int times) override;
  std::span<std::byte> peek(int index) override;
  std::unique_ptr<StageMemory> stage_memory(const StageExchange& exchange) override;
  RankGroups* ranks() const override { return options_.ranks; }
  void synchronize() override;
  std::string choices() const override;
  std::string restore_choices(std::string_view choices) override;
  double copy_bytes_per_second() override;
  double matrix_flops_per_second(DType dtype) override;
  SecondsByPart startup() const override { return startup_.parts(); }
  std::vector<StepTime> profile() const override;
  std::vector<ChoiceTaken> taken() const override;
  std::unique_ptr<Executor> share(const ExecutorOptions& options) override;

  // Interface for the memory of a stage (stage_memory.h).
  /// Runs an entry. `places`: addresses of the entry's ports, its inputs first and then its outputs; 0: the
  /// address of the host's port.
  void run_at(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
              std::span<void* const> outputs, std::span<const DevicePointer> places, const Philox& random);
  const Device& device() const { return device_; }
  Stream stream() const { return stream_.get(); }
  NcclComms& comms() { return collectives_->comms(); }
  /// Returns the address of a state that work on stream() changes.
  DevicePointer written_state(int index);

 private:
  /// `owner`, where there is one, has the weights.
  CudaExecutor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options, const CudaExecutor* owner);
  void allocate(const CudaExecutor* owner);
  void connect_ranks();
  SharedBlock block_of(const Buffer& buffer) const;
  std::vector<SharedBlock> gathered_blocks(const MeshAxis& axis) const;
  void mark_written(const PlanEntry& entry);
  ResolvedEntry& resolved(const PlanEntry& entry, const SymbolValues& symbols,
                          std::span<const DevicePointer> places);
  void forget_oldest();
  GemmChoices& gemm_choices();
  void poison(const ResolvedEntry& resolved);
  ResolvedEntry& prepared(const PlanEntry& entry, const SymbolValues& symbols,
                          std::span<const void* const> inputs, const Philox& random,
                          std::span<const DevicePointer> places = {},
                          const std::vector<bool>& on_device = {});
  void check_device_ports(const PlanEntry& entry, std::span<const void* const> inputs,
                          std::span<void* const> outputs, const DevicePorts& ports) const;
  std::vector<DevicePointer> places_of(const PlanEntry& entry, const SymbolValues& symbols,
                                       std::span<const void* const> inputs, std::span<void* const> outputs,
                                       const DevicePorts& ports) const;
  void copy_to_caller(const ResolvedEntry& resolved, std::span<void* const> outputs,
                      const DevicePorts& ports);
  void deliver(const ResolvedEntry& resolved, std::span<void* const> outputs);
  void execute(ResolvedEntry& resolved);
  void launch_all(ResolvedEntry& resolved);
  void launch_checked(ResolvedEntry& resolved);
  void capture(ResolvedEntry& resolved);
  bool takes(ResolvedEntry& resolved, size_t step);
  void launch_profiled(ResolvedEntry& resolved);
  void launch_watched(ResolvedEntry& resolved);
  std::byte* show(size_t buffer, std::vector<std::byte>& mirror);
  void launch_step(ResolvedEntry& resolved, size_t step);
  void launch(Launch& launch);
  void begin(const CollectiveLaunch& collective);
  void begin(const HostCopyLaunch& copy);
  void join(size_t step);
  void join_all();
  bool steps_are_apart() const;
  void run_parts(PartedGemm& gemm);
  void run_gemm(PreparedGemm& gemm);
  const KernelCode* find_kernel(std::string_view name) const;
  /// Launches a template outside of a step.
  void launch_template(const KernelCode& kernel, const LaunchValues& values);
  void finish(const char* what);
  void check_indices();
  void note_run(const ResolvedEntry& resolved);
  void explain(const Error& error);
  /// Wraps everything that is called from outside: an error that is a fault of the device is explained.
  template <typename Body>
  auto guarded(Body body) {
    device_.make_current();
    try {
      return body();
    } catch (const Error& error) {
      explain(error);
      throw;
    }
  }

  std::shared_ptr<const Plan> plan_;
  ExecutorOptions options_;
  Stopwatch startup_;
  Device& device_;
  StreamOwner stream_;
  EventOwner caller_begin_, caller_end_;          // of runs on a caller's stream
  std::shared_ptr<const LoadedKernels> kernels_;  // of all executors that share weights
  DeviceStates states_;
  std::vector<int> index_faults_;  // states
  std::vector<DeviceBlock> constants_;
  std::vector<DevicePointer> addresses_;  // by buffer
  std::vector<std::byte*> host_;          // by buffer, of states that the host holds some of
  SharedBlock arena_, ports_;
  DeviceBlock workspace_;
  RandomKeys random_;
  Transfers transfers_;
  std::unique_ptr<GemmChoices> choices_;
  std::unique_ptr<StepChoices> step_choices_;
  std::unique_ptr<Collectives> collectives_;  // of a plan of several ranks; outlives what is captured with it
  std::unique_ptr<HostCopies> host_copies_;   // where the host holds some of a state
  std::list<ResolvedEntry> cache_;            // the last one used first
  std::vector<const ResolvedEntry*> in_flight_;
  bool checks_steps_ = false;  // now
  std::map<const PlanEntry*, std::vector<StepTime>> times_;
};

}  // namespace smelt::cuda
