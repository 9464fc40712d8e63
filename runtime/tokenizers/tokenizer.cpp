#include "runtime/tokenizers/tokenizer.h"

#include "runtime/base/error.h"
#include "runtime/tokenizers/tokenizer_parts.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr size_t kLongestText = size_t{1} << 30;

/// Texts are repaired once, before anything is done with them.
EncodedPart encode_repaired(const TokenizerParts& parts, std::string_view text, bool finds_special_tokens,
                            const EncodeOptions& options) {
  if (text.size() > kLongestText)
    fail("tokenizer: a text of {} bytes, expected at most {}: encode it in parts", text.size(), kLongestText);
  std::string repaired;
  if (!is_utf8(text)) text = repaired = repair_utf8(text);
  return encode_sequence(parts, text, finds_special_tokens, options.byte_offsets);
}

}  // namespace

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerParts> parts,
                     std::shared_ptr<const TokenizerParts> target)
    : parts_(std::move(parts)),
      target_(std::move(target)),
      truncation_(parts_->truncation),
      padding_(parts_->padding) {}

const TokenizerParts& Tokenizer::side(const EncodeOptions& options) const {
  if (options.target && !target_)
    fail("tokenizer: it has one language only, and a text in a target language was to be encoded");
  return options.target ? *target_ : *parts_;
}

Encoding Tokenizer::encode_sequences(std::span<const std::string_view> texts,
                                     const EncodeOptions& options) const {
  const TokenizerParts& parts = side(options);
  const bool finds = options.find_special_tokens && !splits_special_tokens_;
  std::vector<EncodedPart> sequences;
  for (const std::string_view text : texts) {
    if (finds) require_known(text);
    sequences.push_back(encode_repaired(parts, text, finds, options));
    auto& types = sequences.back().encoding.type_ids;
    types.assign(types.size(), static_cast<int32_t>(sequences.size()) - 1);
  }
  if (truncation_) truncate_parts(parts, options, sequences);
  if (parts.post_processor) parts.post_processor->process(sequences, options.add_special_tokens);
  Encoding result;
  for (const EncodedPart& sequence : sequences) result.append(sequence.encoding);
  return result;
}

void Tokenizer::require_known(std::string_view text) const {
  for (const NamedToken& token : unknown_)
    if (text.find(token.text) != text.npos)
      fail_with(
          Status::invalid_file,
          "the text has '{}', a special token of {} that tokenizer.json does not have: save the tokenizer "
          "again, as with AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)",
          token.text, token.file);
}

void Tokenizer::truncate_parts(const TokenizerParts& parts, const EncodeOptions& options,
                               std::vector<EncodedPart>& sequences) const {
  size_t added = 0;
  if (options.add_special_tokens && parts.post_processor)
    added = parts.post_processor->added_tokens(sequences.size() == 2);
  if (added > truncation_->max_length)
    fail("tokenizer: truncation to {} tokens, of which {} are special", truncation_->max_length, added);
  truncate(sequences, *truncation_, truncation_->max_length - added);
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const std::string_view texts[] = {text};
  Encoding result = encode_sequences(texts, options);
  if (padding_) pad({&result, 1}, *padding_);
  return result;
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                const EncodeOptions& options) const {
  const std::string_view texts[] = {first, second};
  Encoding result = encode_sequences(texts, options);
  if (padding_) pad({&result, 1}, *padding_);
  return result;
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const std::string> texts,
                                              const EncodeOptions& options) const {
  std::vector<Encoding> results;
  for (const std::string_view text : texts) results.push_back(encode_sequences({&text, 1}, options));
  if (padding_) pad(results, *padding_);
  return results;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids) {
    auto token = id_to_token(id);
    if (token && !(skip_special_tokens && parts_->added_tokens.is_special(*token)))
      tokens.push_back(std::move(*token));
  }
  if (parts_->decoder) parts_->decoder->decode(tokens);
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && !parts_->decoder) text += ' ';
    text += tokens[i];
  }
  return text;
}

std::string Tokenizer::bytes_of(int32_t id, bool is_first) const {
  auto token = id_to_token(id);
  if (!token || parts_->added_tokens.is_special(*token)) return "";
  TokenText text{std::move(*token), is_first};
  if (parts_->decoder)
    parts_->decoder->decode_one(text);
  else if (!is_first)
    text.bytes.insert(0, " ");
  return text.bytes;
}

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  const auto added = parts_->added_tokens.id(token);
  return added ? added : parts_->model->vocabulary().find(token);
}

std::optional<std::string> Tokenizer::id_to_token(int32_t id) const {
  auto token = parts_->added_tokens.text(id);
  if (!token) token = parts_->model->vocabulary().token(id);
  return token ? std::optional<std::string>(*token) : std::nullopt;
}

bool Tokenizer::is_special(int32_t id) const { return parts_->added_tokens.is_special_id(id); }

size_t Tokenizer::vocabulary_size() const {
  return parts_->model->vocabulary().size() + parts_->added_tokens.new_tokens();
}

}  // namespace smelt
