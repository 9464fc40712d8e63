// A strided copy as a kernel: its box of elements, the last dim along the columns. A large matrix whose
// columns become rows is a copy step, which has a kernel of its own.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/lowering/program_builder.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

struct BoxDim {
  Dim extent, from, to;
};

/// The dims of the box without those of one element, neighbours joined where one stride steps through both.
std::vector<BoxDim> joined_dims(const Layout& from, const Layout& to, const Shape& shape) {
  std::vector<BoxDim> dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is_one()) continue;
    const BoxDim dim{shape[i], from.strides[i], to.strides[i]};
    if (!dims.empty() && dims.back().from == dim.extent * dim.from && dims.back().to == dim.extent * dim.to)
      dims.back() = {dims.back().extent * dim.extent, dim.from, dim.to};
    else
      dims.push_back(dim);
  }
  if (dims.empty()) dims.push_back({1, 1, 1});
  return dims;
}

Kernel copy_kernel(const std::vector<BoxDim>& dims, DType dtype, const std::optional<IndexBounds>& indices) {
  Kernel kernel;
  kernel.name = "copy";
  kernel.params = {{.name = "x0", .dtype = dtype, .indices = indices},
                   {.name = "y1", .dtype = dtype, .output = true, .input = false, .indices = indices}};
  Access from{.param = 0}, to{.param = 1};
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool column = i + 1 == dims.size();
    kernel.axes.push_back({column ? AxisKind::column : AxisKind::parallel,
                           fmt::format("{}{}", column ? 'c' : 'r', column ? 0 : i), dims[i].extent});
    from.strides.push_back(dims[i].from);
    to.strides.push_back(dims[i].to);
  }
  kernel.instructions = {{.kind = Kind::load, .dtype = dtype, .access = from},
                         {.kind = Kind::store, .dtype = dtype, .operands = {0}, .access = to}};
  kernel.blocks = {{KernelBlock::Scope::column, {0, 1}}};
  return kernel;
}

CopyStep copy_step(const std::vector<BoxDim>& dims, const std::vector<BufferRef>& places, DType dtype) {
  CopyStep step{.from = places[0],
                .to = places[1],
                .extents = {},
                .from_strides = {},
                .to_strides = {},
                .dtype = dtype};
  for (const BoxDim& dim : dims) {
    step.extents.push_back(dim.extent);
    step.from_strides.push_back(dim.from), step.to_strides.push_back(dim.to);
  }
  return step;
}

/// Returns whether columns become rows, each as long as a line of a tile in a kernel that exchanges them.
bool is_large_transposition(const ProgramBuilder& builder, const CopyStep& step) {
  constexpr int64_t kLineBytes = 128;
  return is_transposition(step) && std::ranges::all_of(step.extents, [&](const Dim& extent) {
           return builder.symbols().upper(extent) * size_of(step.dtype) >= kLineBytes;
         });
}

}  // namespace

void copy_strided(ProgramBuilder& builder, const Layout& from, const Layout& to, const Shape& shape,
                  const Value& value) {
  const std::vector<BufferRef> arguments = {{from.buffer, from.offset}, {to.buffer, to.offset}};
  const std::vector<BoxDim> dims = joined_dims(from, to, shape);
  if (CopyStep step = copy_step(dims, arguments, value.dtype()); is_large_transposition(builder, step))
    return (void)builder.add_step(std::move(step));
  Kernel kernel = copy_kernel(dims, value.dtype(), builder.indices(value));
  KernelStep step{
      .kernel = builder.add_kernel(std::move(kernel), arguments), .arguments = arguments, .random_ids = {}};
  builder.add_step(std::move(step), {from.buffer}, {to.buffer});
}

}  // namespace smelt
