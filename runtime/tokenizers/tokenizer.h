// Tokenizers of trained models: text to token ids and back, as Hugging Face's tokenizers do it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizers/encoding.h"

namespace smelt {

struct TokenizerParts;
struct EncodedPart;

struct EncodeOptions {
  bool add_special_tokens = true;   // what the model wants around a text
  bool find_special_tokens = true;  // false: "</s>" in the text is text
  bool byte_offsets = false;        // offsets in bytes, else in code points
  bool target = false;              // Marian: the text is in the target language
};

/// Immutable apart from set_truncation and set_padding; all else may be called from several threads. Copies
/// share their tables.
class Tokenizer {
 public:
  /// A directory with tokenizer.json, with Marian's source.spm, target.spm and vocab.json, or with T5's
  /// spiece.model; or one such file. Throws Error (io, invalid_file) that names everything in the file that
  /// is not supported.
  static Tokenizer load(const std::filesystem::path& path);
  /// The text of a tokenizer.json; `name` is for messages.
  static Tokenizer from_json(std::string_view text, std::string_view name);
  /// What load reads of a directory; none where it finds no tokenizer.
  static std::vector<std::filesystem::path> files_in(const std::filesystem::path& directory);

  explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts,
                     std::shared_ptr<const TokenizerParts> target = nullptr);

  /// The text need not be valid UTF-8: what is not becomes U+FFFD. Offsets are those of the repaired text.
  /// Texts of more than 1 GiB are refused. Cut by truncation() and filled up by padding() where these are
  /// set.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode_pair(std::string_view first, std::string_view second,
                       const EncodeOptions& options = {}) const;
  /// Filled up to the longest where padding() says so.
  std::vector<Encoding> encode_batch(std::span<const std::string> texts,
                                     const EncodeOptions& options = {}) const;

  /// Always valid UTF-8. Ids that no token has are left out, and special tokens where `skip_special_tokens`.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;

  std::optional<int32_t> token_to_id(std::string_view token) const;
  /// As a decoder sees it: byte-level tokens in their alphabet, for example.
  std::optional<std::string> id_to_token(int32_t id) const;
  bool is_special(int32_t id) const;
  /// With added tokens.
  size_t vocabulary_size() const;

  const std::optional<Truncation>& truncation() const { return truncation_; }
  void set_truncation(std::optional<Truncation> truncation) { truncation_ = truncation; }
  const std::optional<Padding>& padding() const { return padding_; }
  void set_padding(std::optional<Padding> padding) { padding_ = padding; }

 private:
  const TokenizerParts& side(const EncodeOptions& options) const;
  void truncate_parts(const TokenizerParts& parts, const EncodeOptions& options,
                      std::vector<EncodedPart>& sequences) const;
  Encoding encode_sequences(std::span<const std::string_view> texts, const EncodeOptions& options) const;

  std::shared_ptr<const TokenizerParts> parts_, target_;
  std::optional<Truncation> truncation_;
  std::optional<Padding> padding_;
};

/// Text as it becomes known, token by token: whole UTF-8 only, and nothing that a later token changes. The
/// pieces joined are what decode gives for all ids; where bytes are no UTF-8, the number of U+FFFD may
/// differ.
class StreamingDecoder {
 public:
  explicit StreamingDecoder(Tokenizer tokenizer, bool skip_special_tokens = true);
  /// What the token adds; empty while it may be the beginning of a character.
  std::string push(int32_t id);
  /// What was held back; then the decoder is as new.
  std::string finish();

 private:
  std::string show(std::string_view text);
  std::string show_all(const std::string& text);

  Tokenizer tokenizer_;
  bool skip_special_tokens_;
  std::vector<int32_t> ids_;  // those whose text was given last, for the context, and those behind them
  size_t context_ = 0;        // how many of ids_ are context
  size_t open_ = 0;           // how many of the last tokens left the text with the beginning of a character
  std::string shown_;         // what was given of the text of ids_
};

}  // namespace smelt
