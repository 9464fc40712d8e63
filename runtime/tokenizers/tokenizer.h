// Tokenizers of trained models, which convert text to token ids and back. Results are those of Hugging Face's
// tokenizers library.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizers/encoding.h"
#include "runtime/tokenizers/tokenizer_config.h"

namespace smelt {

struct TokenizerParts;
struct EncodedPart;

struct EncodeOptions {
  bool add_special_tokens = true;   // adds the special tokens that the model expects around a text
  bool find_special_tokens = true;  // false: special tokens such as "</s>" in the text are ordinary text
  bool byte_offsets = false;        // true: offsets are in bytes; false: in code points
  bool target = false;              // true: the text is in the target language (Marian only)
};

/// A tokenizer. All functions except set_truncation and set_padding may be called concurrently. Copies share
/// their tables.
class Tokenizer {
 public:
  /// Loads a tokenizer from a directory, from a file tokenizer.json or spiece.model, or from the metadata of
  /// a GGUF file. The directory has one of these: tokenizer.json; spiece.model (T5); or source.spm,
  /// target.spm and vocab.json (Marian). Throws Error (io, invalid_file). The error names everything in a
  /// tokenizer.json that is not supported.
  static Tokenizer load(const std::filesystem::path& path);
  /// Creates a tokenizer from the text of a tokenizer.json; `name` is used in messages.
  static Tokenizer from_json(std::string_view text, std::string_view name);
  /// Returns the files that load(directory) reads, without the settings files (tokenizer_config.h); none if
  /// the directory, or the GGUF file, has no tokenizer.
  static std::vector<std::filesystem::path> files_in(const std::filesystem::path& directory);

  /// `target`: parts for text in the target language of Marian, else null.
  explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts,
                     std::shared_ptr<const TokenizerParts> target = nullptr);

  /// Encodes a text. Invalid UTF-8 is replaced by U+FFFD, and offsets refer to the repaired text. The result
  /// is truncated and padded as truncation() and padding() specify. Throws Error for a text of more than 1
  /// GiB.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode_pair(std::string_view first, std::string_view second,
                       const EncodeOptions& options = {}) const;
  /// Encodes each text. If padding() has no length, all results are padded to the longest.
  std::vector<Encoding> encode_batch(std::span<const std::string> texts,
                                     const EncodeOptions& options = {}) const;

  /// Returns the text of the tokens, in valid UTF-8. Ids without a token are ignored, and so are special
  /// tokens if `skip_special_tokens`.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;

  /// Returns the bytes that a token adds to a decoded text, before decode() replaces invalid UTF-8. They may
  /// be a part of a character. `is_first`: the token begins the text. The result is empty for special tokens
  /// and for ids without a token. Throws Error (invalid_argument) with the name of the decoder if the bytes
  /// depend on other tokens (WordPiece, BPEDecoder, CTC and Marian).
  std::string bytes_of(int32_t id, bool is_first = false) const;

  /// Returns the id of a token; nothing if there is no such token.
  std::optional<int32_t> token_to_id(std::string_view token) const;
  /// Returns the text of a token before decoding (a byte-level token is written in GPT-2's byte alphabet);
  /// nothing if no token has this id.
  std::optional<std::string> id_to_token(int32_t id) const;
  bool is_special(int32_t id) const;
  /// Returns the number of tokens, including added tokens.
  size_t vocabulary_size() const;

  const std::optional<Truncation>& truncation() const { return truncation_; }
  void set_truncation(std::optional<Truncation> truncation) { truncation_ = truncation; }
  const std::optional<Padding>& padding() const { return padding_; }
  void set_padding(std::optional<Padding> padding) { padding_ = padding; }

  /// Returns whether texts in the target language have a vocabulary of their own (EncodeOptions::target).
  bool has_target() const { return target_ != nullptr; }

 private:
  /// Applies the settings of the files next to tokenizer.json.
  void take(const TokenizerConfig& config, const std::filesystem::path& directory);
  /// Throws Error if the text contains a token of the list unknown_.
  void require_known(std::string_view text) const;
  /// Returns target_ if options.target, else parts_.
  const TokenizerParts& side(const EncodeOptions& options) const;
  void truncate_parts(const TokenizerParts& parts, const EncodeOptions& options,
                      std::vector<EncodedPart>& sequences) const;
  Encoding encode_sequences(std::span<const std::string_view> texts, const EncodeOptions& options) const;

  std::shared_ptr<const TokenizerParts> parts_, target_;
  std::optional<Truncation> truncation_;
  std::optional<Padding> padding_;
  bool splits_special_tokens_ = false;
  std::vector<NamedToken> unknown_;  // tokens of TokenizerConfig that tokenizer.json does not have
};

/// Decoder for tokens that arrive one by one. It returns only whole UTF-8 characters that later tokens cannot
/// change. The concatenation of all results equals Tokenizer::decode of all ids, except that the number of
/// U+FFFD may differ if the bytes of the tokens are invalid UTF-8.
class StreamingDecoder {
 public:
  explicit StreamingDecoder(Tokenizer tokenizer, bool skip_special_tokens = true);
  /// Skips all special tokens except those with the ids `kept`.
  StreamingDecoder(Tokenizer tokenizer, std::vector<int32_t> kept);
  /// Returns the new text up to this token, without bytes at the end that may belong to an incomplete
  /// character. The result may be empty.
  std::string push(int32_t id);
  /// Returns the text that push() has not returned yet, and resets the decoder.
  std::string finish();

 private:
  /// Returns the part of `text` after shown_, and assigns `text` to shown_; returns "" if `text` does not
  /// begin with shown_.
  std::string show(std::string_view text);
  /// Does the same for the whole text of ids_, and makes its newest tokens the context of later tokens.
  std::string show_all(const std::string& text);

  Tokenizer tokenizer_;
  bool skip_special_tokens_;
  std::optional<std::vector<int32_t>> kept_;  // special tokens that are kept; nothing: skip_special_tokens_
  std::vector<int32_t> ids_;                  // first the context, whose text was returned; then newer tokens
  size_t context_ = 0;                        // number of context tokens in ids_
  size_t open_ = 0;    // number of calls of push() in a row after which the text ended with U+FFFD
  std::string shown_;  // the returned part of the text of ids_
};

}  // namespace smelt
