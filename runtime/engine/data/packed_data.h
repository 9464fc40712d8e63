// Packed rows: rows of concatenated documents, so that texts and records of different lengths are in one
// batch with little padding.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/data/documents.h"
#include "runtime/engine/data/pack_rows.h"
#include "runtime/engine/data/records.h"
#include "runtime/engine/data/token_data.h"
#include "runtime/session/batch.h"

namespace smelt {

struct PackOptions {
  int64_t length = 128;                    // tokens per row
  std::vector<int32_t> document_end = {};  // ids that end a document; empty: only the end of a file does
  int32_t ignored_label = -100;            // label of padding
  bool position_ids = true;                // whether the model reads the input position_ids
};
/// Returns the options for the inputs of the entry. Throws Error if the entry cannot read packed rows,
/// because it has no input segment_ids, or no labels with a value that the loss ignores.
PackOptions pack_options(const PlanEntry& entry, int64_t length, std::vector<int32_t> document_end);

/// Documents of a range of tokens. A document ends after the ids PackOptions::document_end and at the end of
/// a file. A document that is longer than a row (PackOptions::length) is split into documents of at most that
/// length.
class TokenDocuments : public Documents {
 public:
  TokenDocuments(TokenRange range, const PackOptions& options);
  int64_t size() const override { return static_cast<int64_t>(begins_.size()) - 1; }
  int64_t length(int64_t document) const override;
  std::vector<DocumentColumn> columns() const override;
  void read(int64_t document, size_t column, std::byte* out) const override;
  const std::string& description() const override { return range_.data->description(); }

 private:
  void find_ends(std::span<const int32_t> document_end, int64_t longest);

  TokenRange range_;
  std::vector<int64_t> begins_;  // position of each document's first token, then the end of the last document
  int32_t ignored_label_;
};

/// Documents of a range of records: each record without its padding is a document.
class RecordDocuments : public Documents {
 public:
  explicit RecordDocuments(RecordRange range) : range_(std::move(range)) {}
  int64_t size() const override { return range_.size(); }
  int64_t length(int64_t document) const override { return range_.data->length(range_.begin + document); }
  std::vector<DocumentColumn> columns() const override { return range_.data->document_columns(); }
  void read(int64_t document, size_t column, std::byte* out) const override {
    range_.data->read_document(range_.begin + document, column, out);
  }
  const std::string& description() const override { return range_.data->description(); }

 private:
  RecordRange range_;
};

/// Packed rows of documents. The tokens of the first document of a row have segment_ids 1, those of the
/// second 2, and so on; padding after the last document has 0. position_ids count from 0 in each document.
class PackedData {
 public:
  static constexpr const char* kItems = "rows";

  PackedData(std::shared_ptr<const Documents> documents, const PackOptions& options);

  int64_t size() const { return rows_.size(); }  // rows
  const std::string& description() const { return documents_->description(); }
  /// Replaces the contents of `batch` by these rows: all columns of the documents, segment_ids and
  /// position_ids.
  void read(std::span<const int64_t> rows, Batch& batch) const;
  /// Returns the inputs of a batch of `rows` rows: names, types and shapes, with null data.
  std::vector<InputTensor> largest(int64_t rows) const;
  /// Returns "15 rows of 24 tokens hold 60 documents of 342 tokens: 95.0% full"
  std::string summary() const;

 private:
  std::vector<int64_t> shape(const DocumentColumn& column, int64_t rows) const;
  void read_column(std::span<const int64_t> rows, size_t column, Batch& batch) const;
  /// Adds the input `name` of type i32[rows, length] to `batch`. Its elements are value(number of the
  /// document in the row, number of the token in the document), and 0 for padding.
  template <typename Number>
  void add_numbers(const char* name, std::span<const int64_t> rows, Batch& batch, Number value) const;

  std::shared_ptr<const Documents> documents_;
  std::vector<DocumentColumn> columns_;
  int64_t length_, tokens_ = 0;
  bool position_ids_;
  PackedRows rows_;
};

using PackedRange = Part<PackedData>;

}  // namespace smelt
