// Readers of the formats of rows, one file per format. open_rows chooses among them.
#pragma once

#include "frontend/data/rows.h"

namespace smelt {

/// Largest row of a text format in bytes. A larger one is refused, because a row is in memory as a whole.
constexpr size_t kLargestRow = size_t{1} << 28;

std::unique_ptr<RowReader> open_text_rows(const std::filesystem::path& path,
                                          const std::vector<ColumnName>& columns);
std::unique_ptr<RowReader> open_jsonl_rows(const std::filesystem::path& path,
                                           const std::vector<ColumnName>& columns);
std::unique_ptr<RowReader> open_csv_rows(const std::filesystem::path& path,
                                         const std::vector<ColumnName>& columns);
std::unique_ptr<RowReader> open_tsv_rows(const std::filesystem::path& path,
                                         const std::vector<ColumnName>& columns);
std::unique_ptr<RowReader> open_parquet_rows(const std::filesystem::path& path,
                                             const std::vector<ColumnName>& columns);
std::unique_ptr<RowReader> open_arrow_rows(const std::filesystem::path& path,
                                           const std::vector<ColumnName>& columns);

}  // namespace smelt
