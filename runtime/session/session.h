// Session: a compiled plan with the memory and the weights to run it. This is the C++ interface of the
// runtime; the C interface is runtime/smelt.h. A symbol is a size that is known only at run time, such as the
// batch size. The arena is the memory of temporary values.
//
// Threads: a Plan never changes and may be shared by any number of sessions in any threads. A Session has one
// set of states and one arena; its functions must not run concurrently in two threads. Different sessions may
// be created, run and destroyed concurrently in different threads, including sessions that share weights
// (Session::share).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/tensor.h"
#include "runtime/plan/plan.h"
#include "runtime/session/executor.h"
#include "runtime/session/shared_weights.h"
#include "runtime/session/stage_memory.h"

namespace smelt {

class Checkpoint;
struct RankPlace;
struct WeightMatch;

struct SessionOptions {
  int threads = 0;       // 0: SMELT_NUM_THREADS, OMP_NUM_THREADS or all cores
  uint32_t seed = 0;     // seed of dropout and of other random operations
  bool profile = false;  // measures the time of every step; results: executor().profile()
  /// Fills the arena and outputs with NaNs before each run, to find reads of memory that was not written.
  bool poison = false;
  /// Called after every step; an exception from it ends the run.
  std::function<void(const StepDone&)> after_step = {};
  /// Waits for the device after every step, so that an Error names the faulty step. SMELT_CHECK_STEPS=1 has
  /// the same effect.
  bool check_steps = false;
  int device = -1;  // number of the GPU; -1: the number in SMELT_DEVICE, or else the first GPU
  /// Rank groups of this process if the plan is for several ranks (Plan::mesh), else null. Requires: they
  /// outlive the session.
  RankGroups* ranks = nullptr;
  /// Allocates the session's memory (runtime/base/allocator.h). Null: memory comes from the system and the
  /// CUDA driver, or, for Session::share, from the allocator of the session that is shared.
  std::shared_ptr<const Allocator> allocator = nullptr;
};

/// Options of one run with inputs or outputs in device memory.
struct RunOptions {
  void* stream = nullptr;  // the caller's CUstream; null: the default stream
  /// True: kernels access tensors in device memory at the caller's addresses if alignment permits. False: the
  /// tensors are copied within the device.
  bool in_place = false;
  /// True: large tensors whose address one of the last runs had are accessed in place as well. For callers
  /// whose allocator gives the same memory again and again.
  bool in_place_again = false;
};

class Session {
 public:
  /// Creates the executor (make_executor). All states are zero until they are initialized or loaded.
  Session(std::shared_ptr<const Plan> plan, const SessionOptions& options = {});
  /// Uses an executor that the caller has created for the same plan.
  Session(std::shared_ptr<const Plan> plan, std::unique_ptr<Executor> executor, uint32_t seed = 0);

  /// Creates a session of the same plan on the same device that uses the weights of this session, and
  /// allocates its own caches, other states and arena. The weights live as long as one of the sessions. While
  /// several sessions share the weights, writing to them (loading, initializing, calling the non-const
  /// Session::state for a parameter) throws Error. Memory that Session::state has returned earlier must not
  /// be written to. Throws Error if an entry of the plan writes to weights, as training entries do.
  /// options.device must be the device of this session, or -1.
  std::unique_ptr<Session> share(const SessionOptions& options = {});
  /// Returns the number of sessions that use these weights, including this one.
  int weight_users() const { return users_.count(); }

  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  Executor& executor() { return *executor_; }
  const Executor& executor() const { return *executor_; }
  /// Returns the rank groups of the plan's mesh; null if the plan is for one rank.
  RankGroups* ranks() const { return plan_->mesh.ranks() > 1 ? executor_->ranks() : nullptr; }
  bool has_entry(std::string_view name) const { return plan_->find_entry(name) != nullptr; }
  /// Returns the entry with this name. Throws Error listing the plan's entries if there is none.
  const PlanEntry& entry(std::string_view name) const;

  /// Runs an entry, and returns all outputs. Input shapes determine the values of the symbols. Throws Error
  /// for a wrong name, dtype or shape, for an index out of range (such as a token id), for a missing input,
  /// and for a symbol above its bound. The Error names the entry and the input, the expected and the actual
  /// value.
  std::vector<HostTensor> run(std::string_view entry, std::span<const InputTensor> inputs);
  /// Runs an entry, writes the requested outputs to the caller's memory, and returns their shapes in the
  /// order of `outputs`. Tensors may be in the memory of the session's GPU (InputTensor::on_device,
  /// OutputBuffer::on_device). Such tensors are copied within the GPU, or accessed in place with
  /// RunOptions::in_place. The run begins after the earlier work of the stream; later work of the stream sees
  /// the outputs and may write to the inputs. If no output is in host memory, the call may return before the
  /// GPU has finished, and faults are reported by the next call that waits. Inputs of indices (such as token
  /// ids) and of 64-bit integers must be in host memory, because their values are checked here. For a plan
  /// for CPUs, device memory is host memory, and RunOptions::stream must be null.
  std::vector<std::vector<int64_t>> run(std::string_view entry, std::span<const InputTensor> inputs,
                                        std::span<const OutputBuffer> outputs,
                                        const RunOptions& options = {});
  /// Runs an entry of a pipeline stage with these values of the symbols. `place_of` returns the location of a
  /// port's tensor: the number of a block of `memory` (StageMemory::add_place), or StageMemory::kHost for the
  /// caller's memory. `inputs` are the tensors of the input ports in the caller's memory. The result has the
  /// tensors of the output ports for which place_of returns kHost.
  using PlaceOf = std::function<int(const Port& port)>;
  std::vector<HostTensor> run(std::string_view entry, const SymbolValues& sizes,
                              std::span<const InputTensor> inputs, StageMemory& memory,
                              const PlaceOf& place_of);
  /// Runs an entry `times` times in sequence with the same inputs, and discards its outputs: runs pass data
  /// to each other only in states. On a GPU the call may return while the runs are in progress.
  void repeat(std::string_view entry, std::span<const InputTensor> inputs, int times);
  /// Returns the memory of a state, without waiting for runs in progress. The state must have Role::stream:
  /// the host reads it during runs. On a GPU each number is visible as soon as a kernel has stored it. Reads
  /// must be volatile or atomic. The host may only write to elements that no run in progress writes.
  std::span<std::byte> peek(std::string_view name);
  /// Waits until all runs have ended. Throws the Error of a run that failed.
  void synchronize() { executor_->synchronize(); }
  /// Returns the values of the symbols for inputs of these shapes. Makes the checks of run(), except those of
  /// the values in the tensors.
  SymbolValues unify(const PlanEntry& entry, std::span<const InputTensor> inputs) const;

  /// Returns the shapes of all outputs for inputs of these shapes, whose data may be null.
  std::vector<std::vector<int64_t>> output_shapes(std::string_view entry,
                                                  std::span<const InputTensor> inputs) const;

  /// Sets the position of the following runs in the sequence of random numbers: equal arguments give equal
  /// numbers.
  void set_random(uint32_t seed, int64_t step, int64_t micro_step = 0);

  /// Returns the memory of a state, valid until the next run. On a GPU it is a copy in host memory, which is
  /// copied back before the next run. Throws Error for an unknown name.
  ///
  /// If the state has rounded copies (State::copy_of), the next run updates them, because the caller may have
  /// written to the state. So call this function again after each run before writing. A copy that is sharded
  /// over ranks in another way than the state is not updated: use write_segment, which writes the state and
  /// the copy.
  std::span<std::byte> state(std::string_view name);
  /// Returns the memory of a state for reading only.
  std::span<const std::byte> state(std::string_view name) const;
  /// Returns the memory of an f32 state, as state() does. Throws Error if the state is not f32.
  std::span<float> state_f32(std::string_view name);
  /// Returns an f32 state that has one element. Throws Error for any other state.
  float& scalar(std::string_view name);

  /// Returns the memory of one segment (a named tensor) of a flat f32 state, in the layout of the plan
  /// ([out,in] for weights). Throws Error if the state is sharded over ranks.
  std::span<float> segment(std::string_view state, std::string_view segment);
  /// Returns a copy of a segment, converted to f32. The state may be of any float type, or i8 with scales,
  /// which is dequantized. Throws Error if the state is sharded over ranks.
  std::vector<float> read_segment(std::string_view state, std::string_view segment) const;
  /// Writes a segment, rounded to the type of the state. `values` has all elements of the tensor; if the
  /// state is sharded, each rank stores its part of them. i8 weights are quantized
  /// (runtime/engine/weights/quantize.h), and their scales are written to the state of the scales.
  void write_segment(std::string_view state, std::string_view segment, std::span<const float> values);

  /// Writes the elements of a float state from element `begin` on, rounded to its type. Throws Error if the
  /// state has another type, or fewer elements.
  void write_elements(std::string_view state, int64_t begin, std::span<const float> values);
  /// Writes a whole state.
  void write_state(std::string_view name, std::span<const std::byte> bytes);
  /// Sets a state to zeros.
  void clear_state(std::string_view name);
  /// Sets `count` rows of a state's first dim, from row `begin` on, to zeros. Throws Error if the state has
  /// fewer rows, or if the first dim is sharded.
  void clear_rows(std::string_view name, int64_t begin, int64_t count);
  /// Sets every state to its initial value. `seed` determines the random initial values.
  void initialize(uint32_t seed = 0);
  /// Does the work of `initialize` and `load_weights`, but does not initialize the weights that are read from
  /// the file. Returns the result of load_weights.
  std::vector<std::string> initialize(uint32_t seed, const Checkpoint& weights);
  /// Reads weights from a file: every segment of the states for which holds_weights (session_weights.h) is
  /// true. A segment is read from the tensor whose name is in Segment::checkpoint_names. The tensor may have
  /// any float dtype, and is transposed if Segment::transposed is set. Before anything is changed, throws one
  /// Error that names all tensors that are missing or have a wrong shape or dtype. A segment for which
  /// `stays` returns true may be missing, and then keeps its values. A plan that averages parameters
  /// (kAverageOffset) begins their averages again; what the optimizer keeps, such as the weight of an average
  /// over all steps, stays. Returns the names of the file's tensors that no segment uses.
  std::vector<std::string> load_weights(const Checkpoint& weights,
                                        const std::function<bool(const Segment&)>& stays = {});
  /// Does the same for a .safetensors file, a directory with model.safetensors or its index, or a training
  /// checkpoint.
  std::vector<std::string> load_weights(const std::filesystem::path& path);
  /// Writes weights_of(*this) (session_weights.h) to a .safetensors file. `metadata` is added to the file's
  /// header.
  void save_weights(const std::filesystem::path& path,
                    std::map<std::string, std::string> metadata = {}) const;

 private:
  struct Run;
  /// Throws Error if the state has weights that this session shares with others.
  void require_own(int state) const;
  Run prepare(std::string_view entry, std::span<const InputTensor> inputs);
  void execute(Run& run);
  void require_memory_of_outputs(const Run& run) const;
  int state_index(std::string_view name) const;
  std::span<std::byte> memory(int index);
  void fill(int index, const Executor::MakePart& make);
  /// Updates the rounded copies of states that the host may have written to.
  void refresh_copies();
  int scales_index(std::string_view weights) const;
  int64_t rank() const;
  /// Returns whether `copy`, a rounded copy of a state, is sharded in another way than that state.
  bool has_other_parts(const State& copy) const;
  void write_parts(int index, const Segment& part, std::span<const float> values);
  void write_quantized(int index, const Segment& part, std::span<const float> values);
  int zeros_index(std::string_view weights) const;
  void write_packed(int index, const Segment& part, std::span<const float> values);
  std::vector<float> read_packed(int index, const Segment& part) const;
  void initialize_states(uint32_t seed, const std::function<bool(const State&)>& is_read);
  void initialize_state(int index, uint32_t seed);
  void initialize_quantized(int index, uint32_t seed);
  RankPlace place() const;
  void read_weight(int state, const WeightMatch& match, std::vector<float>& scratch);
  std::vector<std::string> read_weights(const Checkpoint& weights, std::span<const WeightMatch> matches);

  std::shared_ptr<const Plan> plan_;
  WeightUsers users_;  // declared before the executor, which uses the weights until its destructor has run
  std::unique_ptr<Executor> executor_;
  Philox random_;
  bool has_run_ = false;          // an earlier run has touched the arena, so its pages are allocated
  std::vector<bool> handed_out_;  // by state: the host may have written to it since the last run
};

}  // namespace smelt
