// The values that the blocks of a fusion's kernel compute: a value inside a level's column block, a row
// scalar, or a value at one column. Every value is computed once per block that can see it.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "codegen/lowering/fusion_kernel.h"

namespace smelt {

class FusionValues {
 public:
  explicit FusionValues(FusionKernel& fusion) : fusion_(fusion) {}

  /// Makes these two blocks of the kernel the destination of the following instructions.
  void begin_level(int row_block, int column_block);
  /// An instruction's number: of the value inside the level's column block, or of a row scalar.
  int column_value(const Value& value);
  int row_value(const Value& value);
  /// The destination of an element that an insert of the body stores: its access of `result`, and a predicate
  /// that no index is negative.
  struct InsertPlace {
    Access access;
    int predicate = -1;  // -1: all indices are constants
  };
  InsertPlace place_of_insert(const Node& insert, const FusionStore& store);
  /// Sets the value of a reduction's result, which later blocks can read.
  void set_row_value(const Value& value, int number) { row_values_[&value] = number; }
  /// Records that the value can be read back from memory from here on.
  void note_stored(const FusionStore& store) { stored_[store.value] = store; }
  const RandomDraws& draws() const { return draws_; }

 private:
  using Kind = Instruction::Kind;
  /// The block that code is appended to, and the columns that it is for.
  struct Place {
    int block;
    int column = -1;  // -1: every one
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
  int row_ = 0, column_ = 0;  // the level's blocks
  llvm::DenseMap<const Value*, int> row_values_, column_values_;
  llvm::DenseMap<std::pair<const Value*, int>, int> fixed_values_;  // by value and column
  llvm::DenseMap<const Value*, FusionStore> stored_;
  RandomDraws draws_;
};

}  // namespace smelt
