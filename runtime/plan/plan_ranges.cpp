// Which elements steps touch.
#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/plan/kernel_check.h"
#include "runtime/plan/plan_checks.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_places.h"

namespace smelt {
namespace {

constexpr double kMostRepeats = 1 << 24;
constexpr int64_t kMostRows = 4096;  // of one collective

class RangeCheck {
 public:
  RangeCheck(const Plan& plan, const SymbolValues& values, const std::string& place)
      : plan_(plan), values_(values), place_(place) {}

  void run(const Step& step) {
    copies_ = std::holds_alternative<CopyStep>(step.what);
    std::visit([this](const auto& kind) { check(kind); }, step.what);
    for (const StepPlace& place : places(step))
      if (place.use != PlaceUse::either) check_operand(place);
  }

 private:
  /// Sizes and attributes have values that their roles allow.
  template <typename Kind>
  void check(const Kind& step) const {
    const auto field = [&](std::string_view name, const auto& member, const auto& role) {
      check_value(name, member, role);
    };
    visit_fields(field, step);
    check_more(step);
  }

  void check_value(std::string_view name, const Dim& size, const role::Extent& role) const {
    const int64_t value = extent(size);
    if (value < role.least || value > role.most)
      refuse(fmt::format("{} is {}: expected {} to {}", name, value, role.least, role.most));
  }
  template <typename T, typename Value, size_t count>
  void check_value(std::string_view field, const T& value, const role::OneOf<Value, count>& role) const {
    if (std::ranges::find(role.values, value) != role.values.end()) return;
    if constexpr (std::is_same_v<T, DType>)
      refuse(fmt::format("{} is {}: expected {}", field, name(value), role.expected));
    else
      refuse(fmt::format("{} is '{}': expected {}", field, value, role.expected));
  }
  template <typename T, typename Role>
  void check_value(std::string_view, const T&, const Role&) const {}

  void check_operand(const StepPlace& place) const {
    if (place.dtype) check_dtype(place.name, *place.ref, *place.dtype);
    check_reach(place);
    if (place.is_result()) check_spread(place);
  }

  /// Elements that are written are distinct; that also limits the work.
  void check_spread(const StepPlace& place) const {
    Dim written = 1;
    for (const Walk& walk : place.walks) written *= extent(walk.extent);
    if (written.is_zero()) return;
    for (const Walk& walk : place.walks)
      if (const int64_t count = extent(walk.extent); count > 1 && walk.stride.evaluate(values_) == 0)
        refuse(fmt::format("writes {} elements of {} to one place", count, place.name));
    if (written.constant().value_or(0) > elements(*place.ref))
      refuse(fmt::format("writes {} elements of {} into {}", written.str(), place.name,
                         buffer_text(*place.ref)));
  }

  // ---- rules that no role expresses

  template <typename Kind>
  void check_more(const Kind&) const {}

  void check_more(const KernelStep& launch) const {
    check_accesses(launch), check_maps(plan_, launch, values_, place_);
  }

  /// Elements that a kernel's code touches are inside its arguments' buffers.
  void check_accesses(const KernelStep& launch) const {
    const KernelCode& kernel = plan_.kernels[static_cast<size_t>(launch.kernel)];
    std::vector<int64_t> extents;
    for (const Dim& axis : kernel.axes) extents.push_back(extent(axis));
    const bool runs = kernel.splits > 0 || kernel.launch || extent(kernel.range) > 0;
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      const BufferRef& argument = launch.arguments[i];
      const int64_t begin = argument.offset.evaluate(values_), most = elements(argument);
      const int64_t least = first_element(argument);
      const KernelParameter& parameter = kernel.parameters[i % kernel.parameters.size()];
      const ElementSpan touched = span_of(parameter, extents, values_);
      // An empty part of a buffer may begin anywhere, for nothing is read or written there.
      const bool has_reach = !parameter.accesses.empty() || parameter.table_elements != Dim(0);
      const bool is_empty_part = !runs || (has_reach && touched.is_empty());
      if (begin < least || (begin > most && !is_empty_part))
        refuse(fmt::format("argument {} begins at element {} of {}", i, begin, buffer_text(argument)));
      if (!runs || touched.is_empty()) continue;
      if (touched.first < least - begin || touched.end > most - begin)
        refuse(fmt::format("kernel '{}' reaches elements {} to {} from element {} of argument {}, {}",
                           kernel.name, touched.first, touched.end - 1, begin, i, buffer_text(argument)));
    }
  }

  /// Limits sums over elements that do not move, which the sizes of a and b do not limit.
  void check_sums(const GemmStep& step) const {
    const auto stands = [&](const Dim& a, const Dim& b) {
      return a.evaluate(values_) == 0 && b.evaluate(values_) == 0;
    };
    double repeated =
        stands(step.a.column_stride, step.b.row_stride) ? static_cast<double>(extent(step.k)) : 1;
    for (const GemmStep::Batch& batch : step.batch) {
      if (batch.reduced && stands(batch.a_stride, batch.b_stride))
        repeated *= static_cast<double>(extent(batch.extent));
    }
    if (repeated > kMostRepeats) refuse(fmt::format("sums the same elements {} times", repeated));
  }

  /// A counting sort writes all of them while it reads the others.
  void check_more(const SortIndexStep& step) const {
    std::vector<int> buffers = {step.indices.buffer, step.permutation.buffer, step.begins.buffer};
    if (step.workspace) buffers.push_back(step.workspace->base.buffer);
    std::ranges::sort(buffers);
    if (std::ranges::adjacent_find(buffers) != buffers.end())
      refuse("has two operands in one buffer: expected a buffer for each");
  }

  void check_order(const GemmStep& step) const {
    if (!step.in_order) return;
    if (step.dtype != DType::bf16 && step.dtype != DType::f16)
      refuse(fmt::format("adds in order, which is for operands of bf16 or f16, not {}", name(step.dtype)));
    if (step.bias || step.beta != 0 || std::ranges::any_of(step.batch, &GemmStep::Batch::reduced))
      refuse("adds in order: expected no bias, beta = 0, and no sum over a batch");
  }

  /// Sums of bytes are i32, and nothing is added to them but such sums.
  void check_bytes(const GemmStep& step) const {
    if ((step.dtype == DType::i8) != (step.result_dtype == DType::i32))
      refuse(fmt::format(
          "multiplies {} and has a result of {}: expected i32 for operands of i8, and only for them",
          name(step.dtype), name(step.result_dtype)));
    if (step.dtype != DType::i8) return;
    if (step.bias || step.alpha != 1 || (step.beta != 0 && step.beta != 1) || step.a_i8 || step.b_i8)
      refuse("multiplies bytes: expected no bias, alpha = 1, and beta = 0 or 1");
  }

  /// cuBLASLt reads lines of bytes whole.
  void check_lines(const GemmStep& step) const {
    if (step.dtype != DType::f8e4m3 && (step.a_scale || step.b_scale))
      refuse(fmt::format("is scaled, which is for operands of f8e4m3, not {}", name(step.dtype)));
    if (step.padded && step.dtype != DType::f8e4m3 && step.dtype != DType::i8)
      refuse(fmt::format("is padded, which is for operands of f8e4m3 or i8, not {}", name(step.dtype)));
    if (!step.padded) return;
    const int64_t unit = GemmStep::kLineElements, line = (extent(step.k) + unit - 1) / unit * unit;
    const auto check = [&](const BufferRef& base, const Dim& k_stride, const Dim& pitch, const Dim& lines) {
      const int64_t distance = pitch.evaluate(values_), count = extent(lines),
                    begin = base.offset.evaluate(values_);
      if (count == 0 || line == 0) return;
      if (!k_stride.is_one() || (count > 1 && distance < line) ||
          begin + (count - 1) * distance + line > elements(base))
        refuse(fmt::format("is padded: expected lines with room for {} elements along k", line));
    };
    if (!step.batch.empty()) refuse("is padded: expected no batch");
    check(step.a.base, step.a.column_stride, step.a.row_stride, step.m);
    check(step.b.base, step.b.row_stride, step.b.column_stride, step.n);
  }

  void check_more(const GemmStep& step) const {
    if (step.tf32 && step.dtype != DType::f32)
      refuse(fmt::format("has tf32, which is for operands of f32, not {}", name(step.dtype)));
    if (step.a_i8 && step.b_i8) refuse("has two operands of i8: expected one at most");
    check_order(step);
    check_bytes(step);
    check_lines(step);
    check_sums(step);
    if (!step.bias) return;
    if (!step.c.column_stride.is_one() || std::ranges::any_of(step.batch, &GemmStep::Batch::reduced))
      refuse("has a bias: expected a result whose columns are contiguous, and no sum over a batch");
  }

  void check_more(const CopyStep& step) const {
    check_side("from", step.from, step.from_strides, step), check_side("to", step.to, step.to_strides, step);
  }

  /// A copy begins and ends in the memory of the GPU, or in that of the host.
  void check_side(std::string_view name, const BufferRef& ref, const std::vector<Dim>& strides,
                  const CopyStep& step) const {
    const int64_t held = held_elements(ref);
    int64_t last = ref.offset.evaluate(values_);
    if (last >= held) return;
    for (size_t i = 0; i < strides.size() && i < step.extents.size(); ++i)
      last += std::max<int64_t>(0, extent(step.extents[i]) - 1) * strides[i].evaluate(values_);
    if (last >= held)
      refuse(fmt::format("{} reaches element {} of {}, of which the host holds {}", name, last,
                         buffer_text(ref), held));
  }

  void check_more(const CollectiveStep& step) const {
    const auto axis = plan_.mesh.find(step.axis);
    if (!axis) refuse(fmt::format("is along the axis '{}' of the mesh '{}'", step.axis, str(plan_.mesh)));
    const int64_t ranks = plan_.mesh.axes[*axis].size;
    if (step.ranks != Dim(ranks))
      refuse(fmt::format("is of {} ranks along the axis {} = {}", step.ranks.str(), step.axis, ranks));
    if (is_sum(step.kind) && (step.dtype == DType::boolean || step.dtype == DType::i8))
      refuse(fmt::format("sums {}: expected floats, or integers of 32 or 64 bits", name(step.dtype)));
    check_rows(step);
    check_disjoint(step);
  }

  /// Each is a call of its own, of no elements, too.
  void check_rows(const CollectiveStep& step) const {
    const int64_t rows = extent(step.rows);
    if (rows > kMostRows) refuse(fmt::format("is of {} rows: expected at most {}", rows, kMostRows));
    check_row_stride("from", step.from, step.from_stride), check_row_stride("to", step.to, step.to_stride);
    const int64_t stride = step.to_stride.evaluate(values_), elements = extent(step.to_elements());
    if (rows > 1 && stride < elements)
      refuse(fmt::format("writes rows of {} elements {} apart", elements, stride));
  }

  void check_row_stride(std::string_view name, const BufferRef& ref, const Dim& stride) const {
    const int64_t value = stride.evaluate(values_);
    if (value < 0 || value > elements(ref))
      refuse(fmt::format("{} has rows {} elements apart in {}", name, value, buffer_text(ref)));
  }

  /// Checks that operands do not overlap: otherwise an operand could be overwritten before other ranks have
  /// read it.
  void check_disjoint(const CollectiveStep& step) const {
    if (!same_memory(step.from, step.to) || extent(step.rows) == 0) return;
    const int64_t from = step.from.offset.evaluate(values_), to = step.to.offset.evaluate(values_);
    const bool alike = extent(step.rows) == 1 || step.from_stride == step.to_stride;
    if (from == to && step.kind == CollectiveKind::all_reduce && alike) return;
    const Dim rest = step.rows - 1;
    if (from < to + extent(rest * step.to_stride + step.to_elements()) &&
        to < from + extent(rest * step.from_stride + step.from_elements()))
      refuse(fmt::format("{} writes over what it reads of {}", name(step.kind), buffer_text(step.from)));
  }

  bool same_memory(const BufferRef& a, const BufferRef& b) const {
    const int state = buffer(a).state;
    return a.buffer == b.buffer || (state >= 0 && state == buffer(b).state);
  }

  void check_dtype(std::string_view name, const BufferRef& ref, DType dtype) const {
    if (buffer(ref).dtype != dtype)
      refuse(fmt::format("{} is not {}: {}", name, smelt::name(dtype), buffer_text(ref)));
  }

  void check_reach(const StepPlace& place) const {
    int64_t last = place.ref->offset.evaluate(values_);
    if (last < first_element(*place.ref))
      refuse(fmt::format("{} begins at element {} of {}", place.name, last, buffer_text(*place.ref)));
    bool empty = false;
    for (const Walk& walk : place.walks) empty |= extent(walk.extent) == 0;
    if (empty) return;
    for (const Walk& walk : place.walks) {
      const int64_t count = extent(walk.extent), stride = walk.stride.evaluate(values_);
      if (count > 1 && stride < 0) refuse(fmt::format("{} has a stride below 0", place.name));
      int64_t distance = 0;
      const bool overflowed = count > 1 && (__builtin_mul_overflow(count - 1, stride, &distance) ||
                                            __builtin_add_overflow(last, distance, &last));
      if (overflowed) refuse(fmt::format("the reach of {} overflows 64 bits", place.name));
    }
    if (last >= elements(*place.ref))
      refuse(fmt::format("{} reaches element {} of {}", place.name, last, buffer_text(*place.ref)));
  }

  const Buffer& buffer(const BufferRef& ref) const { return plan_.buffers[static_cast<size_t>(ref.buffer)]; }
  int64_t elements(const BufferRef& ref) const { return buffer(ref).elements.evaluate(values_); }
  /// Returns the number of elements before those that a GPU holds, which only copies may use.
  int64_t held_elements(const BufferRef& ref) const {
    const int state = buffer(ref).state;
    return state < 0 ? 0 : std::max<int64_t>(0, plan_.states[static_cast<size_t>(state)].resident);
  }
  int64_t first_element(const BufferRef& ref) const { return copies_ ? 0 : held_elements(ref); }
  std::string buffer_text(const BufferRef& ref) const {
    return fmt::format("buffer '{}' ({}, {} elements)", buffer(ref).name, name(buffer(ref).dtype),
                       elements(ref));
  }

  int64_t extent(const Dim& dim) const {
    const int64_t value = dim.evaluate(values_);
    if (value < 0) refuse(fmt::format("the extent {} is {}", dim.str(), value));
    return value;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    std::string symbols;
    for (const auto& [name, value] : values_)
      symbols += fmt::format("{}{}={}", symbols.empty() ? "" : ", ", name, value);
    fail_with(Status::invalid_file, "{}: {} at {}: expected it inside", place_, what,
              symbols.empty() ? "its fixed sizes" : symbols);
  }

  const Plan& plan_;
  const SymbolValues& values_;
  const std::string& place_;
  bool copies_ = false;  // the step does
};

bool allowed(const Symbols& symbols, const SymbolValues& values) {
  return std::all_of(symbols.bounds().begin(), symbols.bounds().end(), [&](const Symbols::Bound& bound) {
    int64_t product = 1;
    for (const std::string& factor : bound.factors)
      if (__builtin_mul_overflow(product, values.at(factor), &product)) return false;
    return product <= bound.upper;
  });
}

/// Makes one value as large as the bounds allow, given the others.
void raise(const Symbols& symbols, SymbolValues& values, const std::string& name) {
  int64_t good = symbols.lower(name), bad = INT64_MAX;
  while (good + 1 < bad) {
    const int64_t middle = good + (bad - good) / 2;
    values[name] = middle;
    (allowed(symbols, values) ? good : bad) = middle;
  }
  values[name] = good;
}

}  // namespace

void check_ranges(const Plan& plan, const Step& step, const SymbolValues& values, const std::string& place) {
  RangeCheck(plan, values, place).run(step);
}

std::vector<SymbolValues> extreme_values(const Symbols& symbols) {
  const std::vector<std::string> names = symbols.names();
  SymbolValues least;
  for (const std::string& name : names) least[name] = symbols.lower(name);
  std::vector<SymbolValues> points = {least};
  for (size_t first = 0; first < names.size(); ++first) {
    SymbolValues values = least;
    for (size_t i = 0; i < names.size(); ++i) raise(symbols, values, names[(first + i) % names.size()]);
    points.push_back(std::move(values));
  }
  return points;
}

}  // namespace smelt
