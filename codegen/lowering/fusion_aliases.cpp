#include "codegen/lowering/lower.h"

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

bool is_store_to(const Instruction& x, int param) { return x.kind == Kind::store && x.access.param == param; }

/// Returns the access by which the kernel stores the elements of an output.
Access place_of(const Kernel& kernel, int output) {
  Access place;
  for (const KernelBlock& block : kernel.blocks)
    for (int number : block.instructions)
      if (const Instruction& x = kernel.instructions[number]; is_store_to(x, output)) place = x.access;
  return place;
}

/// Column 0 of the row that is stored.
bool reads_own_row(const Kernel& kernel, const Access& read, const Access& place) {
  for (size_t i = 0; i < kernel.axes.size(); ++i) {
    const bool parallel = kernel.axes[i].kind == AxisKind::parallel;
    if (parallel ? read.strides[i] != place.strides[i] : !read.strides[i].is_zero()) return false;
  }
  return read.computed < 0;
}

/// One element for all columns: every thread of the row reads it, one writes it.
bool is_of_row(const Kernel& kernel, const Access& access) {
  bool columns = false;
  for (size_t i = 0; i < kernel.axes.size(); ++i) {
    if (kernel.axes[i].kind == AxisKind::parallel) continue;
    if (!access.strides[i].is_zero()) return false;
    columns = true;
  }
  return columns;
}

/// Returns whether a loop of the block that stores an output writes each element repeatedly, like the loop
/// over the reduced axes for a value that does not depend on them: its second iteration would read the
/// written value.
bool is_written_again(const Kernel& kernel, const Access& place, int output) {
  const auto stores = [&](int number) { return is_store_to(kernel.instructions[number], output); };
  const auto block = llvm::find_if(
      kernel.blocks, [&](const KernelBlock& b) { return llvm::any_of(b.instructions, stores); });
  if (block == kernel.blocks.end() || block->scope == KernelBlock::Scope::row) return false;
  const bool reduced = block->scope == KernelBlock::Scope::reduced;
  for (size_t i = 0; i < kernel.axes.size(); ++i) {
    const KernelAxis& axis = kernel.axes[i];
    const bool loops = axis.kind == AxisKind::column || (reduced && axis.kind == AxisKind::reduced);
    if (loops && place.strides[i].is_zero() && !axis.extent.is_one()) return true;
  }
  return false;
}

bool reads_before_it_writes(const Kernel& kernel, int input, int output) {
  const Access place = place_of(kernel, output);
  if (place.computed >= 0 || is_written_again(kernel, place, output)) return false;
  const bool of_row = is_of_row(kernel, place);
  bool written = false, others_may_read = false;
  for (const KernelBlock& block : kernel.blocks)
    for (int number : block.instructions) {
      const Instruction& x = kernel.instructions[number];
      written |= is_store_to(x, output);
      // The threads of a row synchronize in a reduction, and before columns are stored
      // (codegen/kernel_passes/kernel_passes.h).
      if (x.kind == Kind::reduce) others_may_read = false;
      if (written && of_row && others_may_read) return false;
      if (x.kind != Kind::load || x.access.param != input) continue;
      others_may_read = true;
      const bool same_place = x.access.strides == place.strides && x.access.computed < 0;
      // Row code may read column 0 of its own row before any column of it is written.
      const bool own_row = block.scope == KernelBlock::Scope::row && reads_own_row(kernel, x.access, place);
      if (written || !(same_place || own_row)) return false;
    }
  return true;
}

/// Elements that an instruction touches, over the kernel's axes.
struct Touched {
  Dim offset;
  const std::vector<Dim>& strides;
  const std::vector<KernelAxis>& axes;

  /// Returns 1 plus the distance of the last element from the first, over the axes for which `counts` is
  /// true.
  Dim span(llvm::function_ref<bool(size_t)> counts) const {
    Dim elements = 1;
    for (size_t i = 0; i < axes.size(); ++i)
      if (counts(i)) elements += (axes[i].extent - 1) * strides[i];
    return elements;
  }
};

bool is_at_least(const Dim& dim, const Dim& other) {
  const auto left = (dim - other).constant();
  return left && *left >= 0;
}

/// Returns whether the last element of one is stored before the first of the other.
bool are_one_after_the_other(const Touched& a, const Touched& b) {
  const auto all = [](size_t) { return true; };
  return is_at_least(b.offset - a.offset, a.span(all)) || is_at_least(a.offset - b.offset, b.span(all));
}

bool is_multiple_of(const Dim& dim, int64_t divisor) {
  return llvm::all_of(dim.terms(), [&](const Dim::Term& term) { return term.coefficient % divisor == 0; });
}

/// Each touches its own columns of rows that begin `pitch` elements apart, such as the halves of a head.
bool are_in_other_columns(const Touched& a, const Touched& b, int64_t pitch) {
  const auto inner = [&](size_t i) {
    return !is_multiple_of(a.strides[i], pitch) || !is_multiple_of(b.strides[i], pitch);
  };
  const auto distance = (b.offset - a.offset).constant();
  const auto columns_a = a.span(inner).constant(), columns_b = b.span(inner).constant();
  if (!distance || !columns_a || !columns_b) return false;
  const int64_t column = (*distance % pitch + pitch) % pitch;
  return column >= *columns_a && column + *columns_b <= pitch;
}

bool are_apart(const Touched& a, const Touched& b) {
  if (are_one_after_the_other(a, b)) return true;
  return llvm::any_of(a.strides, [&](const Dim& stride) {
    return stride.constant().value_or(0) > 1 && are_in_other_columns(a, b, *stride.constant());
  });
}

/// Returns whether, if both had one buffer, no thread would read through `input` an element that another
/// thread writes through `output`.
bool keeps_what_is_read(const FusionKernel& fusion, int input, int output) {
  const Kernel& kernel = fusion.kernel;
  const BufferRef &from = fusion.arguments[input], &to = fusion.arguments[output];
  if (from.offset == to.offset) return reads_before_it_writes(kernel, input, output);
  const Access place = place_of(kernel, output);
  return llvm::all_of(kernel.instructions, [&](const Instruction& x) {
    if (x.access.param != input) return true;
    return x.access.computed < 0 && place.computed < 0 &&
           are_apart({from.offset + x.access.offset, x.access.strides, kernel.axes},
                     {to.offset + place.offset, place.strides, kernel.axes});
  });
}

/// All that the kernel reads of the one buffer, and all that it writes of the other.
bool may_be_one_buffer(const FusionKernel& fusion, int read, int written) {
  const auto params_of = [&](int buffer, bool output) {
    std::vector<int> params;
    for (auto [i, argument] : llvm::enumerate(fusion.arguments))
      if (argument.buffer == buffer && fusion.kernel.params[i].output == output)
        params.push_back(static_cast<int>(i));
    return params;
  };
  return llvm::all_of(params_of(read, false), [&](int input) {
    return llvm::all_of(params_of(written, true),
                        [&](int output) { return keeps_what_is_read(fusion, input, output); });
  });
}

bool can_alias(const FusionKernel& fusion, const FusionStore& store, const Value& operand, int param) {
  const Value& result = *store.result;
  const Layout &from = *operand.layout, &to = *result.layout;
  return param >= 0 && operand.dtype() == result.dtype() && operand.shape() == result.shape() &&
         from.strides == to.strides && from.offset == to.offset &&
         may_be_one_buffer(fusion, from.buffer, to.buffer);
}

}  // namespace

std::vector<std::pair<int, int>> aliases_of(const FusionKernel& fusion) {
  std::vector<std::pair<int, int>> pairs;
  for (const FusionStore& store : fusion.stores)
    for (auto [input, operand] : llvm::zip(fusion.body().inputs(), fusion.fusion().operands()))
      if (can_alias(fusion, store, *operand, fusion.param_of(*input->result())))
        pairs.push_back({store.result->layout->buffer, operand->layout->buffer});
  return pairs;
}

namespace {

bool reads_what_it_wrote(const Kernel& kernel, int input, int output) {
  const Access place = place_of(kernel, output);
  bool written = false;
  for (const KernelBlock& block : kernel.blocks)
    for (int number : block.instructions) {
      const Instruction& x = kernel.instructions[number];
      written |= is_store_to(x, output);
      if (written && x.kind == Kind::load && x.access.param == input && x.access.computed < 0 &&
          x.access.strides == place.strides && x.access.offset == place.offset)
        return true;
    }
  return false;
}

}  // namespace

void check_in_place(const FusionKernel& fusion) {
  for (auto [input, from] : llvm::enumerate(fusion.arguments))
    for (auto [output, to] : llvm::enumerate(fusion.arguments)) {
      if (fusion.kernel.params[input].output || !fusion.kernel.params[output].output || from != to) continue;
      if (reads_what_it_wrote(fusion.kernel, static_cast<int>(input), static_cast<int>(output)))
        fail_with(Status::internal, "lower_fusion: {} reads in place what it has written",
                  fusion.fusion().describe());
    }
}

}  // namespace smelt
