// Which elements steps touch.
#include <algorithm>

#include "runtime/error.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {
namespace {

constexpr double kMostRepeats = 1 << 24;

/// An extent with the distance between its indices.
struct Walk {
  int64_t extent, stride;
};

class RangeCheck {
 public:
  RangeCheck(const Plan& plan, const SymbolValues& values, const std::string& place)
      : plan_(plan), values_(values), place_(place) {}

  void operator()(const KernelStep& step) {
    for (size_t i = 0; i < step.arguments.size(); ++i) {
      const BufferRef& argument = step.arguments[i];
      const int64_t offset = argument.offset.evaluate(values_), most = elements(argument);
      if (offset < 0 || offset > most)
        refuse(fmt::format("argument {} begins at element {} of {}", i, offset, buffer_text(argument)));
    }
  }

  void operator()(const GemmStep& step) {
    const int64_t m = extent(step.m), n = extent(step.n), k = extent(step.k);
    if (step.tf32 && step.dtype != DType::f32)
      refuse(fmt::format("has tf32, which is for operands of f32, not {}", name(step.dtype)));
    check_matrix("a", step, step.a, step.dtype, m, k, &GemmStep::Batch::a_stride);
    check_matrix("b", step, step.b, step.dtype, k, n, &GemmStep::Batch::b_stride);
    check_matrix("c", step, step.c, step.result_dtype, m, n, &GemmStep::Batch::c_stride);
    check_spread("c", m, step.c.row_stride);
    check_spread("c", n, step.c.column_stride);
    check_sums(step, k);
    if (step.bias) check_bias(step, n);
  }

  void operator()(const SortIndexStep& step) {
    const int64_t count = extent(step.count), rows = extent(step.rows);
    if (count > INT32_MAX || rows >= INT32_MAX) refuse("sorts more than 2^31 indices");
    for (const BufferRef* ref : {&step.indices, &step.permutation, &step.begins})
      if (buffer(*ref).dtype != DType::i32) refuse(fmt::format("needs i32 in {}", buffer_text(*ref)));
    check("indices", step.indices, {{count, 1}});
    check("permutation", step.permutation, {{count, 1}});
    check("begins", step.begins, {{rows + 1, 1}});
  }

  void operator()(const CopyStep& step) {
    if (buffer(step.from).dtype != step.dtype || buffer(step.to).dtype != step.dtype)
      refuse("copies between buffers of other element types");
    std::vector<Walk> from, to;
    for (size_t i = 0; i < step.extents.size(); ++i) {
      const int64_t e = extent(step.extents[i]);
      from.push_back({e, step.from_strides[i].evaluate(values_)});
      to.push_back({e, step.to_strides[i].evaluate(values_)});
      check_spread("to", e, step.to_strides[i]);
    }
    check("from", step.from, from);
    check("to", step.to, to);
  }

  void operator()(const FillStep& step) { check("to", step.to, {{extent(step.elements), 1}}); }

 private:
  /// What is written lies apart; with the reach inside its buffer that also limits the work.
  void check_spread(std::string_view name, int64_t extent, const Dim& stride) const {
    if (extent > 1 && stride.evaluate(values_) == 0)
      refuse(fmt::format("writes {} elements of {} to one place", extent, name));
  }

  /// Sums over elements that stand still are not limited by the sizes of a and b.
  void check_sums(const GemmStep& step, int64_t k) const {
    const auto stands = [&](const Dim& a, const Dim& b) {
      return a.evaluate(values_) == 0 && b.evaluate(values_) == 0;
    };
    double repeated = stands(step.a.column_stride, step.b.row_stride) ? static_cast<double>(k) : 1;
    for (const GemmStep::Batch& batch : step.batch) {
      const int64_t e = extent(batch.extent);
      if (!batch.reduced) check_spread("c", e, batch.c_stride);
      if (batch.reduced && e < 1) refuse(fmt::format("sums over a batch of {}", e));
      if (batch.reduced && stands(batch.a_stride, batch.b_stride)) repeated *= static_cast<double>(e);
    }
    if (repeated > kMostRepeats) refuse(fmt::format("sums the same elements {} times", repeated));
  }

  void check_bias(const GemmStep& step, int64_t n) {
    if (buffer(*step.bias).dtype != step.result_dtype)
      refuse(fmt::format("the bias is not {}: {}", name(step.result_dtype), buffer_text(*step.bias)));
    if (!step.c.column_stride.is_one() || std::ranges::any_of(step.batch, &GemmStep::Batch::reduced))
      refuse("has a bias: that takes a result whose columns lie together, and no sum over a batch");
    check("bias", *step.bias, {{n, 1}});
  }

  void check_matrix(std::string_view name, const GemmStep& step, const GemmStep::Matrix& matrix, DType dtype,
                    int64_t rows, int64_t columns, Dim GemmStep::Batch::* stride) {
    if (buffer(matrix.base).dtype != dtype)
      refuse(fmt::format("{} is not {}: {}", name, smelt::name(dtype), buffer_text(matrix.base)));
    std::vector<Walk> walks = {{rows, matrix.row_stride.evaluate(values_)},
                               {columns, matrix.column_stride.evaluate(values_)}};
    for (const GemmStep::Batch& batch : step.batch)
      walks.push_back({extent(batch.extent), (batch.*stride).evaluate(values_)});
    check(name, matrix.base, walks);
  }

  void check(std::string_view name, const BufferRef& ref, const std::vector<Walk>& walks) {
    int64_t last = ref.offset.evaluate(values_);
    if (last < 0) refuse(fmt::format("{} begins at element {} of {}", name, last, buffer_text(ref)));
    for (const Walk& walk : walks)
      if (walk.extent == 0) return;
    for (const Walk& walk : walks) {
      if (walk.extent > 1 && walk.stride < 0) refuse(fmt::format("{} has a stride below 0", name));
      int64_t distance = 0;
      const bool overflowed =
          walk.extent > 1 && (__builtin_mul_overflow(walk.extent - 1, walk.stride, &distance) ||
                              __builtin_add_overflow(last, distance, &last));
      if (overflowed) refuse(fmt::format("the reach of {} overflows 64 bits", name));
    }
    if (last >= elements(ref))
      refuse(fmt::format("{} reaches element {} of {}", name, last, buffer_text(ref)));
  }

  const Buffer& buffer(const BufferRef& ref) const { return plan_.buffers[static_cast<size_t>(ref.buffer)]; }
  int64_t elements(const BufferRef& ref) const { return buffer(ref).elements.evaluate(values_); }
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
};

struct References {
  std::vector<BufferRef> operator()(const KernelStep& s) const { return s.arguments; }
  std::vector<BufferRef> operator()(const GemmStep& s) const {
    std::vector<BufferRef> all = {s.a.base, s.b.base};
    if (s.bias) all.push_back(*s.bias);
    all.push_back(s.c.base);  // what is written comes last
    return all;
  }
  std::vector<BufferRef> operator()(const SortIndexStep& s) const {
    return {s.indices, s.permutation, s.begins};
  }
  std::vector<BufferRef> operator()(const CopyStep& s) const { return {s.from, s.to}; }
  std::vector<BufferRef> operator()(const FillStep& s) const { return {s.to}; }
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
  int64_t good = 1, bad = INT64_MAX;
  while (good + 1 < bad) {
    const int64_t middle = good + (bad - good) / 2;
    values[name] = middle;
    (allowed(symbols, values) ? good : bad) = middle;
  }
  values[name] = good;
}

}  // namespace

void check_ranges(const Plan& plan, const Step& step, const SymbolValues& values, const std::string& place) {
  std::visit(RangeCheck(plan, values, place), step.what);
}

std::vector<BufferRef> references(const Step& step) { return std::visit(References(), step.what); }

std::vector<SymbolValues> extreme_values(const Symbols& symbols) {
  const std::vector<std::string> names = symbols.names();
  SymbolValues ones;
  for (const std::string& name : names) ones[name] = 1;
  std::vector<SymbolValues> points = {ones};
  for (size_t first = 0; first < names.size(); ++first) {
    SymbolValues values = ones;
    for (size_t i = 0; i < names.size(); ++i) raise(symbols, values, names[(first + i) % names.size()]);
    points.push_back(std::move(values));
  }
  return points;
}

}  // namespace smelt
