// One kernel's text. A team of threads shares a row: its lanes take vectors of the inner column axis in
// turns, and everything that does not move along it is computed by all of them alike. Reduced kernels share a
// tile of columns instead: the lanes of a team lie along the columns, the teams along the reduced axes.
//
//   cuda_emitter.cpp        the function: names, arguments, what stands around the blocks
//   cuda_rows.cpp           rows and flat ranges; partial sums of a block
//   cuda_tiles.cpp          reduced kernels
//   cuda_columns.cpp        column blocks: vectors in flight, lanes
//   cuda_instructions.cpp   instructions, addresses
//   cuda_reductions.cpp     reductions across a team
//   cuda_row_fetch.cpp      the next rows of a walk
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "codegen/cuda/code_text.h"
#include "codegen/cuda/cuda_reduction.h"
#include "codegen/cuda/prelude.h"
#include "codegen/kernel_passes/kernel_shape.h"
#include "codegen/kernel_passes/vector_alignment.h"
#include "ir/kernel.h"

namespace smelt {

class CudaEmitter {
 public:
  explicit CudaEmitter(const Kernel& kernel);
  /// Everything but the comment at the top.
  std::string emit();

 private:
  using Nest = BlockNest;
  /// A reduction under way: the names of its state.
  struct State {
    int id;
    CudaReduction reduction;
    std::vector<std::string> names;
  };

  // cuda_emitter.cpp
  void name_things();
  void emit_body();
  std::string pointers(const std::string& prefix) const;
  std::string signature() const;
  std::string device_signature() const;
  std::string arguments() const;
  void emit_prologue();
  std::string copies_type() const;
  std::string tail_function(const std::string& name) const;
  std::string tail_call(const std::string& name) const;
  std::string call() const;
  std::string assemble();
  void need_elements(PreludeNeeds& needs) const;
  std::string dim(const Dim& dim) const;
  std::string sum(const Dim& offset, const std::vector<std::pair<std::string, Dim>>& terms) const;
  std::string index_sum(const Dim& offset, const std::vector<Dim>& strides, int skipped) const;
  void emit_digits(const std::string& item, const std::vector<int>& axes);
  std::string columns_end() const;
  [[noreturn]] void reject(int id, const char* what) const;

  // cuda_rows.cpp
  void emit_rows();
  void emit_row_loop();
  int64_t rows_at_a_time() const { return s_.interleaved ? s_.splits * T_ : T_; }
  void emit_flat();
  void emit_row_blocks(const std::string& skip);
  void declare_accumulators();
  void finish_accumulators();
  void finish_scalar_accumulator(int id);
  void finish_column_accumulators(const std::vector<int>& ids);
  void open_own_columns();
  void close_own_columns();
  void write_column(int id, const std::string& value);
  void write_own_columns(int id);
  void add_columns_side_by_side(const std::vector<int>& ids);
  void add_columns_in_turn(int id);
  void zero_memory_accumulators();
  bool is_written_whole(int param) const;
  bool adds_again(int id) const;
  std::string slice(int param) const;
  void barrier();

  // cuda_row_fetch.cpp
  void find_fetched_loads();
  void begin_fetching(const std::string& first);
  void fetch_next_row();
  void fetch_row(const std::string& row, const std::string& stage);
  std::string fetched_place(int id, const std::string& stage) const;
  std::string fetched_vector(int id) const;

  // cuda_early_loads.cpp
  void emit_early_loads();

  // cuda_tiles.cpp
  void emit_tiles();
  void emit_tile_block(const KernelBlock& block);
  void emit_reduced_block(const KernelBlock& block);
  void emit_reduced_lanes(const Nest& nest);
  void emit_rounds(const Nest& nest, int count, const std::string& end);
  void emit_reduced_index(const Nest& nest, const std::function<void()>& work);
  bool is_last_reduced(const KernelBlock& block) const;
  void combine_teams(bool for_first);
  void shuffle_teams();
  struct Exchanged {
    const State* state;
    std::vector<std::string> arrays;  // a scalar: the array up to the index
  };
  std::vector<Exchanged> exchanged(std::span<const State> states, int64_t words);
  void exchange_teams(int groups, bool for_first);
  void exchange_vectors(std::span<const State> states, int64_t variables, int groups, bool for_first);
  void exchange_columns(const std::vector<Exchanged>& places, int groups, const std::string& j, int columns,
                        bool for_first);
  void emit_tile_columns(const KernelBlock& block);

  // cuda_columns.cpp
  void emit_row_scope(const KernelBlock& block);
  void emit_column_block(const KernelBlock& block);
  void emit_nest(const Nest& nest, size_t depth);
  void emit_depth(const Nest& nest, int depth);
  void emit_vectors(const Nest& nest);
  void emit_phases(const Nest& nest, const std::string& slot, const std::string& position, int64_t count);
  void emit_loads(const Nest& nest, const std::string& slot);
  void declare_loads(const Nest& nest, const std::string& slots);
  void emit_vector(const Nest& nest, const std::string& slot);
  void emit_lanes(const Nest& nest);
  CudaValue kept_value(int id, const std::string& j) const;
  void emit_inverses(const Nest& nest);
  void emit_inverse(int divisor, bool scaled);
  bool loads_by_vector(const Nest& nest, int id) const;
  bool stores_by_vector(const Nest& nest, int id) const;
  bool draws_by_vector(int id) const;
  bool takes_vectors(int id) const;
  bool covers_exactly() const;
  std::string rest() const;
  std::string vector_form(int id);
  std::string lane_index() const;

  // cuda_instructions.cpp
  void emit_instruction(const Nest& nest, int id);
  void define(int id, CudaKind kind, const std::string& text);
  CudaValue value_of(int id) const;
  CudaValue operand(const Instruction& x, int i) const { return value_of(x.operands[i]); }
  void emit_scalar(int id);
  static const char* fast_text(const Instruction& x) { return x.form == Form::fast ? "true" : "false"; }
  void emit_convert(int id);
  void emit_random(int id);
  void emit_load(int id);
  void emit_store(const Nest& nest, int id);
  std::string stored_value(const Instruction& store) const;
  void emit_accumulate(int id);
  std::string place(int id);
  std::string base(int id, bool with_inner) const;
  std::string start_of_lanes(int id);
  std::string array_of(int id) const;
  std::string vector_place(int id) const;
  std::string conditions(std::vector<std::string> all) const;
  std::string random_row(const Instruction& x) const;
  std::string axis_number(int axis) const;
  VectorAlignment::When alignment_of(int id);
  std::string alignment_text(int id);

  // cuda_reductions.cpp
  void begin_reductions(const Nest& nest);
  void emit_reduce(int id);
  void finish_reductions();
  void shuffle_states();
  void exchange_states();
  void bind_results();
  bool keeps_exponentials(int reduce) const;
  static std::string state_name(int id, size_t scalar);
  static std::string other_name(int id, size_t scalar);
  static std::vector<std::string> elements(const State& state, const std::string& index);
  const State& state_of(int reduce) const;
  void declare_state(const State& state);
  std::string place_among_reduced();

  const Instruction& instruction(int id) const { return k_.instructions[id]; }
  bool is_cached(int id) const;

  const Kernel& k_;
  const Schedule& s_;
  KernelShape shape_;
  CodeText out_;
  std::string block_ = "blockIdx.x";  // the number of the block
  std::vector<CudaEmitter> tail_;
  int V_ = 1, W_ = 1, T_ = 1;  // elements of a vector, lanes of a team, teams of a block
  int64_t K_ = 0, U_ = 1;      // vectors of a row in a thread (0: a loop), vectors in flight

  std::vector<Dim> dims_;
  std::vector<std::string> dim_names_, param_names_, axis_text_;
  std::vector<std::optional<CudaValue>> values_;

  bool lanes_ = false;        // code is being emitted for one element of a vector
  std::string guard_;         // what holds where that element exists; "": always
  std::string slot_;          // of the vector at hand among those in registers
  std::string row_guard_;     // what holds for the thread that stores row scalars
  std::string column_guard_;  // what holds for the threads that store columns
  std::map<int, std::string> starts_,
      loaded_;  // by instruction: where its lanes start, the array it is loaded to
  std::map<std::string, std::string> start_names_;
  std::vector<State> states_;
  std::vector<std::string> aligned_conditions_;
  int float_slots_ = 0, int_slots_ = 0;  // of the team's exchange
  int64_t shared_floats_ = 0, shared_ints_ = 0;
  bool uses_turns_ = false;
  std::map<int, int64_t> fetched_;  // loads of rows ahead: where a stage has their vectors, in bytes
  int64_t fetched_bytes_ = 0, fetched_floats_ = 0;  // of a stage; of all, in front of the team's exchange
};

}  // namespace smelt
