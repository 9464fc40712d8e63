#include "codegen/cpu/emitters/emit_kernel.h"

#include <limits>

#include "codegen/cpu/emit_llvm.h"
#include "codegen/cpu/emitters/address_emitter.h"
#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/kernel_values.h"
#include "codegen/kernel_passes/mask_intervals.h"
#include "runtime/plan/plan.h"

namespace smelt {
namespace {

/// LLVM code for MaskIntervals over a block: i32 numbers and states.
class BlockCode {
 public:
  using V = llvm::Value*;

  explicit BlockCode(KernelContext& context)
      : c_(context), b(context.b), values_(context), addresses_(context, values_) {
    set_block();
  }

  V number(int64_t value) { return b.getInt32(static_cast<uint32_t>(value)); }
  Interval<V> places(int dim) {
    const auto at = static_cast<size_t>(dim);
    V first = b.CreateTrunc(first_[at], b.getInt32Ty()), end = b.CreateTrunc(end_[at], b.getInt32Ty());
    return {first, b.CreateSub(end, number(1))};
  }
  Interval<V> load(int id, int dim) {
    if (dim < 0) {
      V value = element(id);
      return {value, value};
    }
    const auto at = static_cast<size_t>(dim);
    V least = variable(INT32_MAX), most = variable(INT32_MIN);
    emit_loop(b, first_[at], end_[at], 1, [&](V place) {
      index(at) = place;
      V value = element(id);
      keep(least, llvm::Intrinsic::smin, value), keep(most, llvm::Intrinsic::smax, value);
    });
    index(at) = first_[at];
    return {b.CreateLoad(b.getInt32Ty(), least), b.CreateLoad(b.getInt32Ty(), most)};
  }
  V sum(V x, V y) { return b.CreateAdd(x, y); }
  V difference(V x, V y) { return b.CreateSub(x, y); }

  V test(V x, ScalarOp op, V y) {
    switch (op) {
      case ScalarOp::ge:
        return b.CreateICmpSGE(x, y);
      case ScalarOp::gt:
        return b.CreateICmpSGT(x, y);
      case ScalarOp::le:
        return b.CreateICmpSLE(x, y);
      case ScalarOp::lt:
        return b.CreateICmpSLT(x, y);
      default:
        return b.CreateICmpEQ(x, y);
    }
  }
  V all(V x, V y) { return b.CreateAnd(x, y); }
  V any(V x, V y) { return b.CreateOr(x, y); }

  V state(V always, V never) {
    return b.CreateSelect(always, number(2), b.CreateSelect(never, number(0), number(1)));
  }
  V least(V x, V y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }
  V most(V x, V y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y); }
  V opposite(V x) { return b.CreateSub(number(2), x); }
  V kept(V x) { return x; }
  V choose(V which, V always, V never, V mixed) {
    V other = b.CreateSelect(b.CreateICmpEQ(which, number(0)), never, mixed);
    return b.CreateSelect(b.CreateICmpEQ(which, number(2)), always, other);
  }

 private:
  /// A call is given rows [b,h,t] of one head, and keys.
  void set_block() {
    V row = c_.frame.begin, queries = c_.dim(c_.kernel.attention->queries),
      heads = c_.dim(c_.kernel.attention->heads);
    V head = b.CreateSDiv(row, queries), first_query = b.CreateSRem(row, queries);
    V count = b.CreateSub(c_.frame.end, row);
    const auto column = [&](int offset) { return c_.frame.load_argument(offset, b.getInt64Ty()); };
    first_ = {b.CreateSDiv(head, heads), b.CreateSRem(head, heads), first_query,
              column(offsetof(KernelArgs, first_column))};
    for (V first : first_) end_.push_back(b.CreateAdd(first, b.getInt64(1)));
    end_[2] = b.CreateAdd(first_query, count), end_[3] = column(offsetof(KernelArgs, end_column));
    for (size_t dim = 0; dim < 4; ++dim) index(dim) = first_[dim];
  }

  V& index(size_t dim) { return c_.place.indices[static_cast<size_t>(c_.kernel.attention->axes[dim])]; }

  V element(int id) {
    return b.CreateAlignedLoad(b.getInt32Ty(), addresses_.address_of(id).pointer, llvm::Align(4));
  }

  V variable(int32_t value) {
    V place = c_.frame.alloca_array(b.getInt32Ty(), 1);
    b.CreateStore(number(value), place);
    return place;
  }
  void keep(V place, llvm::Intrinsic::ID choice, V value) {
    b.CreateStore(b.CreateBinaryIntrinsic(choice, b.CreateLoad(b.getInt32Ty(), place), value), place);
  }

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  KernelValues values_;
  AddressEmitter addresses_;
  std::vector<V> first_, end_;  // of b, h, t and s
};

}  // namespace

void emit_sees(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits) {
  KernelContext context(kernel, kernel.name + ".sees", module, traits);
  BlockCode code(context);
  const ScoreMask mask = score_mask(kernel);
  llvm::Value* state =
      mask.instruction < 0 ? code.number(1) : MaskIntervals(kernel, code).state(mask.instruction);
  context.b.CreateStore(state, context.frame.load_argument(offsetof(KernelArgs, sees), context.b.getPtrTy()));
  context.b.CreateRetVoid();
}

}  // namespace smelt
