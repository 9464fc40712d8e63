// Labelled data: safetensors files that hold one tensor for each input of an entry, with one record per row.
// The format is described in docs/data.md.
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

/// One or more files as one list of records that fit the inputs of an entry. Names, types, shapes and every
/// value are checked here, once, with an Error that names file, tensor, row and what was expected.
class RecordData {
 public:
  static constexpr const char* kItems = "records";
  RecordData(const std::vector<std::filesystem::path>& files, const PlanEntry& entry, const Symbols& symbols);

  int64_t size() const { return size_; }
  /// "digits.safetensors" or "a.safetensors and 3 more": for messages.
  const std::string& description() const { return description_; }
  /// A checksum of all values as the files have them.
  std::string fingerprint() const;
  /// Fills the batch with these records, as long as the longest of them, or as the next length that the plan
  /// takes.
  void read(std::span<const int64_t> rows, Batch& batch) const;
  /// Returns the shapes, without data, of a batch of `rows` records of the greatest length.
  std::vector<InputTensor> largest(int64_t rows) const;

  /// Records as documents: throws Error if a tensor holds something else than a value a token.
  std::vector<DocumentColumn> document_columns() const;
  int64_t length(int64_t row) const { return lengths_.front().of_row[static_cast<size_t>(row)]; }
  /// Copies the tokens of a record, without its padding.
  void read_document(int64_t row, size_t column, std::byte* out) const {
    copy(row, columns_[column], length(row), out);
  }

 private:
  /// The file's data for one input.
  struct Column {
    Port port;
    int length = -1;    // index into lengths_ where the second dimension is a symbol
    int64_t inner = 1;  // elements after the length, or of a whole record if there is none
    int32_t padding = 0;
  };
  /// The lengths of the records along one symbol.
  struct Length {
    std::string symbol,
        judge;  // the tensors that give the lengths, for messages; empty: all records are as wide as the file
    std::vector<int32_t> of_row;  // without padding
    int64_t longest = 1;
    int64_t multiple = 1;  // ranks that have parts of a sequence divide the length of a batch

    int64_t padded(int64_t length) const { return (length + multiple - 1) / multiple * multiple; }
  };
  struct Piece {
    Checkpoint file;
    std::vector<const TensorView*> tensors;  // one a column
    int64_t begin = 0, rows = 0;
  };
  void choose_columns(const Piece& first, const PlanEntry& entry);
  void add_column(const Port& port, const PlanEntry& entry);
  void add_piece(Piece piece, const PlanEntry& entry);
  void check_shape(const Piece& piece, size_t column) const;
  void measure(Length& length, const PlanEntry& entry);
  void require_multiple(const Length& length) const;
  void measure_by(const char* name, Length& length);
  /// `extent` elements along the length, padding where the file has no more.
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
