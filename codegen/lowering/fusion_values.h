// FusionValues: emits the instructions that compute the values of a fusion's body. A level is a row block,
// which runs once per row, and the column block after it, which runs for every column. A value is computed in
// one of three ways: in the column block, for every column; in the row block, as a row scalar; or in the row
// block, at one fixed column.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "codegen/lowering/fusion_kernel.h"

namespace smelt {

class FusionValues {
 public:
  explicit FusionValues(FusionKernel& fusion) : fusion_(fusion) {}

  /// Begins a level: the following instructions are appended to these two blocks of the kernel.
  void begin_level(int row_block, int column_block);
  /// Return the number of the instruction that computes the value. If there is none yet, append it to the
  /// current level. row_value computes a row scalar in the row block, which all later blocks may read.
  /// column_value computes the value in the column block; for a value that does not change along the columns,
  /// it does the same as row_value.
  int column_value(const Value& value);
  int row_value(const Value& value);
  /// Destination of an element that an insert of the body stores.
  struct InsertPlace {
    Access access;
    int predicate = -1;  // instruction that is true if no index is negative; -1: indices are constants
  };
  /// Emits the arithmetic that computes the indices of an insert whose result is the output `store`, and
  /// returns the destination.
  InsertPlace place_of_insert(const Node& insert, const FusionStore& store);
  /// Records that the instruction `number` computes `value`, a result of a reduction, which later blocks can
  /// read.
  void set_row_value(const Value& value, int number) { row_values_[&value] = number; }
  /// Records that `store` has been emitted: later levels may load the value instead of computing it again.
  void note_stored(const FusionStore& store) { stored_[store.value] = store; }
  const RandomDraws& draws() const { return draws_; }

 private:
  using Kind = Instruction::Kind;
  /// The block that code is appended to, and the column that it computes.
  struct Place {
    int block;
    int column = -1;  // -1: every column of the block's loop
    bool is_fixed() const { return column >= 0; }
  };

  std::optional<int> stored_value(const Value& value);
  int sample(const Node& node);
  int value_at(const Value& value, int column);
  int operand(const Value& value, Place place);
  std::vector<int> operands_of(const Node& node, Place place);
  int compute(const Value& value, Place place);
  int input(const Value& value, Place place);
  int load(DType dtype, Access access, Place place);
  int gather(const Node& node, Place place);
  int at_any_level(const Value& value);
  int append_integer(int block, ScalarOp op, int a, int b);
  void add_computed(InsertPlace& place, llvm::ArrayRef<const Value*> indices, llvm::ArrayRef<Dim> steps,
                    int block);
  int index(const Node& node, Place place);
  int random(const Node& node, Place place);

  FusionKernel& fusion_;
  int row_ = 0, column_ = 0;  // numbers of the current level's blocks in Kernel::blocks
  llvm::DenseMap<const Value*, int> row_values_, column_values_;
  llvm::DenseMap<std::pair<const Value*, int>, int> fixed_values_;  // key: value and column
  llvm::DenseMap<const Value*, FusionStore> stored_;
  RandomDraws draws_;
};

}  // namespace smelt
