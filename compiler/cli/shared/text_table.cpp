#include "compiler/cli/shared/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace smelt::cli {
namespace {

/// Columns on a terminal: every byte of UTF-8 but the continuing ones.
size_t width(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

bool looks_numeric(const std::string& cell) {
  return cell.empty() || cell == "-" || std::isdigit(static_cast<unsigned char>(cell[0])) ||
         (cell.size() > 1 && (cell[0] == '-' || cell[0] == '+') &&
          std::isdigit(static_cast<unsigned char>(cell[1])));
}

std::string padded(const std::string& cell, size_t columns, bool right) {
  const std::string space(columns > width(cell) ? columns - width(cell) : 0, ' ');
  return right ? space + cell : cell + space;
}

}  // namespace

std::vector<size_t> TextTable::widths() const {
  std::vector<size_t> widths(rows_[0].size());
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  return widths;
}

std::vector<bool> TextTable::numeric() const {
  std::vector<bool> numeric(rows_[0].size(), rows_.size() > 1);
  for (size_t r = 1; r < rows_.size(); ++r)
    for (size_t i = 0; i < rows_[r].size(); ++i) numeric[i] = numeric[i] && looks_numeric(rows_[r][i]);
  return numeric;
}

std::string TextTable::text() const {
  const auto columns = widths();
  const auto right = numeric();
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += (i ? "  " : "") + padded(row[i], columns[i], right[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string TextTable::markdown() const {
  const auto right = numeric();
  std::string text;
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (const std::string& cell : rows_[r]) text += "| " + cell + " ";
    text += "|\n";
    if (r > 0) continue;
    for (const bool number : right) text += number ? "|---:" : "|---";
    text += "|\n";
  }
  return text;
}

std::string bytes_text(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; std::abs(value) >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string count_text(int64_t count) {
  std::string digits = std::to_string(count);
  const int first = count < 0 ? 1 : 0;
  for (int i = static_cast<int>(digits.size()) - 3; i > first; i -= 3)
    digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

}  // namespace smelt::cli
