#include "runtime/tokenizers/sentencepiece/spm_parts.h"

#include <fmt/format.h>

#include <limits>

#include "runtime/base/error.h"
#include "runtime/tokenizers/unicode/classes.h"

namespace smelt {
namespace {

constexpr int kExtraIds = 100;  // T5's sentinels

void require_unigram(const SpmFile& file, std::string_view where) {
  if (file.model_type != SpmFile::unigram)
    fail_with(Status::invalid_file,
              "'{}': a SentencePiece model of type {}, and those of type 1 (unigram) alone are read: "
              "save the tokenizer as tokenizer.json",
              where, static_cast<int>(file.model_type));
}

Vocabulary read_vocabulary(const Json& json, std::string_view where) {
  Vocabulary vocabulary;
  if (!json.is_object()) fail_with(Status::invalid_file, "'{}': vocab.json: expected an object", where);
  for (const auto& [token, id] : json.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > std::numeric_limits<int32_t>::max())
      fail_with(Status::invalid_file, "'{}': vocab.json: '{}' = {} (expected an id)", where, token,
                brief(id));
    vocabulary.add(token, id.get<int32_t>());
  }
  for (const char* token : {"</s>", "<unk>"})
    if (!vocabulary.find(token)) fail_with(Status::invalid_file, "'{}': vocab.json lacks '{}'", where, token);
  return vocabulary;
}

AddedToken special_token(std::string content) {
  AddedToken token;
  token.content = std::move(content);
  token.normalized = false;
  token.special = true;
  return token;
}

/// `$A </s>`, and for pairs `$A $B </s>` or, with `between`, `$A </s> $B </s>`.
std::unique_ptr<PostProcessor> end_processor(int32_t end, bool between) {
  const TemplatePiece first{0, {}, 0}, second{1, {}, 0}, last{-1, {end}, 0};
  std::vector<TemplatePiece> pair{first, second, last};
  if (between) pair.insert(pair.begin() + 1, last);
  return template_processor({first, last}, std::move(pair));
}

std::set<std::string> text_pieces(const SpmFile& file) {
  std::set<std::string> texts;
  for (const SpmPiece& piece : file.pieces)
    if (piece.type == SpmPiece::normal || piece.type == SpmPiece::user_defined) texts.insert(piece.text);
  return texts;
}

}  // namespace

TokenizerParts marian_parts(const SpmFile& file, const SpmFile& decoded, const Json& vocabulary,
                            std::string_view where) {
  TokenizerParts parts;
  Vocabulary words = read_vocabulary(vocabulary, where);
  const int32_t end = *words.find("</s>"), unknown = *words.find("<unk>");
  parts.normalizer = spm_normalizer(file, where);
  parts.model = renamed_model(spm_model(file, where), std::move(words), "<unk>");
  parts.post_processor = end_processor(end, false);
  parts.decoder = marian_decoder({"</s>", "<unk>", "<pad>"}, text_pieces(decoded));
  parts.added_tokens = AddedTokens({special_token("</s>"), special_token("<unk>"), special_token("<pad>")},
                                   parts.model->vocabulary(), nullptr);
  parts.added_tokens.keep_language_codes(parts.model->vocabulary(), unknown);
  return parts;
}

TokenizerParts t5_parts(const SpmFile& file, std::string_view where) {
  require_unigram(file, where);
  TokenizerParts parts;
  UnigramOptions options;
  for (const SpmPiece& piece : file.pieces) options.pieces.push_back({piece.text, piece.score});
  std::vector<AddedToken> added{special_token("</s>"), special_token("<unk>"), special_token("<pad>")};
  for (int i = kExtraIds - 1; i >= 0; --i) options.pieces.push_back({fmt::format("<extra_id_{}>", i), 0.0});
  for (int i = 0; i < kExtraIds; ++i) added.push_back(special_token(fmt::format("<extra_id_{}>", i)));
  options.unk_id = file.first(SpmPiece::unknown);
  parts.normalizer = precompiled_normalizer(Charsmap(file.charsmap, where));
  std::vector<std::unique_ptr<PreTokenizer>> division;
  division.push_back(split_pre_tokenizer(class_pattern(kWhitespace), SplitBehavior::removed));
  division.push_back(metaspace_pre_tokenizer("▁", PrependScheme::always, true));
  parts.pre_tokenizer = sequence_pre_tokenizer(std::move(division));
  parts.model = unigram_model(options);
  parts.decoder = metaspace_decoder("▁", true);
  const auto end = parts.model->vocabulary().find("</s>");
  if (!end) fail_with(Status::invalid_file, "'{}': no piece '</s>'", where);
  parts.post_processor = end_processor(*end, true);
  parts.added_tokens = AddedTokens(added, parts.model->vocabulary(), parts.normalizer.get());
  return parts;
}

std::unique_ptr<TokenModel> spm_model(const SpmFile& file, std::string_view where) {
  require_unigram(file, where);
  UnigramOptions options;
  float least = std::numeric_limits<float>::max(), most = std::numeric_limits<float>::lowest();
  for (const SpmPiece& piece : file.pieces) {
    if (piece.type != SpmPiece::normal) continue;
    least = std::min(least, piece.score);
    most = std::max(most, piece.score);
  }
  for (const SpmPiece& piece : file.pieces) {
    const bool users = piece.type == SpmPiece::user_defined;
    const auto length = static_cast<double>(piece.text.size());
    const bool found = users || piece.type == SpmPiece::normal || piece.type == SpmPiece::unused;
    options.pieces.push_back({piece.text, users ? length * most - 0.1 : piece.score, found});
  }
  options.unk_id = file.first(SpmPiece::unknown);
  options.unknown_score = static_cast<double>(least - 10.0f);
  options.byte_fallback = file.byte_fallback;
  options.single_precision = true;
  return unigram_model(options);
}

}  // namespace smelt
