// RowData: the sources of rows of a command, encoded, and their division into training and held-back data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/shared/encoded_rows.h"
#include "compiler/cli/shared/read_data.h"
#include "compiler/cli/shared/row_encoder.h"
#include "frontend/data/source_paths.h"

namespace smelt::cli {

struct RowDataOptions {
  std::vector<std::string> data, validation;  // sources (source_paths.h)
  std::optional<RowFormat> format;            // of all files; nothing: that of each file's name
  RowFields fields;
  BadRows bad_rows = BadRows::stop;
  double held_back = 0.05;  // share of each source that is held back, if there is no validation
};

class RowData : public ReadData {
 public:
  /// Encodes all sources. `longest`: length at which examples are cut, in tokens.
  RowData(const Model& model, RowDataOptions options, int64_t longest);

  ExampleKind kind() const { return encoder_.kind(); }
  /// Returns the length of the longest example, and of its labels, in tokens.
  int64_t longest() const;
  int64_t longest_labels() const;
  const std::vector<std::string>& class_names() const override { return class_names_; }
  DataSplit split(const PlanEntry& entry, const Symbols& symbols, int64_t vocabulary) const override;
  std::string summary() const override;

 private:
  using Sets = std::vector<std::shared_ptr<const ExampleSet>>;
  /// A source and its files.
  struct Group {
    std::string text;
    std::optional<double> weight;
    Sets sets;
  };
  /// Items [begin, end) of a file: tokens of documents, else examples.
  struct Slice {
    std::shared_ptr<const ExampleSet> set;
    int64_t begin, end;
  };
  using Slices = std::vector<Slice>;

  std::vector<Group> encode(const std::vector<std::string>& sources) const;
  void number_classes();
  int64_t size_of(const ExampleSet& set) const;
  Slices all_of(const Group& group) const;
  void require_weights() const;
  /// Returns training and held-back slices of all groups.
  std::pair<Slices, Slices> slices() const;
  Slices weighted(const std::vector<Slices>& groups) const;
  DataPart part(Slices slices, const std::vector<Group>& groups, const PlanEntry& entry,
                const Symbols& symbols, int64_t vocabulary) const;
  std::shared_ptr<const std::vector<int32_t>> classes_of(const ExampleSet& set) const;
  template <typename F>
  void for_each_set(F f) const;

  RowDataOptions options_;
  RowEncoder encoder_;
  std::vector<Group> train_, validation_;
  std::vector<std::string> class_names_;
};

}  // namespace smelt::cli
