// Documents: sequences of tokens that may be concatenated in a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"

namespace smelt {

/// Inputs that identify the documents of a row and the positions of tokens within them.
inline constexpr const char *kSegmentIds = "segment_ids", *kPositionIds = "position_ids";

/// An input with a value, or a few, for each token.
struct DocumentColumn {
  std::string name;
  DType dtype;
  std::vector<int64_t> inner;  // dimensions after the length
  int32_t padding;             // after the last document of a row; of f32: 0
};

class Documents {
 public:
  virtual ~Documents() = default;
  virtual int64_t size() const = 0;
  virtual int64_t length(int64_t document) const = 0;
  virtual std::vector<DocumentColumn> columns() const = 0;
  /// Copies the values of all tokens of the document.
  virtual void read(int64_t document, size_t column, std::byte* out) const = 0;
  /// Returns a description of the files, for messages.
  virtual const std::string& description() const = 0;
};

}  // namespace smelt
