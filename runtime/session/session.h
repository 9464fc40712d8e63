// A plan bound to a device's memory and to weights: the C++ interface for running it. (C: runtime/smelt.h.)
//
// Threads: a Plan never changes and may be shared by any number of sessions in any threads. A Session has one
// set of states and one arena; its functions must not run concurrently in two threads. Sessions that share
// weights (Session::share) may run, be made from one another and end concurrently in different threads, as
// sessions that share nothing.
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
  uint32_t seed = 0;     // of dropout and of other random ops
  bool profile = false;  // times every step: executor().profile()
  bool poison = false;   // fills the arena and outputs with NaNs before each run: finds reads of memory that
                         // was not written
  std::function<void(const StepDone&)> after_step = {};  // see ExecutorOptions
  bool check_steps = false;  // see ExecutorOptions; SMELT_CHECK_STEPS=1 asks for it too
  int device = -1;           // see ExecutorOptions
  /// For a plan of several ranks (Plan::mesh): this process's rank groups. Requires: they outlive the
  /// session.
  RankGroups* ranks = nullptr;
  /// Allocates the session's memory (runtime/base/allocator.h); null: the system and the driver do. A session
  /// that shares weights and has none set uses the allocator of the other one.
  std::shared_ptr<const Allocator> allocator = nullptr;
};

/// Options of one run whose inputs or outputs are located in the device's memory.
struct RunOptions {
  void* stream = nullptr;  // the caller's, a CUstream; null: the default stream
  bool in_place = false;   // see DevicePorts
};

class Session {
 public:
  Session(std::shared_ptr<const Plan> plan, const SessionOptions& options = {});
  /// Uses the caller's executor for the same plan.
  Session(std::shared_ptr<const Plan> plan, std::unique_ptr<Executor> executor, uint32_t seed = 0);

  /// Creates a session of the same plan on the same device that reads this one's weights in place, and has
  /// its own caches, other states and arena. Weights live as long as any session that shares them. Until only
  /// one session is left, a write to them (loading, initialising, Session::state of a parameter) is an Error,
  /// and memory that Session::state returned before must not be written to. Throws Error if an entry of the
  /// plan writes to weights, as training entries do. options.device must be this session's, or -1.
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
  /// Throws Error listing the entries that there are.
  const PlanEntry& entry(std::string_view name) const;

  /// Runs an entry. Input shapes give the symbols their values; a wrong name, dtype, shape or id, a missing
  /// input and a symbol beyond its bound are Errors that name entry and input, what was expected and what was
  /// given. Returns all outputs.
  std::vector<HostTensor> run(std::string_view entry, std::span<const InputTensor> inputs);
  /// Writes the requested outputs to the caller's memory; returns their shapes in the same order. Tensors may
  /// be located in the memory of the session's GPU (InputTensor::on_device, OutputBuffer::on_device). They
  /// are copied within the device, or used in place with RunOptions::in_place, and do not pass through the
  /// host. The run begins after the work that the stream has before it; later work of the stream sees the
  /// outputs and may write to the inputs. If no output is the host's, the call returns while the GPU works,
  /// and faults are reported by the next call that waits. Ids and 64-bit integers, which are checked here,
  /// must be in host memory. For a plan for CPUs both memories are the same, and there is no stream.
  std::vector<std::vector<int64_t>> run(std::string_view entry, std::span<const InputTensor> inputs,
                                        std::span<const OutputBuffer> outputs,
                                        const RunOptions& options = {});
  /// Runs an entry of a pipeline stage at these sizes. Ports to which `place_of` gives a place are located
  /// there in the stage's memory; `inputs` are the other ones (StageMemory::kHost). Returns the other
  /// outputs.
  using PlaceOf = std::function<int(const Port& port)>;
  std::vector<HostTensor> run(std::string_view entry, const SymbolValues& sizes,
                              std::span<const InputTensor> inputs, StageMemory& memory,
                              const PlaceOf& place_of);
  /// Runs an entry `times` times in sequence, with the same inputs and without its outputs: a run passes data
  /// to the next in the states only. On a GPU the call returns while these runs are in progress.
  void repeat(std::string_view entry, std::span<const InputTensor> inputs, int times);
  /// Returns a state of the role stream without waiting for runs in progress: on a GPU each number is visible
  /// as soon as its kernel has stored it. Read it through volatile, or atomically, and write to it only where
  /// no run in progress does.
  std::span<std::byte> peek(std::string_view name);
  /// Waits until all runs have ended, and throws the Error of one that failed.
  void synchronize() { executor_->synchronize(); }
  /// Returns the values that input shapes give the symbols; checks everything that run checks except the
  /// data.
  SymbolValues unify(const PlanEntry& entry, std::span<const InputTensor> inputs) const;

  /// Returns the shapes of all outputs for inputs of these shapes, whose data may be null.
  std::vector<std::vector<int64_t>> output_shapes(std::string_view entry,
                                                  std::span<const InputTensor> inputs) const;

  /// Sets the seed, step and micro-step of the next runs' random numbers.
  void set_random(uint32_t seed, int64_t step, int64_t micro_step = 0);

  /// Returns the memory of a state, valid until the next run: on a GPU it is a copy, which is sent back
  /// before the next run. Throws Error for an unknown name. To write to a state that has rounded copies
  /// (State::copy_of), call this after the last run: the next run then rounds them again, except copies of
  /// which the rank holds other parts than of the state (write_segment writes both).
  std::span<std::byte> state(std::string_view name);
  std::span<const std::byte> state(std::string_view name) const;
  std::span<float> state_f32(std::string_view name);
  /// Returns a state that is one number.
  float& scalar(std::string_view name);

  /// Returns one segment of a flat f32 state, in the plan's own layout ([out,in] for weights). If the state
  /// is sharded over ranks, reading a segment is an Error, and writing one stores the rank's part of it.
  std::span<float> segment(std::string_view state, std::string_view segment);
  /// Returns the same for a state of any float type, widened.
  std::vector<float> read_segment(std::string_view state, std::string_view segment) const;
  /// Copies the values of the whole tensor into the state, rounded to its type; their number must be right.
  /// If the state is sharded, each rank stores its own part. i8 weights are quantised here
  /// (runtime/engine/weights/quantize.h): their scales go to the state of their scales, and read_segment
  /// returns the dequantised values.
  void write_segment(std::string_view state, std::string_view segment, std::span<const float> values);

  /// Writes a whole state.
  void write_state(std::string_view name, std::span<const std::byte> bytes);
  /// Sets a state to zeros.
  void clear_state(std::string_view name);
  /// Gives every state its initial value; the seed picks among all models of this description.
  void initialize(uint32_t seed = 0);
  /// Does `initialize` and `load_weights` in one: weights get no values before those of the file.
  std::vector<std::string> initialize(uint32_t seed, const Checkpoint& weights);
  /// Reads every segment of every parameter state under one of its checkpoint names, in any float dtype,
  /// transposed where the segment says so. All missing, misshaped and mistyped tensors are named in one
  /// Error, and then nothing was changed. Returns the names in the file that no segment uses. Segments for
  /// which `stays` is true keep their values if the file has none.
  std::vector<std::string> load_weights(const Checkpoint& weights,
                                        const std::function<bool(const Segment&)>& stays = {});
  /// Reads a .safetensors file, a directory with model.safetensors or its index, or a training checkpoint.
  std::vector<std::string> load_weights(const std::filesystem::path& path);
  /// Writes every parameter under its first checkpoint name and in the checkpoint's layout, as f32.
  /// `metadata` is added to the file's header.
  void save_weights(const std::filesystem::path& path,
                    std::map<std::string, std::string> metadata = {}) const;

 private:
  struct Run;
  void require_own(int state) const;
  Run prepare(std::string_view entry, std::span<const InputTensor> inputs);
  void execute(Run& run);
  void require_memory_of_outputs(const Run& run) const;
  int state_index(std::string_view name) const;
  std::span<std::byte> memory(int index);
  void fill(int index, const Executor::MakePart& make);
  void refresh_copies();
  int scales_index(std::string_view weights) const;
  int64_t rank() const;
  bool has_other_parts(const State& copy) const;
  void write_parts(int index, const Segment& part, std::span<const float> values);
  void write_quantized(int index, const Segment& part, std::span<const float> values);
  void initialize_states(uint32_t seed, const std::function<bool(const State&)>& is_read);
  void initialize_state(int index, uint32_t seed);
  void initialize_quantized(int index, uint32_t seed);
  RankPlace place() const;
  void read_weight(int state, const WeightMatch& match, std::vector<float>& scratch);
  std::vector<std::string> read_weights(const Checkpoint& weights, std::span<const WeightMatch> matches);

  std::shared_ptr<const Plan> plan_;
  WeightUsers users_;  // before the executor, which reads weights to its end
  std::unique_ptr<Executor> executor_;
  Philox random_;
  bool has_run_ = false;          // the arena's pages are taken
  std::vector<bool> handed_out_;  // by state: the host may have written to it since the last run
};

}  // namespace smelt
