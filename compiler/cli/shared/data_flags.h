// DataFlags: the data of a command, as options of the command line. Data are text and token files, data sets
// of labelled records (.safetensors), rows of texts (JSON Lines, CSV, Parquet, Arrow), or directories of
// images.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/read_data.h"
#include "compiler/cli/shared/row_encoder.h"
#include "frontend/build_transformer.h"
#include "runtime/engine/data/batches.h"

namespace smelt::cli {

struct DataFlags {
  std::vector<std::string> data, validation;  // files; no validation files: the end of `data` is held back
  std::string format = "automatic";           // of files: automatic, a TokenFormat or a RowFormat
  RowFields fields;                           // columns of rows
  std::string on_bad_row = "stop";            // or "skip"
  double held_back = 0.05;                    // share of `data` that is held back for validation
  bool pack = false, no_pack = false;         // packs several documents into each row, or does not (packs)
  std::vector<int32_t> document_end;  // token ids that end a document (document_end_of); empty: not given

  void add_to(CLI::App& app);
  /// Returns whether the files are data sets (.safetensors). Throws Error if only some of them are.
  bool holds_records() const;
  /// Returns whether the data are rows of texts.
  bool holds_rows() const;
  /// Returns whether the data are files of images, which only a model of images reads.
  bool holds_images(const Model& model) const;
  /// Returns whether rows of a batch are packed: if the user said so, and for rows of texts without other
  /// fields unless the user said the opposite.
  bool packs(const Model& model) const;
  /// Returns whether batches have windows or packed rows of a given length.
  bool has_length(const Model& model) const {
    return packs(model) || (!holds_records() && !has_examples() && !holds_images(model));
  }
  /// Encodes rows of texts, whose examples are cut at the model's or the user's maximum, or lists and checks
  /// images. Returns null for other data.
  std::shared_ptr<const ReadData> read(const Model& model, const std::vector<Symbols::Bound>& bounds) const;
  /// Adds bounds for T (tokens per row) and, for an encoder-decoder, S (tokens per row of the encoder's
  /// input) to `bounds`, unless it already bounds the symbol, and records them in `defaults`. The bounds are
  /// the widths of the records in tokens, limited to the model's number of positions. Does nothing for text
  /// and token files, packed rows and models without a spec.
  /// `read`: the result of read().
  void bound_lengths(const Model& model, const ReadData* read, std::vector<Symbols::Bound>& bounds,
                     DefaultBounds& defaults) const;
  /// If rows are packed, makes the model read the inputs that separate the documents of a row: segment_ids,
  /// and position_ids if the model does not count positions by itself.
  void read_segments(const Model& model, BuildOptions& build) const;
  /// Returns the sequence of token ids that ends a document in packed rows: the one that the user gave, or
  /// else the first of the model's end-of-text tokens, if it has any.
  std::vector<int32_t> document_end_of(const Model& model) const;
  /// Opens the training and validation data, after checks that they fit the inputs of `entry`. Throws Error
  /// if the user named no data.
  DataSplit open(const Model& model, std::string_view entry, const ReadData* read) const;

 private:
  std::shared_ptr<const ReadData> read_images(const Model& model) const;
  /// Returns whether rows have fields of a task, so that they are examples and not documents.
  bool has_examples() const;
};

}  // namespace smelt::cli
