// One kernel's function. Blocks become loop nests over their axes; the innermost column axis (the *inner*
// axis) is cut into vectors of `width_` lanes, the last of which is masked. An instruction stands in the
// outermost loop it can: only what moves along the inner axis is a vector, the rest are scalars.
//
//   kernel_emitter.cpp       the function: arguments, the parallel range, axes of a row
//   kernel_blocks.cpp        loop nests of blocks, where instructions stand in them
//   kernel_instructions.cpp  instructions, random bits
//   kernel_access.cpp        addresses, loads, stores, accumulation
//   kernel_reductions.cpp    reductions, values kept for later blocks
//   kernel_exponentials.cpp  online softmax, exponentials kept for later blocks
#pragma once

#include <optional>

#include "codegen/kernel_passes/kernel_shape.h"
#include "codegen/llvm/memory_types.h"
#include "codegen/llvm/philox_code.h"
#include "codegen/llvm/reducer.h"
#include "codegen/llvm/target.h"
#include "ir/kernel.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"

namespace smelt {

class KernelEmitter {
 public:
  KernelEmitter(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits);
  void emit();

 private:
  using V = llvm::Value*;

  using Nest = BlockNest;
  /// Where code is being emitted: outside of vectors, or in the vector (or scalar) from index `first` on.
  struct Lanes {
    bool inner = false;
    int width = 1;
    V first = nullptr;
    V mask = nullptr;  // null: all lanes are on
  };
  /// A reduction under way: one state (with a lane each) in a column block, an array of them in a reduced
  /// block.
  struct Accumulator {
    int id = -1;
    ReduceOp op{};
    llvm::Type* type = nullptr;           // of one element
    Reducer::State state = {};            // where the scalars of the state are
    V tile = nullptr, maximum = nullptr;  // of max_sumexp: the operand over a tile, the maximum so far
    V tile_sum = nullptr;                 // of add: the sum of a tile
    V scales = nullptr;  // of max_sumexp whose exponentials are kept: a tile's maximum, in the end its scale
  };
  /// A column value that later blocks read: an array over the tile, or over the whole row.
  struct Stored {
    V array = nullptr;
    llvm::Type* type = nullptr;
    bool whole_row = false;
  };
  /// Memory that is fetched before it is needed.
  struct Prefetch {
    V pointer = nullptr;  // of column 0
    llvm::Type* type = nullptr;
    bool write = false;
  };
  struct Address {
    V pointer = nullptr;   // of lane 0, or of all lanes
    V pointers = nullptr;  // one a lane, where they are neither equal nor adjacent
    bool adjacent = false;
  };

  // kernel_emitter.cpp
  void choose_width();
  void create_function();
  void load_arguments();
  V load_argument(int offset, llvm::Type* type);
  void zero_partials();
  void emit_flat();
  void emit_range();
  void emit_digits(V item);
  void advance_digits();
  void set_row(V item);
  void emit_row(llvm::BasicBlock* next);
  V dim(const Dim& dim);
  V alloca_array(llvm::Type* type, int64_t count);
  bool whole_tiles() const;

  // kernel_blocks.cpp
  void emit_block(const KernelBlock& block);
  void emit_nest(const Nest& nest, size_t depth);
  void emit_innermost(const Nest& nest);
  void emit_tile(const Nest& nest, V first, V limit);
  void emit_body(const Nest& nest);
  void vector_loop(V first, V limit, bool whole_vectors, llvm::function_ref<void()> body);
  void emit_vector(V first, V mask, llvm::function_ref<void()> body);
  V axis_index(int axis);
  V flat_index(llvm::ArrayRef<int> axes);
  V lane_numbers(llvm::Type* element, int width);

  // kernel_instructions.cpp
  void emit_instruction(const Nest& nest, int id);
  V value_of(int id);
  V operand(const Instruction& instruction, int i) { return value_of(instruction.operands[i]); }
  V emit_constant(const Instruction& instruction);
  V emit_random(const Instruction& instruction, int id);
  bool fills_tile(const Nest& nest, int id) const;
  void fill_random(const Nest& nest, V first, V limit);
  PhiloxStream stream_of(const Instruction& instruction);
  V random_row(const Instruction& instruction);

  // kernel_access.cpp
  void prepare_accesses(const Nest& nest);
  V base_pointer(const Instruction& instruction, bool with_inner);
  Address address_of(int id);
  V active_mask(int predicate);
  V emit_load(int id);
  V load_scalar(const Instruction& instruction, V pointer);
  void emit_store(int id);
  void store_value(const Address& address, DType type, V packed, V mask);
  void emit_accumulate(int id);
  void accumulate_lanes(const Address& address, DType type, V value, V mask);
  bool is_rounded(int id, DType type) const;
  llvm::Align alignment(DType type) const { return llvm::Align(size_of(type)); }

  // kernel_reductions.cpp
  void begin_reductions(const Nest& nest);
  void begin_accumulator(const Nest& nest, int id);
  bool one_tile() const;
  bool by_tiles(const Nest& nest, int id) const;
  bool has_tiled_reduction(const Nest& nest) const;
  void begin_tile();
  void finish_tile(const Nest& nest, V first, V limit);
  void emit_reduce(const Nest& nest, int id);
  void finish_reductions(const Nest& nest);
  void store_identity(const Nest& nest, Accumulator& accumulator);
  llvm::SmallVector<int, 4> result_ids(int reduce) const;
  Reducer::State finished_state(const Accumulator& accumulator);
  void finish_columns(const Accumulator& accumulator);
  V load_stored(const Stored& stored);
  void keep_cached(int id);
  int64_t cached_elements() const;
  V stored_place(const Stored& stored);

  // kernel_exponentials.cpp
  void find_kept_exponentials();
  void begin_exponentials(Accumulator& accumulator);
  void finish_exponentials(const Nest& nest, const Accumulator& accumulator, V first, V limit);
  V exponential_place(const Accumulator& accumulator, V column);
  V scale_place(const Accumulator& accumulator, V column);
  void finish_scales(const Accumulator& accumulator, V maximum);
  V kept_exponential(int id);
  void find_prefetches(const Nest& nest);
  bool runs_along_columns(const Access& access) const;
  V elements_ahead(const Access& access);
  void prefetch_next(V column);

  [[noreturn]] void reject(int id, const char* what) const;
  const Instruction& instruction(int id) const { return kernel_.instructions[id]; }
  llvm::Type* pointer_type() { return b.getPtrTy(); }

  const Kernel& kernel_;
  llvm::Module& module_;
  llvm::IRBuilder<> b;
  ScalarMath math_;
  MemoryTypes memory_;
  PhiloxCode philox_;

  llvm::Function* function_ = nullptr;
  V arguments_ = nullptr, begin_ = nullptr, end_ = nullptr;
  V seed_ = nullptr, step_ = nullptr, micro_step_ = nullptr;
  V zero_slot_ = nullptr, sink_slot_ = nullptr;  // where switched-off scalar loads and stores go
  std::vector<Dim> dims_;
  std::vector<V> dim_values_, bases_, random_ids_;

  KernelShape shape_;
  std::vector<int> digit_axes_;  // what the range is made of
  int width_ = 1;
  int64_t tile_ = 0;

  std::vector<V> axis_values_, digits_;
  V tile_digit_ = nullptr;
  V row_begin_ = nullptr, row_end_ = nullptr;  // the part of the inner axis that is worked on
  V may_store_row_ = nullptr;                  // null: always
  Lanes lanes_;
  std::vector<V> values_;
  llvm::DenseMap<int, V> prepared_;
  llvm::DenseMap<int, V> random_tiles_;
  V tile_base_ = nullptr;  // the column of the first element of a tile's arrays
  std::vector<Accumulator> accumulators_;
  llvm::DenseMap<int, Stored> stored_;
  llvm::DenseMap<int, int> kept_;  // exponentials that a reduction leaves, with that reduction
  llvm::DenseMap<int, Accumulator> kept_rows_;
  std::vector<Prefetch> prefetches_;
};

}  // namespace smelt
