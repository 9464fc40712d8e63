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

/// Role of a buffer. Reports of memory are by role.
enum class Role : uint8_t {
  input,
  output,
  constant,
  parameter,
  gradient,
  optimizer,
  state,
  cache,   // keys and values of the tokens so far: never saved
  stream,  // read by the host during runs, without waiting: never saved
  fault,   // record of an index out of bounds (runtime/session/index_faults.h): never saved
  saved,
  temporary,
  workspace
};
std::string_view name(Role role);
std::optional<Role> parse_role(std::string_view name);

/// Initial value of a state. normal(a): deviation a; uniform(a): [-a, a]; value(a): a everywhere.
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
  /// Sharding over ranks: for each dim the axes of the mesh that shard it, the outermost first, and the shape
  /// over all ranks; `shape` and `offset` then refer to this rank's flat state (segment_parts.h). Empty:
  /// every rank has the whole segment.
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
      {};  // a rounded copy of the state of this name; a host write to that state rounds it again
  std::vector<Segment> segments = {};  // of a flat state, in order of offset
  /// Set for an f32 state of scales: the name of the i8 state of weights, each row of which is multiplied by
  /// a number of the segment of the same name here.
  std::string scales_of = {};
  /// Always has the values of the model's own weights, as the base of adapters does: checkpoints leave it
  /// out.
  bool from_model = false;
  /// Sharding over ranks: for each dim the axes of the mesh that shard it, the outermost first (empty: the
  /// dim is not sharded), and the axes along which ranks hold addends, whose sum is the state.
  std::vector<std::vector<std::string>> cut = {};
  std::vector<std::string> partial = {};
  /// The shape over all ranks, where `shape` is one rank's part; segments are in it. Empty: as `shape`.
  Shape whole = {};
  /// On a GPU, the first element in device memory. The elements before it are located in pinned host memory,
  /// which steps copy from and to (docs/guides/memory.md). -1: all elements are in device memory.
  int64_t resident = -1;
  bool operator==(const State&) const = default;
};

/// Bytes of a buffer that are used at some steps only, such as those of one weight in a flat gradient. Other
/// buffers may have that memory before and after these steps, or always if no step uses the bytes (-1 to -1).
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

/// Work that has several alternative lists of steps, of which one runs: on a GPU the fastest when sizes are
/// first seen, elsewhere the first, unless a rule decides. The alternatives write the same buffers, and none
/// writes a buffer that one of them reads, so each may run many times. All other buffers that an alternative
/// writes are used by it alone. Outputs share memory only with buffers that their own alternative has made.
struct Choice {
  std::vector<std::string> alternatives;  // what people call them
  /// The last alternative runs exactly if this holds, because it may be incorrect otherwise. So this choice
  /// is never measured.
  std::optional<SizeRule> last_where = {};
};

/// Launch of a kernel that is written by hand (a template): its arguments and its grid, as expressions over
/// names that the launch defines. The names are the fields of a step (runtime/plan/step_values.h) and the
/// plan's symbols, or those of the kernels of states (docs/dev/cuda.md).
struct TemplateLaunch {
  /// An address (8 bytes) and a real number (4 bytes, a float) are given by a name alone, an integer (8
  /// bytes) by any expression.
  struct Argument {
    enum class Kind : uint8_t { address, integer, real } kind = Kind::integer;
    Dim value;
    int64_t alignment = 1;  // bytes that divide an address
    // Properties of an address: the type of its data, and whether the kernel reads and writes them.
    std::optional<DType> dtype = {};
    bool read = false, written = false;
  };
  /// Condition on the sizes for launching the kernel. If it does not hold, a gemm uses the next of its
  /// kernels and then the library, any other step the rest of its kernels.
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
  /// For a gemm: the kernel is measured against the library, and the faster is used. Otherwise the kernel is
  /// used whenever its conditions hold, so that no result depends on a measurement.
  bool measured = true;
};
std::string_view name(TemplateLaunch::Argument::Kind kind);  // "address", "integer", "real"
std::optional<TemplateLaunch::Argument::Kind> parse_argument_kind(std::string_view name);

/// Bounds of integers that index tables: each is in [least, below), or `ignored` if that is set.
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
  int stage =
      0;  // of a launch whose last block goes on with other kernels, one after the other: which has it
  std::vector<KernelAccess> accesses = {};  // but for those by computed indices
  Dim table_elements = 0;  // all that computed indices reach lies below it; 0: there are none
  /// Bounds that the code relies on for integers that it reads, and guarantees for those that it writes.
  std::optional<IndexBounds> indices = {};
};

/// An argument as the copy engine of sm_90 reads it (a CUtensorMap): one box of elements at a time, the first
/// axis innermost. Elements outside the extents are zero.
struct TensorMap {
  int parameter = -1;
  std::vector<Dim> extents;       // elements
  std::vector<Dim> strides;       // of all axes but the first, which is contiguous
  std::vector<int64_t> box = {};  // elements
  int swizzle_bytes = 0;  // of rows in shared memory whose 16-byte pieces are permuted: 0, 32, 64 or 128
};

/// A compiled kernel. `range` is the parallel extent that the runtime splits into chunks of `grain`, or into
/// exactly `splits` chunks if the kernel accumulates one partial result per chunk.
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
  // On a GPU (see docs/dev/cuda.md for the signature) a chunk is a block of threads, and every kernel its own
  // code.
  int threads = 0;                   // of a block
  int64_t shared_bytes = 0;          // the most dynamic shared memory of a block
  int copies = 1;                    // sets of arguments that a step gives, one per row of the grid
  int most_blocks = 0;               // of a grid whose blocks take chunks until none is left; 0: any number
  std::vector<TensorMap> maps = {};  // passed before the pointers
  int only_capability = 0;           // that the source is for, of the GPU; 0: any
  bool waits = false;       // for the launches before it by itself: its own may begin before they end
  std::string source = {};  // CUDA C++
  std::vector<std::byte> binary = {};  // the cubin for Plan::target
  /// Set for a part of attention on a CPU: the code is its score_mod over a block of scores.
  std::optional<BlockedAttention> attention = {};
  /// Set for a template. All other kernels take a step's arguments, random numbers, `dims`, random ids and
  /// `range`.
  std::optional<TemplateLaunch> launch = {};
};

/// Valid values of integers that index a table: each in [least, below), or `ignored` if that is set.
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

/// Arguments of a call of a CPU kernel. The layout is part of the plan's format version.
struct KernelArgs {
  void* const* buffers;  // one per parameter, offset applied
  const int64_t* dims;   // KernelCode::dims at this launch
  const uint32_t* random_ids;
  uint32_t seed, step, micro_step;  // as in Philox
  uint32_t reserved;
  int64_t chunk;  // parallel indices per chunk: begin / chunk is the number of this chunk
  // Columns to compute, for attention, whose rows are queries and columns keys.
  int64_t first_column = 0, end_column = 0;
  int32_t* sees = nullptr;  // where the function that looks at the mask leaves its answer (BlockedAttention)
  const uint32_t* micro_steps = nullptr;  // one per random id (Philox::of_part)
};
using KernelFunction = void (*)(const KernelArgs*, int64_t begin, int64_t end);

}  // namespace smelt
