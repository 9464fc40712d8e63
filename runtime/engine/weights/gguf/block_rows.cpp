#include "runtime/engine/weights/gguf/block_rows.h"

namespace smelt {
namespace {

class BlockRows : public StoredRows {
 public:
  BlockRows(const GgufType& type, std::span<const int64_t> shape, std::span<const std::byte> bytes)
      : type_(type) {
    numbers_.format = type.name;
    numbers_.rows = row_count(shape), numbers_.columns = row_elements(shape);
    numbers_.group_columns = type.elements;
    numbers_.numbers = {.kind = PackedMatrix::Kind::block,
                        .stored = {"", DType::u8, {static_cast<int64_t>(bytes.size())}, bytes},
                        .bits = type.bits};
  }

  void read(int64_t begin, int64_t, std::span<float> out) const override {
    const int64_t first = begin * numbers_.columns / type_.elements;
    const std::byte* block = numbers_.numbers.stored.bytes.data() + first * type_.bytes;
    for (size_t at = 0; at < out.size(); at += static_cast<size_t>(type_.elements), block += type_.bytes)
      type_.unpack(block, out.data() + at);
  }
  const PackedNumbers* packed() const override { return &numbers_; }
  std::span<const std::byte> stored() const override { return numbers_.numbers.stored.bytes; }

 private:
  const GgufType& type_;
  PackedNumbers numbers_;
};

}  // namespace

std::shared_ptr<const StoredRows> block_rows(const GgufType& type, std::span<const int64_t> shape,
                                             std::span<const std::byte> bytes) {
  return std::make_shared<BlockRows>(type, shape, bytes);
}

}  // namespace smelt
