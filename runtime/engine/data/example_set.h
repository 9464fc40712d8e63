// Encoded examples of one source file: token ids and labels, in a directory of memory-mapped files. They are
// written once, and read in any order.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/system/file.h"

namespace smelt {

/// Kinds of examples. documents: tokens that are input and target at once. completions: tokens, and a label
/// per token. pairs: the tokens of a source, and those of a target. classes: tokens and a class. numbers:
/// tokens and a float.
enum class ExampleKind : uint8_t { documents, completions, pairs, classes, numbers };

/// One example. `labels` has one label per token (completions), the tokens of the target (pairs), or one
/// element: the class, or the bits of a float.
struct Example {
  std::vector<int32_t> ids = {}, labels = {};
  std::vector<int32_t> types = {};  // token type of each id; empty: all are 0
  bool is_cut = false;              // the text was longer than the model's maximum
};

/// Facts about the examples of a file.
struct ExampleFacts {
  ExampleKind kind = ExampleKind::documents;
  int64_t examples = 0, tokens = 0;         // tokens: of Example::ids
  int64_t skipped = 0, cut = 0;             // rows that were not valid; examples that were cut
  int64_t longest = 0, longest_labels = 0;  // lengths of Example::ids and labels
  int32_t largest_id = -1;                  // of ids, and of the labels of pairs
  std::string first_skipped;                // message about the first row that was not valid
  std::string checksum;                     // of all ids and labels
  std::vector<std::string> classes;         // names, if the rows have texts as classes
};

/// Writes a directory of examples. The directory exists under its name when finish() has returned, and not
/// before.
class ExampleWriter {
 public:
  /// Throws Error (io) if a file cannot be made next to `directory`.
  ExampleWriter(std::filesystem::path directory, ExampleKind kind);
  ExampleWriter(const ExampleWriter&) = delete;
  ExampleWriter& operator=(const ExampleWriter&) = delete;
  ~ExampleWriter();

  void add(const Example& example);
  ExampleFacts& facts() { return facts_; }
  /// Throws Error (io) if the disk is full.
  void finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;
  File make(const char* name) const;
  template <typename T>
  void write(const File& file, std::span<const T> values);

  std::filesystem::path directory_, temporary_;
  ExampleFacts facts_;
  File ids_, ends_, labels_, label_ends_, types_;
  Checksum sum_;
  int64_t label_end_ = 0;  // labels so far
};

/// The examples of one file.
class ExampleSet {
 public:
  /// Throws Error (invalid_file) if the files are damaged.
  static std::shared_ptr<const ExampleSet> open(const std::filesystem::path& directory);

  int64_t size() const { return facts_.examples; }
  const ExampleFacts& facts() const { return facts_; }
  std::span<const int32_t> ids(int64_t example) const { return part(ids_, ends_, example); }
  std::span<const int32_t> labels(int64_t example) const;
  /// Returns the token types of an example; empty if all are 0.
  std::span<const int32_t> types(int64_t example) const;
  /// Returns the ids of all examples, and the end of each example in them.
  std::span<const int32_t> all_ids() const;
  std::span<const int64_t> ends() const;

 private:
  static std::span<const int32_t> part(const MappedFile& values, const MappedFile& ends, int64_t example);
  void check() const;

  ExampleFacts facts_;
  MappedFile ids_, ends_, labels_, label_ends_, types_;
};

}  // namespace smelt
