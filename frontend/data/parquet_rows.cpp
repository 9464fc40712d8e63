#include "frontend/data/readers.h"
namespace smelt {
std::unique_ptr<RowReader> open_parquet_rows(const std::filesystem::path& path,
                                             const std::vector<ColumnName>&) {
  fail("'{}': Parquet is not read yet", path.string());
}
std::unique_ptr<RowReader> open_arrow_rows(const std::filesystem::path& path,
                                           const std::vector<ColumnName>&) {
  fail("'{}': Arrow is not read yet", path.string());
}
}  // namespace smelt
