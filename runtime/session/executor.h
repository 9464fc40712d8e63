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

#include "runtime/base/allocator.h"
#include "runtime/base/philox.h"
#include "runtime/plan/plan.h"
#include "runtime/ranks/rank_groups.h"
#include "runtime/session/stage_memory.h"
#include "runtime/system/stopwatch.h"

namespace smelt {

/// A step that has just run, and the addresses of the plan's buffers in this run (null: the run does not use
/// it).
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
  bool dependent_launches = true;  // on a GPU: kernels that can may begin before earlier ones have ended
  int device = -1;  // of a plan for GPUs: the GPU's number; -1: that of SMELT_DEVICE, or the first
  RankGroups* ranks = nullptr;  // of a plan of several ranks: lives as long as the executor
  /// Allocates states, constants, the arena and the staging memory of inputs and outputs; null: the system
  /// and the driver do.
  std::shared_ptr<const Allocator> allocator = nullptr;
  /// Called after every step; an exception from it ends the run.
  std::function<void(const StepDone&)> after_step = {};
};

/// Bytes of states, constants and the arena, known before they are allocated. A GPU also needs memory for
/// inputs, outputs and the library's workspace. `host`: the elements of states that a GPU does not hold
/// (State::resident), in pinned memory of the host and not part of the total.
struct ExecutorMemory {
  int64_t states = 0, constants = 0, arena = 0, host = 0;
  int64_t total() const { return states + constants + arena; }
};
ExecutorMemory executor_memory(const Plan& plan);
/// Returns the bytes of the states that sessions may share, a part of ExecutorMemory::states.
int64_t weight_bytes(const Plan& plan);
/// Return the bytes of a state at its bounds, and of the part that a GPU holds.
int64_t state_bytes(const Plan& plan, const State& state);
int64_t resident_bytes(const Plan& plan, const State& state);

/// Ports of a run that are located in the memory of the executor's device, and the stream that orders the
/// run.
struct DevicePorts {
  std::vector<bool> inputs, outputs;  // by port
  void* stream = nullptr;             // the caller's, a CUstream; null: the default stream
  /// Kernels read and write these ports in place if they can. Launches are then kept for every set of
  /// addresses, so this is for addresses that recur. Other ports are copied within the device.
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

  /// Returns the memory of Plan::states[index], 64-byte aligned and initially zero. For a device it is the
  /// host's copy, which is sent back before the next run.
  virtual std::span<std::byte> state(int index) = 0;
  /// Returns the same for reading: it is not sent back to a device. Both are valid until the next run.
  virtual std::span<const std::byte> read_state(int index) { return state(index); }

  /// Makes every byte of a state 0.
  virtual void clear_state(int index);

  /// Fills the part of a state that begins at byte `begin`.
  using MakePart = std::function<void(int64_t begin, std::span<std::byte> part)>;
  /// Writes a state part by part. A device receives one part while the next is made, and the host never holds
  /// the whole.
  virtual void fill_state(int index, const MakePart& make) { make(0, state(index)); }
  /// Gives a state its initial values (runtime/engine/weights/initialize.h) in place. Returns false if the
  /// host must compute them.
  virtual bool initialize_state(int /*index*/, uint32_t /*seed*/) { return false; }
  /// Writes an f32 state, rounded, to one of type `to_type` (State::copy_of).
  virtual void round_state(int from, int to, DType to_type);

  /// Runs one entry. `inputs` and `outputs` are the ports in order, dense and row-major, of any alignment. A
  /// null input is allowed where the port is optional, and reads as zeros; a null output is not copied.
  virtual void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
                   std::span<void* const> outputs, const Philox& random) = 0;

  /// Runs an entry as above; pointers of some ports are device addresses (for a CPU: host addresses). The run
  /// begins after the work that the stream has before it, and later work of the stream sees the outputs. If
  /// no output is the host's, the call returns while the device still works.
  virtual void run_on_device(const PlanEntry& entry, const SymbolValues& symbols,
                             std::span<const void* const> inputs, std::span<void* const> outputs,
                             const Philox& random, const DevicePorts& ports);

  /// Runs one entry `times` times with the same inputs, which are sent once, and keeps no outputs. A device
  /// may still work when the call returns; its progress is visible in states of the role stream.
  virtual void repeat(const PlanEntry& entry, const SymbolValues& symbols,
                      std::span<const void* const> inputs, const Philox& random, int times);
  /// Returns a state of the role stream without waiting for runs in progress. Its address does not change.
  virtual std::span<std::byte> peek(int index) { return state(index); }

  /// Returns the ranks with which the executor runs a plan of several ranks; null: it runs alone.
  virtual RankGroups* ranks() const { return nullptr; }

  /// Creates the memory of a pipeline stage. All ranks call it together. Requires: the executor outlives it.
  /// Throws Error if the executor runs alone.
  virtual std::unique_ptr<StageMemory> stage_memory(const StageExchange& exchange);

  /// Waits until all runs have finished, and throws the Error of one that failed.
  virtual void synchronize() {}

  /// Returns the choices made by measurement that results depend on, as text for a checkpoint; empty if there
  /// are none.
  virtual std::string choices() const { return {}; }
  /// Uses the choices of an earlier run instead of measuring again. If they cannot be used, returns the
  /// reason: results may then differ in their last bits.
  virtual std::string restore_choices(std::string_view choices);

  /// Measures the bytes read and written per second by a large copy in the executor's memory; 0 for host
  /// memory.
  virtual double copy_bytes_per_second() { return 0; }

  /// Measures the floating-point operations per second of a large GEMM of `dtype` on the executor's device; 0
  /// for the host.
  virtual double matrix_flops_per_second(DType /*dtype*/) { return 0; }

  /// Creates an executor of the same plan on the same device that reads this one's weights in place
  /// (weight_states in runtime/session/shared_weights.h), and has its own memory for everything else. Both
  /// may run concurrently in two threads as long as neither writes to the weights; each keeps them alive.
  /// Throws Error if this kind of executor cannot share.
  virtual std::unique_ptr<Executor> share(const ExecutorOptions& options);

  /// Returns the seconds before the first results by part: a device's context, code, memory, states, choices
  /// and graphs. Empty if nothing was measured.
  virtual SecondsByPart startup() const { return {}; }

  /// Returns times in order of entries and steps; empty without ExecutorOptions::profile.
  virtual std::vector<StepTime> profile() const { return {}; }

  /// Returns the alternatives taken at all sizes whose launches are kept; empty if nothing is measured.
  virtual std::vector<ChoiceTaken> taken() const { return {}; }
};

/// Creates the executor for the plan's target. Throws Error if the plan is for another machine (naming both),
/// if its code cannot be loaded, or if memory does not suffice (naming the planned bytes before any
/// allocation).
std::unique_ptr<Executor> make_executor(std::shared_ptr<const Plan> plan,
                                        const ExecutorOptions& options = {});

/// Loads the common parts of all executors for a target (a GPU's context, cuBLASLt) in its own thread, while
/// the caller compiles a plan. Errors are reported by make_executor. `device` as in ExecutorOptions.
[[nodiscard]] std::jthread prepare_executor(std::string_view target, int device = -1);

}  // namespace smelt
