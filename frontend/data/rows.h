// Rows of named columns, which are read one by one from a file in constant memory. One file of this folder
// reads one format.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace smelt {

/// The value of a column in a row: null, a truth value, a number, a text, or lists and objects of them.
using Cell = nlohmann::ordered_json;

/// A column that a reader returns. The name may be a path: "translation.en" is the member "en" of the column
/// "translation", if the file has no column of the whole name.
struct ColumnName {
  std::string name;
  bool optional = false;  // cells of a missing column are null; false: a missing column is an error
};

/// A row that cannot be used. The message has the file and the row.
class RowError : public Error {
 public:
  /// `ends_file`: the rows after this one cannot be read either, because the file is damaged.
  RowError(const std::string& message, bool ends_file)
      : Error(message, Status::invalid_file), ends_file_(ends_file) {}
  bool ends_file() const { return ends_file_; }

 private:
  bool ends_file_;
};

/// The rows of one file.
class RowReader {
 public:
  explicit RowReader(std::string file) : file_(std::move(file)) {}
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;
  virtual ~RowReader() = default;

  /// Replaces `cells` by the next row's cells, one per column. Returns false at the end of the file. Throws
  /// RowError for a row that is not valid; unless it ends the file, the next call reads the row after it.
  virtual bool next(std::vector<Cell>& cells) = 0;

  /// Returns the number of the row that was read last, from 1.
  int64_t row() const { return row_; }
  const std::string& file() const { return file_; }
  /// Throws RowError: "'a.jsonl', row 3: <text>".
  [[noreturn]] void refuse(std::string_view text, bool ends_file = false) const {
    throw RowError(fmt::format("'{}', row {}: {}", file_, row_, text), ends_file);
  }

 protected:
  int64_t row_ = 0;

 private:
  std::string file_;
};

/// Formats of files with rows. `text`: the whole file is one row with the column "text".
enum class RowFormat : uint8_t { text, jsonl, csv, tsv, parquet, arrow };
std::string_view name(RowFormat format);
std::optional<RowFormat> parse_row_format(std::string_view name);

/// Returns the format that the name of a file specifies, without a final .gz or .zst; nothing for other
/// names.
std::optional<RowFormat> row_format_of(const std::filesystem::path& path);
/// Returns whether the name of the file ends in .gz or .zst.
bool is_compressed_name(const std::filesystem::path& path);

/// Opens a file, or standard input if `path` is "-". Throws Error if the file cannot be opened or lacks a
/// column.
std::unique_ptr<RowReader> open_rows(const std::filesystem::path& path, RowFormat format,
                                     const std::vector<ColumnName>& columns);

/// Returns the member of `value` that the path names ("en", or "en.text"), or null if there is none.
const Cell* find_cell(const Cell& value, std::string_view path);

/// Returns "no column 'text': the columns are 'a', 'b'".
std::string missing_column(std::string_view name, const std::vector<std::string>& present);

}  // namespace smelt
