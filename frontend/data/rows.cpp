#include "frontend/data/rows.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "frontend/data/readers.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

using Open = std::unique_ptr<RowReader> (*)(const fs::path& path, const std::vector<ColumnName>& columns);

/// A format: its name, the endings of its files, and its reader.
struct RowFormatRow {
  RowFormat format;
  std::string_view name;
  std::vector<std::string_view> endings;
  Open open;
};

const std::array<RowFormatRow, 6>& format_rows() {
  static const std::array<RowFormatRow, 6> rows = {{
      {RowFormat::text, "text", {".txt", ".text"}, open_text_rows},
      {RowFormat::jsonl, "jsonl", {".jsonl", ".ndjson"}, open_jsonl_rows},
      {RowFormat::csv, "csv", {".csv"}, open_csv_rows},
      {RowFormat::tsv, "tsv", {".tsv"}, open_tsv_rows},
      {RowFormat::parquet, "parquet", {".parquet", ".pq"}, open_parquet_rows},
      {RowFormat::arrow, "arrow", {".arrow", ".arrows", ".feather", ".ipc"}, open_arrow_rows},
  }};
  return rows;
}

const RowFormatRow& row_of(RowFormat format) { return format_rows()[static_cast<size_t>(format)]; }

}  // namespace

std::string_view name(RowFormat format) { return row_of(format).name; }

std::optional<RowFormat> parse_row_format(std::string_view name) {
  for (const RowFormatRow& row : format_rows())
    if (row.name == name) return row.format;
  return std::nullopt;
}

bool is_compressed_name(const fs::path& path) {
  return path.extension() == ".gz" || path.extension() == ".zst";
}

std::optional<RowFormat> row_format_of(const fs::path& path) {
  const fs::path inner = is_compressed_name(path) ? path.stem() : path.filename();
  std::string ending = inner.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  for (const RowFormatRow& row : format_rows())
    if (std::ranges::find(row.endings, ending) != row.endings.end()) return row.format;
  return std::nullopt;
}

std::unique_ptr<RowReader> open_rows(const fs::path& path, RowFormat format,
                                     const std::vector<ColumnName>& columns) {
  return row_of(format).open(path, columns);
}

const Cell* find_cell(const Cell& value, std::string_view path) {
  if (!value.is_object()) return nullptr;
  if (const auto whole = value.find(path); whole != value.end()) return &*whole;
  const size_t dot = path.find('.');
  if (dot == path.npos) return nullptr;
  const auto first = value.find(path.substr(0, dot));
  return first == value.end() ? nullptr : find_cell(*first, path.substr(dot + 1));
}

std::string missing_column(std::string_view name, const std::vector<std::string>& present) {
  return fmt::format("there is no column '{}': the columns are '{}'; name one of them", name,
                     fmt::join(present, "', '"));
}

}  // namespace smelt
