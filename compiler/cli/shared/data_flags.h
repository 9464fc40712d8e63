// Data as the commands take it: text and token files, or data sets of labelled records.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "compiler/cli/shared/model.h"
#include "frontend/build_transformer.h"
#include "runtime/engine/data/batches.h"

namespace smelt::cli {

struct DataFlags {
  std::vector<std::string> data, validation;
  std::string format = "automatic";
  double held_back = 0.05;
  bool pack = false;
  std::vector<int32_t> document_end;

  void add_to(CLI::App& app);
  /// Returns whether the files are data sets (.safetensors); throws Error where only some of them are.
  bool holds_records() const;
  /// Bounds T and S of a model with a spec, where the user set none, by the widths of the data sets; packed
  /// rows are as long as the model takes them.
  void bound_lengths(const Model& model, std::vector<Symbols::Bound>& bounds, DefaultBounds& defaults) const;
  /// Gives a model of packed rows the inputs that separate their documents.
  void read_segments(const Model& model, BuildOptions& build) const;
  /// Returns the end-of-document tokens of packed rows: those that the user named, or the model's first token
  /// that ends a text, if any.
  std::vector<int32_t> document_end_of(const Model& model) const;
  /// Checked against what `entry` of the model reads. Throws Error where no data was named.
  DataSplit open(const Model& model, std::string_view entry) const;
};

}  // namespace smelt::cli
