// Labelled data: safetensors files that have one tensor per input of an entry (a function of a plan), of
// shape [records, ...]. The format is described in docs/guides/data.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/data/documents.h"
#include "runtime/engine/data/held_back.h"
#include "runtime/engine/weights/safetensors.h"
#include "runtime/plan/plan.h"
#include "runtime/session/batch.h"

namespace smelt {

/// One or more files as one list of records that fit the inputs of an entry. The constructor checks names,
/// types, shapes and all values; it throws Error naming file, tensor, record and the expected value.
class RecordData {
 public:
  static constexpr const char* kItems = "records";
  RecordData(const std::vector<std::filesystem::path>& files, const PlanEntry& entry, const Symbols& symbols);

  int64_t size() const { return size_; }  // records
  /// Returns "'digits.safetensors'" or "'a.safetensors' and 3 more", for messages.
  const std::string& description() const { return description_; }
  /// Returns a checksum of all values as they are stored in the files.
  std::string fingerprint() const;
  /// Replaces the contents of `batch` by these records. All are padded to the length of the longest of them,
  /// rounded up to a multiple that the plan accepts.
  void read(std::span<const int64_t> rows, Batch& batch) const;
  /// Returns the inputs of a batch of `rows` records of the greatest length: names, types and shapes, with
  /// null data.
  std::vector<InputTensor> largest(int64_t rows) const;

  /// Returns the columns of the records as documents (documents.h). Throws Error if a tensor is not of shape
  /// [records, length, ...] with one common length.
  std::vector<DocumentColumn> document_columns() const;
  /// Returns the tokens of a record without padding. Requires: document_columns() does not throw.
  int64_t length(int64_t row) const { return lengths_.front().of_row[static_cast<size_t>(row)]; }
  /// Copies one column of a record to `out`, without padding.
  void read_document(int64_t row, size_t column, std::byte* out) const {
    copy(row, columns_[column], length(row), out);
  }

 private:
  /// An input, and the form of its tensors.
  struct Column {
    Port port;
    int length = -1;      // index into lengths_ if the second dimension is a symbol, else -1
    int64_t inner = 1;    // elements per position along that dimension; per record if length is -1
    int32_t padding = 0;  // value after the end of a record; f32 inputs: 0
  };
  /// Lengths of the records along one symbol, which is the second dimension of one or more inputs.
  struct Length {
    std::string symbol,
        judge;  // tensor whose padding gives the lengths; empty: they are the tensors' second dimensions
    std::vector<int32_t> of_row;  // length of each record without padding
    int64_t longest = 1;          // maximum of of_row
    /// The length of a batch is a multiple of this number, so that ranks can read equal parts of a sequence.
    int64_t multiple = 1;

    int64_t padded(int64_t length) const { return (length + multiple - 1) / multiple * multiple; }
  };
  /// A file and its records.
  struct Piece {
    Checkpoint file;
    std::vector<const TensorView*> tensors;  // by column
    int64_t begin = 0, rows = 0;             // number of the file's first record; number of its records
  };
  void choose_columns(const Piece& first, const PlanEntry& entry);
  void add_column(const Port& port, const PlanEntry& entry);
  void add_piece(Piece piece, const PlanEntry& entry);
  void check_shape(const Piece& piece, size_t column) const;
  void measure(Length& length, const PlanEntry& entry);
  void require_multiple(const Length& length) const;
  /// Measures the lengths by the padding of the tensor `name`; null: by the tensors' second dimension.
  void measure_by(const char* name, Length& length);
  /// Copies the first `extent` positions of a record to `out`, with padding after the end of the tensor.
  void copy(int64_t row, const Column& column, int64_t extent, std::byte* out) const;
  std::vector<int64_t> shape(const Column& column, int64_t rows, std::span<const int64_t> extents) const;

  std::vector<Column> columns_;
  std::vector<Length> lengths_;
  std::vector<Piece> pieces_;
  int64_t size_ = 0;
  std::string description_;
};

using RecordRange = Part<RecordData>;
using RecordSplit = Parts<RecordData>;

}  // namespace smelt
