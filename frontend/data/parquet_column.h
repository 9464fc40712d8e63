// ParquetColumn reads the values of one leaf of a row group, page by page.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "frontend/data/parquet_format.h"
#include "frontend/data/parquet_values.h"
#include "frontend/data/rows.h"

namespace smelt::parquet {

class ParquetColumn {
 public:
  /// `bytes`: the file. `path`: the path of the leaf, for messages. `leaf`, `chunk` and `bytes` must outlive
  /// the column.
  ParquetColumn(std::span<const std::byte> bytes, const SchemaNode& leaf, const ColumnChunk& chunk,
                std::string file, std::string path);

  /// Levels of the next value: at which optional and repeated elements it exists, and at which it repeats.
  /// Throw Error (invalid_file) if there is no further value.
  int definition();
  int repetition();
  bool is_at_end() const { return at_ == page_values_ && left_ <= 0; }
  /// Returns the next value, or null if an element is missing, and takes it.
  Cell take();

 private:
  void require_value();
  void read_page();
  void read_data_page(const PageHeader& page, std::string_view stored);
  void read_levels(const PageHeader& page, std::string_view& data);
  std::vector<uint32_t> levels_v1(std::string_view& data, int most, Encoding encoding, int64_t count) const;
  std::string_view decompressed(const PageHeader& page, std::string_view stored, size_t size);
  void read_dictionary_indices(std::string_view data, int64_t count);
  Cell value_at(const Values& values, size_t i) const;
  [[noreturn]] void fail_damaged(std::string_view what) const;

  std::span<const std::byte> bytes_;
  const SchemaNode& leaf_;
  const ColumnChunk& chunk_;
  std::string file_, path_;
  int64_t place_, left_;  // next byte of the file; values after this page
  std::string block_;     // decompressed page
  Values dictionary_, values_;
  bool by_dictionary_ = false;
  std::vector<uint32_t> indices_, definitions_, repetitions_;
  int64_t at_ = 0, page_values_ = 0;  // next value of the page, including nulls; their number
  size_t present_ = 0;                // next value of the page that is not null
};

}  // namespace smelt::parquet
