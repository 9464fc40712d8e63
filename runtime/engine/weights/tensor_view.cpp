#include "runtime/engine/weights/tensor_view.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "runtime/base/error.h"
#include "runtime/base/half.h"
#include "runtime/base/in_parallel.h"
#include "runtime/base/tensor.h"
#include "runtime/engine/weights/safetensors_types.h"
#include "runtime/engine/weights/stored_rows.h"

namespace smelt {
namespace {

template <typename Stored, typename Widen>
void widen(std::span<const std::byte> bytes, std::span<float> out, Widen to_float) {
  for (size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = to_float(stored);
  }
}

void require_finite(const TensorView& tensor, int64_t row, std::span<const float> values) {
  const auto bad = std::ranges::find_if_not(values, [](float value) { return std::isfinite(value); });
  if (bad == values.end()) return;
  const int64_t at = bad - values.begin(), width = row_elements(tensor.shape);
  fail_with(Status::numeric,
            "tensor '{}' ({}): row {}, column {} is {}: expected finite scales and zero points (is the file "
            "damaged?)",
            tensor.name, describe(tensor), row + at / width, at % width, *bad);
}

/// Computes a range of rows, which takes about as long as a job should at least.
void read_computed(const TensorView& tensor, std::span<float> out) {
  constexpr int64_t kElements = 1 << 16;
  const int64_t rows = row_count(tensor.shape), width = row_elements(tensor.shape);
  if (out.empty()) return;
  if (tensor.source->reads_whole()) return tensor.source->read(0, rows, out);
  const int64_t step = std::max<int64_t>(1, kElements / width);
  in_parallel(static_cast<size_t>((rows + step - 1) / step), [&](size_t job) {
    const int64_t begin = static_cast<int64_t>(job) * step, end = std::min(rows, begin + step);
    const std::span part =
        out.subspan(static_cast<size_t>(begin * width), static_cast<size_t>((end - begin) * width));
    tensor.source->read(begin, end, part);
    if (tensor.source->packed()) require_finite(tensor, begin, part);
  });
}

}  // namespace

int64_t TensorView::elements() const {
  return source ? count_elements(shape) : static_cast<int64_t>(bytes.size()) / size_of(dtype);
}

int64_t row_elements(std::span<const int64_t> shape) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;  // the others may be any
  const auto inner = shape.size() > 1 ? shape.subspan(1) : shape;
  return std::accumulate(inner.begin(), inner.end(), int64_t{1}, std::multiplies<>());
}

int64_t row_count(std::span<const int64_t> shape) { return shape.size() > 1 ? shape[0] : 1; }

TensorView computed_tensor(std::string name, DType dtype, std::vector<int64_t> shape,
                           std::shared_ptr<const StoredRows> source) {
  return {std::move(name), dtype, std::move(shape), {}, std::move(source)};
}

std::string describe(const TensorView& tensor) {
  const PackedNumbers* packed = tensor.source ? tensor.source->packed() : nullptr;
  return fmt::format("{} [{}]", packed ? packed->format : safetensors_name(tensor.dtype),
                     fmt::join(tensor.shape, ","));
}

void read_floats(const TensorView& tensor, std::span<float> out) {
  if (static_cast<int64_t>(out.size()) != tensor.elements())
    fail("tensor '{}' has {} elements: expected {}", tensor.name, tensor.elements(), out.size());
  if (tensor.source) return read_computed(tensor, out);
  switch (tensor.dtype) {
    case DType::f32:
      if (!out.empty()) std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
      return;
    case DType::f16:
      return widen<uint16_t>(tensor.bytes, out, from_f16);
    case DType::bf16:
      return widen<uint16_t>(tensor.bytes, out, from_bf16);
    case DType::f64:
      return widen<double>(tensor.bytes, out, [](double x) { return static_cast<float>(x); });
    default:
      fail_with(Status::invalid_file, "tensor '{}' is {}: expected F32, F16, BF16 or F64", tensor.name,
                describe(tensor));
  }
}

std::vector<float> read_floats(const TensorView& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  read_floats(tensor, values);
  return values;
}

bool have_equal_elements(const TensorView& a, const TensorView& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  if (!a.source && !b.source) return std::ranges::equal(a.bytes, b.bytes);
  return is_float(a.dtype) && read_floats(a) == read_floats(b);
}

}  // namespace smelt
