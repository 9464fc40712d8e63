#include "codegen/kernel_passes/kernel_passes.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/kernel_passes/kernel_shape.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;
using Scope = KernelBlock::Scope;

class Rewriter {
 public:
  Rewriter(Kernel& kernel, llvm::ArrayRef<ColumnSum> sums) : k_(kernel), shape_(kernel), sums_(sums) {}

  bool run() {
    if (!sums_columns_alone()) return false;
    move_rows_into_the_sum();
    for (const int id : shape_.all_of(Kind::accumulate)) reduce(id);
    for (const int axis : shape_.parallel) {
      k_.axes[axis].kind = AxisKind::reduced;
      k_.axes[axis].name[0] = 'k';
    }
    store_sums();
    return true;
  }

 private:
  bool sums_columns_alone() const {
    if (shape_.parallel.empty() || shape_.columns.empty() || shape_.is_reduced()) return false;
    const auto columns = [](const KernelBlock& block) { return block.scope == Scope::column; };
    if (llvm::count_if(k_.blocks, columns) != 1) return false;
    if (!shape_.all_of(Kind::store).empty() || !shape_.all_of(Kind::reduce).empty()) return false;
    return llvm::all_of(shape_.all_of(Kind::accumulate),
                        [&](int id) { return columns(k_.blocks[shape_.block_of(id)]); });
  }

  bool follows_rows(int id) const {
    return llvm::any_of(shape_.parallel, [&](int axis) { return shape_.moves(id, axis); });
  }

  /// Makes values per row values per reduced index.
  void move_rows_into_the_sum() {
    KernelBlock& sum = *llvm::find_if(k_.blocks, [](auto& block) { return block.scope == Scope::column; });
    sum.scope = Scope::reduced;
    for (KernelBlock& block : k_.blocks) {
      if (block.scope != Scope::row) continue;
      llvm::copy_if(block.instructions, std::back_inserter(sum.instructions),
                    [&](int id) { return follows_rows(id); });
      llvm::erase_if(block.instructions, [&](int id) { return follows_rows(id); });
    }
    llvm::sort(sum.instructions);
    llvm::erase_if(k_.blocks, [](const KernelBlock& block) { return block.instructions.empty(); });
  }

  void reduce(int id) {
    Instruction& x = k_.instructions[id];
    reduction_of_[x.access.param] = id;
    x = {.kind = Kind::reduce, .dtype = x.dtype, .operands = x.operands, .reduce_op = ReduceOp::add};
  }

  int append(Instruction instruction) {
    k_.instructions.push_back(std::move(instruction));
    return static_cast<int>(k_.instructions.size()) - 1;
  }

  void append_block(std::vector<int> instructions) {
    k_.blocks.push_back({.scope = Scope::column, .instructions = std::move(instructions)});
  }

  bool is_rounded(const ColumnSum& sum) const { return sum.dtype != k_.params[sum.param].dtype; }

  /// Stores the unrounded sums first, in a block each, then all rounded ones.
  void store_sums() {
    for (const ColumnSum& sum : sums_)
      if (!is_rounded(sum)) append_block({append(store_of(sum, reduction_of_[sum.param]))});
    std::vector<int> rounded, stores;
    for (const ColumnSum& sum : sums_) {
      if (!is_rounded(sum)) continue;
      rounded.push_back(
          append({.kind = Kind::convert, .dtype = sum.dtype, .operands = {reduction_of_[sum.param]}}));
      stores.push_back(append(store_of(sum, rounded.back())));
    }
    llvm::append_range(rounded, stores);
    if (!rounded.empty()) append_block(std::move(rounded));
    for (const ColumnSum& sum : sums_) take_sum(k_.params[sum.param], sum);
  }

  static void take_sum(KernelParam& param, const ColumnSum& sum) {
    param.name = fmt::format("y{}", sum.param);
    param.dtype = sum.dtype;
    param.partial = false, param.partial_elements = 0;
  }

  Instruction store_of(const ColumnSum& sum, int value) const {
    return {.kind = Kind::store,
            .dtype = sum.dtype,
            .operands = {value},
            .access = {.param = sum.param, .strides = sum.strides}};
  }

  Kernel& k_;
  const KernelShape shape_;
  llvm::ArrayRef<ColumnSum> sums_;
  llvm::DenseMap<int, int> reduction_of_;  // by param
};

}  // namespace

bool sum_columns_in_tiles(Kernel& kernel, llvm::ArrayRef<ColumnSum> sums) {
  return Rewriter(kernel, sums).run();
}

}  // namespace smelt
