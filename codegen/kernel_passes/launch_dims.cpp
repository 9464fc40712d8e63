#include <algorithm>

#include "codegen/kernel_passes/kernel_indices.h"

namespace smelt {
namespace {

class Collector {
 public:
  void add(const Dim& dim) {
    if (!dim.is_constant() && std::find(dims.begin(), dims.end(), dim) == dims.end()) dims.push_back(dim);
  }
  void add(const std::vector<Dim>& list) {
    for (const Dim& dim : list) add(dim);
  }
  void add(const Kernel& kernel) {
    for (const KernelAxis& axis : kernel.axes) add(axis.extent);
    for (const KernelParam& param : kernel.params) add(param.partial_elements);
    for (const Instruction& instruction : kernel.instructions) add(instruction);
  }
  void add(const Instruction& instruction) {
    add(instruction.access.offset);
    add(instruction.access.strides);
    add(instruction.access.computed_stride);
    add(instruction.random_offset);
    add(instruction.random_begin);
    add(instruction.random_strides);
  }
  void add(const AttentionKernel& attention) {
    for (const Dim& size :
         {attention.batch, attention.heads, attention.key_heads, attention.queries, attention.keys})
      add(size);
    for (const Dim& size : {attention.places_batch_stride, attention.places_stride}) add(size);
    for (const auto* list : {&attention.matrices, &attention.scales})
      for (const AttentionKernel::Matrix& matrix : *list)
        for (const Dim& stride : {matrix.batch_stride, matrix.place_stride, matrix.head_stride}) add(stride);
  }
  void add(const GemmKernel& gemm) {
    for (const Dim& size : {gemm.m, gemm.n, gemm.k}) add(size);
    if (gemm.mma) add(gemm.a.pitch), add(gemm.b.pitch);
    for (const GemmKernel::Batch& axis : gemm.batch) add({axis.extent, axis.a_stride, axis.b_stride});
  }
  std::vector<Dim> dims;
};

}  // namespace

std::vector<Dim> launch_dims(const Kernel& kernel) {
  Collector collector;
  if (kernel.attention && !kernel.attention->blocked()) collector.add(*kernel.attention);
  if (kernel.gemm) collector.add(*kernel.gemm);
  collector.add(kernel);
  for (const Kernel& first : kernel.before) collector.add(first), collector.add(first.range());
  if (!kernel.beside.empty()) collector.add(kernel.range());
  for (const Kernel& other : kernel.beside) collector.add(other), collector.add(other.range());
  return std::move(collector.dims);
}

}  // namespace smelt
