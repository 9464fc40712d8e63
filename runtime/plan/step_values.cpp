#include "runtime/plan/step_values.h"

#include "runtime/base/error.h"
#include "runtime/plan/plan_fields.h"

namespace smelt {
namespace {

/// Visits fields down to addresses, sizes and real numbers. Other fields (types, flags) are fixed in a
/// kernel's text.
class FieldValues {
 public:
  StepValues values;

  void add(const std::string& name, const BufferRef& ref) { values.addresses.push_back({name, ref}); }
  void add(const std::string& name, const Dim& dim) { values.integers.push_back({name, dim}); }
  void add(const std::string& name, uint32_t number) { values.integers.push_back({name, number}); }
  void add(const std::string& name, double number) { values.reals.push_back({name, number}); }
  void add(const std::string&, int) {}
  void add(const std::string&, const std::string&) {}
  void add(const std::string&, bool) {}
  void add(const std::string&, DType) {}
  void add(const std::string&, CollectiveKind) {}
  void add(const std::string&, CollectiveSum) {}
  template <typename T>
  void add(const std::string& name, const std::optional<T>& value) {
    if (value) add(name, *value);
  }
  template <typename T>
  void add(const std::string& name, const std::vector<T>& list) {
    for (size_t i = 0; i < list.size(); ++i) add(name + std::to_string(i), list[i]);
  }
  template <typename Struct>
  void add(const std::string& part, const Struct& value) {
    const auto field = [&](std::string_view name, const auto& member, const auto&...) {
      add(part.empty() ? std::string(name) : fmt::format("{}_{}", part, name), member);
    };
    visit_fields(field, value);
  }
  void add(const std::string& part, const GemmStep::Matrix& matrix) {
    add(part, matrix.base);
    add(part + "_row_stride", matrix.row_stride), add(part + "_column_stride", matrix.column_stride);
  }
};

GemmStep transposed(GemmStep step) {
  std::swap(step.a, step.b), std::swap(step.m, step.n);
  for (GemmStep::Matrix* matrix : {&step.a, &step.b, &step.c})
    std::swap(matrix->row_stride, matrix->column_stride);
  for (GemmStep::Batch& axis : step.batch) std::swap(axis.a_stride, axis.b_stride);
  std::swap(step.a_i8, step.b_i8);
  return step;
}

template <typename Kind>
Kind seen(const Kind& step) {
  return step;
}
GemmStep seen(const GemmStep& step) { return is_seen_transposed(step) ? transposed(step) : step; }

}  // namespace

bool is_seen_transposed(const GemmStep& step) { return !step.c.column_stride.is_one(); }

StepValues values_of(const Step& step) {
  FieldValues fields;
  std::visit([&](const auto& kind) { fields.add("", seen(kind)); }, step.what);
  return std::move(fields.values);
}

}  // namespace smelt
