// RowEncoder makes examples of rows: it chooses their columns, encodes the texts with the model's tokenizer,
// and decides which tokens count in the loss.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/shared/chat_text.h"
#include "compiler/cli/shared/model.h"
#include "frontend/data/rows.h"
#include "runtime/engine/data/example_set.h"
#include "runtime/tokenizers/tokenizer.h"

namespace smelt::cli {

/// Names of the columns that are read. Empty: not given.
struct RowFields {
  std::vector<std::string> text;  // one column, or the two of a pair; empty: "text"
  std::string label, prompt, completion, messages;

  bool given() const {
    return !text.empty() || !label.empty() || !prompt.empty() || !completion.empty() || !messages.empty();
  }
};

/// An example. The class of a text label has no number yet, because the number depends on all rows.
struct EncodedRow {
  Example example;
  std::optional<std::string> class_name;
};

class RowEncoder {
 public:
  /// `longest`: length at which examples are cut, in tokens; documents are not cut. Throws Error if the
  /// fields do not fit each other or the model.
  RowEncoder(const Model& model, RowFields fields, int64_t longest);

  ExampleKind kind() const { return kind_; }
  const std::vector<ColumnName>& columns() const { return columns_; }
  /// Returns a text that differs if equal rows may become other examples.
  std::string key() const;
  /// Returns the number of each class that has a name; empty if the model's directory names none.
  const std::map<std::string, int32_t>& class_numbers() const { return class_numbers_; }
  /// Returns the number of classes of the model; 0 if it does not classify.
  int64_t classes() const { return classes_; }
  /// Encodes a row with these cells. May be called concurrently. Throws Error with the column and its value
  /// if a cell is not valid.
  EncodedRow encode(const std::vector<Cell>& cells) const;

 private:
  using Ids = std::vector<int32_t>;
  void choose_kind(const Model& model);
  void choose_columns();
  void read_class_names(const Model& model);
  std::string text_of(const std::vector<Cell>& cells, size_t column) const;
  Ids encode(const std::string& text, bool special, bool target = false) const;
  void add_end(Ids& ids) const;
  EncodedRow document(const std::vector<Cell>& cells) const;
  EncodedRow completion(const std::vector<Cell>& cells) const;
  EncodedRow pair(const std::vector<Cell>& cells) const;
  EncodedRow labelled(const std::vector<Cell>& cells) const;
  EncodedRow chat(const std::vector<Cell>& cells) const;
  bool is_longer(const std::vector<Cell>& cells) const;
  void set_label(const Cell& cell, EncodedRow& row) const;
  void set_class(int64_t label, EncodedRow& row) const;
  EncodedRow cut_completion(Ids ids, Ids labels) const;
  /// Returns the ranges of the text that the assistant's answers take.
  std::vector<TextRange> answers(const Cell& messages, const Cell& tools, const std::string& text) const;

  RowFields fields_;
  ExampleKind kind_ = ExampleKind::documents;
  std::vector<ColumnName> columns_;
  std::optional<Tokenizer> tokenizer_;      // nothing: tokens are bytes
  std::optional<Tokenizer> cut_tokenizer_;  // cuts at the longest length
  std::optional<ChatText> chat_;
  std::map<std::string, int32_t> class_numbers_;
  std::vector<int32_t> ends_;  // the model's end tokens
  int64_t longest_, classes_ = 0, vocabulary_ = 0;
  std::string model_key_;
};

}  // namespace smelt::cli
