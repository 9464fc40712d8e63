// JSON Lines: one JSON object per line, whose members are the columns.
#include "frontend/data/byte_source.h"
#include "frontend/data/readers.h"
#include "frontend/data/row_of_texts.h"
#include "runtime/system/json_text.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; }

std::vector<std::string> member_names(const Cell& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

class JsonlRows : public RowReader {
 public:
  JsonlRows(const std::filesystem::path& path, const std::vector<ColumnName>& columns)
      : RowReader(path.string()), columns_(columns), bytes_(open_bytes(path)) {}

  bool next(std::vector<Cell>& cells) override {
    if (!read_line()) return false;
    const Cell row = parsed();
    if (!row.is_object())
      refuse(fmt::format("it is {}: expected a JSON object", row.is_array() ? "a list" : row.type_name()));
    cells.clear();
    for (const ColumnName& column : columns_) {
      const Cell* cell = find_cell(row, column.name);
      if (!cell && !column.optional) refuse(missing_column(column.name, member_names(row)));
      cells.push_back(cell ? *cell : Cell());
    }
    return true;
  }

 private:
  /// Reads the next line that is not blank. A blank line before it is a row, which is refused; blank lines at
  /// the end of the file are none.
  bool read_line() {
    if (has_line_) {
      has_line_ = false;
      return ++row_, true;
    }
    int64_t blank = 0;
    while (bytes_.get_line(line_, kLargestRow)) {
      if (row_ == 0 && blank == 0 && line_.starts_with(kByteOrderMark)) line_.erase(0, kByteOrderMark.size());
      if (is_blank(line_)) {
        ++blank;
        continue;
      }
      row_ += blank;
      has_line_ = blank > 0;
      if (has_line_) refuse("it is empty: expected a JSON object");
      return ++row_, true;
    }
    return false;
  }

  Cell parsed() const {
    if (line_.size() > kLargestRow) refuse(fmt::format("it is longer than {} MiB", kLargestRow >> 20));
    if (const Utf8Prefix prefix = valid_utf8_prefix(line_); prefix.valid != line_.size())
      refuse(fmt::format("byte {} is no UTF-8: expected JSON in UTF-8", prefix.valid + 1));
    if (std::optional<Cell> row = row_of_texts(line_)) return std::move(*row);
    try {
      return parse_ordered_json(line_, fmt::format("{}, row {}", file(), row()));
    } catch (const Error& error) {
      throw RowError(error.what(), false);
    }
  }

  std::vector<ColumnName> columns_;
  BufferedBytes bytes_;
  std::string line_;
  bool has_line_ = false;  // line_ is the line after a blank one
};

}  // namespace

std::unique_ptr<RowReader> open_jsonl_rows(const std::filesystem::path& path,
                                           const std::vector<ColumnName>& columns) {
  return std::make_unique<JsonlRows>(path, columns);
}

}  // namespace smelt
