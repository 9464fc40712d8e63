#include "frontend/data/parquet_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace smelt::parquet {
namespace {

/// A position in a page.
class PageBytes {
 public:
  explicit PageBytes(std::string_view data) : data_(data) {}

  std::string_view take(uint64_t count) {
    if (count > data_.size() - at_) throw DamagedPage{"a page ends too early"};
    at_ += count;
    return data_.substr(at_ - count, count);
  }
  template <typename T>
  T number() {
    T value;
    const std::string_view stored = take(sizeof value);
    std::memcpy(&value, stored.data(), stored.size());
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto next = number<uint8_t>();
      value |= static_cast<uint64_t>(next & 0x7F) << shift;
      if ((next & 0x80) == 0) return value;
    }
    throw DamagedPage{"an integer is too long"};
  }
  int64_t zigzag() {
    const uint64_t value = varint();
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }
  bool is_at_end() const { return at_ == data_.size(); }
  size_t position() const { return at_; }

 private:
  std::string_view data_;
  size_t at_ = 0;
};

/// Returns number `i` of packed numbers of `bits` bits, the lowest bits first. Requires: the data hold it.
uint64_t packed(std::string_view data, uint64_t i, int bits) {
  uint64_t value = 0;
  uint64_t bit = i * static_cast<uint64_t>(bits);
  for (int got = 0; got < bits;) {
    const auto byte = static_cast<uint8_t>(data[bit / 8]);
    const int offset = static_cast<int>(bit % 8), part = std::min(8 - offset, bits - got);
    value |= (static_cast<uint64_t>(byte >> offset) & ((1U << part) - 1)) << got;
    got += part, bit += static_cast<uint64_t>(part);
  }
  return value;
}

constexpr int kMostBits = 32;

}  // namespace

std::vector<uint32_t> read_rle(std::string_view data, int bits, int64_t count) {
  if (bits < 0 || bits > kMostBits) throw DamagedPage{fmt::format("numbers of {} bits", bits)};
  const auto all = static_cast<size_t>(count);
  std::vector<uint32_t> values;
  PageBytes in(data);
  while (values.size() < all) {
    const uint64_t header = in.varint(), left = all - values.size();
    if (header & 1) {  // groups of eight packed numbers
      const uint64_t groups = header >> 1;
      if (groups > data.size()) throw DamagedPage{"a run is longer than its page"};
      const std::string_view block = in.take(groups * static_cast<uint64_t>(bits));
      for (uint64_t i = 0; i < std::min(left, groups * 8); ++i)
        values.push_back(static_cast<uint32_t>(packed(block, i, bits)));
      if (groups == 0) throw DamagedPage{"an empty run"};
    } else {
      uint32_t value = 0;
      const std::string_view stored = in.take(static_cast<uint64_t>((bits + 7) / 8));
      std::memcpy(&value, stored.data(), stored.size());
      if ((header >> 1) == 0) throw DamagedPage{"an empty run"};
      values.insert(values.end(), std::min(left, header >> 1), value);
    }
  }
  return values;
}

std::vector<int64_t> read_deltas(std::string_view data, int64_t most, size_t& used) {
  constexpr uint64_t kMostBlock = 1 << 20;
  PageBytes in(data);
  const uint64_t block = in.varint(), minis = in.varint(), count = in.varint();
  if (block == 0 || block > kMostBlock || block % 128 != 0 || minis == 0 || block % minis != 0 ||
      block / minis % 32 != 0 || count > static_cast<uint64_t>(most))
    throw DamagedPage{"the header of delta-encoded numbers"};
  const uint64_t each = block / minis;
  auto value = static_cast<uint64_t>(in.zigzag());
  std::vector<int64_t> values;
  if (count > 0) values.push_back(static_cast<int64_t>(value));
  while (values.size() < count) {
    const auto least = static_cast<uint64_t>(in.zigzag());
    const std::string_view widths = in.take(minis);
    for (uint64_t mini = 0; mini < minis && values.size() < count; ++mini) {
      const int bits = static_cast<uint8_t>(widths[mini]);
      if (bits > 64) throw DamagedPage{fmt::format("numbers of {} bits", bits)};
      const std::string_view stored = in.take(each * static_cast<uint64_t>(bits) / 8);
      for (uint64_t i = 0; i < each && values.size() < count; ++i) {
        value += least + packed(stored, i, bits);
        values.push_back(static_cast<int64_t>(value));
      }
    }
  }
  used = in.position();
  return values;
}

namespace {

/// A count of values is untrusted: memory is reserved for as many as the bytes can hold.
void require_count(std::string_view data, int64_t count, uint64_t bytes_each) {
  if (static_cast<uint64_t>(count) > data.size() / std::max<uint64_t>(1, bytes_each))
    throw DamagedPage{fmt::format("{} values in {} bytes", count, data.size())};
}

template <typename Stored, typename Value>
std::vector<Value> read_plain_numbers(std::string_view data, int64_t count) {
  require_count(data, count, sizeof(Stored));
  std::vector<Value> values;
  PageBytes in(data);
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<Value>(in.number<Stored>()));
  return values;
}

std::vector<std::string> read_plain_texts(std::string_view data, int64_t count) {
  require_count(data, count, sizeof(uint32_t));
  std::vector<std::string> values;
  PageBytes in(data);
  for (int64_t i = 0; i < count; ++i) {
    const auto size = in.number<uint32_t>();
    values.emplace_back(in.take(size));
  }
  return values;
}

std::vector<std::string> read_fixed_texts(std::string_view data, int64_t count, int32_t size) {
  if (size <= 0) throw DamagedPage{"values of no bytes"};
  require_count(data, count, static_cast<uint64_t>(size));
  std::vector<std::string> values;
  PageBytes in(data);
  for (int64_t i = 0; i < count; ++i) values.emplace_back(in.take(static_cast<uint64_t>(size)));
  return values;
}

std::vector<int64_t> read_packed_booleans(std::string_view data, int64_t count) {
  if (static_cast<uint64_t>(count) > data.size() * 8) throw DamagedPage{"too few truth values"};
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<int64_t>(packed(data, static_cast<uint64_t>(i), 1)));
  return values;
}

Values read_plain(const SchemaNode& leaf, std::string_view data, int64_t count) {
  switch (leaf.type) {
    case Type::boolean:
      return {.integers = read_packed_booleans(data, count)};
    case Type::int32:
      return {.integers = read_plain_numbers<int32_t, int64_t>(data, count)};
    case Type::int64:
      return {.integers = read_plain_numbers<int64_t, int64_t>(data, count)};
    case Type::real32:
      return {.reals = read_plain_numbers<float, double>(data, count)};
    case Type::real64:
      return {.reals = read_plain_numbers<double, double>(data, count)};
    case Type::bytes:
      return {.texts = read_plain_texts(data, count)};
    case Type::fixed_bytes:
      return {.texts = read_fixed_texts(data, count, leaf.type_length)};
    default:
      throw DamagedPage{"values of a type that is not read"};
  }
}

/// DELTA_LENGTH_BYTE_ARRAY: the lengths of all texts, then all texts.
std::vector<std::string> read_lengths_and_texts(std::string_view data, int64_t count, size_t& used) {
  size_t at = 0;
  const std::vector<int64_t> lengths = read_deltas(data, count, at);
  PageBytes in(data.substr(at));
  std::vector<std::string> values;
  for (const int64_t length : lengths) {
    if (length < 0) throw DamagedPage{"a text of negative length"};
    values.emplace_back(in.take(static_cast<uint64_t>(length)));
  }
  used = at + in.position();
  return values;
}

/// DELTA_BYTE_ARRAY: lengths of the prefixes that texts share with the text before, then the rests.
std::vector<std::string> read_prefixed_texts(std::string_view data, int64_t count) {
  constexpr size_t kMostBytes = size_t{1} << 30;  // of all texts of a page
  size_t at = 0, used = 0, bytes = 0;
  const std::vector<int64_t> prefixes = read_deltas(data, count, at);
  std::vector<std::string> values = read_lengths_and_texts(data.substr(at), count, used);
  if (values.size() != prefixes.size()) throw DamagedPage{"as many prefixes as texts are expected"};
  for (size_t i = 0; i < values.size(); ++i) {
    const auto prefix = static_cast<uint64_t>(prefixes[i]);
    const size_t before = i == 0 ? 0 : values[i - 1].size();
    if (prefix > before) throw DamagedPage{"a prefix is longer than the text before"};
    if (prefix > 0) values[i].insert(0, values[i - 1], 0, prefix);
    bytes += values[i].size();
    if (bytes > kMostBytes) throw DamagedPage{"the texts of a page take more than 1 GiB"};
  }
  return values;
}

bool is_number(Type type) { return type == Type::int32 || type == Type::int64; }

}  // namespace

Values read_values(const SchemaNode& leaf, Encoding encoding, std::string_view data, int64_t count) {
  size_t used = 0;
  const bool is_text = leaf.type == Type::bytes;
  if (encoding == Encoding::plain) return read_plain(leaf, data, count);
  if (encoding == Encoding::delta_binary_packed && is_number(leaf.type))
    return {.integers = read_deltas(data, count, used)};
  if (encoding == Encoding::delta_length_byte_array && is_text)
    return {.texts = read_lengths_and_texts(data, count, used)};
  if (encoding == Encoding::delta_byte_array && is_text) return {.texts = read_prefixed_texts(data, count)};
  if (encoding == Encoding::rle && leaf.type == Type::boolean) {
    PageBytes in(data);
    const std::string_view stored = in.take(in.number<uint32_t>());
    const std::vector<uint32_t> bits = read_rle(stored, 1, count);
    return {.integers = {bits.begin(), bits.end()}};
  }
  throw DamagedPage{
      fmt::format("values have the encoding {}, which is not read: expected PLAIN, a dictionary or "
                  "DELTA_*; write the file anew, such as with pyarrow.parquet.write_table",
                  name(encoding))};
}

}  // namespace smelt::parquet
