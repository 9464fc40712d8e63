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
#include "runtime/tokenizers/tokenizer_config.h"

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
  /// Reads the text of a tokenizer.json; `name` is for messages.
  static Tokenizer from_json(std::string_view text, std::string_view name);
  /// Returns the files that load reads in a directory; none if it finds no tokenizer.
  static std::vector<std::filesystem::path> files_in(const std::filesystem::path& directory);

  explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts,
                     std::shared_ptr<const TokenizerParts> target = nullptr);

  /// Encodes a text. Invalid UTF-8 becomes U+FFFD, and offsets are those of the repaired text. Texts of more
  /// than 1 GiB are refused. The result is truncated by truncation() and padded by padding() if these are
  /// set.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode_pair(std::string_view first, std::string_view second,
                       const EncodeOptions& options = {}) const;
  /// Encodes a batch; pads to the longest if padding() is set so.
  std::vector<Encoding> encode_batch(std::span<const std::string> texts,
                                     const EncodeOptions& options = {}) const;

  /// Always valid UTF-8. Ids that no token has are left out, and special tokens where `skip_special_tokens`.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = true) const;

  std::optional<int32_t> token_to_id(std::string_view token) const;
  /// Returns the token as a decoder sees it, such as byte-level tokens in their alphabet.
  std::optional<std::string> id_to_token(int32_t id) const;
  bool is_special(int32_t id) const;
  /// With added tokens.
  size_t vocabulary_size() const;

  const std::optional<Truncation>& truncation() const { return truncation_; }
  void set_truncation(std::optional<Truncation> truncation) { truncation_ = truncation; }
  const std::optional<Padding>& padding() const { return padding_; }
  void set_padding(std::optional<Padding> padding) { padding_ = padding; }

 private:
  void take(const TokenizerConfig& config, const std::filesystem::path& directory);
  void require_known(std::string_view text) const;
  const TokenizerParts& side(const EncodeOptions& options) const;
  void truncate_parts(const TokenizerParts& parts, const EncodeOptions& options,
                      std::vector<EncodedPart>& sequences) const;
  Encoding encode_sequences(std::span<const std::string_view> texts, const EncodeOptions& options) const;

  std::shared_ptr<const TokenizerParts> parts_, target_;
  std::optional<Truncation> truncation_;
  std::optional<Padding> padding_;
  bool splits_special_tokens_ = false;
  std::vector<NamedToken> unknown_;  // texts that another file has made special tokens
};

/// Decoder for text that arrives token by token: it returns whole UTF-8 only, and no text that a later token
/// changes. The joined pieces equal the result of decode for all ids; if bytes are no UTF-8, the number of
/// U+FFFD may differ.
class StreamingDecoder {
 public:
  explicit StreamingDecoder(Tokenizer tokenizer, bool skip_special_tokens = true);
  /// Returns the text that the token adds; empty while it may be the beginning of a character.
  std::string push(int32_t id);
  /// Returns the text that was held back, and resets the decoder.
  std::string finish();

 private:
  std::string show(std::string_view text);
  std::string show_all(const std::string& text);

  Tokenizer tokenizer_;
  bool skip_special_tokens_;
  std::vector<int32_t> ids_;  // those whose text was given last, for the context, and those after them
  size_t context_ = 0;        // how many of ids_ are context
  size_t open_ = 0;           // how many of the last tokens left the text with the beginning of a character
  std::string shown_;         // what was given of the text of ids_
};

}  // namespace smelt
