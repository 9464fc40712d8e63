#include "codegen/lowering/fusion_kernel.h"

#include <fmt/format.h>

#include "ir/analysis/reading_order.h"
#include "ir/analysis/view.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

using Reduction = IterationSpace::Reduction;

IterationSpace space_of(const Node& fusion) {
  IterationSpaceResult result = iteration_space(*fusion.body);
  if (!result.space)
    fail_with(Status::internal, "{}: its body is no kernel: {}", fusion.describe(), result.reason);
  return std::move(*result.space);
}

}  // namespace

FusionKernel::FusionKernel(const ProgramBuilder& builder, const Node& fusion)
    : fusion_(fusion), body_(*fusion.body), space_(space_of(fusion)) {
  kernel.name = name();
  for (const auto& [place, node] : llvm::enumerate(reading_order(body_)))
    place_of_[node] = static_cast<int>(place);
  add_axes();
  add_params(builder);
}

/// Returns a kernel name for people: its kind, and its numbers of operands and results.
std::string FusionKernel::name() const {
  const bool reduces = llvm::any_of(body_.nodes(), [](const auto& node) { return node->is(Op::reduce); });
  return fmt::format("{}{}x{}", reduces ? "reduce" : "map", fusion_.operands().size(),
                     fusion_.result_count());
}

// ---- axes

void FusionKernel::add_axes() {
  axis_of_.assign(space_.axes.size(), -1);
  for (AxisKind kind : {AxisKind::parallel, AxisKind::reduced, AxisKind::column})
    for (size_t i = 0; i < space_.axes.size(); ++i) {
      if (space_.axes[i].kind != kind) continue;
      axis_of_[i] = static_cast<int>(kernel.axes.size());
      kernel.axes.push_back({kind, axis_name(kind), space_.axes[i].extent});
    }
}

std::string FusionKernel::axis_name(AxisKind kind) const {
  const auto count = llvm::count_if(kernel.axes, [&](const KernelAxis& axis) { return axis.kind == kind; });
  return fmt::format("{}{}", kind == AxisKind::parallel ? 'r' : kind == AxisKind::column ? 'c' : 'k', count);
}

// ---- params

/// Returns whether nothing reads the input, because inserts only write to it; its other elements are already
/// in place.
bool FusionKernel::is_inserted_into(const Value& input) {
  return llvm::all_of(input.users(), [&](const Node* user) {
    return user->is(Op::insert) && llvm::count(user->operands(), &input) == 1 && user->operand(0) == &input;
  });
}

void FusionKernel::add_params(const ProgramBuilder& builder) {
  for (auto [input, operand] : llvm::zip(body_.inputs(), fusion_.operands()))
    if (!is_inserted_into(*input->result()))
      param_of_[input->result()] = add_input(*input->result(), *operand, builder.indices(*operand));
  for (auto [i, output] : llvm::enumerate(body_.outputs)) {
    const Value* result = fusion_.result(static_cast<unsigned>(i));
    if (const Value* sum = chunked_sum(*output.value))
      add_sum(*sum, *result);
    else
      stores.push_back({output.value, result, add_param(*result, true, builder.indices(*result))});
  }
}

/// Elements of the operand that the computed indices of gathers may address; 0 where no gather reads it.
Dim FusionKernel::table_elements(const Value& input, const Value& operand) {
  const auto looks = [&](const Node* user) { return user->is(Op::gather) && user->operand(0) == &input; };
  return llvm::any_of(input.users(), looks) ? reach(*operand.layout, operand.shape()) : Dim(0);
}

/// One param a place in memory: an input that is read along two different axes is one pointer. Tables of two
/// sizes that begin at one place, such as a concat and its first part, are two.
int FusionKernel::add_input(const Value& input, const Value& operand,
                            const std::optional<IndexBounds>& indices) {
  const Dim table = table_elements(input, operand);
  const BufferRef place{operand.layout->buffer, operand.layout->offset};
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    KernelParam& param = kernel.params[i];
    const bool fits = table.is_zero() || param.table_elements.is_zero() || param.table_elements == table;
    if (argument != place || !fits) continue;
    if (param.indices != indices) param.indices.reset();
    if (!table.is_zero()) param.table_elements = table;
    return static_cast<int>(i);
  }
  const int param = add_param(operand, false, indices);
  kernel.params[param].table_elements = table;
  return param;
}

int FusionKernel::add_param(const Value& value, bool output, const std::optional<IndexBounds>& indices) {
  const auto param = static_cast<int>(arguments.size());
  kernel.params.push_back({.name = fmt::format("{}{}", output ? "y" : "x", param),
                           .dtype = value.dtype(),
                           .output = output,
                           .input = !output,
                           .indices = indices});
  arguments.push_back({value.layout->buffer, value.layout->offset});
  return param;
}

/// The sum over chunks that an output is, or is the rounding of; null for other outputs.
const Value* FusionKernel::chunked_sum(const Value& value) const {
  const auto it = space_.reductions.find(value.node());
  if (it == space_.reductions.end())
    return value.node()->is(Op::convert) ? chunked_sum(*value.node()->operand(0)) : nullptr;
  return it->second == Reduction::column || it->second == Reduction::full ? &value : nullptr;
}

void FusionKernel::add_sum(const Value& value, const Value& result) {
  const auto param = static_cast<int>(arguments.size());
  kernel.params.push_back({.name = fmt::format("p{}", param),
                           .dtype = partial_type(value),
                           .output = true,
                           .input = false,
                           .partial = true,
                           .partial_elements = element_count(value.shape())});
  arguments.emplace_back();
  sums.push_back({&value, &result, param});
}

// ---- places of the body's values

bool FusionKernel::is_column(const Value& value) const {
  const auto& axes = axes_of(value);
  return space_.follows(axes, AxisKind::column) || space_.follows(axes, AxisKind::reduced);
}

const IterationSpace::Axes& FusionKernel::axes_of(const Value& value) const {
  if (auto it = space_.results.find(&value); it != space_.results.end()) return it->second;
  const Node* user = value.users().front();  // an input of the body: all its uses follow the same axes
  const auto& operands = space_.operands.find(user)->second;
  return operands[llvm::find(user->operands(), &value) - user->operands().begin()];
}

const Value& FusionKernel::outside(const Node& input) const {
  for (auto [node, operand] : llvm::zip(body_.inputs(), fusion_.operands()))
    if (node == &input) return *operand;
  fail_with(Status::internal, "{}: an input without an operand", fusion_.describe());
}

Access FusionKernel::access(int param, llvm::ArrayRef<Dim> strides, const IterationSpace::Axes& axes) const {
  Access access{.param = param, .strides = std::vector<Dim>(kernel.axes.size(), Dim(0))};
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis >= 0) access.strides[axis_of_[axis]] = strides[i];
  return access;
}

Access FusionKernel::access(const FusionStore& store) const {
  return access(store.param, store.result->layout->strides, axes_of(*store.value));
}

int FusionKernel::append(int block, Instruction instruction) {
  const auto number = static_cast<int>(kernel.instructions.size());
  instruction.origin = origin_;
  kernel.instructions.push_back(std::move(instruction));
  kernel.blocks[block].instructions.push_back(number);
  return number;
}

}  // namespace smelt
