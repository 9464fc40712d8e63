// CudaExecutor runs plans on an NVIDIA GPU. For each set of values of an entry's symbols, the first run
// launches the steps one by one, and algorithms are chosen by measurement. The second run captures the
// launches as a CUDA graph, and later runs launch this graph. Nothing is captured if the ExecutorOptions
// require that every step is checked, timed or reported.
//
// After a kernel fault, such as an access to memory that is not mapped, the driver refuses all further work
// on the GPU. All later calls in this process that use the GPU then throw the Error of the fault.
#pragma once

#include <deque>
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

/// Throws Error naming the port if a retained port of the entry (retained_ports.h) has no address in
/// `places`. The executor has no memory for these ports, because they are located in the memory of a pipeline
/// stage. `places` is as in CudaExecutor::run_at; if it is empty, no port has an address.
void require_places(const Plan& plan, const PlanEntry& entry, std::span<const DevicePointer> places);

/// Executor of one plan. Functions without a comment are described in runtime/session/executor.h.
class CudaExecutor : public Executor {
 public:
  explicit CudaExecutor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options = {});
  ~CudaExecutor() override;

  std::span<std::byte> state(int index) override;
  std::span<const std::byte> read_state(int index) override;
  void clear_state(int index) override;
  void fill_state(int index, const MakePart& make) override;
  void write_part(int index, int64_t begin, std::span<const std::byte> bytes) override;
  /// Launches the plan's kernel for initial values. Returns false if there is none, or if the host holds a
  /// part of the state.
  bool initialize_state(int index, uint32_t seed) override;
  /// Writes state `from`, rounded to `to_type`, to state `to` by a kernel of the plan, so that neither state
  /// needs a mirror in host memory. If the plan has no such kernel, the host rounds.
  void round_state(int from, int to, DType to_type) override;
  /// Returns when the requested outputs have arrived. If no output is requested, returns while the device
  /// still works.
  void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox& random) override;
  /// The run waits for earlier work of the caller's stream, and later work of that stream waits for the run
  /// (execute_on_device.cpp).
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

  // Interface for CudaStageMemory (stage_memory.h).

  /// Runs an entry. `places` has the device address of each port, first the inputs and then the outputs. For
  /// the address 0, the port is in the executor's own buffer: an input is copied from `inputs` to the buffer,
  /// and an output from the buffer to `outputs`. If `places` is empty, all addresses are 0.
  void run_at(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
              std::span<void* const> outputs, std::span<const DevicePointer> places, const Philox& random);
  const Device& device() const { return device_; }
  Stream stream() const { return stream_.get(); }
  NcclComms& comms() { return collectives_->comms(); }
  /// Uploads the state, marks it as written, and returns its address, for work on stream() that changes it.
  DevicePointer written_state(int index);

 private:
  /// `owner` is the executor whose weights this one shares; null: it has its own weights.
  CudaExecutor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options, const CudaExecutor* owner);
  void allocate(const CudaExecutor* owner);
  void connect_ranks();
  SharedBlock block_of(const Buffer& buffer) const;
  /// Returns the blocks that all-gathers and all-to-alls along the axis write to, without duplicates.
  std::vector<SharedBlock> gathered_blocks(const MeshAxis& axis) const;
  void mark_written(const PlanEntry& entry);
  ResolvedEntry& resolved(const PlanEntry& entry, const SymbolValues& symbols,
                          std::span<const DevicePointer> places);
  /// Removes the least recently used entries of cache_ while the estimated memory of its graphs exceeds a
  /// limit.
  void forget_oldest();
  GemmChoices& gemm_choices();
  /// Fills the arena, and the entry's output buffers, with bytes 0xFF (NaNs), so that reads of undefined
  /// values show.
  void poison(const ResolvedEntry& resolved);
  ResolvedEntry& prepared(const PlanEntry& entry, const SymbolValues& symbols,
                          std::span<const void* const> inputs, const Philox& random,
                          std::span<const DevicePointer> places = {},
                          const std::vector<bool>& on_device = {});
  void check_device_ports(const PlanEntry& entry, std::span<const void* const> inputs,
                          std::span<void* const> outputs, const DevicePorts& ports) const;
  std::vector<DevicePointer> places_of(const PlanEntry& entry, const SymbolValues& symbols,
                                       std::span<const void* const> inputs, std::span<void* const> outputs,
                                       const DevicePorts& ports);
  /// Returns whether the port is large, and one of the last runs had it at this address.
  bool comes_again(const Port& port, const SymbolValues& symbols, DevicePointer address);
  void copy_to_caller(const ResolvedEntry& resolved, std::span<void* const> outputs,
                      const DevicePorts& ports);
  /// Copies requested outputs to the host's memory `outputs`. If any output is requested, waits for the run,
  /// and throws Error if a fault has occurred.
  void deliver(const ResolvedEntry& resolved, std::span<void* const> outputs);
  void execute(ResolvedEntry& resolved);
  void launch_all(ResolvedEntry& resolved);
  /// Launches all steps, and waits after each, so that the Error of a fault names the step.
  void launch_checked(ResolvedEntry& resolved);
  void capture(ResolvedEntry& resolved);
  /// Returns whether the step runs: it belongs to no alternative, or to the chosen one. The first call for a
  /// step of a group of alternatives chooses one of them.
  bool takes(ResolvedEntry& resolved, size_t step);
  /// Launches all steps, and adds the time of each to times_.
  void launch_profiled(ResolvedEntry& resolved);
  /// Launches all steps, waits after each, and passes its results to ExecutorOptions::after_step.
  void launch_watched(ResolvedEntry& resolved);
  /// Enqueues a copy of the buffer to `mirror`, for after_step, and returns the address of the copy.
  std::byte* show(size_t buffer, std::vector<std::byte>& mirror);
  void launch_step(ResolvedEntry& resolved, size_t step);
  void launch(Launch& launch);
  void begin(const CollectiveLaunch& collective);
  void begin(const HostCopyLaunch& copy);
  /// Makes the stream wait for the collectives and host copies whose results `step` needs.
  void join(size_t step);
  void join_all();
  /// Returns whether each step is checked or timed alone, so that no two may run concurrently.
  bool steps_are_apart() const;
  void run_parts(PartedGemm& gemm);
  void run_gemm(PreparedGemm& gemm);
  const KernelCode* find_kernel(std::string_view name) const;
  /// Launches a template kernel that is not part of a step.
  void launch_template(const KernelCode& kernel, const LaunchValues& values);
  /// Waits for all work of the stream. `what` names the work in the Error of a fault.
  void finish(const char* what);
  /// Throws Error if a run since the last call has recorded an index out of range.
  void check_indices();
  /// Adds the run to in_flight_, for the message of a fault.
  void note_run(const ResolvedEntry& resolved);
  /// If the GPU has failed, throws an Error that names the runs in progress; otherwise does nothing.
  void explain(const Error& error);
  /// Makes the GPU current and calls `body`. If that throws and the GPU has failed, the Error names the runs
  /// that were in progress (explain). Public functions that use the GPU call it.
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
  EventOwner caller_begin_, caller_end_;          // for run_on_device
  std::shared_ptr<const LoadedKernels> kernels_;  // shared by executors that share weights
  DeviceStates states_;
  std::vector<int> index_faults_;  // states that record indices out of range (index_faults.h)
  std::vector<DeviceBlock> constants_;
  std::vector<DevicePointer> addresses_;  // by buffer
  std::vector<std::byte*> host_;          // by buffer; null unless the host holds a part of the state
  SharedBlock arena_, ports_;
  DeviceBlock workspace_;
  RandomKeys random_;
  Transfers transfers_;
  std::unique_ptr<GemmChoices> choices_;
  std::unique_ptr<StepChoices> step_choices_;
  std::unique_ptr<Collectives> collectives_;  // null for one rank; must outlive the graphs of cache_
  std::unique_ptr<HostCopies> host_copies_;   // null if the device holds all states
  std::list<ResolvedEntry> cache_;            // most recently used first
  std::deque<std::pair<const Port*, DevicePointer>> recent_;  // addresses of large ports, the latest last
  std::vector<const ResolvedEntry*> in_flight_;
  bool checks_steps_ = false;  // the run in progress waits after every step
  std::map<const PlanEntry*, std::vector<StepTime>> times_;
};

}  // namespace smelt::cuda
