// The plan: output of the compiler and input of the runtime. Sizes and strides are in elements unless a name
// says bytes. Every Dim is a polynomial over the plan's symbols, whose values are known at launch.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/dim.h"
#include "runtime/base/dtype.h"
#include "runtime/plan/attention_spec.h"
#include "runtime/plan/step.h"
#include "runtime/ranks/mesh.h"

namespace smelt {

/// Role of a buffer. Memory reports list the bytes per role. Buffers with the roles saved (results of
/// forward that backward reads), temporary and workspace are in the arena. The arena is memory for the
/// intermediate results of an entry. Buffers that are not used at the same time may share its bytes.
enum class Role : uint8_t {
  input,
  output,
  constant,
  parameter,
  gradient,
  optimizer,
  state,
  cache,   // keys and values of the tokens so far; not in checkpoints
  stream,  // read by the host during runs, without waiting; not in checkpoints
  fault,   // record of an index out of bounds (runtime/session/index_faults.h); not in checkpoints
  saved,
  temporary,
  workspace
};
std::string_view name(Role role);
std::optional<Role> parse_role(std::string_view name);

/// Initial values of a state. normal(a): standard deviation a; uniform(a): in [-a, a]; value(a): all are a.
struct Initializer {
  enum class Kind : uint8_t { value, normal, uniform } kind = Kind::value;
  double a = 0;
  uint32_t seed = 0;
  bool operator==(const Initializer&) const = default;
};
std::string str(const Initializer& init);  // "normal(0.02)"
std::optional<Initializer> parse_initializer(std::string_view text);

/// A named part of a flat state, such as one weight of "parameters".
struct Segment {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0;  // of the first element, in elements from the start of the flat state
  Initializer init;
  bool decay = true;                          // weight decay applies (not to biases and norms, by default)
  std::vector<std::string> checkpoint_names;  // all names that are accepted in files; the first is written
  bool transposed = false;                    // the checkpoint holds [in,out] for our [out,in]
  bool frozen = false;                        // not trained
  bool stacked = false;                       // the checkpoint holds [2*m,n] for our [2,m,n]
  int64_t per_byte = 1;  // of a packed state: elements of the last dim in a byte of `shape`
  /// Sharding over ranks. `cut` has for each dim the mesh axes that shard it, the outermost first. `whole` is
  /// the shape over all ranks; `shape` and `offset` are then those of this rank's part (segment_parts.h).
  /// Both are empty if every rank has the whole segment.
  std::vector<std::vector<std::string>> cut = {};
  std::vector<int64_t> whole = {};
  /// If several stages of a pipeline have a copy of the segment: the numbers of these stages, in order. Else
  /// empty.
  std::vector<int64_t> stages = {};
  int64_t elements() const;
  bool operator==(const Segment&) const = default;
};

/// Name of a flat state of training that averages parameters: the parameters at which the model is evaluated
/// minus the parameters that are trained. It has the segments of the state "parameters".
inline constexpr std::string_view kAverageOffset = "parameters.average";

/// Memory that outlives one run of an entry: parameters, gradients, moments, counters, scalars set by the
/// host. A flat state holds many tensors one after the other, its segments.
struct State {
  std::string name;  // "parameters", "adam.m", "step", "learning_rate"
  Role role = Role::state;
  DType dtype = DType::f32;
  Shape shape;       // of a flat state: [elements], or [buckets, rows, row length] (see `cut`)
  Initializer init;  // of a state without segments
  /// If this state is a rounded copy of another one: the name of the other state. After the host has written
  /// the other state, the runtime rounds it into this one again.
  std::string copy_of = {};
  std::vector<Segment> segments = {};  // of a flat state, in order of offset
  /// Set if this is a state of scales: the name of the state of weights that they scale. For each segment of
  /// weights, this state has a segment of the same name. If the weights are i8, it has one f32 scale per row.
  /// If they are packed, it has one per group of elements of a row; groups divide a row equally.
  std::string scales_of = {};
  /// Set if this is an i8 state of zeros: the name of the packed state of weights. Its segments are those of
  /// the scales.
  std::string zeros_of = {};
  /// Set if this is a packed state of weights: the format of its codes (runtime/base/packed_format.h).
  std::string format = {};
  /// The state always has the values of the model's own weights, as the base weights of adapters do. So
  /// checkpoints leave it out.
  bool from_model = false;
  /// Sharding over ranks. `cut` has for each dim the mesh axes that shard it, the outermost first (empty: the
  /// dim is not sharded). `partial` has the axes along which ranks hold addends; the state is their sum. A
  /// flat state may consist of buckets. If it is sharded, each rank has an equal share of the rows of every
  /// bucket, and a bucket is gathered or summed over the ranks as a whole.
  std::vector<std::vector<std::string>> cut = {};
  std::vector<std::string> partial = {};
  /// The shape over all ranks if the state is sharded; offsets of segments are positions in it. Empty:
  /// `shape` is the shape over all ranks.
  Shape whole = {};
  /// On a GPU, the number of the first element that is in device memory. The elements before it are in pinned
  /// host memory, and steps copy them to and from the device (docs/guides/memory.md). -1: all elements are in
  /// device memory.
  int64_t resident = -1;
  bool operator==(const State&) const = default;
};

/// A range of bytes of a buffer that is used at some steps only, such as the bytes of one weight in a flat
/// gradient. Other buffers may use that memory before and after these steps, or always if no step uses the
/// bytes (first_step and last_step are -1).
struct BufferPart {
  int64_t begin = 0;  // in bytes from the begin of the buffer; the part ends where the next one begins
  int first_step = -1, last_step = -1;  // both ends included
  bool operator==(const BufferPart&) const = default;
};

/// A contiguous piece of memory that steps read and write.
struct Buffer {
  std::string name;
  Role role = Role::temporary;
  DType dtype = DType::f32;
  Dim elements;                         // number of elements at launch
  int state = -1;                       // index into Plan::states if the buffer is the memory of a state
  int64_t offset_bytes = 0;             // offset in the arena if the role is in it (in_arena); else unused
  int64_t bytes = 0;                    // size at the symbols' bounds
  int first_step = -1, last_step = -1;  // lifetime in its entry, both ends included
  /// Parts from byte 0 on, if not all parts of the buffer have the same lifetime; else empty.
  std::vector<BufferPart> parts = {};
  std::vector<std::byte> data = {};  // of a constant; else empty
};

/// Condition on the sizes of a run: value < below.
struct SizeRule {
  Dim value;
  int64_t below = 0;
  bool operator==(const SizeRule&) const = default;
};

/// Work that has several alternative lists of steps, of which one runs. A GPU measures the alternatives in
/// the first run with a set of sizes, and then runs the fastest. A CPU runs the first alternative. In either
/// case `last_where` may decide instead.
///
/// All alternatives write the same results. Any other buffer that an alternative writes is used by that
/// alternative alone. An alternative can run any number of times with the same results. For this reason, if
/// any alternative writes a buffer, an alternative that reads the buffer must have written it before. A step
/// may overwrite a buffer that it reads (Step::may_alias) only if its own alternative has written the
/// buffer.
struct Choice {
  std::vector<std::string> alternatives;  // names for reports
  /// If set, the last alternative runs if and only if this condition holds, because its results may be
  /// incorrect otherwise.
  std::optional<SizeRule> last_where = {};
};

/// Launch of a kernel that is written by hand (a template). Its arguments and its grid are expressions over
/// named values. These are the fields of a step (runtime/plan/step_values.h) and the plan's symbols, or, for
/// kernels that initialize or round states, the names in docs/dev/cuda.md.
struct TemplateLaunch {
  /// An argument of the kernel. For an address (8 bytes) or a real number (a float of 4 bytes), `value` is a
  /// single name. For an integer (8 bytes), it is any expression.
  struct Argument {
    enum class Kind : uint8_t { address, integer, real } kind = Kind::integer;
    Dim value;
    int64_t alignment = 1;  // in bytes; the kernel is launched only if the address is a multiple of it
    // Properties of an address: the type of its data, and whether the kernel reads and writes them.
    std::optional<DType> dtype = {};
    bool read = false, written = false;
  };
  /// Condition on the sizes for launching the kernel: `value` is below `below` and a multiple of `divisor`.
  /// If it does not hold, the step uses another of its kernels. A gemm step uses the next one whose
  /// conditions hold, or else the library.
  struct Condition {
    Dim value;
    int64_t divisor = 1;
    int64_t below = std::numeric_limits<int64_t>::max();
  };
  /// Name of the kind of step that the kernel carries out (Step::kernels). Empty for kernels of states, and
  /// for a kernel that is launched by a KernelStep.
  std::string step = {};
  std::vector<Argument> arguments = {};
  Dim blocks = 1;        // of the grid
  Dim shared_bytes = 0;  // dynamic shared memory per block; limited to KernelCode::shared_bytes
  std::vector<Condition> conditions = {};
  /// For a gemm: the kernel is measured against the library, and the faster is used. Otherwise the kernel is
  /// used whenever its conditions hold, so that no result depends on a measurement.
  bool measured = true;
};
std::string_view name(TemplateLaunch::Argument::Kind kind);  // "address", "integer", "real"
std::optional<TemplateLaunch::Argument::Kind> parse_argument_kind(std::string_view name);

/// Bounds of integers that index tables: each integer is in [least, below), or equal to `ignored` if that is
/// set.
struct IndexBounds {
  int64_t least = 0;
  Dim below;
  std::optional<int64_t> ignored = {};
  bool operator==(const IndexBounds&) const = default;
};

/// Elements that a kernel touches: offset + sum_i strides[i] * x_i for all x_i in [0, KernelCode::axes[i]).
struct KernelAccess {
  Dim offset;
  std::vector<Dim> strides;
  bool operator==(const KernelAccess&) const = default;
};

/// Use of one argument by a kernel's code.
struct KernelParameter {
  DType dtype = DType::f32;
  bool read = true, written = false;
  /// Number of the kernel that uses the argument. 0 is the launched kernel itself; 1 and more are kernels
  /// that the last block of the launch runs one after the other.
  int stage = 0;
  std::vector<KernelAccess> accesses = {};  // all accesses except those by computed indices
  Dim table_elements = 0;  // computed indices reach elements in [0, table_elements); 0: there are none
  /// Bounds that the code relies on for integers that it reads, and guarantees for those that it writes.
  std::optional<IndexBounds> indices = {};
};

/// Description of an argument that is read by the tensor memory accelerator of sm_90 (a CUtensorMap): one box
/// of elements at a time, the first axis innermost. Elements outside the extents are read as zeros.
struct TensorMap {
  int parameter = -1;             // index into KernelCode::parameters
  std::vector<Dim> extents;       // elements per axis
  std::vector<Dim> strides;       // elements, of all axes but the first, whose elements are contiguous
  std::vector<int64_t> box = {};  // elements per axis
  int swizzle_bytes = 0;          // CU_TENSOR_MAP_SWIZZLE in shared memory: 0 (none), 32, 64 or 128 bytes
};

/// A compiled kernel. `range` is the number of indices of its parallel loop. The runtime splits the indices
/// into chunks of `grain` indices. If `splits` is not 0, there are exactly `splits` chunks, and the kernel
/// computes one partial result per chunk.
struct KernelCode {
  std::string name;
  std::string text;       // Kernel IR, for reports
  std::vector<Dim> dims;  // numbers that are passed to the code at launch, in order
  Dim range;
  int64_t grain = 1;
  int64_t splits = 0;
  int random_ids = 0;                            // number of KernelStep::random_ids
  std::vector<KernelParameter> parameters = {};  // one per argument of one set of arguments (`copies`)
  std::vector<Dim> axes = {};                    // extents of the loops; KernelAccess has a stride for each
  // The next fields are for GPUs (docs/dev/cuda.md has the signature of kernels). A chunk is a thread block,
  // and each kernel has separate machine code.
  int threads = 0;                   // per block
  int64_t shared_bytes = 0;          // largest dynamic shared memory per block
  int copies = 1;                    // number of sets of arguments of a step; a row of the grid uses one set
  int most_blocks = 0;               // limit of the grid, whose blocks then process several chunks; 0: none
  std::vector<TensorMap> maps = {};  // passed before the pointers
  int only_capability = 0;           // the only compute capability that the source supports; 0: any
  /// Programmatic dependent launch: the kernel may be launched before earlier launches have ended, and waits
  /// for them itself.
  bool waits = false;
  /// The compiler of `source` may make one instruction, which rounds once, of a product and a sum.
  bool contracts = true;
  std::string source = {};             // CUDA C++
  std::vector<std::byte> binary = {};  // the cubin for Plan::target
  /// Set for a part of attention on a CPU: the code computes one block of scores.
  std::optional<BlockedAttention> attention = {};
  /// Set for a template. All other kernels are launched with a step's arguments, random numbers, `dims`,
  /// random ids and `range`.
  std::optional<TemplateLaunch> launch = {};
};

/// Valid values of an integer input, such as token ids: those in [least, below), and `ignored` if that is
/// set.
struct IdRange {
  int64_t below = 0;
  std::optional<int64_t> ignored = {};
  int64_t least = 0;
  bool holds(int64_t id) const { return (id >= least && id < below) || id == ignored; }
  bool operator==(const IdRange&) const = default;
};

std::string str(const IdRange& ids);  // "an id from 0 to 49, or -100 to ignore it"

/// An input or output of an entry. Its elements are dense and row-major.
struct Port {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  int buffer = -1;  // index into Plan::buffers
  bool optional = false;
  std::optional<IdRange> ids = {};  // valid values of an integer input; nothing: all
  double fill = 0;                  // value of all elements of an optional input that is not given
};

/// A function that the runtime can run: its inputs and outputs, and the steps that it executes.
struct PlanEntry {
  std::string name;  // "train_step", "evaluate", "logits", ...
  std::vector<Port> inputs = {}, outputs = {};
  std::vector<Step> steps = {};
  int64_t arena_bytes = 0;  // size of the arena; all entries use one arena, of the largest of their sizes
  std::vector<Choice> choices = {};
};

/// A compiled model: its memory, its kernels and its entries.
struct Plan {
  std::string target;                 // "cpu-x86_64-skylake-avx512", "sm_90"
  std::vector<std::string> features;  // processor features that the code needs, named as in cpu/features.h
  std::string model;  // JSON description that a host needs to read weights, data and tokens (plan_model.h)
  Symbols symbols;
  Mesh mesh;  // of the ranks that run the plan together; without axes if one rank runs it alone
  std::vector<State> states;
  std::vector<Buffer> buffers;
  std::vector<PlanEntry> entries;
  std::vector<KernelCode> kernels;
  std::vector<std::byte> binary;  // one shared object with all kernels (CPU)

  /// Return null if there is none of that name.
  const PlanEntry* find_entry(std::string_view name) const;
  const State* find_state(std::string_view name) const;
};

/// Arguments of a call of a CPU kernel. Kernels are compiled for this layout, so a change of it changes
/// kPlanFormat.
struct KernelArgs {
  void* const* buffers;             // per parameter: address of the argument's first element
  const int64_t* dims;              // KernelCode::dims at this launch
  const uint32_t* random_ids;       // KernelStep::random_ids
  uint32_t seed, step, micro_step;  // as in Philox
  uint32_t reserved;
  int64_t chunk;  // parallel indices per chunk: begin / chunk is the number of this chunk
  // For attention, whose rows are queries and whose columns are keys: the columns to compute. The indices of
  // the call (KernelFunction) are rows.
  int64_t first_column = 0, end_column = 0;
  /// For attention: address of the result of the kernel's second function, NAME.sees. The function stores 0
  /// there if the mask excludes all scores of the block.
  int32_t* sees = nullptr;
  const uint32_t* micro_steps = nullptr;  // one per random id (Philox::of_part)
};
/// A kernel of a CPU. A call computes the indices [begin, end) of the parallel loop.
using KernelFunction = void (*)(const KernelArgs*, int64_t begin, int64_t end);

}  // namespace smelt
