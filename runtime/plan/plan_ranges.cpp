// Which elements steps touch.
#include <algorithm>

#include "runtime/error.h"
#include "runtime/plan/kernel_check.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_places.h"
#include "runtime/plan/tensor_map_check.h"
#include "runtime/sampling/token_weights.h"

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
    visit_step(
        step,
        [&](const KernelStep& launch) { check_accesses(launch), check_maps(plan_, launch, values_, place_); },
        [&](const GemmStep& gemm) { check_gemm(gemm); }, [&](const SortIndexStep& sort) { check_sort(sort); },
        [&](const ScanStep& scan) { check_scan(scan); }, [&](const TopKStep& top) { check_top_k(top); },
        [&](const SampleStep& sample) { check_sample(sample); },
        [&](const CopyStep& copy) { check_copy(copy); }, [&](const FillStep&) {},
        [&](const CollectiveStep& collective) { check_collective(collective); });
    for (const StepPlace& place : places(step))
      if (place.use != PlaceUse::either) check_reach(place);
  }

 private:
  /// What a kernel's code touches, as it says itself.
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

  /// What is written lies apart; that also limits the work.
  void check_spread(std::string_view name, int64_t extent, const Dim& stride) const {
    if (extent > 1 && stride.evaluate(values_) == 0)
      refuse(fmt::format("writes {} elements of {} to one place", extent, name));
  }

  void check_apart(std::string_view name, const Dim& written, const BufferRef& ref) const {
    if (written.constant().value_or(0) > elements(ref))
      refuse(fmt::format("writes {} elements of {} into {}", written.str(), name, buffer_text(ref)));
  }

  void check_spread_of_result(const GemmStep& step) const {
    Dim written = Dim(extent(step.m)) * extent(step.n);
    for (const GemmStep::Batch& batch : step.batch)
      if (!batch.reduced) written *= extent(batch.extent);
    if (written.is_zero()) return;
    check_spread("c", extent(step.m), step.c.row_stride);
    check_spread("c", extent(step.n), step.c.column_stride);
    for (const GemmStep::Batch& batch : step.batch)
      if (!batch.reduced) check_spread("c", extent(batch.extent), batch.c_stride);
    check_apart("c", written, step.c.base);
  }

  /// Sums over elements that stand still are not limited by the sizes of a and b.
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

  void check_gemm(const GemmStep& step) const {
    if (step.tf32 && step.dtype != DType::f32)
      refuse(fmt::format("has tf32, which is for operands of f32, not {}", name(step.dtype)));
    if (step.a_i8 && step.b_i8) refuse("has two operands of i8: expected one at most");
    check_dtype("a", step.a.base, step.a_i8 ? DType::i8 : step.dtype);
    check_dtype("b", step.b.base, step.b_i8 ? DType::i8 : step.dtype);
    check_dtype("c", step.c.base, step.result_dtype);
    check_spread_of_result(step);
    check_sums(step);
    if (!step.bias) return;
    check_dtype("the bias", *step.bias, step.result_dtype);
    if (!step.c.column_stride.is_one() || std::ranges::any_of(step.batch, &GemmStep::Batch::reduced))
      refuse("has a bias: that takes a result whose columns lie together, and no sum over a batch");
  }

  void check_sort(const SortIndexStep& step) const {
    if (extent(step.count) > INT32_MAX || extent(step.rows) >= INT32_MAX)
      refuse("sorts more than 2^31 indices");
    for (const BufferRef* ref : {&step.indices, &step.permutation, &step.begins})
      if (buffer(*ref).dtype != DType::i32) refuse(fmt::format("needs i32 in {}", buffer_text(*ref)));
    if (step.workspace) check_dtype("the workspace", step.workspace->base, DType::i32);
    const int64_t first = step.begins.offset.evaluate(values_);  // written without rows, too
    if (extent(step.rows) == 0 && first >= elements(step.begins))
      refuse(fmt::format("begins reaches element {} of {}", first, buffer_text(step.begins)));
  }

  void check_scan(const ScanStep& step) const {
    if (step.kind != "add" && step.kind != "max" && step.kind != "mul")
      refuse(fmt::format("has the kind '{}': expected add, max or mul", step.kind));
    if (step.dtype != DType::f32 && step.dtype != DType::i32 && step.dtype != DType::i64)
      refuse(fmt::format("scans {}: expected f32, i32 or i64", name(step.dtype)));
    check_dtype("x", step.x, step.dtype);
    check_dtype("y", step.y, step.dtype);
    const Dim written = Dim(extent(step.outer)) * extent(step.count) * extent(step.inner);
    if (written.is_zero()) return;
    check_spread("y", extent(step.outer), step.y_outer_stride);
    check_spread("y", extent(step.count), step.y_stride);
    check_apart("y", written, step.y);
  }

  void check_top_k(const TopKStep& step) const {
    constexpr int64_t kMost = 1024;
    if (extent(step.k) < 1 || extent(step.k) > kMost)
      refuse(fmt::format("takes the {} largest: expected 1 to {}", extent(step.k), kMost));
    if (extent(step.count) >= INT32_MAX) refuse("has rows of more than 2^31 elements");
    check_dtype("x", step.x, DType::f32);
    check_dtype("values", step.values, DType::f32);
    check_dtype("indices", step.indices, DType::i32);
  }

  void check_sample(const SampleStep& step) const {
    if (extent(step.count) > kMostWords)
      refuse(fmt::format("draws from {} words: expected at most {}", extent(step.count), kMostWords));
    check_dtype("scores", step.scores, DType::f32);
    check_dtype("numbers", step.numbers, DType::f32);
    check_dtype("integers", step.integers, DType::i32);
    check_dtype("tokens", step.tokens, DType::i32);
    check_dtype("log_probabilities", step.log_probabilities, DType::f32);
  }

  void check_copy(const CopyStep& step) const {
    if (buffer(step.from).dtype != step.dtype || buffer(step.to).dtype != step.dtype)
      refuse("copies between buffers of other element types");
    Dim written = 1;
    for (const Dim& size : step.extents) written *= extent(size);
    for (size_t i = 0; i < step.extents.size() && !written.is_zero(); ++i)
      check_spread("to", extent(step.extents[i]), step.to_strides[i]);
    check_apart("to", written, step.to);
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

  void check_collective(const CollectiveStep& step) const {
    const auto axis = plan_.mesh.find(step.axis);
    if (!axis) refuse(fmt::format("is along the axis '{}' of the mesh '{}'", step.axis, str(plan_.mesh)));
    const int64_t ranks = plan_.mesh.axes[*axis].size;
    if (step.ranks != Dim(ranks))
      refuse(fmt::format("is of {} ranks along the axis {} = {}", step.ranks.str(), step.axis, ranks));
    check_dtype("from", step.from, step.dtype);
    check_dtype("to", step.to, step.dtype);
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

  /// Ranks read what others have not written yet.
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
    for (const Walk& walk : place.walks) empty |= extent(*walk.extent) == 0;
    if (empty) return;
    for (const Walk& walk : place.walks) {
      const int64_t count = extent(*walk.extent), stride = walk.stride->evaluate(values_);
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
  /// Elements that lie in front of those that a GPU holds: for copies alone.
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

/// Makes one value as large as the bounds allow beside the others.
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
