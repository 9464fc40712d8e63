// Packing of documents into rows of limited length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace smelt {

/// List of rows. Each row is a list of document numbers, in the order in which they are concatenated.
class PackedRows {
 public:
  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  std::span<const int64_t> operator[](int64_t row) const;
  /// Adds a row.
  void add(std::span<const int64_t> documents);

 private:
  std::vector<int64_t> documents_, ends_;  // documents of all rows; for each row, its end in documents_
};

/// Assigns each document to one row of at most `width` tokens, and returns the rows. `lengths` has the number
/// of tokens of each document; documents without tokens are left out. The method is first fit: documents are
/// processed in order, and each is added to the oldest open row that has room for it. At most 64 rows are
/// open: if a new one is needed, the fullest is closed. The same lengths give the same rows. Throws Error if
/// a document is longer than `width`.
PackedRows pack_rows(std::span<const int64_t> lengths, int64_t width);

}  // namespace smelt
