// Interface of documents: sequences of tokens, of which several may be concatenated in one row of a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"

namespace smelt {

/// Names of the inputs that specify, for each token of a row, the number of its document and its position in
/// the document.
inline constexpr const char *kSegmentIds = "segment_ids", *kPositionIds = "position_ids";

/// An input that has one value, or an array of values, per token.
struct DocumentColumn {
  std::string name;
  DType dtype;
  std::vector<int64_t> inner;  // shape of the values of one token; empty: a single value
  int32_t padding;             // value after the last document of a row; 0 if dtype is f32
};

/// A list of documents, numbered from 0, with the same columns.
class Documents {
 public:
  virtual ~Documents() = default;
  virtual int64_t size() const = 0;                    // documents
  virtual int64_t length(int64_t document) const = 0;  // tokens
  virtual std::vector<DocumentColumn> columns() const = 0;
  /// Copies the values of column number `column` for all tokens of the document to `out`.
  virtual void read(int64_t document, size_t column, std::byte* out) const = 0;
  /// Returns a description of the files, for messages.
  virtual const std::string& description() const = 0;
};

}  // namespace smelt
