// Which documents share a row.
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

/// Each document of at least one token stands in one row, none of which is longer than `width`. First fit: in
/// order, a document goes into the oldest open row that has room for it. Of a number of open rows, the
/// fullest closes for a new one. The same lengths give the same rows. Documents must not be longer than a
/// row.
PackedRows pack_rows(std::span<const int64_t> lengths, int64_t width);

}  // namespace smelt
