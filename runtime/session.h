// A plan bound to a device's memory and to weights: the way to run it from C++. (From C: runtime/smelt.h.)
//
// Threads: a Plan never changes and may be shared by any number of sessions in any threads. A Session has one
// set of states and one arena; its functions must not run at the same time in two threads. Sessions that
// share weights (Session::share) may run, be made from one another and end in different threads at the same
// time, as sessions that share nothing.
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

#include "runtime/executor.h"
#include "runtime/plan/plan.h"
#include "runtime/shared_weights.h"
#include "runtime/stage_memory.h"
#include "runtime/tensor.h"

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
  /// Of a plan of several ranks (Plan::mesh): this process's place among them. It lives as long as the
  /// session.
  RankGroups* ranks = nullptr;
  /// Of the session's memory (runtime/allocator.h); null: the system and the driver. A session that shares
  /// weights has the allocator of the other one where it is given none.
  std::shared_ptr<const Allocator> allocator = nullptr;
};

/// Of one run, where inputs or outputs lie in the device's memory.
struct RunOptions {
  void* stream = nullptr;  // the caller's, a CUstream; null: the default stream
  bool in_place = false;   // see DevicePorts
};

class Session {
 public:
  Session(std::shared_ptr<const Plan> plan, const SessionOptions& options = {});
  /// Uses the caller's executor for the same plan.
  Session(std::shared_ptr<const Plan> plan, std::unique_ptr<Executor> executor, uint32_t seed = 0);

  /// A session of the same plan on the same device that reads this one's weights where they lie, and has its
  /// own caches, other states and arena. Weights live as long as any session that shares them; until only one
  /// is left, whatever would write to them (loading, initialising, Session::state of a parameter) is an
  /// Error, and memory that Session::state gave before is not to be written to. Throws Error where an entry
  /// of the plan writes to weights, as those that train do. options.device must be this session's, or -1.
  std::unique_ptr<Session> share(const SessionOptions& options = {});
  /// How many sessions use these weights, this one among them.
  int weight_users() const { return users_.count(); }

  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  Executor& executor() { return *executor_; }
  const Executor& executor() const { return *executor_; }
  /// The other ranks of the plan's mesh, and this one's place; null where the plan is for one rank.
  RankGroups* ranks() const { return plan_->mesh.ranks() > 1 ? executor_->ranks() : nullptr; }
  bool has_entry(std::string_view name) const { return plan_->find_entry(name) != nullptr; }
  /// Throws Error listing the entries that there are.
  const PlanEntry& entry(std::string_view name) const;

  /// Runs an entry. Input shapes give the symbols their values; a wrong name, dtype, shape or id, a missing
  /// input and a symbol beyond its bound are Errors that name entry and input, what was expected and what was
  /// given. Returns all outputs.
  std::vector<HostTensor> run(std::string_view entry, std::span<const InputTensor> inputs);
  /// Writes the outputs that are asked for to the caller's memory; returns their shapes in the same order.
  /// Tensors may lie in the memory of the session's GPU (InputTensor::on_device, OutputBuffer::on_device):
  /// they are copied within the device, or with RunOptions::in_place used where they lie, and nothing of them
  /// passes through the host. The run begins when the stream has done what it was given before; what the
  /// stream is given behind it finds the outputs, and may write to the inputs. Where no output is the host's
  /// it returns while the GPU works, and faults are told by the next call that waits. Ids and integers of 64
  /// bits, which are checked here, must lie in the host's memory. Of a plan for CPUs both memories are the
  /// same, and there is no stream.
  std::vector<std::vector<int64_t>> run(std::string_view entry, std::span<const InputTensor> inputs,
                                        std::span<const OutputBuffer> outputs,
                                        const RunOptions& options = {});
  /// Runs an entry of a stage of a pipeline for these sizes: ports to which `place_of` gives a place lie
  /// there (StageMemory::kHost: they do not), and `inputs` are the others. Returns the other outputs.
  using PlaceOf = std::function<int(const Port& port)>;
  std::vector<HostTensor> run(std::string_view entry, const SymbolValues& sizes,
                              std::span<const InputTensor> inputs, StageMemory& memory,
                              const PlaceOf& place_of);
  /// Runs an entry so many times, one after the other, with the same inputs and without its outputs: its
  /// states are what one run leaves to the next. On a GPU it returns while these runs are under way.
  void repeat(std::string_view entry, std::span<const InputTensor> inputs, int times);
  /// What runs have written so far of a state of the role stream, without waiting for those under way: on a
  /// GPU each number is there as soon as its kernel has stored it. Read it through volatile, or atomically;
  /// and write to it only where no run under way does.
  std::span<std::byte> peek(std::string_view name);
  /// Waits until all runs have ended, and throws the Error of one that failed.
  void synchronize() { executor_->synchronize(); }
  /// The values that input shapes give the symbols; checks everything that run checks but the data.
  SymbolValues unify(const PlanEntry& entry, std::span<const InputTensor> inputs) const;

  /// The shapes of all outputs for inputs of these shapes, whose data may be null.
  std::vector<std::vector<int64_t>> output_shapes(std::string_view entry,
                                                  std::span<const InputTensor> inputs) const;

  /// The step and micro-step of the next runs' random numbers.
  void set_random(uint32_t seed, int64_t step, int64_t micro_step = 0);

  /// The memory of a state, which must be asked for again after every run: on a GPU it is a copy, which is
  /// sent back before the next run. Throws Error for an unknown name. To write to a state that has rounded
  /// copies (State::copy_of), ask for it after the last run: the next run then rounds them again, but for
  /// copies of which the rank holds other parts than of the state (write_segment writes both).
  std::span<std::byte> state(std::string_view name);
  std::span<const std::byte> state(std::string_view name) const;
  std::span<float> state_f32(std::string_view name);
  /// A state that is one number.
  float& scalar(std::string_view name);

  /// One segment of a flat f32 state, in the plan's own layout ([out,in] for weights). Where ranks have parts
  /// of the state, reading a segment is an Error, and writing one keeps the rank's part of it.
  std::span<float> segment(std::string_view state, std::string_view segment);
  /// The same of a state of any float type, widened.
  std::vector<float> read_segment(std::string_view state, std::string_view segment) const;
  /// Copies the values of the whole tensor into the state, rounded to its type; their number must be right.
  /// Where ranks have parts of it, each takes its own. Weights of i8 are
  /// quantised here (runtime/weights/quantize.h), their scales go to the state that has these, and
  /// read_segment gives what they stand for.
  void write_segment(std::string_view state, std::string_view segment, std::span<const float> values);

  /// Writes a whole state.
  void write_state(std::string_view name, std::span<const std::byte> bytes);
  /// Makes a state zeros.
  void clear_state(std::string_view name);
  /// Gives every state its initial value; the seed picks among all models of this description.
  void initialize(uint32_t seed = 0);
  /// `initialize` and `load_weights` at once: weights get no values before those of the file.
  std::vector<std::string> initialize(uint32_t seed, const Checkpoint& weights);
  /// Reads every segment of every parameter state under one of its checkpoint names, in any float dtype,
  /// transposed where the segment says so. All missing, misshaped and mistyped tensors are named in one
  /// Error, and then nothing was changed. Returns the names in the file that no segment asked for. Segments
  /// for which `stays` is true keep their values where the file has none.
  std::vector<std::string> load_weights(const Checkpoint& weights,
                                        const std::function<bool(const Segment&)>& stays = {});
  /// A .safetensors file, a directory with model.safetensors or its index, or a checkpoint of a training run.
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
