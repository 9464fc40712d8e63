#include "runtime/plan/plan_checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int kMostTile = 1 << 12, kMostLanes = 1 << 12, kMostGradients = 64;
constexpr int64_t kWidest = 1 << 16;

class AttentionCheck {
 public:
  explicit AttentionCheck(const KernelCode& kernel)
      : kernel_(kernel), attention_(*kernel.attention), spec_(attention_.spec) {}

  void run(const std::vector<SymbolValues>& points) const {
    check_counts();
    check_tiles();
    for (const AttentionSpec::Matrix& m : spec_.matrices) check_matrix(m);
    check_scales();
    for (const int64_t param : spec_.rows) check_floats(param);
    for (const int64_t param : spec_.sums) check_floats(param);
    check_floats(attention_.workspace);
    check_places();
    for (const SymbolValues& values : points) check_sizes(values);
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(Status::invalid_file, "kernel '{}', a part of attention: {}", kernel_.name,
              fmt::format(format, std::forward<Args>(args)...));
  }

  void check_counts() const {
    const bool forward = spec_.part == AttentionPart::forward,
               element = spec_.part == AttentionPart::element_gradient;
    if (!forward && !element && spec_.part != AttentionPart::gradients)
      refuse("{}: expected forward, gradients or element_gradient", name(spec_.part));
    for (const int count : {spec_.row_gradients, spec_.column_gradients})
      if (count < 0 || count > kMostGradients)
        refuse("{} gradients: expected 0 to {}", count, kMostGradients);
    const size_t matrices = forward || element ? 4 : 7, rows = forward ? 1 : 0;
    const auto sums = static_cast<size_t>(gradients_of(spec_));
    if (spec_.matrices.size() != matrices || spec_.rows.size() != rows || spec_.sums.size() != sums)
      refuse("{} matrices, {} rows and {} sums: expected {}, {} and {}", spec_.matrices.size(),
             spec_.rows.size(), spec_.sums.size(), matrices, rows, sums);
  }

  void check_tiles() const {
    const BlockTiles& tiles = attention_.tiles;
    for (const int size : {tiles.queries, tiles.keys})
      if (size < 1 || size > kMostTile) refuse("tiles of {}: expected 1 to {}", size, kMostTile);
    if (tiles.lanes < 1 || tiles.lanes > kMostLanes)
      refuse("{} lanes: expected 1 to {}", tiles.lanes, kMostLanes);
    if (spec_.width < 1 || spec_.width > kWidest)
      refuse("heads {} wide: expected 1 to {}", spec_.width, kWidest);
    if (!std::isfinite(spec_.scale)) refuse("the scale {}: expected a finite one", spec_.scale);
  }

  const KernelParameter& parameter(int64_t param) const {
    if (param < 0 || param >= std::ssize(kernel_.parameters))
      refuse("parameter {}: expected one of {}", param, kernel_.parameters.size());
    return kernel_.parameters[static_cast<size_t>(param)];
  }

  void check_matrix(const AttentionSpec::Matrix& matrix) const {
    const DType dtype = parameter(matrix.param).dtype;
    if (matrix.of_keys && !spec_.scales.empty()) {
      if (dtype != DType::i8 && dtype != DType::f8e4m3)
        refuse("codes of {}: expected i8 or f8e4m3", name(dtype));
    } else if (!is_float(dtype) || dtype == DType::f64)
      refuse("heads of {}: expected f32, bf16 or f16", name(dtype));
  }

  void check_scales() const {
    if (spec_.scales.empty()) return;
    if (spec_.part != AttentionPart::forward || spec_.scales.size() != 2)
      refuse("{} scales: expected those of keys and of values, in the part forward", spec_.scales.size());
    for (const AttentionSpec::Matrix& m : spec_.scales)
      if (const DType dtype = parameter(m.param).dtype;
          size_of(dtype) < 2 || size_of(dtype) > 4 || !is_float(dtype))
        refuse("scales of {}: expected f32, bf16 or f16", name(dtype));
  }

  void check_floats(int64_t param) const {
    if (parameter(param).dtype != DType::f32)
      refuse("parameter {} is {}: expected f32", param, name(parameter(param).dtype));
  }

  void check_places() const {
    if (attention_.places == -1) return;
    if (spec_.part != AttentionPart::forward) refuse("keys in rows of a table: expected the part forward");
    if (const KernelParameter& places = parameter(attention_.places); places.dtype != DType::i32)
      refuse("rows of a table are numbered by {}: expected i32", name(places.dtype));
    if (!parameter(attention_.places).indices) refuse("rows of a table without bounds of their numbers");
    for (const auto* list : {&spec_.matrices, &spec_.scales})
      for (const AttentionSpec::Matrix& m : *list)
        if (m.of_keys && !m.batch_stride.is_zero()) refuse("a table for each row of the batch: expected one");
  }

  void check_sizes(const SymbolValues& values) const {
    for (const Dim* dim : {&spec_.batch, &spec_.heads, &spec_.key_heads, &spec_.queries, &spec_.keys})
      if (const int64_t size = dim->evaluate(values); size < 0 || size > std::numeric_limits<int>::max())
        refuse("the size {} is {}", dim->str(), size);
    const int64_t heads = spec_.heads.evaluate(values), key_heads = spec_.key_heads.evaluate(values);
    if (key_heads < 1 || heads % key_heads != 0)
      refuse("{} heads share {} of keys: expected a whole number each", heads, key_heads);
  }

  const KernelCode& kernel_;
  const BlockedAttention& attention_;
  const AttentionSpec& spec_;
};

}  // namespace

void check_attention(const KernelCode& kernel, const std::vector<SymbolValues>& values) {
  AttentionCheck(kernel).run(values);
}

}  // namespace smelt
