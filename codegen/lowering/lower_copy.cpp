// A strided copy as a kernel: its box of elements, the last dim along the columns.
#include <fmt/format.h>

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

}  // namespace

void copy_by_kernel(ProgramBuilder& builder, const Layout& from, const Layout& to, const Shape& shape,
                    const Value& value) {
  const std::vector<BufferRef> arguments = {{from.buffer, from.offset}, {to.buffer, to.offset}};
  Kernel kernel = copy_kernel(joined_dims(from, to, shape), value.dtype(), builder.indices(value));
  KernelStep step{
      .kernel = builder.add_kernel(std::move(kernel), arguments), .arguments = arguments, .random_ids = {}};
  builder.add_step(std::move(step), {from.buffer}, {to.buffer});
}

}  // namespace smelt
