#include "codegen/kernel_passes/kernel_passes.h"

#include <algorithm>
#include <set>

#include "codegen/kernel_passes/kernel_shape.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;
using Scope = KernelBlock::Scope;

class Finder {
 public:
  explicit Finder(const Kernel& kernel) : kernel_(kernel), block_of_(kernel.instructions.size(), -1) {
    for (int block = 0; block < static_cast<int>(kernel.blocks.size()); ++block)
      for (int id : kernel.blocks[block].instructions) block_of_[id] = block;
  }

  /// The max_sumexp whose exponential of the same element this is, or -1.
  int reduction_behind(int id) const {
    if (!is(id, ScalarOp::exp) || !in_columns(id)) return -1;
    const int difference = at(id).operands[0];
    if (!is(difference, ScalarOp::sub)) return -1;
    const int reduce = maximum_of(at(difference).operands[1]);
    if (reduce < 0 || !in_columns(reduce) || block_of_[reduce] >= block_of_[id]) return -1;
    return same(at(difference).operands[0], at(reduce).operands[0], block_of_[id]) ? reduce : -1;
  }

  int maximum_of(int id) const {
    if (at(id).kind == Kind::result && at(id).slot == 0) id = at(id).operands[0];
    return at(id).kind == Kind::reduce && at(id).reduce_op == ReduceOp::max_sumexp ? id : -1;
  }

 private:
  const Instruction& at(int id) const { return kernel_.instructions[id]; }

  bool is(int id, ScalarOp op) const { return at(id).kind == Kind::scalar && at(id).scalar_op == op; }

  bool in_columns(int id) const {
    return block_of_[id] >= 0 && kernel_.blocks[block_of_[id]].scope == Scope::column;
  }

  /// Two column values computed alike, from memory that is as it was until `block`.
  bool same(int a, int b, int block) const {
    if (a == b) return true;
    if (a < 0 || b < 0) return false;
    const Instruction &x = at(a), &y = at(b);
    if (x.kind == Kind::reduce || x.kind == Kind::result || !same_but_operands(x, y)) return false;
    if (x.kind == Kind::load && stored_before(x.access.param, block)) return false;
    for (size_t i = 0; i < x.operands.size(); ++i)
      if (!same(x.operands[i], y.operands[i], block)) return false;
    return same(x.access.computed, y.access.computed, block) && same(x.predicate, y.predicate, block);
  }

  static bool same_but_operands(Instruction x, Instruction y) {
    if (x.operands.size() != y.operands.size()) return false;
    for (Instruction* i : {&x, &y}) {
      i->operands.clear();
      i->access.computed = i->predicate = -1;
      i->form = Form::plain;
    }
    return x == y;
  }

  bool stored_before(int param, int block) const {
    for (int earlier = 0; earlier < block; ++earlier)
      for (int id : kernel_.blocks[earlier].instructions)
        if (at(id).kind == Kind::store && at(id).access.param == param) return true;
    return false;
  }

  const Kernel& kernel_;
  std::vector<int> block_of_;  // the last block that contains an instruction
};

}  // namespace

bool keep_exponentials(Kernel& kernel, int64_t most_reductions) {
  const KernelShape shape(kernel);
  if (shape.columns.size() != 1 || shape.is_reduced()) return false;
  const Finder finder(kernel);
  std::vector<std::pair<int, int>> found;  // exponential, reduction
  std::set<int> all, kept;
  for (int id = 0; id < static_cast<int>(kernel.instructions.size()); ++id)
    if (const int reduce = finder.reduction_behind(id); reduce >= 0 && shape.moves(id, shape.inner))
      found.emplace_back(id, reduce), all.insert(reduce);
  bool marked = false;
  for (const auto& [exponential, reduce] : found) {
    kept.insert(reduce);
    if (all.size() > 1 && std::ssize(kept) > most_reductions) break;
    kernel.instructions[exponential].form = Form::kept;
    marked = true;
  }
  return marked;
}

void keep_exponentials_in_registers(Kernel& kernel) {
  constexpr int64_t kKeptElements = 48;  // of a thread
  const Schedule& s = kernel.schedule;
  if (s.vectors > 0 && !kernel.in_order)
    keep_exponentials(kernel, kKeptElements / (int64_t{s.vectors} * s.vector_width) - std::ssize(s.cached));
}

int reduction_of_kept(const Kernel& kernel, int exponential) {
  const int difference = kernel.instructions[exponential].operands[0];
  return Finder(kernel).maximum_of(kernel.instructions[difference].operands[1]);
}

}  // namespace smelt
