#include "ir/analysis/step_footprint.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "runtime/base/error.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_places.h"

namespace smelt {
namespace {

constexpr int64_t kEverything = std::numeric_limits<int64_t>::max();
constexpr int kOtherRanks = -1;

class FootprintOf {
 public:
  FootprintOf(const Program& program, const Step& step) : program_(program), step_(step) {}

  Footprint run() {
    if (const auto* launch = std::get_if<KernelStep>(&step_.what))
      add(*launch);
    else
      for (const StepPlace& place : places(step_)) {
        if (place.reads()) add(*place.ref, place.walks, false);
        if (place.writes()) add(*place.ref, place.walks, true);
      }
    add_the_rest(step_.reads, false), add_the_rest(step_.writes, true);
    if (std::holds_alternative<CollectiveStep>(step_.what)) result_.push_back({kOtherRanks, 0, 1, true});
    return std::move(result_);
  }

 private:
  void add(const KernelStep& step) {
    const Kernel& kernel = program_.kernels[static_cast<size_t>(step.kernel)];
    size_t argument = 0;
    for (int copy = 0; copy < kernel.copies; ++copy) add(kernel, step, argument);
    for (const Kernel& first : kernel.before) add(first, step, argument, first.params.size() - 1);
    for (const Kernel& other : kernel.beside) add(other, step, argument);
    for (const Kernel& last : kernel.tail) add(last, step, argument);
  }

  void add(const Kernel& kernel, const KernelStep& step, size_t& argument) {
    if (kernel.attention) add(*kernel.attention, kernel, step);
    if (kernel.gemm) add(*kernel.gemm, step);
    const auto tiles = kernel.attention ? static_cast<size_t>(kernel.attention->tile_params) : 0;
    add(kernel, step, argument, kernel.params.size() - tiles);
    argument += tiles;
  }

  /// Adds the touches of the first `arguments` parameters; later parameters have no argument of the step.
  void add(const Kernel& kernel, const KernelStep& step, size_t& argument, size_t arguments) {
    for (const Instruction& x : kernel.instructions) {
      if (x.access.param < 0 || static_cast<size_t>(x.access.param) >= arguments) continue;
      const BufferRef& ref = step.arguments[argument + static_cast<size_t>(x.access.param)];
      const KernelParam& param = kernel.params[static_cast<size_t>(x.access.param)];
      std::vector<Walk> walks;
      for (size_t axis = 0; axis < x.access.strides.size(); ++axis)
        walks.push_back({kernel.axes[axis].extent, x.access.strides[axis]});
      const bool writes = x.kind != Instruction::Kind::load;
      if (param.partial)
        add_whole(ref.buffer, writes);
      else if (x.access.computed >= 0)
        add_table(ref, param.table_elements, writes);
      else
        add({ref.buffer, ref.offset + x.access.offset}, walks, writes);
    }
    argument += arguments;
  }

  /// All elements that computed indices reach are between the argument's offset and the table's end.
  void add_table(const BufferRef& ref, const Dim& elements, bool written) {
    const auto begin = ref.offset.constant(), end = bound(elements);
    if (!begin || !end || *end == 0) return add_whole(ref.buffer, written);
    note(ref.buffer, *begin, *begin + *end, written);
  }

  /// Heads, of which no instruction of the body says anything.
  void add(const AttentionKernel& attention, const Kernel& kernel, const KernelStep& step) {
    for (const AttentionSpec::Matrix& matrix : attention.matrices) {
      const auto param = static_cast<size_t>(matrix.param);
      add_whole(step.arguments[param].buffer, kernel.params[param].output);
    }
    if (attention.places >= 0) add_whole(step.arguments[static_cast<size_t>(attention.places)].buffer, false);
  }

  void add(const GemmKernel& gemm, const KernelStep& step) {
    add(gemm, gemm.a, gemm.m, &GemmKernel::Batch::a_stride, step);
    add(gemm, gemm.b, gemm.n, &GemmKernel::Batch::b_stride, step);
  }
  void add(const GemmKernel& gemm, const GemmKernel::Operand& operand, const Dim& rows,
           Dim GemmKernel::Batch::* stride, const KernelStep& step) {
    if (operand.param < 0) return;
    const Dim &outer = operand.transposed ? gemm.k : rows, &inner = operand.transposed ? rows : gemm.k;
    std::vector<Walk> walks = {{outer, operand.pitch}, {inner}};
    for (const GemmKernel::Batch& axis : gemm.batch) walks.push_back({axis.extent, axis.*stride});
    add(step.arguments[static_cast<size_t>(operand.param)], walks, false);
  }

  /// From the place on, as far as the strides reach at the bounds.
  void add(const BufferRef& ref, const std::vector<Walk>& walks, bool written) {
    const auto begin = ref.offset.constant();
    if (!begin) return add_whole(ref.buffer, written);
    int64_t last = *begin;
    for (const Walk& walk : walks) {
      const auto extent = bound(walk.extent), step = distance(walk.stride);
      int64_t reach = 0;
      const bool known = extent && step &&
                         !__builtin_mul_overflow(std::max<int64_t>(0, *extent - 1), *step, &reach) &&
                         !__builtin_add_overflow(last, reach, &last);
      if (!known) return add_whole(ref.buffer, written);
    }
    note(ref.buffer, *begin, last + 1, written);
  }

  /// Nothing where it may be below 0.
  std::optional<int64_t> distance(const Dim& stride) const {
    for (const Dim::Term& term : stride.terms())
      if (term.coefficient < 0) return std::nullopt;
    return bound(stride);
  }

  /// Nothing where there is no bound.
  std::optional<int64_t> bound(const Dim& dim) const {
    try {
      return program_.symbols.upper(dim);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  void add_whole(int buffer, bool written) { note(buffer, 0, kEverything, written); }

  void note(int buffer, int64_t begin, int64_t end, bool written) {
    seen_.insert({buffer, written});
    const int state = program_.buffers[static_cast<size_t>(buffer)].state;
    result_.push_back({state < 0 ? buffer : -2 - state, begin, end, written});
  }

  /// Buffers that the step lists as touched but that none of its places covers.
  void add_the_rest(const std::vector<int>& buffers, bool written) {
    for (const int buffer : buffers)
      if (!seen_.count({buffer, written})) add_whole(buffer, written);
  }

  const Program& program_;
  const Step& step_;
  Footprint result_;
  std::set<std::pair<int, bool>> seen_;
};

}  // namespace

Footprint footprint(const Program& program, const Step& step) { return FootprintOf(program, step).run(); }

bool same_elements(const Touch& a, const Touch& b) {
  return a.memory == b.memory && a.begin < b.end && b.begin < a.end;
}

bool conflict(const Footprint& a, const Footprint& b) {
  for (const Touch& x : a)
    for (const Touch& y : b)
      if ((x.written || y.written) && same_elements(x, y)) return true;
  return false;
}

int64_t arena_bytes_read(const Program& program, const Step& step) {
  int64_t bytes = 0;
  for (const int index : std::set<int>(step.reads.begin(), step.reads.end())) {
    const Buffer& buffer = program.buffers[static_cast<size_t>(index)];
    if (in_arena(buffer.role)) bytes += bytes_at_bounds(program.symbols, buffer.elements, buffer.dtype);
  }
  return bytes;
}

}  // namespace smelt
