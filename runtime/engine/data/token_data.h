// Token data for language models: memory-mapped files, and windows of tokens for batches. The position of a
// training window is determined by seed, step, micro-step and row alone, so that a resumed run need not read
// earlier batches.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/data/example_set.h"
#include "runtime/engine/data/held_back.h"
#include "runtime/system/file.h"

namespace smelt {

/// Format of a token file. `bytes`: each byte is a token. `llmc`: the format of llm.c, with a header. `u16`:
/// uint16 tokens, little-endian, without a header. `automatic`: llmc if the file begins with the header of
/// llm.c, otherwise bytes. `automatic` refuses a file without that header if its name ends in ".bin" or if it
/// is not text in UTF-8.
enum class TokenFormat : uint8_t { automatic, bytes, llmc, u16 };
std::string_view name(TokenFormat format);
std::optional<TokenFormat> parse_token_format(std::string_view name);
/// Returns the format that `automatic` detects in a file: llmc or bytes. Throws Error if it refuses the file.
TokenFormat format_of(const std::filesystem::path& path);

/// Tokens [begin, end) of the documents of a file.
struct TokenSlice {
  std::shared_ptr<const ExampleSet> set;
  int64_t begin = 0, end = 0;
};

/// The tokens of one or several files as one sequence of token ids. The constructors throw Error if an id is
/// not below `vocabulary`; the message has the file, the position and the id.
class TokenData {
 public:
  static constexpr const char* kItems = "tokens";
  TokenData(const std::vector<std::filesystem::path>& files, TokenFormat format, int64_t vocabulary);
  /// The tokens of encoded documents. A slice may occur several times. `description` is used in messages.
  TokenData(const std::vector<TokenSlice>& slices, int64_t vocabulary, std::string description);

  int64_t size() const { return size_; }  // tokens
  /// Fills `tokens` with the tokens from position `begin` on.
  void read(int64_t begin, std::span<int32_t> tokens) const;
  /// Returns a checksum of all tokens as they are stored in the files.
  std::string fingerprint() const;
  /// Returns the position of the first token of each file that has tokens, and of each encoded document.
  std::vector<int64_t> file_begins() const;
  /// Returns "'shakespeare.txt'" or "'a.txt' and 3 more", with the paths as given, for messages.
  const std::string& description() const { return description_; }

 private:
  struct Piece {
    MappedFile file = {};
    std::shared_ptr<const ExampleSet> set = {};  // null: the tokens are those of `file`
    int64_t width = 1;                           // bytes per token
    size_t header_bytes = 0;  // before the first token, in the file or in the ids of the set
    int64_t count = 0;        // tokens
    int64_t begin = 0;        // position of its first token in the whole sequence
    int32_t at(int64_t i) const;
    /// Returns the first token.
    const std::byte* data() const;
    size_t bytes() const { return static_cast<size_t>(count * width); }
    void add_begins(std::vector<int64_t>& begins) const;
  };
  static Piece open(const std::filesystem::path& path, TokenFormat format);
  static void check(const Piece& piece, int64_t vocabulary);

  std::vector<Piece> pieces_;
  int64_t size_ = 0;
  std::string description_;
};

using TokenRange = Part<TokenData>;   // a range of positions in a TokenData
using TokenSplit = Parts<TokenData>;  // a range for training, and one for validation

/// Training batches: `batch` windows of `length` tokens at random positions.
class RandomWindows {
 public:
  /// Throws Error if the range has fewer than batch * length tokens.
  RandomWindows(TokenRange range, int64_t batch, int64_t length, uint32_t seed);
  /// Returns the position in the range at which row `row` of the batch begins.
  int64_t start(int64_t step, int64_t micro_step, int64_t row) const;
  /// Fills `tokens`, which is [batch, length] row-major.
  void fill(int64_t step, int64_t micro_step, std::span<int32_t> tokens) const;

 private:
  TokenRange range_;
  int64_t batch_, length_;
  uint32_t seed_;
};

/// Validation batches of windows of `length` tokens. The windows are the same at each validation, and do not
/// overlap. If the range has more windows than `max_batches` batches need, the used windows are spread evenly
/// over it. The last batch may have fewer windows.
class FixedWindows {
 public:
  /// `batch`: windows per batch. In the functions below, `batch` is the index of a batch.
  FixedWindows(TokenRange range, int64_t batch, int64_t length, int64_t max_batches);
  int64_t batches() const { return (windows_ + batch_ - 1) / batch_; }
  /// Returns the number of windows in a batch.
  int64_t rows(int64_t batch) const;
  /// Fills `tokens`, which is [rows(batch), length] row-major.
  void fill(int64_t batch, std::span<int32_t> tokens) const;

 private:
  TokenRange range_;
  /// windows_: number of windows in all batches; available_: number of windows in the range.
  int64_t batch_, length_, windows_, available_;
};

}  // namespace smelt
