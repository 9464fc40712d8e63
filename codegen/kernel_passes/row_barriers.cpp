#include "codegen/kernel_passes/kernel_passes.h"

#include "codegen/kernel_passes/kernel_shape.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;
using Scope = KernelBlock::Scope;

class Barriers {
 public:
  explicit Barriers(const Kernel& kernel) : k_(kernel), shape_(kernel) {}

  bool stands_before(size_t number) const {
    if (k_.blocks[number].scope != Scope::column) return false;
    bool read = false;
    for (size_t i = 0; i <= number; ++i)
      for (int id : k_.blocks[i].instructions) {
        read |= is_read_by_all(id) && stores_columns_of(dtype_at(id), k_.blocks[number]);
        if (k_.instructions[id].kind == Kind::reduce && i < number) read = false;
      }
    return read;
  }

 private:
  bool is_read_by_all(int id) const {
    return k_.instructions[id].kind == Kind::load && shape_.inner >= 0 && !shape_.moves(id, shape_.inner);
  }

  DType dtype_at(int id) const { return k_.params[k_.instructions[id].access.param].dtype; }

  bool stores_columns_of(DType dtype, const KernelBlock& block) const {
    return llvm::any_of(block.instructions, [&](int id) {
      return k_.instructions[id].kind == Kind::store && dtype_at(id) == dtype &&
             shape_.moves(id, shape_.inner);
    });
  }

  const Kernel& k_;
  KernelShape shape_;
};

}  // namespace

void insert_row_barriers(Kernel& kernel) {
  const Barriers barriers(kernel);
  const bool reduced = KernelShape(kernel).is_reduced();
  for (size_t i = 0; i < kernel.blocks.size(); ++i)
    kernel.blocks[i].after_barrier = kernel.schedule.team > 1 && !reduced && barriers.stands_before(i);
}

}  // namespace smelt
