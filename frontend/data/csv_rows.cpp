// Comma-separated values (RFC 4180) with a header: the names of the columns. Fields with commas, quotes or
// ends of lines are in quotes. Tab-separated values differ by the separator alone.
#include <algorithm>

#include "frontend/data/byte_source.h"
#include "frontend/data/readers.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr std::string_view kCsvByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kMostColumns = 100000;

class CsvRows : public RowReader {
 public:
  CsvRows(const std::filesystem::path& path, char separator, const std::vector<ColumnName>& columns)
      : RowReader(path.string()), separator_(separator), bytes_(open_bytes(path)) {
    std::vector<std::string> header;
    skip_byte_order_mark();
    if (!read_record(header))
      fail_with(Status::invalid_file, "'{}' is empty: expected a header with the names of the columns",
                file());
    width_ = header.size();
    for (const ColumnName& column : columns) places_.push_back(place_of(column, header));
  }

  bool next(std::vector<Cell>& cells) override {
    std::vector<std::string> fields;
    ++row_;
    if (!read_record(fields)) return --row_, false;
    if (fields.size() == 1 && width_ > 1 && fields[0].empty()) {
      while (bytes_.peek() == '\n' || bytes_.peek() == '\r') row_ += bytes_.get() == '\n';
      if (bytes_.peek() < 0) return false;  // empty lines at the end are no rows
      refuse(fmt::format("it is empty: expected {} fields", width_));
    }
    if (fields.size() != width_)
      refuse(
          fmt::format("it has {} fields, and the header {}: expected as many (a field with a separator "
                      "needs quotes)",
                      fields.size(), width_));
    cells.assign(places_.size(), nullptr);
    for (size_t i = 0; i < places_.size(); ++i)
      if (places_[i]) {
        require_utf8(fields[*places_[i]]);
        cells[i] = fields[*places_[i]];
      }
    return true;
  }

 private:
  /// Takes it only if it is there, which its first byte tells: no text in UTF-8 begins with that one alone.
  void skip_byte_order_mark() {
    if (bytes_.peek() != static_cast<unsigned char>(kCsvByteOrderMark[0])) return;
    for (const char byte : kCsvByteOrderMark)
      if (bytes_.get() != static_cast<unsigned char>(byte))
        fail_with(Status::invalid_file, "'{}' begins with bytes that are no UTF-8: expected a text in UTF-8",
                  file());
  }

  std::optional<size_t> place_of(const ColumnName& column, const std::vector<std::string>& header) const {
    const auto found = std::ranges::find(header, column.name);
    if (std::ranges::count(header, column.name) > 1)
      fail_with(Status::invalid_file, "'{}' has several columns '{}': expected one of each name", file(),
                column.name);
    if (found != header.end()) return static_cast<size_t>(found - header.begin());
    if (!column.optional)
      fail_with(Status::invalid_file, "'{}': {}", file(), missing_column(column.name, header));
    return std::nullopt;
  }

  void require_utf8(const std::string& field) const {
    if (const Utf8Prefix prefix = valid_utf8_prefix(field); prefix.valid != field.size())
      refuse(fmt::format("byte {} of a field is no UTF-8: expected a text in UTF-8", prefix.valid + 1));
  }

  /// Reads the fields of a record. Returns false at the end of the file.
  bool read_record(std::vector<std::string>& fields) {
    if (bytes_.peek() < 0) return false;
    size_ = 0;
    bool more = true;
    while (more) {
      if (fields.size() == kMostColumns)
        skip_line(), refuse(fmt::format("it has more than {} fields", kMostColumns));
      more = read_field(fields.emplace_back());
    }
    return true;
  }

  /// Reads a field and the separator after it. Returns false if it is the last field of its record.
  bool read_field(std::string& field) {
    if (bytes_.peek() == '"') {
      bytes_.get();
      read_quoted(field);
    }
    for (;;) {
      const int byte = bytes_.get();
      if (byte < 0 || byte == '\n') return trim_return(field), false;
      if (byte == separator_) return true;
      add(field, byte);
    }
  }

  void read_quoted(std::string& field) {
    for (;;) {
      const int byte = bytes_.get();
      if (byte < 0) refuse("a field in quotes has no end: the file is damaged or was cut off", true);
      if (byte != '"') {
        add(field, byte);
        continue;
      }
      const int after = bytes_.peek();
      if (after != '"') return require_end(after);
      add(field, bytes_.get());
    }
  }

  void require_end(int after) {
    if (after < 0 || after == '\n' || after == '\r' || after == separator_) return;
    skip_line();
    refuse("there is text after a field's closing quote: quotes within a field are doubled");
  }

  void add(std::string& field, int byte) {
    if (++size_ > kLargestRow) refuse(fmt::format("it is longer than {} MiB", kLargestRow >> 20), true);
    field.push_back(static_cast<char>(byte));
  }

  static void trim_return(std::string& field) {
    if (!field.empty() && field.back() == '\r') field.pop_back();
  }

  void skip_line() {
    for (int byte = bytes_.get(); byte >= 0 && byte != '\n';) byte = bytes_.get();
  }

  int separator_;
  BufferedBytes bytes_;
  size_t width_ = 0, size_ = 0;                // fields per record; bytes of this one
  std::vector<std::optional<size_t>> places_;  // of the columns in a record
};

}  // namespace

std::unique_ptr<RowReader> open_csv_rows(const std::filesystem::path& path,
                                         const std::vector<ColumnName>& columns) {
  return std::make_unique<CsvRows>(path, ',', columns);
}

std::unique_ptr<RowReader> open_tsv_rows(const std::filesystem::path& path,
                                         const std::vector<ColumnName>& columns) {
  return std::make_unique<CsvRows>(path, '\t', columns);
}

}  // namespace smelt
