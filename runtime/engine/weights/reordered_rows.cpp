#include "runtime/engine/weights/reordered_rows.h"

#include <algorithm>

namespace smelt {
namespace {

/// A tensor that is made from the elements of another one.
class DerivedRows : public StoredRows {
 public:
  explicit DerivedRows(TensorView inner) : inner_(std::move(inner)), width_(row_elements(inner_.shape)) {}
  std::span<const std::byte> stored() const override {
    return inner_.source ? inner_.source->stored() : inner_.bytes;
  }

 protected:
  void read_inner(int64_t begin, int64_t end, std::span<float> out) const {
    if (inner_.source) return inner_.source->read(begin, end, out);
    const auto size = static_cast<size_t>(width_ * size_of(inner_.dtype));
    TensorView rows = inner_;
    rows.bytes =
        inner_.bytes.subspan(static_cast<size_t>(begin) * size, static_cast<size_t>(end - begin) * size);
    read_floats(rows, out);
  }

  TensorView inner_;
  int64_t width_;
};

class ReorderedRows : public DerivedRows {
 public:
  ReorderedRows(TensorView inner, std::vector<int64_t> order)
      : DerivedRows(std::move(inner)), order_(std::move(order)) {
    if (!inner_.source || !inner_.source->packed()) return;
    numbers_ = *inner_.source->packed();
    numbers_->row_order = order_;
  }
  void read(int64_t begin, int64_t end, std::span<float> out) const override {
    if (inner_.shape.size() == 1) return read_elements(out);
    const auto width = static_cast<size_t>(width_);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t stored = order_[static_cast<size_t>(row)];
      read_inner(stored, stored + 1, out.subspan(static_cast<size_t>(row - begin) * width, width));
    }
  }
  const PackedNumbers* packed() const override { return numbers_ ? &*numbers_ : nullptr; }

 private:
  void read_elements(std::span<float> out) const {
    std::vector<float> values(out.size());
    read_inner(0, 1, values);
    for (size_t i = 0; i < out.size(); ++i) out[i] = values[static_cast<size_t>(order_[i])];
  }

  std::vector<int64_t> order_;
  std::optional<PackedNumbers> numbers_;
};

class TransposedRows : public DerivedRows {
 public:
  using DerivedRows::DerivedRows;
  bool reads_whole() const override { return true; }
  void read(int64_t begin, int64_t end, std::span<float> out) const override {
    const int64_t rows = inner_.shape[0];
    const std::vector<float> values = read_floats(inner_);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = begin; c < end; ++c)
        out[static_cast<size_t>((c - begin) * rows + r)] = values[static_cast<size_t>(r * width_ + c)];
  }
};

class ShiftedRows : public DerivedRows {
 public:
  ShiftedRows(TensorView inner, float addend) : DerivedRows(std::move(inner)), addend_(addend) {}
  void read(int64_t begin, int64_t end, std::span<float> out) const override {
    read_inner(begin, end, out);
    for (float& value : out) value += addend_;
  }

 private:
  float addend_;
};

}  // namespace

TensorView reordered(TensorView stored, std::vector<int64_t> order) {
  const TensorView view = stored;
  return computed_tensor(view.name, view.dtype, view.shape,
                         std::make_shared<ReorderedRows>(std::move(stored), std::move(order)));
}

TensorView transposed(TensorView stored) {
  const TensorView view = stored;
  return computed_tensor(view.name, view.dtype, {view.shape[1], view.shape[0]},
                         std::make_shared<TransposedRows>(std::move(stored)));
}

TensorView shifted(TensorView stored, float addend) {
  const TensorView view = stored;
  return computed_tensor(view.name, DType::f32, view.shape,
                         std::make_shared<ShiftedRows>(std::move(stored), addend));
}

}  // namespace smelt
