// What the compiler makes and the runtime runs. Sizes and strides are in elements unless a name says bytes;
// every Dim is a polynomial over the plan's symbols, known at launch.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/dim.h"
#include "runtime/dtype.h"
#include "runtime/plan/attention_spec.h"
#include "runtime/plan/step.h"
#include "runtime/ranks/mesh.h"

namespace smelt {

/// What a buffer is for; reports of memory are by role.
enum class Role : uint8_t {
  input,
  output,
  constant,
  parameter,
  gradient,
  optimizer,
  state,
  cache,   // keys and values of tokens that were read: never saved
  stream,  // what the host reads while runs are under way, without waiting: never saved
  fault,   // what an index out of bounds leaves behind (runtime/index_faults.h): never saved
  saved,
  temporary,
  workspace
};
std::string_view name(Role role);
std::optional<Role> parse_role(std::string_view name);

/// How a state gets its first value. normal(a): deviation a; uniform(a): [-a, a]; value(a): a everywhere.
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
  int64_t offset = 0;  // elements from the start of the flat state, row after row
  Initializer init;
  bool decay = true;                          // weight decay applies (not to biases and norms, by default)
  std::vector<std::string> checkpoint_names;  // all accepted spellings, the one to write first
  bool transposed = false;                    // the checkpoint holds [in,out] for our [out,in]
  bool frozen = false;                        // not trained
  bool stacked = false;                       // the checkpoint holds [2*m,n] for our [2,m,n]
  /// How ranks share it: for each dim the axes of the mesh that it is cut over, the outermost first, and its
  /// shape over all ranks; `shape` and `offset` are then of this rank's flat state (segment_parts.h). Empty:
  /// every rank has all of it.
  std::vector<std::vector<std::string>> cut = {};
  std::vector<int64_t> whole = {};
  /// The stages of a pipeline that hold a copy each, in order; empty: one stage alone does, or there is none.
  std::vector<int64_t> stages = {};
  int64_t elements() const;
  bool operator==(const Segment&) const = default;
};

/// Memory that outlives one run of an entry: parameters, gradients, moments, counters, scalars set by the
/// host.
struct State {
  std::string name;  // "parameters", "adam.m", "step", "learning_rate"
  Role role = Role::state;
  DType dtype = DType::f32;
  Shape shape;       // flat states: [elements], or [buckets, rows, row] where ranks have parts of them
  Initializer init;  // where there are no segments
  std::string copy_of =
      {};  // a rounded copy of the state of this name: who writes that one on the host rounds again
  std::vector<Segment> segments = {};  // of a flat state, in order of offset
  /// An f32 state of scales: the i8 state of this name holds weights, each row of which is to be multiplied
  /// by a number here, in the segment of the same name.
  std::string scales_of = {};
  /// Always as the model's own weights have it, as the base of adapters is: checkpoints leave it out.
  bool from_model = false;
  /// How ranks share it: for each dim the axes of the mesh that it is cut over, the outermost first (empty:
  /// no dim is), and the axes along which ranks hold addends, whose sum is the state.
  std::vector<std::vector<std::string>> cut = {};
  std::vector<std::string> partial = {};
  /// The shape over all ranks, where `shape` is one rank's part; segments are in it. Empty: as `shape`.
  Shape whole = {};
  /// On a GPU, the first element that its memory holds; those in front of it lie in pinned memory of the
  /// host, which steps copy from and to (docs/memory_budget.md). -1: it holds all.
  int64_t resident = -1;
  bool operator==(const State&) const = default;
};

/// Bytes of a buffer that are used at some steps only, such as one weight's of a flat gradient. Before and
/// after them other buffers may have that memory, and all the time where no step uses the bytes (-1 to -1).
struct BufferPart {
  int64_t begin = 0;                    // bytes from the buffer's; it ends where the next part begins
  int first_step = -1, last_step = -1;  // both ends included
  bool operator==(const BufferPart&) const = default;
};

/// One allocation-sized piece of memory. `offset_bytes` places it in its workspace.
struct Buffer {
  std::string name;
  Role role = Role::temporary;
  DType dtype = DType::f32;
  Dim elements;                         // at launch; the bound gives the size that is planned
  int state = -1;                       // index into Plan::states where the buffer is one
  int64_t offset_bytes = 0;             // in the arena (temporary, saved, workspace); unused by the others
  int64_t bytes = 0;                    // at the bounds
  int first_step = -1, last_step = -1;  // lifetime in its entry, both ends included
  std::vector<BufferPart> parts = {};   // from byte 0 on, where they do not all live so long
  std::vector<std::byte> data = {};     // of a constant
};

/// Sizes of a run: value < below.
struct SizeRule {
  Dim value;
  int64_t below = 0;
  bool operator==(const SizeRule&) const = default;
};

/// Work that several lists of steps can do, of which one runs: on a GPU the one that is the fastest where
/// sizes are first seen, elsewhere the first, unless there is a rule. They write the same buffers, and none
/// writes what one of them reads, so that each may run many times; what else an alternative writes nobody
/// else uses. Outputs take the memory of nothing but what their own alternative has made.
struct Choice {
  std::vector<std::string> alternatives;  // what people call them
  /// The last alternative runs where this holds and nowhere else: there it may not even be right. So nothing
  /// is measured there, and on no machine.
  std::optional<SizeRule> last_where = {};
};

/// How a kernel that is written by hand (a template) is launched: its arguments and its grid, as expressions
/// over names that the launch gives values to: the fields of a step (runtime/plan/step_values.h) and the
/// plan's symbols, or what docs/cuda.md says of the kernels of states.
struct TemplateLaunch {
  /// An address (8 bytes) and a real number (4 bytes, a float) are given by a name alone, an integer (8
  /// bytes) by any expression.
  struct Argument {
    enum class Kind : uint8_t { address, integer, real } kind = Kind::integer;
    Dim value;
    int64_t alignment = 1;  // bytes that divide an address
    // Of an address: what lies there, and what becomes of it.
    std::optional<DType> dtype = {};
    bool read = false, written = false;
  };
  /// What must hold of the sizes, or else the kernel is not launched: a gemm is left to the next of its
  /// kernels and then to the library, any other step to the rest of its kernels.
  struct Condition {
    Dim value;
    int64_t divisor = 1;  // divides the value
    int64_t below = std::numeric_limits<int64_t>::max();
  };
  std::string step = {};  // the kind of step that it does; none: a state's, or a KernelStep's own
  std::vector<Argument> arguments = {};
  Dim blocks = 1;        // of the grid
  Dim shared_bytes = 0;  // dynamic shared memory of a block; no more is taken than KernelCode::shared_bytes
  std::vector<Condition> conditions = {};
  /// Of a gemm: against the library, of which the faster is taken. Otherwise the kernel is taken wherever its
  /// conditions hold, so that no result depends on a measurement.
  bool measured = true;
};
std::string_view name(TemplateLaunch::Argument::Kind kind);  // "address", "integer", "real"
std::optional<TemplateLaunch::Argument::Kind> parse_argument_kind(std::string_view name);

/// Integers that tables are indexed by: each in [least, below), or `ignored` where there is such a number.
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

/// What a kernel's code does with one of its arguments.
struct KernelParameter {
  DType dtype = DType::f32;
  bool read = true, written = false;
  int stage =
      0;  // of a launch whose last block goes on with other kernels, one after the other: which has it
  std::vector<KernelAccess> accesses = {};  // but for those by computed indices
  Dim table_elements = 0;  // all that computed indices reach lies below it; 0: there are none
  /// What the code relies on in integers that it reads, and makes sure of in those that it writes.
  std::optional<IndexBounds> indices = {};
};

/// An argument as the copy engine of sm_90 reads it (a CUtensorMap): a box of elements at a time, the first
/// axis innermost; what lies outside the extents is zero.
struct TensorMap {
  int parameter = -1;
  std::vector<Dim> extents;       // elements
  std::vector<Dim> strides;       // of all axes but the first, whose neighbours lie together
  std::vector<int64_t> box = {};  // elements
  int swizzle_bytes = 0;  // of rows in shared memory whose 16-byte pieces are permuted: 0, 32, 64 or 128
};

/// A compiled kernel. `range` is the parallel extent that the runtime splits into chunks of `grain`, or into
/// exactly `splits` chunks where the kernel accumulates one partial result a chunk.
struct KernelCode {
  std::string name;
  std::string text;       // Kernel IR, for people
  std::vector<Dim> dims;  // launch-time numbers the code reads, in order
  Dim range;
  int64_t grain = 1;
  int64_t splits = 0;
  int random_ids = 0;                            // how many a step must give
  std::vector<KernelParameter> parameters = {};  // an argument each, a copy
  std::vector<Dim> axes = {};                    // extents of the loops that accesses walk along
  // On a GPU (see docs/cuda.md for the signature) a chunk is a block of threads, and every kernel its own
  // code.
  int threads = 0;                   // of a block
  int64_t shared_bytes = 0;          // the most dynamic shared memory of a block
  int copies = 1;                    // sets of arguments that a step gives, one a row of the grid
  int most_blocks = 0;               // of a grid whose blocks take chunks until none is left; 0: any number
  std::vector<TensorMap> maps = {};  // in front of the pointers
  int only_capability = 0;           // that the source is for, of the GPU; 0: any
  bool waits = false;       // by itself for the launches in front, so that its own may begin before they end
  std::string source = {};  // CUDA C++
  std::vector<std::byte> binary = {};  // the cubin for Plan::target
  /// On a CPU, of a part of attention: the code is its body over a block of scores.
  std::optional<BlockedAttention> attention = {};
  /// Of a template; all others take a step's arguments, random numbers, `dims`, random ids and `range`.
  std::optional<TemplateLaunch> launch = {};
};

/// What integers that index a table may be: each in [least, below), or `ignored` where there is such a
/// number.
struct IdRange {
  int64_t below = 0;
  std::optional<int64_t> ignored = {};
  int64_t least = 0;
  bool holds(int64_t id) const { return (id >= least && id < below) || id == ignored; }
  bool operator==(const IdRange&) const = default;
};

std::string str(const IdRange& ids);  // "an id from 0 to 49, or -100 to ignore it"

/// An input or output of an entry. Inputs are dense, row-major; so are outputs.
struct Port {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  int buffer = -1;
  bool optional = false;
  std::optional<IdRange> ids = {};  // of an integer input; nothing: any numbers
  double fill = 0;                  // every element of an optional input that is not given
};

struct PlanEntry {
  std::string name;  // "train_step", "evaluate", "logits", ...
  std::vector<Port> inputs = {}, outputs = {};
  std::vector<Step> steps = {};
  int64_t arena_bytes = 0;  // the largest of all entries is allocated once
  std::vector<Choice> choices = {};
};

struct Plan {
  std::string target;                 // "cpu-x86_64-skylake-avx512", "sm_90"
  std::vector<std::string> features;  // of the processor that the code needs: names of runtime/cpu/features.h
  std::string model;  // JSON of the description: what a host needs to read weights, data and tokens
  Symbols symbols;
  Mesh mesh;  // of the ranks that run it together; without axes: it runs alone
  std::vector<State> states;
  std::vector<Buffer> buffers;
  std::vector<PlanEntry> entries;
  std::vector<KernelCode> kernels;
  std::vector<std::byte> binary;  // one shared object with all kernels (CPU)

  const PlanEntry* find_entry(std::string_view name) const;
  const State* find_state(std::string_view name) const;
};

/// What a CPU kernel is called with; the layout is part of the plan's format version.
struct KernelArgs {
  void* const* buffers;  // one a parameter, offset applied
  const int64_t* dims;   // KernelCode::dims at this launch
  const uint32_t* random_ids;
  uint32_t seed, step, micro_step;  // as in Philox
  uint32_t reserved;
  int64_t chunk;  // parallel indices a chunk: begin / chunk is the number of this chunk
  // Of attention: rows are queries and columns keys, of which these alone are worked on.
  int64_t first_column = 0, end_column = 0;
  int32_t* sees = nullptr;  // where the function that looks at the mask leaves its answer (BlockedAttention)
  const uint32_t* micro_steps = nullptr;  // one a random id (Philox::of_part)
};
using KernelFunction = void (*)(const KernelArgs*, int64_t begin, int64_t end);

}  // namespace smelt
