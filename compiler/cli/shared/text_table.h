// Tables and numbers as text, in the form in which the commands print them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt::cli {

/// Rows of cells under a header. Columns of numbers are right-aligned.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Returns all rows, of which the header is the first.
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }
  std::string text() const;
  std::string markdown() const;

 private:
  std::vector<size_t> widths() const;
  std::vector<bool> numeric() const;
  std::vector<std::vector<std::string>> rows_;
};

std::string bytes_text(int64_t bytes);     // "12.3 MiB"
std::string count_text(int64_t count);     // "12,345,678"
std::string seconds_text(double seconds);  // "1.23 s", "45.6 ms", "7.8 us"

}  // namespace smelt::cli
