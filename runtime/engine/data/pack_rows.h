// Packing of documents into rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace smelt {

/// Documents by row, in their order there.
class PackedRows {
 public:
  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  std::span<const int64_t> operator[](int64_t row) const;
  void add(std::span<const int64_t> documents);

 private:
  std::vector<int64_t> documents_, ends_;
};

/// Assigns each document of at least one token to one row of at most `width` tokens. First fit: in order, a
/// document goes into the oldest open row that has room for it. The number of open rows is limited: the
/// fullest one closes when a new one is needed. The same lengths give the same rows. Requires: no document is
/// longer than a row.
PackedRows pack_rows(std::span<const int64_t> lengths, int64_t width);

}  // namespace smelt
