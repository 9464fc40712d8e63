// Token data for language models: memory-mapped files, a held-back part, and batches whose place in the data
// is a pure function of (seed, step), so that a resumed run needs to replay nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/data/held_back.h"
#include "runtime/system/file.h"

namespace smelt {

/// automatic: the format of llm.c if a file begins with its header, otherwise text as bytes. Archives,
/// tables, arrays, texts in UTF-16 and other files whose first bytes are no text's are refused, with a
/// command that converts them. So is a name ending in ".bin" without that header, because raw numbers are no
/// text.
enum class TokenFormat : uint8_t { automatic, bytes, llmc, u16 };
std::string_view name(TokenFormat format);
std::optional<TokenFormat> parse_token_format(std::string_view name);
/// Returns the format that `automatic` detects in a file: llmc or bytes. Throws Error if it refuses the file.
TokenFormat format_of(const std::filesystem::path& path);

/// One or more files as one sequence of token ids, every one of them below `vocabulary`: checked here, once,
/// with an Error that names file, position, id and vocabulary.
class TokenData {
 public:
  static constexpr const char* kItems = "tokens";
  TokenData(const std::vector<std::filesystem::path>& files, TokenFormat format, int64_t vocabulary);

  int64_t size() const { return size_; }
  void read(int64_t begin, std::span<int32_t> tokens) const;
  /// A checksum of all tokens as the files have them.
  std::string fingerprint() const;
  /// Returns the first token of each file that holds tokens.
  std::vector<int64_t> file_begins() const;
  /// Returns "'shakespeare.txt'" or "'a.txt' and 3 more", with the paths as given: for messages.

  const std::string& description() const { return description_; }

 private:
  struct Piece {
    MappedFile file;
    int64_t width = 1;        // bytes of a token
    size_t header_bytes = 0;  // before the first
    int64_t count = 0;
    int64_t begin = 0;  // of its first token in the whole
    int32_t at(int64_t i) const;
  };
  static Piece open(const std::filesystem::path& path, TokenFormat format);
  static void check(const Piece& piece, int64_t vocabulary);

  std::vector<Piece> pieces_;
  int64_t size_ = 0;
  std::string description_;
};

using TokenRange = Part<TokenData>;
using TokenSplit = Parts<TokenData>;

/// Training batches: windows of `length` tokens at random places, [batch, length] row-major.
class RandomWindows {
 public:
  /// Throws Error if the range holds less than one batch.
  RandomWindows(TokenRange range, int64_t batch, int64_t length, uint32_t seed);
  /// Returns the position in the range at which row `row` of the batch begins.
  int64_t start(int64_t step, int64_t micro_step, int64_t row) const;
  void fill(int64_t step, int64_t micro_step, std::span<int32_t> tokens) const;

 private:
  TokenRange range_;
  int64_t batch_, length_;
  uint32_t seed_;
};

/// Validation batches: the same windows every time, adjacent or, if there are more than requested, evenly
/// spread. The last batch may be smaller.
class FixedWindows {
 public:
  FixedWindows(TokenRange range, int64_t batch, int64_t length, int64_t max_batches);
  int64_t batches() const { return (windows_ + batch_ - 1) / batch_; }
  int64_t rows(int64_t batch) const;
  void fill(int64_t batch, std::span<int32_t> tokens) const;

 private:
  TokenRange range_;
  int64_t batch_, length_, windows_, available_;
};

}  // namespace smelt
