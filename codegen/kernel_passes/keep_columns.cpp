#include "codegen/kernel_passes/kernel_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/kernel_passes/kernel_indices.h"
#include "codegen/kernel_passes/kernel_shape.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;
using Scope = KernelBlock::Scope;

class Keeper {
 public:
  Keeper(Kernel& kernel, const KeepColumnsOptions& options)
      : k_(kernel), options_(options), shape_(kernel), same_(kernel.instructions.size(), -1) {}

  bool run() {
    if (shape_.is_reduced() || shape_.columns.size() != 1 || k_.schedule.flat) return false;
    number_values();
    for (size_t b = 0; b < k_.blocks.size(); ++b)
      if (k_.blocks[b].scope == Scope::column) rewrite(static_cast<int>(b));
    if (kept_.empty()) return false;
    k_.schedule.cached.assign(kept_.begin(), kept_.end());
    drop_unused_instructions(k_);
    return true;
  }

 private:
  // ---- which values are equal

  void number_values() {
    for (const KernelBlock& block : k_.blocks)
      for (int id : block.instructions) {
        same_[id] = id;
        if (const int stored = options_.forward_stores ? stored_value(id) : -1; stored >= 0)
          same_[id] = same_[stored];
        else if (is_pure(k_.instructions[id]))
          same_[id] = representatives_.try_emplace(text_of(id), id).first->second;
      }
  }

  static bool is_pure(const Instruction& x) {
    return x.kind == Kind::constant || x.kind == Kind::index || x.kind == Kind::scalar ||
           x.kind == Kind::convert || x.kind == Kind::random || x.kind == Kind::load;
  }

  /// Returns the expression of a value as text; equal values have equal texts.
  std::string text_of(int id) const {
    const Instruction& x = k_.instructions[id];
    const auto number = [this](int value) { return value < 0 ? -1 : same_[value]; };
    std::string text = fmt::format("{} {} {} {} {} {} {} {} p{}", static_cast<int>(x.kind),
                                   static_cast<int>(x.dtype), x.number, static_cast<int>(x.scalar_op), x.axis,
                                   x.slot, x.random_axis, x.random_begin.str(), number(x.predicate));
    for (int operand : x.operands) text += fmt::format(" %{}", number(operand));
    text += " r" + x.random_offset.str();
    for (const Dim& stride : x.random_strides) text += " r" + stride.str();
    if (x.access.param < 0) return text;
    text += fmt::format(" @{} {} c{} {}", x.access.param, x.access.offset.str(), number(x.access.computed),
                        x.access.computed_stride.str());
    for (const Dim& stride : x.access.strides) text += " s" + stride.str();
    return text;
  }

  /// A load of what a block before stored in the same place, as it was before it was rounded or as it is:
  /// that value.
  int stored_value(int id) const {
    const Instruction& load = k_.instructions[id];
    if (load.kind != Kind::load || load.predicate >= 0 || load.access.computed >= 0) return -1;
    int found = -1;
    for (int b = 0; b < shape_.block_of(id); ++b)
      for (int other : k_.blocks[b].instructions) {
        const Instruction& store = k_.instructions[other];
        if (store.kind == Kind::store && store.access == load.access && store.predicate < 0 &&
            is_exact(store.operands[0], k_.params[load.access.param].dtype))
          found = store.operands[0];
      }
    return found;
  }

  /// Memory of this type holds the value as it is.
  bool is_exact(int id, DType type) const {
    const Instruction& x = k_.instructions[id];
    if (type == DType::f32) return is_float(x.dtype);
    return (x.kind == Kind::convert && x.dtype == type) ||
           (x.kind == Kind::load && k_.params[x.access.param].dtype == type);
  }

  // ---- what later blocks take from earlier ones

  void rewrite(int block) {
    for (int id : k_.blocks[block].instructions) {
      const Kind kind = k_.instructions[id].kind;
      if (kind == Kind::store || kind == Kind::accumulate || kind == Kind::reduce) visit(id, block);
    }
  }

  void visit(int id, int block) {
    if (!visited_.insert(id).second) return;
    Instruction& x = k_.instructions[id];
    for (int& operand : x.operands) operand = from_before(operand, block);
    if (x.predicate >= 0) x.predicate = from_before(x.predicate, block);
    if (x.access.param >= 0 && x.access.computed >= 0)
      x.access.computed = from_before(x.access.computed, block);
  }

  int from_before(int id, int block) {
    if (shape_.block_of(id) != block) return id;
    const int earlier = same_[id];
    if (earlier != id && shape_.block_of(earlier) < block && (is_kept(earlier) || is_reload(id))) {
      if (shape_.moves(id, shape_.inner)) kept_.insert(earlier);
      return earlier;
    }
    visit(id, block);
    return id;
  }

  bool is_kept(int id) const {
    return can_be_kept(id) && (options_.expensive_only ? is_expensive(id) : !is_derived(id));
  }

  /// Returns whether a load reads a stored value again, and so replaces the instructions that computed it.
  bool is_reload(int id) const {
    return k_.instructions[id].kind == Kind::load && k_.instructions[same_[id]].kind != Kind::load &&
           can_be_kept(same_[id]);
  }

  /// Many instructions; what reads random bits directly is kept in their place.
  bool is_expensive(int id) const {
    const Instruction& x = k_.instructions[id];
    const auto is_random = [this](int other) { return k_.instructions[other].kind == Kind::random; };
    return is_random(id) || (x.kind == Kind::scalar && info(x.scalar_op).expensive) ||
           std::any_of(x.operands.begin(), x.operands.end(), is_random);
  }

  bool can_be_kept(int id) const {
    const Instruction& x = k_.instructions[id];
    const bool column = k_.blocks[shape_.block_of(id)].scope == Scope::column;
    if (!column || !shape_.moves(id, shape_.inner)) return false;
    if (x.kind == Kind::load && x.dtype == DType::boolean) return false;
    return !is_cheap(id);
  }

  bool is_simple(const Instruction& x) const {
    return x.kind == Kind::convert || (x.kind == Kind::scalar && !info(x.scalar_op).expensive);
  }

  /// Made from indices, constants and row scalars by a few instructions.
  bool is_cheap(int id) const {
    const Instruction& x = k_.instructions[id];
    if (!shape_.moves(id, shape_.inner) || x.kind == Kind::index) return true;
    return is_simple(x) &&
           std::all_of(x.operands.begin(), x.operands.end(), [this](int o) { return is_cheap(o); });
  }

  /// One instruction from a single value that can be kept itself, perhaps for others too. (A flag is less
  /// than what it was made from.)
  bool is_derived(int id) const {
    const Instruction& x = k_.instructions[id];
    if (!is_simple(x) || x.dtype == DType::boolean) return false;
    int from = -1;
    for (int operand : x.operands) {
      if (is_cheap(operand) || same_[operand] == from) continue;
      if (from >= 0) return false;
      from = same_[operand];
    }
    return from >= 0 && can_be_kept(from);
  }

  Kernel& k_;
  const KeepColumnsOptions& options_;
  KernelShape shape_;
  std::vector<int> same_;  // the first instruction with the same value
  std::map<std::string, int> representatives_;
  std::set<int> visited_, kept_;
};

}  // namespace

bool keep_columns(Kernel& kernel, const KeepColumnsOptions& options) { return Keeper(kernel, options).run(); }

}  // namespace smelt
