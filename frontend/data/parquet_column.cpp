#include "frontend/data/parquet_column.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "frontend/data/codec.h"

namespace smelt::parquet {
namespace {

int bits_for(int most) { return std::bit_width(static_cast<unsigned>(most)); }

std::string_view take_front(std::string_view& data, size_t count) {
  if (count > data.size()) throw DamagedPage{"the levels of a page end too early"};
  const std::string_view front = data.substr(0, count);
  data.remove_prefix(count);
  return front;
}

std::optional<BlockCodec> block_codec(Codec codec) {
  switch (codec) {
    case Codec::none:
      return BlockCodec::none;
    case Codec::snappy:
      return BlockCodec::snappy;
    case Codec::gzip:
      return BlockCodec::gzip;
    case Codec::zstd:
      return BlockCodec::zstd;
    default:
      return std::nullopt;
  }
}

}  // namespace

ParquetColumn::ParquetColumn(std::span<const std::byte> bytes, const SchemaNode& leaf,
                             const ColumnChunk& chunk, std::string file, std::string path)
    : bytes_(bytes),
      leaf_(leaf),
      chunk_(chunk),
      file_(std::move(file)),
      path_(std::move(path)),
      place_(chunk.begin),
      left_(chunk.values) {
  if (!block_codec(chunk.codec))
    fail_with(
        Status::invalid_file,
        "'{}', column '{}' is compressed by {}, which is not read: expected none, SNAPPY, GZIP or ZSTD; "
        "write the file anew, such as with pyarrow.parquet.write_table(table, file, compression='zstd')",
        file_, path_, name(chunk.codec));
  const bool is_other = leaf.type == Type::fixed_bytes && !leaf.is_text;
  if (leaf.is_decimal || leaf.type == Type::int96 || is_other)
    fail_with(
        Status::invalid_file,
        "'{}', column '{}' has values of type {}, which is not read: expected texts, integers, floats or "
        "truth values",
        file_, path_,
        leaf.is_decimal ? "DECIMAL"
        : is_other      ? "FIXED_LEN_BYTE_ARRAY (such as FLOAT16 and UUID)"
                        : "INT96");
}

void ParquetColumn::fail_damaged(std::string_view what) const {
  fail_with(Status::invalid_file, "'{}', column '{}': {}", file_, path_, what);
}

void ParquetColumn::require_value() {
  while (at_ == page_values_) {
    if (left_ <= 0) fail_damaged("it has fewer values than rows: the file is damaged");
    try {
      read_page();
    } catch (const DamagedPage& page) {
      fail_damaged(page.what);
    }
  }
}

int ParquetColumn::definition() {
  require_value();
  return definitions_.empty() ? leaf_.definition : static_cast<int>(definitions_[static_cast<size_t>(at_)]);
}

int ParquetColumn::repetition() {
  require_value();
  return repetitions_.empty() ? 0 : static_cast<int>(repetitions_[static_cast<size_t>(at_)]);
}

Cell ParquetColumn::take() {
  const bool is_present = definition() == leaf_.definition;
  ++at_;
  if (!is_present) return nullptr;
  const size_t i = present_++;
  if (!by_dictionary_) return value_at(values_, i);
  if (i >= indices_.size() || indices_[i] >= dictionary_.size())
    fail_damaged("a value is not in the dictionary");
  return value_at(dictionary_, indices_[i]);
}

Cell ParquetColumn::value_at(const Values& values, size_t i) const {
  if (static_cast<int64_t>(i) >= values.size()) fail_damaged("a page has fewer values than it says");
  if (!values.texts.empty()) return values.texts[i];
  if (!values.reals.empty()) return values.reals[i];
  return leaf_.type == Type::boolean ? Cell(values.integers[i] != 0) : Cell(values.integers[i]);
}

void ParquetColumn::read_page() {
  const auto rest = bytes_.subspan(static_cast<size_t>(place_), static_cast<size_t>(chunk_.end - place_));
  if (rest.empty()) throw DamagedPage{"its pages end too early"};
  const PageHeader page = read_page_header(rest, file_);
  const std::string_view stored(reinterpret_cast<const char*>(rest.data()) + page.header_bytes,
                                static_cast<size_t>(page.stored));
  place_ += static_cast<int64_t>(page.header_bytes) + page.stored;
  if (page.type == PageType::dictionary)
    dictionary_ = read_values(leaf_, Encoding::plain,
                              decompressed(page, stored, static_cast<size_t>(page.size)), page.values);
  else if (page.type == PageType::data || page.type == PageType::data_v2)
    read_data_page(page, stored);
}

std::string_view ParquetColumn::decompressed(const PageHeader& page, std::string_view stored, size_t size) {
  const BlockCodec codec = page.is_compressed ? *block_codec(chunk_.codec) : BlockCodec::none;
  if (codec == BlockCodec::none) {
    if (stored.size() != size) throw DamagedPage{"a page has another size than its header says"};
    return stored;
  }
  if (!decompress(codec, stored, size, block_)) throw DamagedPage{"a page cannot be decompressed"};
  return block_;
}

void ParquetColumn::read_data_page(const PageHeader& page, std::string_view stored) {
  at_ = 0, page_values_ = 0, present_ = 0;
  std::string_view data;
  if (page.type == PageType::data_v2) {
    const int64_t levels = page.definition_bytes + page.repetition_bytes;
    const std::string_view repetitions = take_front(stored, static_cast<size_t>(page.repetition_bytes));
    const std::string_view definitions = take_front(stored, static_cast<size_t>(page.definition_bytes));
    repetitions_ = leaf_.repeats > 0 ? read_rle(repetitions, bits_for(leaf_.repeats), page.values)
                                     : std::vector<uint32_t>();
    definitions_ = leaf_.definition > 0 ? read_rle(definitions, bits_for(leaf_.definition), page.values)
                                        : std::vector<uint32_t>();
    data = decompressed(page, stored, static_cast<size_t>(page.size - levels));
  } else {
    data = decompressed(page, stored, static_cast<size_t>(page.size));
    read_levels(page, data);
  }
  const auto is_present = [&](uint32_t level) { return level == static_cast<uint32_t>(leaf_.definition); };
  const int64_t present =
      definitions_.empty() ? page.values : std::ranges::count_if(definitions_, is_present);
  by_dictionary_ = page.encoding == Encoding::plain_dictionary || page.encoding == Encoding::rle_dictionary;
  if (by_dictionary_)
    read_dictionary_indices(data, present);
  else
    values_ = read_values(leaf_, page.encoding, data, present);
  page_values_ = page.values, left_ -= page.values;
}

void ParquetColumn::read_levels(const PageHeader& page, std::string_view& data) {
  repetitions_ = levels_v1(data, leaf_.repeats, page.repetition_encoding, page.values);
  definitions_ = levels_v1(data, leaf_.definition, page.definition_encoding, page.values);
}

std::vector<uint32_t> ParquetColumn::levels_v1(std::string_view& data, int most, Encoding encoding,
                                               int64_t count) const {
  if (most == 0) return {};
  if (encoding != Encoding::rle)
    throw DamagedPage{
        fmt::format("levels have the encoding {}, which is not read: expected RLE", name(encoding))};
  uint32_t size = 0;
  std::memcpy(&size, take_front(data, sizeof size).data(), sizeof size);
  return read_rle(take_front(data, size), bits_for(most), count);
}

void ParquetColumn::read_dictionary_indices(std::string_view data, int64_t count) {
  if (count == 0) return indices_.clear();
  const int bits = static_cast<uint8_t>(take_front(data, 1)[0]);
  indices_ = read_rle(data, bits, count);
}

}  // namespace smelt::parquet
