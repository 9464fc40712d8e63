// Examples of encoded files as one list, whose batches fit the inputs of an entry of a plan.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/data/documents.h"
#include "runtime/engine/data/example_set.h"
#include "runtime/engine/data/held_back.h"
#include "runtime/plan/plan.h"
#include "runtime/session/batch.h"

namespace smelt {

/// Examples [begin, end) of a file.
struct ExampleSlice {
  std::shared_ptr<const ExampleSet> set;
  int64_t begin = 0, end = 0;
  /// Class of each name in ExampleFacts::classes; null: the labels are the classes.
  std::shared_ptr<const std::vector<int32_t>> classes = {};
};

/// Slices of the same kind (completions, pairs, classes or numbers), one after another. A slice may occur
/// several times.
class ExampleData {
 public:
  static constexpr const char* kItems = "examples";
  /// `description` is used in messages. Throws Error if the entry has no inputs for examples of this kind, or
  /// if an id or a class is not valid for it.
  ExampleData(std::vector<ExampleSlice> slices, ExampleKind kind, const PlanEntry& entry,
              const Symbols& symbols, std::string description);

  int64_t size() const { return size_; }
  const std::string& description() const { return description_; }
  std::string fingerprint() const;
  /// Replaces the contents of `batch` by these examples. Shorter ones are padded to the longest.
  void read(std::span<const int64_t> rows, Batch& batch) const;
  /// Returns the inputs of a batch of `rows` examples of the greatest length, with null data.
  std::vector<InputTensor> largest(int64_t rows) const;

  /// Returns the columns of packed rows. Throws Error unless the examples are completions.
  std::vector<DocumentColumn> document_columns() const;
  int64_t length(int64_t row) const;
  /// Copies the ids (column 0) or labels (column 1) of an example to `out`.
  void read_document(int64_t row, size_t column, std::byte* out) const;

 private:
  struct Place {
    const ExampleSlice* slice;
    int64_t example;
  };
  /// An input of the entry, whose second dimension is a symbol.
  struct Sequence {
    const Port* port = nullptr;  // null: the entry does not have it
    int64_t multiple = 1;        // the length of a batch is a multiple of it
    int64_t longest = 0;         // of all examples
  };
  Place place(int64_t row) const;
  std::span<const int32_t> ids(int64_t row) const;
  std::span<const int32_t> labels(int64_t row) const;
  bool has_label_sequence() const { return kind_ == ExampleKind::completions || kind_ == ExampleKind::pairs; }
  Sequence sequence(const char* name, int64_t longest, const Symbols& symbols) const;
  void check_labels() const;
  void check_ids() const;
  int64_t extent(const Sequence& sequence, int64_t longest) const;
  template <typename Values>
  void add_sequences(const char* name, std::span<const int64_t> rows, int64_t extent, int32_t padding,
                     Batch& batch, Values values) const;
  void add_label(std::span<const int64_t> rows, Batch& batch) const;

  std::vector<ExampleSlice> slices_;
  std::vector<int64_t> begins_;  // number of the first example of each slice
  PlanEntry entry_;              // names, types and shapes of the inputs alone
  ExampleKind kind_;
  Sequence ids_, labels_;
  int32_t ignored_label_ = -100;
  int64_t size_ = 0;
  std::string description_;
};

using ExampleRange = Part<ExampleData>;

/// Documents of a range of completions.
class ExampleDocuments : public Documents {
 public:
  explicit ExampleDocuments(ExampleRange range) : range_(std::move(range)) {}
  int64_t size() const override { return range_.size(); }
  int64_t length(int64_t document) const override { return range_.data->length(range_.begin + document); }
  std::vector<DocumentColumn> columns() const override { return range_.data->document_columns(); }
  void read(int64_t document, size_t column, std::byte* out) const override {
    range_.data->read_document(range_.begin + document, column, out);
  }
  const std::string& description() const override { return range_.data->description(); }

 private:
  ExampleRange range_;
};

}  // namespace smelt
