// Runs the entries of a plan on one device. An executor owns one set of states and one arena; its functions
// must not run at the same time in two threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/allocator.h"
#include "runtime/philox.h"
#include "runtime/plan/plan.h"
#include "runtime/ranks/rank_groups.h"
#include "runtime/stage_memory.h"
#include "runtime/system/stopwatch.h"

namespace smelt {

/// A step that has just run, and where the plan's buffers lie in this run (null: not used by it).
struct StepDone {
  const PlanEntry& entry;
  int step;
  const SymbolValues& symbols;
  std::span<std::byte* const> buffers;
};

struct ExecutorOptions {
  int threads = 0;                 // 0: what OpenMP would use
  bool poison = false;             // fills the arena and the outputs with NaNs before each run
  bool profile = false;            // takes the time of every step
  bool check_steps = false;        // waits for the device after every step: a fault names the step
  bool dependent_launches = true;  // on a GPU: kernels that can may begin before those in front have ended
  int device = -1;  // of a plan for GPUs: the GPU's number; -1: that of SMELT_DEVICE, or the first
  RankGroups* ranks = nullptr;  // of a plan of several ranks: lives as long as the executor
  /// Gives states, constants, the arena and what inputs and outputs pass through; null: the system and the
  /// driver.
  std::shared_ptr<const Allocator> allocator = nullptr;
  /// Called after every step; what it throws ends the run.
  std::function<void(const StepDone&)> after_step = {};
};

/// Bytes of states, constants and the arena, known before they are allocated. A GPU needs inputs, outputs and
/// the library's workspace beside them. `host`: of states that a GPU does not hold (State::resident), in
/// pinned memory of the host and no part of the total.
struct ExecutorMemory {
  int64_t states = 0, constants = 0, arena = 0, host = 0;
  int64_t total() const { return states + constants + arena; }
};
ExecutorMemory executor_memory(const Plan& plan);
/// Of the plan's states those that sessions may share, as bytes of ExecutorMemory::states.
int64_t weight_bytes(const Plan& plan);
/// Of a state at its bounds, and of what a GPU holds of it.
int64_t state_bytes(const Plan& plan, const State& state);
int64_t resident_bytes(const Plan& plan, const State& state);

/// Which ports of a run lie in the memory of the executor's device, and what orders the run there.
struct DevicePorts {
  std::vector<bool> inputs, outputs;  // by port
  void* stream = nullptr;             // the caller's, a CUstream; null: the default stream
  /// Where it can be, kernels read and write these ports where they lie. Launches are then kept for every set
  /// of addresses, so this is for addresses that come again; others are copied within the device.
  bool in_place = false;
};

/// Time spent in one step of an entry, over all runs.
struct StepTime {
  const PlanEntry* entry = nullptr;
  int step = 0;
  int64_t runs = 0;
  double seconds = 0;
};

/// An alternative that runs of these sizes take (PlanEntry::choices).
struct ChoiceTaken {
  const PlanEntry* entry = nullptr;
  int choice = 0, alternative = 0;
  SymbolValues symbols = {};
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// The memory of Plan::states[index], 64-byte aligned and zero at first: of a device, the host's copy,
  /// which goes back before the next run.
  virtual std::span<std::byte> state(int index) = 0;
  /// The same for reading: a device need not take it back. Both are valid until the next run.
  virtual std::span<const std::byte> read_state(int index) { return state(index); }

  /// Makes every byte of a state 0.
  virtual void clear_state(int index);

  /// Fills the part of a state that begins at byte `begin`.
  using MakePart = std::function<void(int64_t begin, std::span<std::byte> part)>;
  /// Writes a state part by part. A device receives one part while the next is made, and the host never holds
  /// the whole.
  virtual void fill_state(int index, const MakePart& make) { make(0, state(index)); }
  /// Gives a state its initial values (runtime/weights/initialize.h) where it lies. False: the host must make
  /// them.
  virtual bool initialize_state(int /*index*/, uint32_t /*seed*/) { return false; }
  /// Writes an f32 state, rounded, to one of type `to_type` (State::copy_of).
  virtual void round_state(int from, int to, DType to_type);

  /// Runs one entry. `inputs` and `outputs` are the ports in order, dense and row-major, of any alignment. A
  /// null input is allowed where the port is optional, and reads as zeros; a null output is not copied.
  virtual void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
                   std::span<void* const> outputs, const Philox& random) = 0;

  /// The same, where pointers of some ports are addresses of the device: of a CPU's those are the host's. The
  /// run begins when the stream has done what it was given before, and what the stream is given behind it
  /// finds the outputs. Where no output is the host's it returns while a device still works.
  virtual void run_on_device(const PlanEntry& entry, const SymbolValues& symbols,
                             std::span<const void* const> inputs, std::span<void* const> outputs,
                             const Philox& random, const DevicePorts& ports);

  /// Runs one entry so many times with the same inputs, which are sent once, and keeps no outputs. A device
  /// may still work when it returns: what it has done so far is seen in states of the role stream.
  virtual void repeat(const PlanEntry& entry, const SymbolValues& symbols,
                      std::span<const void* const> inputs, const Philox& random, int times);
  /// A state of the role stream, without waiting for runs that are under way. The memory stays where it is.
  virtual std::span<std::byte> peek(int index) { return state(index); }

  /// The ranks that it runs a plan of several ranks with; null: it runs alone.
  virtual RankGroups* ranks() const { return nullptr; }

  /// The memory of a stage of a pipeline, whose ranks all make it at once; the executor outlives it. Throws
  /// Error where it runs alone.
  virtual std::unique_ptr<StageMemory> stage_memory(const StageExchange& exchange);

  /// Waits until all runs have finished, and throws the Error of one that failed.
  virtual void synchronize() {}

  /// The choices made by measuring that results depend on, as text for a checkpoint; empty where there are
  /// none.
  virtual std::string choices() const { return {}; }
  /// Uses the choices of an earlier run instead of measuring again. Returns why they cannot be used, if so:
  /// results may then differ in their last bits.
  virtual std::string restore_choices(std::string_view choices);

  /// Bytes read and written a second by a large copy in the executor's memory, measured now; 0 where it is
  /// the host's.
  virtual double copy_bytes_per_second() { return 0; }

  /// Floating-point operations a second of a large GEMM of `dtype` on the executor's device,
  /// measured now; 0 where it is the host.
  virtual double matrix_flops_per_second(DType /*dtype*/) { return 0; }

  /// An executor of the same plan on the same device that reads this one's weights where they lie
  /// (weight_states in runtime/shared_weights.h), and has memory of its own for all else. Both may run at the
  /// same time in two threads, as long as neither writes to them; each keeps them alive. Throws Error where
  /// this kind of executor does not share.
  virtual std::unique_ptr<Executor> share(const ExecutorOptions& options);

  /// Where the seconds before the first results went: a device's context, code, memory, states, choices and
  /// graphs. Empty where nothing was measured.
  virtual SecondsByPart startup() const { return {}; }

  /// In order of entries and steps; empty without ExecutorOptions::profile.
  virtual std::vector<StepTime> profile() const { return {}; }

  /// Of all sizes whose launches are kept; empty where nothing is measured.
  virtual std::vector<ChoiceTaken> taken() const { return {}; }
};

/// The executor for the plan's target. Throws Error where the plan is for another machine (naming both),
/// where its code cannot be loaded, and where memory does not suffice (naming the planned bytes before taking
/// any).
std::unique_ptr<Executor> make_executor(std::shared_ptr<const Plan> plan,
                                        const ExecutorOptions& options = {});

/// Loads what every executor for a target needs (a GPU's context, cuBLASLt) in a thread of its own, while the
/// caller compiles a plan. Errors are left to make_executor. `device` as in ExecutorOptions.
[[nodiscard]] std::jthread prepare_executor(std::string_view target, int device = -1);

}  // namespace smelt
