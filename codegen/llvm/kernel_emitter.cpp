#include "codegen/llvm/kernel_emitter.h"

#include <algorithm>
#include <bit>

#include "codegen/llvm/emit_llvm.h"
#include "codegen/llvm/loops.h"
#include "runtime/error.h"
#include "runtime/plan/plan.h"

namespace smelt {
namespace {

constexpr int kWidest = 64;
constexpr int kZeroWidth = 16;

bool is_one(const KernelAxis& axis) { return axis.extent.is_one(); }

llvm::FastMathFlags contraction() {
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  return flags;
}

}  // namespace

KernelEmitter::KernelEmitter(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits)
    : kernel_(kernel),
      module_(module),
      b(module.getContext()),
      math_(b, traits.rounds),
      memory_(b, math_, traits.halves),
      philox_(b),
      dims_(launch_dims(kernel)),
      shape_(kernel),
      axis_values_(kernel.axes.size()),
      values_(kernel.instructions.size()) {
  b.setFastMathFlags(contraction());
}

void KernelEmitter::reject(int id, const char* what) const {
  fail_with(Status::internal, "kernel {}: instruction %{}: {}", kernel_.name, id, what);
}

void KernelEmitter::emit() {
  choose_width();
  find_kept_exponentials();
  create_function();
  load_arguments();
  zero_partials();
  if (kernel_.schedule.flat)
    emit_flat();
  else
    emit_range();
  b.CreateRetVoid();
}

/// Row kernels: a row is all columns. Reduced kernels: outer column axes and tiles of the inner one are part
/// of the range. The width of vectors does not depend on the processor, so that sums are the same everywhere.
void KernelEmitter::choose_width() {
  digit_axes_ = shape_.parallel;
  if (shape_.is_reduced() && shape_.columns.size() > 1)
    digit_axes_.insert(digit_axes_.end(), shape_.columns.begin(), shape_.columns.end() - 1);
  if (shape_.inner < 0) return;
  const int64_t extent = kernel_.axes[shape_.inner].extent.constant().value_or(kWidest);
  const auto limit = static_cast<uint64_t>(std::clamp<int64_t>(extent, 1, kWidest));
  const auto wanted = static_cast<uint64_t>(std::clamp(kernel_.schedule.vector_width, 1, kWidest));
  width_ = static_cast<int>(std::min(std::bit_ceil(limit), std::bit_floor(wanted)));
  tile_ = std::max<int64_t>(kernel_.schedule.tile, width_);
}

void KernelEmitter::create_function() {
  auto* type =
      llvm::FunctionType::get(b.getVoidTy(), {pointer_type(), b.getInt64Ty(), b.getInt64Ty()}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kernel_.name, module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("no-builtins");
  function_->addFnAttr("prefer-vector-width", "512");
  function_->addFnAttr("min-legal-vector-width", "512");
  arguments_ = function_->getArg(0), begin_ = function_->getArg(1), end_ = function_->getArg(2);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function_));
}

KernelEmitter::V KernelEmitter::load_argument(int offset, llvm::Type* type) {
  return b.CreateLoad(type, b.CreateConstGEP1_64(b.getInt8Ty(), arguments_, offset));
}

void KernelEmitter::load_arguments() {
  V buffers = load_argument(offsetof(KernelArgs, buffers), pointer_type());
  for (size_t i = 0; i < kernel_.params.size(); ++i)
    bases_.push_back(b.CreateLoad(pointer_type(), b.CreateConstGEP1_64(pointer_type(), buffers, i)));
  V dims = load_argument(offsetof(KernelArgs, dims), pointer_type());
  for (size_t i = 0; i < dims_.size(); ++i)
    dim_values_.push_back(b.CreateLoad(b.getInt64Ty(), b.CreateConstGEP1_64(b.getInt64Ty(), dims, i)));
  if (kernel_.random_slots > 0) {
    V ids = load_argument(offsetof(KernelArgs, random_ids), pointer_type());
    for (int i = 0; i < kernel_.random_slots; ++i)
      random_ids_.push_back(b.CreateLoad(b.getInt32Ty(), b.CreateConstGEP1_64(b.getInt32Ty(), ids, i)));
    seed_ = load_argument(offsetof(KernelArgs, seed), b.getInt32Ty());
    step_ = load_argument(offsetof(KernelArgs, step), b.getInt32Ty());
    micro_step_ = load_argument(offsetof(KernelArgs, micro_step), b.getInt32Ty());
  }
  zero_slot_ = alloca_array(b.getInt64Ty(), 1);
  sink_slot_ = alloca_array(b.getInt64Ty(), 1);
  b.CreateStore(b.getInt64(0), zero_slot_);
}

KernelEmitter::V KernelEmitter::dim(const Dim& dim) {
  if (dim.is_constant()) return b.getInt64(*dim.constant());
  return dim_values_[std::find(dims_.begin(), dims_.end(), dim) - dims_.begin()];
}

/// In the entry block, aligned for vectors.
KernelEmitter::V KernelEmitter::alloca_array(llvm::Type* type, int64_t count) {
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* place = entry.CreateAlloca(count == 1 ? type : llvm::ArrayType::get(type, count));
  if (count > 1) place->setAlignment(llvm::Align(64));
  return place;
}

/// Every chunk adds to its own slice, which is zero even where the chunk has nothing to do.
void KernelEmitter::zero_partials() {
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    const KernelParam& param = kernel_.params[i];
    if (!param.partial) continue;
    V slice = b.CreateSDiv(begin_, load_argument(offsetof(KernelArgs, chunk), b.getInt64Ty()));
    V elements = dim(param.partial_elements);
    llvm::Type* type = memory_.element(param.dtype);
    bases_[i] = b.CreateGEP(type, bases_[i], b.CreateMul(slice, elements));
    const auto clear = [&](int width) {
      return [&, width](V at) {
        b.CreateAlignedStore(llvm::Constant::getNullValue(lanes_of(type, width)),
                             b.CreateGEP(type, bases_[i], at), alignment(param.dtype));
      };
    };
    V whole = b.CreateAnd(elements, b.getInt64(-kZeroWidth));
    emit_loop(b, b.getInt64(0), whole, kZeroWidth, clear(kZeroWidth));
    emit_loop(b, whole, elements, 1, clear(1));
  }
}

/// The range is the column axis itself; row values are the same in every chunk, and the first one stores
/// them.
void KernelEmitter::emit_flat() {
  if (shape_.columns.size() != 1 || shape_.is_reduced())
    fail_with(Status::internal, "kernel {}: a flat kernel needs one column axis and no reduced ones",
              kernel_.name);
  for (int axis : digit_axes_) axis_values_[axis] = b.getInt64(0);
  row_begin_ = begin_, row_end_ = end_;
  may_store_row_ = b.CreateICmpEQ(begin_, b.getInt64(0));
  emit_if(b, b.CreateICmpSLT(begin_, end_), [&] {
    auto* done = llvm::BasicBlock::Create(b.getContext(), "skipped", function_);
    emit_row(done);
    b.SetInsertPoint(done);
  });
}

void KernelEmitter::emit_range() {
  std::erase_if(digit_axes_, [&](int axis) {
    if (is_one(kernel_.axes[axis])) axis_values_[axis] = b.getInt64(0);
    return is_one(kernel_.axes[axis]);
  });
  emit_digits(begin_);
  emit_loop(b, begin_, end_, 1, [&](V item) {
    auto* next = llvm::BasicBlock::Create(b.getContext(), "next", function_);
    set_row(item);
    emit_row(next);
    b.SetInsertPoint(next);
    advance_digits();
  });
}

/// The first item's indices by division; the others by counting.
void KernelEmitter::emit_digits(V item) {
  if (shape_.is_reduced() && shape_.inner >= 0) {
    const Dim tiles = kernel_.axes[shape_.inner].extent;
    V count = b.CreateSDiv(b.CreateAdd(dim(tiles), b.getInt64(tile_ - 1)), b.getInt64(tile_));
    tile_digit_ = alloca_array(b.getInt64Ty(), 1);
    b.CreateStore(b.CreateSRem(item, count), tile_digit_);
    item = b.CreateSDiv(item, count);
  }
  digits_.assign(digit_axes_.size(), nullptr);
  for (size_t i = digit_axes_.size(); i-- > 0;) {
    V extent = dim(kernel_.axes[digit_axes_[i]].extent);
    digits_[i] = alloca_array(b.getInt64Ty(), 1);
    b.CreateStore(i == 0 ? item : b.CreateSRem(item, extent), digits_[i]);
    if (i > 0) item = b.CreateSDiv(item, extent);
  }
}

void KernelEmitter::advance_digits() {
  V carry = b.getInt64(1);
  const auto advance = [&](V digit, V extent) {
    V raised = b.CreateAdd(b.CreateLoad(b.getInt64Ty(), digit), carry);
    V full = extent == nullptr ? b.getFalse() : b.CreateICmpEQ(raised, extent);
    b.CreateStore(b.CreateSelect(full, b.getInt64(0), raised), digit);
    carry = b.CreateZExt(full, b.getInt64Ty());
  };
  if (tile_digit_ != nullptr) {
    V extent = dim(kernel_.axes[shape_.inner].extent);
    advance(tile_digit_, b.CreateSDiv(b.CreateAdd(extent, b.getInt64(tile_ - 1)), b.getInt64(tile_)));
  }
  for (size_t i = digits_.size(); i-- > 0;)
    advance(digits_[i], i == 0 ? nullptr : dim(kernel_.axes[digit_axes_[i]].extent));
}

void KernelEmitter::set_row(V item) {
  may_store_row_ = nullptr;
  for (size_t i = 0; i < digits_.size(); ++i)
    axis_values_[digit_axes_[i]] =
        digits_.size() == 1 && tile_digit_ == nullptr ? item : b.CreateLoad(b.getInt64Ty(), digits_[i]);
  if (shape_.inner < 0) return;
  row_begin_ = b.getInt64(0), row_end_ = dim(kernel_.axes[shape_.inner].extent);
  if (tile_digit_ == nullptr) return;
  V tile = b.CreateLoad(b.getInt64Ty(), tile_digit_);
  V first = b.CreateMul(tile, b.getInt64(tile_));
  row_end_ = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(first, b.getInt64(tile_)), row_end_);
  row_begin_ = first;
  may_store_row_ = b.CreateICmpEQ(tile, b.getInt64(0));
  for (size_t i = 0; i + 1 < shape_.columns.size(); ++i)
    may_store_row_ =
        b.CreateAnd(may_store_row_, b.CreateICmpEQ(axis_values_[shape_.columns[i]], b.getInt64(0)));
}

/// No vector of a tile or of a row is cut short.
bool KernelEmitter::whole_tiles() const {
  const std::optional<int64_t> extent = kernel_.axes[shape_.inner].extent.constant();
  return !kernel_.schedule.flat && extent && *extent % width_ == 0 && tile_ % width_ == 0;
}

void KernelEmitter::emit_row(llvm::BasicBlock* next) {
  for (size_t i = 0; i < kernel_.blocks.size(); ++i) {
    emit_block(kernel_.blocks[i]);
    if (i > 0 || kernel_.row_predicate < 0) continue;
    auto* taken = llvm::BasicBlock::Create(b.getContext(), "taken", function_);
    b.CreateCondBr(math_.coerce(value_of(kernel_.row_predicate), ComputeKind::flag), taken, next);
    b.SetInsertPoint(taken);
  }
  b.CreateBr(next);
}

}  // namespace smelt
