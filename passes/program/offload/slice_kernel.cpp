#include "passes/program/offload/slice_kernel.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "runtime/base/error.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

constexpr int64_t kAligned = 64;  // elements: what begins a slice stays aligned for every type

bool moves(const Access& access) {
  return std::ranges::any_of(access.strides, [](const Dim& stride) { return !stride.is_zero(); });
}

/// Returns the access of the parameter's elements; null if its accesses differ.
const Access* access_of(const Kernel& kernel, int param) {
  const Access* found = nullptr;
  for (const Instruction& x : kernel.instructions) {
    if (x.access.param != param) continue;
    if (found && (found->strides != x.access.strides || found->offset != x.access.offset)) return nullptr;
    found = &x.access;
  }
  return found;
}

int64_t extent(const Kernel& kernel, size_t axis) { return kernel.axes[axis].extent.constant().value_or(0); }

std::string why_axes(const Kernel& kernel) {
  if (kernel.axes.empty()) return "it computes one number";
  for (const KernelAxis& axis : kernel.axes)
    if (axis.kind == AxisKind::reduced || !axis.extent.constant() || axis.begin >= 0)
      return "it sums over elements";
  return {};
}

std::string why_instruction(const Kernel& kernel, const Instruction& x) {
  if (x.kind == Kind::accumulate || x.kind == Kind::reduce || x.kind == Kind::result)
    return "it sums over elements";
  if (x.kind == Kind::random) return "it draws random numbers by their place";
  if (x.access.param < 0) return {};
  if (x.access.computed >= 0) return "it follows computed indices";
  if (!access_of(kernel, x.access.param)) return "it reads one value at several places";
  if (x.kind == Kind::store && !moves(x.access)) return "it writes one number beside the elements";
  for (const Dim& stride : x.access.strides)
    if (!stride.constant()) return "its strides depend on sizes";
  return {};
}

/// Converts the index along an axis to that in the whole, directly after its definition.
class IndexShift {
 public:
  explicit IndexShift(Kernel& kernel) : kernel_(kernel) {
    kernel.params.push_back({.name = "first", .dtype = DType::i32});
    if (kernel.blocks.empty() || kernel.blocks.front().scope != KernelBlock::Scope::row)
      kernel.blocks.insert(kernel.blocks.begin(), KernelBlock{});
  }

  void run() {
    const auto count = static_cast<int>(kernel_.instructions.size());
    for (int id = 0; id < count; ++id)
      if (kernel_.instructions[static_cast<size_t>(id)].kind == Kind::index) shift(id);
  }

 private:
  int append(Instruction instruction) {
    kernel_.instructions.push_back(std::move(instruction));
    return static_cast<int>(kernel_.instructions.size()) - 1;
  }

  /// The instruction keeps its number, and becomes a sum.
  void shift(int id) {
    const Instruction index = kernel_.instructions[static_cast<size_t>(id)];
    const int own = append(index), first = begin_of(index.axis);
    kernel_.instructions[static_cast<size_t>(id)] = {
        .kind = Kind::scalar, .dtype = DType::i32, .operands = {own, first}, .scalar_op = ScalarOp::add};
    for (KernelBlock& block : kernel_.blocks)
      if (const auto at = std::ranges::find(block.instructions, id); at != block.instructions.end()) {
        block.instructions.insert(at, own);
        return;
      }
  }

  int begin_of(int axis) {
    const auto [known, fresh] = first_.try_emplace(axis, -1);
    if (!fresh) return known->second;
    Access access{.param = static_cast<int>(kernel_.params.size()) - 1, .offset = axis};
    access.strides.resize(kernel_.axes.size());
    known->second = append({.kind = Kind::load, .dtype = DType::i32, .access = std::move(access)});
    std::vector<int>& row = kernel_.blocks.front().instructions;
    row.insert(row.begin(), known->second);
    return known->second;
  }

  Kernel& kernel_;
  std::map<int, int> first_;  // by axis: the load of where the slice begins
};

}  // namespace

std::string why_whole(const Kernel& kernel) {
  if (kernel.has_template()) return "it is a matmul or an attention";
  if (kernel.copies > 1 || !kernel.before.empty() || !kernel.beside.empty() || !kernel.tail.empty())
    return "it is several kernels";
  if (kernel.row_predicate >= 0) return "it leaves out rows";
  if (std::string why = why_axes(kernel); !why.empty()) return why;
  for (const KernelParam& param : kernel.params)
    if (param.partial) return "it sums over elements";
  for (const Instruction& x : kernel.instructions)
    if (std::string why = why_instruction(kernel, x); !why.empty()) return why;
  return {};
}

/// Cuts one axis: the axes before it have one index each, those after it are whole.
std::vector<KernelSlice> slices_of(const Kernel& kernel, int64_t elements) {
  const size_t axes = kernel.axes.size();
  size_t cut = 0;
  int64_t inner = 1;
  for (size_t axis = 1; axis < axes; ++axis) inner *= extent(kernel, axis);
  while (cut + 1 < axes && inner > elements) inner /= std::max<int64_t>(1, extent(kernel, ++cut));
  const int64_t unit = kAligned / std::gcd(kAligned, inner);
  const int64_t step = std::max<int64_t>(1, elements / inner / unit) * unit;
  KernelSlice slice{std::vector<int64_t>(axes), std::vector<int64_t>(axes, 1)};
  for (size_t axis = cut + 1; axis < axes; ++axis) slice.extent[axis] = extent(kernel, axis);
  std::vector<KernelSlice> all;
  int64_t outer = 1;
  for (size_t axis = 0; axis < cut; ++axis) outer *= extent(kernel, axis);
  for (int64_t i = 0; i < outer; ++i) {
    int64_t rest = i;
    for (size_t axis = cut; axis-- > 0; rest /= extent(kernel, axis))
      slice.begin[axis] = rest % extent(kernel, axis);
    for (int64_t begin = 0; begin < extent(kernel, cut); begin += step) {
      slice.begin[cut] = begin, slice.extent[cut] = std::min(step, extent(kernel, cut) - begin);
      all.push_back(slice);
    }
  }
  return all;
}

int64_t slice_offset(const Kernel& kernel, int param, const KernelSlice& slice) {
  int64_t offset = 0;
  const Access* access = access_of(kernel, param);
  for (size_t axis = 0; access && axis < access->strides.size(); ++axis)
    offset += slice.begin[axis] * access->strides[axis].constant().value_or(0);
  return offset;
}

bool is_dense(const Kernel& kernel, int param) {
  const Access* access = access_of(kernel, param);
  if (!access || !access->offset.is_zero()) return false;
  int64_t inner = 1;
  for (size_t axis = kernel.axes.size(); axis-- > 0; inner *= extent(kernel, axis)) {
    if (extent(kernel, axis) == 1) continue;
    if (axis >= access->strides.size() || access->strides[axis].constant() != inner) return false;
  }
  return true;
}

bool asks_for_index(const Kernel& kernel) {
  return std::ranges::any_of(kernel.instructions, [](const Instruction& x) { return x.kind == Kind::index; });
}

Kernel slice_kernel(const Kernel& kernel, const std::vector<int64_t>& extent) {
  if (const std::string why = why_whole(kernel); !why.empty())
    fail_with(Status::internal, "kernel '{}' cannot run in slices: {}", kernel.name, why);
  Kernel slice = kernel;
  slice.name += "_slice";
  if (asks_for_index(kernel)) IndexShift(slice).run();
  for (size_t axis = 0; axis < extent.size(); ++axis) slice.axes[axis].extent = extent[axis];
  return slice;
}

}  // namespace smelt
