#include "runtime/engine/weights/packed/scaled_rows.h"

#include <algorithm>

namespace smelt {
namespace {

class ScaledRows : public StoredRows {
 public:
  explicit ScaledRows(PackedNumbers numbers) : numbers_(std::move(numbers)) {
    column_groups_ = (numbers_.columns + numbers_.group_columns - 1) / numbers_.group_columns;
    for (const int32_t group : numbers_.groups) column_groups_ = std::max<int64_t>(column_groups_, group + 1);
  }

  const PackedNumbers* packed() const override { return &numbers_; }
  std::span<const std::byte> stored() const override { return numbers_.numbers.stored.bytes; }

  void read(int64_t begin, int64_t end, std::span<float> out) const override {
    constexpr int64_t kTile = 64;  // columns whose words of all rows stay in the first-level cache
    const std::vector<Group> groups = read_groups(begin, end);
    for (int64_t tile = 0; tile < numbers_.columns; tile += kTile)
      for (int64_t row = begin; row < end; ++row)
        for (int64_t c = tile; c < std::min(numbers_.columns, tile + kTile); ++c)
          out[static_cast<size_t>((row - begin) * numbers_.columns + c)] =
              value(groups[static_cast<size_t>((row - begin) * column_groups_ + group_of(c))], row, c);
  }

 private:
  struct Group {
    float scale = 1, zero = 0;
  };

  int64_t group_of(int64_t column) const {
    return numbers_.groups.empty() ? column / numbers_.group_columns
                                   : numbers_.groups[static_cast<size_t>(column)];
  }

  std::vector<Group> read_groups(int64_t begin, int64_t end) const {
    std::vector<Group> groups;
    for (int64_t row = begin; row < end; ++row)
      for (int64_t g = 0; g < column_groups_; ++g) {
        const int64_t r = row / numbers_.group_rows;
        groups.push_back(
            {numbers_.scales ? numbers_.scales->at(r, g) : 1, numbers_.zeros ? numbers_.zeros->at(r, g) : 0});
      }
    return groups;
  }

  float value(const Group& group, int64_t row, int64_t column) const {
    const float scaled = (numbers_.numbers.at(row, column) - group.zero) * group.scale;
    return rounded(scaled * numbers_.factor, numbers_.rounded_to);
  }

  PackedNumbers numbers_;
  int64_t column_groups_ = 1;
};

}  // namespace

TensorView scaled_tensor(std::string name, PackedNumbers numbers) {
  const std::vector<int64_t> shape = {numbers.rows, numbers.columns};
  const DType dtype = numbers.rounded_to;
  return computed_tensor(std::move(name), dtype, shape, std::make_shared<ScaledRows>(std::move(numbers)));
}

TensorView float8_tensor(std::string name, std::vector<int64_t> shape, std::span<const std::byte> bytes) {
  PackedNumbers numbers{.format = "F8_E4M3", .rounded_to = DType::f16};
  numbers.rows = row_count(shape), numbers.columns = row_elements(shape);
  numbers.group_columns = std::max<int64_t>(1, numbers.columns);
  numbers.numbers = {.kind = PackedMatrix::Kind::float8,
                     .stored = {"", DType::u8, {static_cast<int64_t>(bytes.size())}, bytes},
                     .row_stride = numbers.columns,
                     .column_stride = 1};
  return computed_tensor(std::move(name), DType::f16, std::move(shape),
                         std::make_shared<ScaledRows>(std::move(numbers)));
}

}  // namespace smelt
