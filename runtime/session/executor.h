// Executor: runs the entries of a plan on one device (the host's CPU or a GPU). An executor owns one set of
// states and one arena; its functions must not run at the same time in two threads.
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

/// A step that has just run.
struct StepDone {
  const PlanEntry& entry;
  int step;  // index into entry.steps
  const SymbolValues& symbols;
  /// One host address per element of Plan::buffers; null if the run does not use the buffer. On a GPU the
  /// addresses are those of copies in host memory, and a buffer that no step of this run has written yet is
  /// null too.
  std::span<std::byte* const> buffers;
};

struct ExecutorOptions {
  int threads = 0;           // 0: the number that OpenMP would use
  bool poison = false;       // fills the arena and the outputs with NaNs before each run
  bool profile = false;      // measures the time of every step
  bool check_steps = false;  // waits for the device after every step, so that an Error names the faulty step
  bool dependent_launches = true;  // on a GPU: uses programmatic dependent launch if a kernel supports it
  int device = -1;                 // number of the GPU; -1: the number in SMELT_DEVICE, or else the first GPU
  /// Rank groups of this process if the plan is for several ranks, else null. Requires: they outlive the
  /// executor.
  RankGroups* ranks = nullptr;
  /// Allocator of states, constants, the arena and the staging memory of inputs and outputs. Null: memory
  /// comes from the system and the CUDA driver.
  std::shared_ptr<const Allocator> allocator = nullptr;
  /// Called after every step; an exception from it ends the run.
  std::function<void(const StepDone&)> after_step = {};
};

/// Bytes of states, constants and the arena, computed from the plan. A GPU also needs memory for inputs,
/// outputs and the workspace of cuBLASLt. `host` is the bytes of states that are in pinned host memory
/// instead of GPU memory (State::resident). Neither `states` nor the total includes these bytes.
struct ExecutorMemory {
  int64_t states = 0, constants = 0, arena = 0, host = 0;
  int64_t total() const { return states + constants + arena; }
};
ExecutorMemory executor_memory(const Plan& plan);
/// Returns the bytes of the states that several sessions can share (weight_states in shared_weights.h).
int64_t weight_bytes(const Plan& plan);
/// Return the bytes of a state at the upper bounds of the symbols: all bytes, and those in the memory of the
/// plan's device.
int64_t state_bytes(const Plan& plan, const State& state);
int64_t resident_bytes(const Plan& plan, const State& state);

/// Locations (host or device) of the tensors of a run's ports, and the CUDA stream in which the run is
/// ordered.
struct DevicePorts {
  std::vector<bool> inputs, outputs;  // by port; true: the pointer is an address in device memory
  void* stream = nullptr;             // the caller's CUstream; null: the default stream
  /// True: kernels access tensors in device memory at the caller's addresses if alignment permits. The
  /// executor then keeps one CUDA graph per set of addresses, so the caller should reuse the same addresses.
  /// False: tensors in device memory are copied within the device.
  bool in_place = false;
  /// True: large tensors at addresses that an earlier run had are accessed in place, too.
  bool in_place_again = false;
};

/// Time spent in one step of an entry, over all runs.
struct StepTime {
  const PlanEntry* entry = nullptr;
  int step = 0;
  int64_t runs = 0;
  double seconds = 0;
};

/// The alternative that is used for a choice (PlanEntry::choices) at these values of the symbols.
struct ChoiceTaken {
  const PlanEntry* entry = nullptr;
  int choice = 0, alternative = 0;
  SymbolValues symbols = {};
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// Returns the memory of Plan::states[index], 64-byte aligned and initially zero. On a GPU it is a copy in
  /// host memory, which is copied back before the next run. The result is valid until the next run.
  virtual std::span<std::byte> state(int index) = 0;
  /// Returns the same for reading only: on a GPU nothing is copied back.
  virtual std::span<const std::byte> read_state(int index) { return state(index); }

  /// Sets every byte of a state to 0.
  virtual void clear_state(int index);

  /// Function that fills `part` with the bytes of a state from byte `begin` on.
  using MakePart = std::function<void(int64_t begin, std::span<std::byte> part)>;
  /// Writes a state. A GPU executor calls `make` for one part after another, and copies a part to the GPU
  /// while the next is made, so that the host never stores the whole state.
  virtual void fill_state(int index, const MakePart& make) { make(0, state(index)); }
  /// Writes `bytes` to the bytes of a state from byte `begin` on. A GPU executor copies only these bytes.
  virtual void write_part(int index, int64_t begin, std::span<const std::byte> bytes);
  /// Sets a state to its initial values (runtime/engine/weights/initialize.h) on the device. Returns false if
  /// the executor cannot do that. The caller then has to compute the values on the host.
  virtual bool initialize_state(int /*index*/, uint32_t /*seed*/) { return false; }
  /// Rounds the f32 state `from` to `to_type`, and writes the result to the state `to`, which is a rounded
  /// copy of `from` (State::copy_of).
  virtual void round_state(int from, int to, DType to_type);

  /// Runs one entry. `inputs` and `outputs` have one host address per port of the entry, in order. Tensors
  /// are dense and row-major, and may have any alignment. A null input is allowed if the port is optional,
  /// and is read as a tensor of Port::fill. A null output is not copied.
  virtual void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
                   std::span<void* const> outputs, const Philox& random) = 0;

  /// Does the same as run(), but `ports` specifies for each input and output whether it is in device memory.
  /// For a plan for CPUs, device memory is host memory. The run begins after the earlier work of the stream,
  /// and the later work of the stream sees the outputs. If no output is in host memory, the call may return
  /// before the GPU has finished.
  virtual void run_on_device(const PlanEntry& entry, const SymbolValues& symbols,
                             std::span<const void* const> inputs, std::span<void* const> outputs,
                             const Philox& random, const DevicePorts& ports);

  /// Runs one entry `times` times with the same inputs, and discards the outputs. A GPU gets the inputs once,
  /// and may still work when the call returns; states of Role::stream show its progress.
  virtual void repeat(const PlanEntry& entry, const SymbolValues& symbols,
                      std::span<const void* const> inputs, const Philox& random, int times);
  /// Returns the memory of a state of Role::stream without waiting for runs in progress. Its address does not
  /// change.
  virtual std::span<std::byte> peek(int index) { return state(index); }

  /// Returns the rank groups of ExecutorOptions::ranks; null if the executor has none.
  virtual RankGroups* ranks() const { return nullptr; }

  /// Creates the memory of a pipeline stage. All ranks call it together. Requires: the executor outlives the
  /// result. Throws Error if ranks() is null.
  virtual std::unique_ptr<StageMemory> stage_memory(const StageExchange& exchange);

  /// Waits until all runs have finished. Throws the Error of a run that failed.
  virtual void synchronize() {}

  /// Returns, as text for a checkpoint, the choices that the executor made by measuring times and that affect
  /// the bits of results, such as GEMM algorithms. Empty if there are none.
  virtual std::string choices() const { return {}; }
  /// Uses the result of an earlier choices() instead of measuring again. Returns an empty text, or the reason
  /// why these choices cannot be used; then results may differ in their last bits.
  virtual std::string restore_choices(std::string_view choices);

  /// Measures a large copy within GPU memory, and returns bytes read and written per second; 0 on a CPU.
  virtual double copy_bytes_per_second() { return 0; }

  /// Measures a large GEMM of `dtype` on the GPU, and returns floating-point operations per second; 0 on a
  /// CPU.
  virtual double matrix_flops_per_second(DType /*dtype*/) { return 0; }

  /// Creates an executor of the same plan on the same device that uses the weights of this executor
  /// (weight_states in runtime/session/shared_weights.h) and allocates all other memory. Both executors may
  /// run concurrently in two threads if neither writes to the weights. The weights live as long as one of the
  /// two. Throws Error if this kind of executor cannot share weights.
  virtual std::unique_ptr<Executor> share(const ExecutorOptions& options);

  /// Returns the seconds spent before the first results, by part of the work: creating the CUDA context,
  /// loading code, allocating memory, setting states, measuring choices and capturing CUDA graphs. Empty if
  /// nothing was measured.
  virtual SecondsByPart startup() const { return {}; }

  /// Returns the times of all steps, in the order of entries and steps; empty without
  /// ExecutorOptions::profile.
  virtual std::vector<StepTime> profile() const { return {}; }

  /// Returns the alternatives that the kept CUDA graphs use, for each of their sets of symbol values; empty
  /// on a CPU.
  virtual std::vector<ChoiceTaken> taken() const { return {}; }
};

/// Creates the executor for the plan's target. Throws Error if the plan is for another machine, if its code
/// cannot be loaded, or if there is not enough memory.
std::unique_ptr<Executor> make_executor(std::shared_ptr<const Plan> plan,
                                        const ExecutorOptions& options = {});

/// Starts and returns a thread that loads what every executor for a GPU needs (the CUDA context and
/// cuBLASLt). The caller can compile a plan meanwhile. Errors are ignored here and reported by make_executor.
/// For the target "cpu" no thread is started. `device` is that of ExecutorOptions.
[[nodiscard]] std::jthread prepare_executor(std::string_view target, int device = -1);

}  // namespace smelt
