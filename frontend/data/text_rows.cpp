// Plain text: a file is one row with one column, whatever its name. A larger file is cut into rows at ends of
// lines.
#include <algorithm>

#include "frontend/data/byte_source.h"
#include "frontend/data/readers.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr size_t kPiece = size_t{1} << 24;  // bytes of a row, so that a file of any size is read in pieces

class TextRows : public RowReader {
 public:
  TextRows(const std::filesystem::path& path, size_t columns)
      : RowReader(path.string()), columns_(columns), bytes_(open_bytes(path)) {}

  bool next(std::vector<Cell>& cells) override {
    std::string text = std::move(rest_);
    rest_.clear();
    bytes_.append(text, kPiece - text.size());
    if (text.empty()) return false;
    ++row_;
    if (text.size() == kPiece) keep_rest(text);
    if (const Utf8Prefix prefix = valid_utf8_prefix(text); prefix.valid != text.size())
      refuse(
          fmt::format("byte {} is no UTF-8: expected a text in UTF-8; convert it, such as from Latin-1: "
                      "iconv -f LATIN1 -t UTF-8",
                      prefix.valid + 1));
    cells.assign(columns_, nullptr);
    if (!cells.empty()) cells[0] = std::move(text);
    return true;
  }

 private:
  /// Moves the text after the last end of a line to the next row.
  void keep_rest(std::string& text) {
    size_t end = text.rfind('\n');
    if (end == text.npos) {  // one long line: the cut is between two characters
      end = text.size() - 1;
      while (end > 0 && !begins_code_point(text[end])) --end;
      if (end == 0) return;
      --end;
    }
    rest_ = text.substr(end + 1);
    text.resize(end + 1);
  }

  size_t columns_;
  BufferedBytes bytes_;
  std::string rest_;
};

}  // namespace

std::unique_ptr<RowReader> open_text_rows(const std::filesystem::path& path,
                                          const std::vector<ColumnName>& columns) {
  const auto required = std::ranges::count(columns, false, &ColumnName::optional);
  if (required > 1)
    fail_with(Status::invalid_file,
              "'{}' is plain text, one column: expected a file with columns, as {} are read", path.string(),
              required);
  return std::make_unique<TextRows>(path, columns.size());
}

}  // namespace smelt
