#include "codegen/kernel_parameters.h"

#include <algorithm>
#include <set>

#include "codegen/cuda/attention/decode_attention.h"
#include "codegen/cuda/attention/wgmma_kernel.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/packed_format.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

/// Symbols are at least 1, and so are products of them.
bool is_at_least_zero(const Dim& dim) {
  int64_t least = 0;
  for (const Dim::Term& term : dim.terms()) {
    if (term.coefficient < 0 && !term.atoms.empty()) return false;
    const bool divided = llvm::any_of(term.atoms, [](const Atom& atom) { return atom.inner != nullptr; });
    if (!divided) least += term.coefficient;
  }
  return least >= 0;
}

/// One kernel's part of the parameters of a launch. Its axes come after the axes already there.
class ParametersOf {
 public:
  ParametersOf(const Kernel& kernel, int stage, KernelCode& code)
      : kernel_(kernel), stage_(stage), code_(code) {}

  void run() {
    first_axis_ = code_.axes.size();
    for (const KernelAxis& axis : kernel_.axes) code_.axes.push_back(axis.extent);
    const size_t first = code_.parameters.size();
    for (size_t i = 0; i < kernel_.params.size(); ++i)
      code_.parameters.push_back(start_of(kernel_.params[i]));
    parameters_ = code_.parameters.data() + first;
    for (const KernelBlock& block : kernel_.blocks)
      for (const int id : block.instructions) add(kernel_.instructions[static_cast<size_t>(id)]);
    if (kernel_.attention) add(*kernel_.attention);
    if (kernel_.gemm) add(*kernel_.gemm);
    for (const int param : params_of_indices()) keep_indices(param);
    for (size_t i = 0; i < kernel_.params.size(); ++i) drop_inner(parameters_[i]);
    if (kernel_.attention) drop_tiles(static_cast<size_t>(kernel_.attention->tile_params));
  }

 private:
  KernelParameter start_of(const KernelParam& param) {
    KernelParameter made{.dtype = param.dtype, .read = false, .written = param.partial, .stage = stage_};
    if (param.partial) made.accesses.push_back(slices(param));
    return made;
  }

  /// One slice per chunk, all of which are written, followed by their f64 sums.
  KernelAccess slices(const KernelParam& param) {
    KernelAccess access;
    access.strides.resize(code_.axes.size());
    code_.axes.push_back(partial_slices(kernel_.schedule.splits, kernel_.schedule.sum_rows)),
        access.strides.push_back(param.partial_elements);
    code_.axes.push_back(param.partial_elements), access.strides.push_back(1);
    return access;
  }

  void add(const Instruction& x) {
    if (x.access.param < 0) return;
    const KernelParam& param = kernel_.params[static_cast<size_t>(x.access.param)];
    KernelParameter& made = parameters_[x.access.param];
    made.read |= x.kind != Kind::store;
    made.written |= x.kind != Kind::load;
    if (x.kind == Kind::store && param.indices) keep_written(param, made);
    if (param.partial) return;
    if (x.access.computed >= 0) {
      made.table_elements = param.table_elements;
      return;
    }
    KernelAccess access{x.access.offset, std::vector<Dim>(first_axis_)};
    access.strides.insert(access.strides.end(), x.access.strides.begin(), x.access.strides.end());
    while (!access.strides.empty() && access.strides.back().is_zero()) access.strides.pop_back();
    if (!llvm::is_contained(made.accesses, access)) made.accesses.push_back(std::move(access));
  }

  /// Numbers that the kernel leaves where they are have to be within the bounds of those that it writes.
  static void keep_written(const KernelParam& param, KernelParameter& made) {
    made.indices = param.indices;
    made.read |= param.input;
  }

  /// Adds the parameters that the template around a body reads and writes.
  void add(const AttentionKernel& attention) {
    const size_t read = attention.part == AttentionPart::forward ? 3 : 4;
    for (size_t i = 0; i < attention.matrices.size(); ++i)
      add(attention, attention.matrices[i], attention.width, i >= read);
    for (const AttentionKernel::Matrix& scales : attention.scales) add(attention, scales, 1, false);
    const bool writes_rows = attention.part == AttentionPart::forward;
    for (const int param : attention.rows)
      add_list(param, attention.batch * attention.heads * attention.queries, writes_rows);
    if (attention.counters >= 0) add_shared(attention);
    if (attention.places >= 0) add_places(attention);
    for (const auto& [i, param] : llvm::enumerate(attention.sums))
      add_list(static_cast<int>(param), sum_elements(attention, static_cast<int>(i)), true);
    if (const FewTiles* tiles = attention.few(); tiles && attention.workspace >= 0)
      add_list(attention.workspace, few_partials(attention, *tiles), true);
    if (const BlockTiles* tiles = attention.blocked())
      add_list(attention.workspace, lane_layout(attention, *tiles).elements * int64_t{tiles->lanes}, true);
  }

  /// Adds the operands of a matmul, as its template addresses them.
  void add(const GemmKernel& gemm) {
    if (!gemm.is_staged()) add(gemm, gemm.a, gemm.m, &GemmKernel::Batch::a_stride);
    if (gemm.packed)
      add(gemm, *gemm.packed);
    else
      add(gemm, gemm.b, gemm.n, &GemmKernel::Batch::b_stride);
    if (gemm.few && gemm.few->bias >= 0) add_list(gemm.few->bias, gemm.n, false);
  }
  /// Adds the codes, scales and zeros of each column of B.
  void add(const GemmKernel& gemm, const PackedOperand& packed) {
    const int64_t bits = find_packed_format(packed.format)->bits;
    const Dim groups = floor_div(gemm.k, packed.group);
    add_columns(gemm.b.param, gemm.n, gemm.b.pitch, floor_div(gemm.k * bits, 8));
    add_columns(packed.scales, gemm.n, packed.scales_pitch, groups);
    if (packed.zeros >= 0) add_columns(packed.zeros, gemm.n, packed.zeros_pitch, groups);
  }
  void add_columns(int param, const Dim& columns, const Dim& pitch, const Dim& length) {
    KernelAccess access;
    access.strides.resize(code_.axes.size());
    code_.axes.push_back(columns), access.strides.push_back(pitch);
    code_.axes.push_back(length), access.strides.push_back(1);
    note(param, std::move(access), false);
  }
  void add(const GemmKernel& gemm, const GemmKernel::Operand& operand, const Dim& rows,
           Dim GemmKernel::Batch::* stride) {
    KernelAccess access;
    access.strides.resize(code_.axes.size());
    const auto along = [&](const Dim& extent, const Dim& step) {
      code_.axes.push_back(extent), access.strides.push_back(step);
    };
    for (const GemmKernel::Batch& axis : gemm.batch) along(axis.extent, axis.*stride);
    along(operand.transposed ? gemm.k : rows, operand.pitch);
    along(operand.transposed ? rows : gemm.k, 1);
    note(operand.param, std::move(access), false);
  }

  /// Adds the buffers that gradients share on sm_90a; the templates for other architectures do not touch
  /// them.
  void add_shared(const AttentionKernel& attention) {
    const WgmmaShared shared = wgmma_shared(attention);
    add_list(attention.query_sums, shared.query_sums, attention.part == AttentionPart::key_gradients);
    add_list(attention.counters, shared.counters, false);
    add_list(attention.counters, shared.counters, true);
  }

  /// Rows of the tables of keys and values, which have to be there.
  void add_places(const AttentionKernel& attention) {
    KernelAccess access;
    access.strides.resize(code_.axes.size());
    code_.axes.push_back(attention.batch), access.strides.push_back(attention.places_batch_stride);
    code_.axes.push_back(attention.keys), access.strides.push_back(attention.places_stride);
    note(attention.places, std::move(access), false);
    keep_indices(attention.places);
  }

  /// They are no arguments of a step.
  void drop_tiles(size_t count) { code_.parameters.resize(code_.parameters.size() - count); }

  static Dim sum_elements(const AttentionKernel& attention, int sum) {
    const Dim rows = attention.batch * attention.heads;
    const bool of_queries = attention.part == AttentionPart::query_gradients ||
                            (attention.part == AttentionPart::gradients && sum < attention.row_gradients);
    if (of_queries) return rows * attention.queries;
    if (attention.part != AttentionPart::element_gradient) return rows * attention.keys;
    return (attention.keeps_batch ? attention.batch : Dim(1)) *
           (attention.keeps_heads ? attention.heads : Dim(1)) * attention.queries * attention.keys;
  }

  /// Adds a matrix with `width` elements per position and head.
  void add(const AttentionKernel& attention, const AttentionKernel::Matrix& matrix, int64_t width,
           bool written) {
    KernelAccess access;
    access.strides.resize(code_.axes.size());
    const auto along = [&](const Dim& extent, const Dim& stride) {
      code_.axes.push_back(extent), access.strides.push_back(stride);
    };
    const bool in_table = matrix.of_keys && attention.places >= 0;
    along(attention.batch, matrix.batch_stride);
    along(in_table         ? attention.table_rows
          : matrix.of_keys ? attention.keys
                           : attention.queries,
          matrix.place_stride);
    along(matrix.of_keys ? attention.key_heads : attention.heads, matrix.head_stride);
    if (width > 1) along(width, 1);
    note(matrix.param, std::move(access), written);
  }

  void add_list(int param, const Dim& elements, bool written) {
    KernelAccess access;
    access.strides.resize(code_.axes.size());
    code_.axes.push_back(elements), access.strides.push_back(1);
    note(param, std::move(access), written);
  }

  void note(int param, KernelAccess access, bool written) {
    KernelParameter& made = parameters_[param];
    (written ? made.written : made.read) = true;
    made.accesses.push_back(std::move(access));
  }

  /// Returns the params that computed indices, bounds of segments and written integers depend on.
  std::set<int> params_of_indices() const {
    std::vector<int> open;
    for (const Instruction& x : kernel_.instructions) {
      if (x.access.computed >= 0) open.push_back(x.access.computed);
      if (x.kind == Kind::store && kernel_.params[static_cast<size_t>(x.access.param)].indices)
        open.push_back(x.operands[0]);
    }
    for (const KernelAxis& axis : kernel_.axes)
      for (const int bound : {axis.begin, axis.end})
        if (bound >= 0) open.push_back(bound);
    std::set<int> seen, params;
    while (!open.empty()) {
      const int id = open.back();
      open.pop_back();
      if (!seen.insert(id).second) continue;
      const Instruction& x = kernel_.instructions[static_cast<size_t>(id)];
      open.insert(open.end(), x.operands.begin(), x.operands.end());
      if (x.kind == Kind::load) params.insert(x.access.param);
    }
    return params;
  }

  void keep_indices(int param) {
    parameters_[param].indices = kernel_.params[static_cast<size_t>(param)].indices;
  }

  Dim last(const KernelAccess& access) const {
    Dim sum = access.offset;
    for (size_t i = 0; i < access.strides.size(); ++i) sum += (code_.axes[i] - 1) * access.strides[i];
    return sum;
  }

  /// Drops accesses within the range of others, except for indices, which are checked access by access.
  void drop_inner(KernelParameter& parameter) const {
    if (parameter.indices) return;
    std::vector<KernelAccess> kept;
    for (KernelAccess& access : parameter.accesses) {
      if (llvm::any_of(kept, [&](const KernelAccess& other) { return surrounds(other, access); })) continue;
      llvm::erase_if(kept, [&](const KernelAccess& other) { return surrounds(access, other); });
      kept.push_back(std::move(access));
    }
    parameter.accesses = std::move(kept);
  }

  bool surrounds(const KernelAccess& outer, const KernelAccess& inner) const {
    return is_at_least_zero(inner.offset) && llvm::all_of(inner.strides, is_at_least_zero) &&
           is_at_least_zero(last(outer) - last(inner));
  }

  const Kernel& kernel_;
  int stage_;
  KernelCode& code_;
  size_t first_axis_ = 0;
  KernelParameter* parameters_ = nullptr;  // of the kernel, in the code
};

}  // namespace

void describe_parameters(const Kernel& kernel, KernelCode& code) {
  int stage = 0;
  ParametersOf(kernel, stage, code).run();
  for (const Kernel& first : kernel.before) {
    ParametersOf(first, stage, code).run();
    code.parameters.pop_back();  // it is in shared memory
  }
  for (const Kernel& other : kernel.beside) ParametersOf(other, stage, code).run();
  for (const Kernel& last : kernel.tail) ParametersOf(last, ++stage, code).run();
}

}  // namespace smelt
