// The C interface: tokenizers and streams of text.
#include <algorithm>

#include "runtime/c_api/c_api_detail.h"
#include "runtime/c_api/structs.h"
#include "runtime/tokenizers/tokenizer.h"
#include "runtime/tokenizers/unicode/utf8.h"

using namespace smelt;
using namespace smelt::c_api;

structured::TextConstraints& smelt_tokenizer::constraints(size_t vocabulary) const {
  const std::lock_guard lock(mutex);
  auto& found = known_constraints[vocabulary];
  if (!found)
    found = std::make_shared<structured::TextConstraints>(
        [this, vocabulary] { return structured::token_bytes(tokenizer, vocabulary); });
  return *found;
}

struct smelt_decoder {
  Tokenizer tokenizer;
  StreamingDecoder decoder;
  std::string text;  // what the last call gave
};

namespace {

const Tokenizer& tokenizer_of(const smelt_tokenizer* handle) {
  return required(handle, "the tokenizer")->tokenizer;
}

/// Disables padding: encodings have no mask here, so padding could not be distinguished from tokens.
smelt_tokenizer* unpadded(Tokenizer tokenizer) {
  tokenizer.set_padding({});
  return new smelt_tokenizer{.tokenizer = std::move(tokenizer)};
}

std::string_view text_of(const char* text, size_t bytes) {
  return bytes == 0 ? std::string_view() : std::string_view(required(text, "the text"), bytes);
}

/// Repaired, the text would be another, and offsets would not fit it.
std::string_view utf8_of(const char* text, size_t bytes) {
  const std::string_view given = text_of(text, bytes);
  if (const size_t valid = valid_utf8_prefix(given).valid; valid < bytes)
    fail("the text is no UTF-8: byte {} is 0x{:02x}, expected the beginning of a whole character", valid,
         static_cast<unsigned char>(given[valid]));
  return given;
}

EncodeOptions options_of(const smelt_encode_options* given) {
  EncodeOptions options;
  options.byte_offsets = true;
  if (!given) return options;
  const smelt_encode_options read = read_struct(*given, "the encoding's options");
  options.add_special_tokens = read.no_special_tokens == 0;
  options.find_special_tokens = read.plain_text == 0;
  options.target = read.target != 0;
  return options;
}

void check_ids(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (!tokenizer.id_to_token(ids[i]))
      fail("id {} is {}: none of the tokenizer's {} tokens", i, ids[i], tokenizer.vocabulary_size());
}

void check_capacity(const char* what, size_t count, size_t capacity) {
  if (count > capacity) fail("there is room for {} {}: expected {}", capacity, what, count);
}

void fill(const Encoding& found, smelt_encoding& encoding) {
  encoding.count = found.size();
  if (!encoding.ids && !encoding.offsets) return;
  check_capacity("tokens", found.size(), encoding.capacity);
  if (encoding.ids) std::ranges::copy(found.ids, encoding.ids);
  for (size_t i = 0; encoding.offsets && i < found.size(); ++i)
    encoding.offsets[i] = {found.offsets[i].begin, found.offsets[i].end};
}

/// Runs `next`, which gives a piece of text, and shows the piece.
template <typename Next>
smelt_status show(smelt_decoder* decoder, const char** text, size_t* bytes, Next next) {
  return guarded([&] {
    required(decoder, "the decoder"), required(text, "text"), required(bytes, "bytes");
    decoder->text = next(*decoder);
    *text = decoder->text.c_str(), *bytes = decoder->text.size();
  });
}

}  // namespace

extern "C" {

smelt_status smelt_tokenizer_load(const char* path, smelt_tokenizer** tokenizer) {
  return guarded([&] {
    required(tokenizer, "tokenizer");
    *tokenizer = unpadded(Tokenizer::load(required(path, "path")));
  });
}

smelt_status smelt_tokenizer_from_json(const char* text, size_t bytes, smelt_tokenizer** tokenizer) {
  return guarded([&] {
    required(tokenizer, "tokenizer");
    *tokenizer = unpadded(Tokenizer::from_json(text_of(text, bytes), "tokenizer.json"));
  });
}

void smelt_tokenizer_free(smelt_tokenizer* tokenizer) { delete tokenizer; }

size_t smelt_tokenizer_vocabulary_size(const smelt_tokenizer* tokenizer) {
  return tokenizer ? tokenizer->tokenizer.vocabulary_size() : 0;
}

smelt_status smelt_tokenizer_encode(const smelt_tokenizer* tokenizer, const char* text, size_t bytes,
                                    const smelt_encode_options* options, smelt_encoding* encoding) {
  return guarded([&] {
    checked_size(*required(encoding, "encoding"), "encoding");
    fill(tokenizer_of(tokenizer).encode(utf8_of(text, bytes), options_of(options)), *encoding);
  });
}

smelt_status smelt_tokenizer_decode(const smelt_tokenizer* tokenizer, const int32_t* ids, size_t count,
                                    int32_t skip_special_tokens, char* text, size_t capacity, size_t* bytes) {
  return guarded([&] {
    const Tokenizer& t = tokenizer_of(tokenizer);
    required(bytes, "bytes");
    if (count > 0) required(ids, "the list of ids");
    check_ids(t, {ids, count});
    const std::string decoded = t.decode({ids, count}, skip_special_tokens != 0);
    *bytes = decoded.size();
    if (!text) return;
    check_capacity("bytes", decoded.size(), capacity);
    std::ranges::copy(decoded, text);
  });
}

smelt_status smelt_decoder_create(const smelt_tokenizer* tokenizer, int32_t skip_special_tokens,
                                  smelt_decoder** decoder) {
  return guarded([&] {
    required(decoder, "decoder");
    const Tokenizer& t = tokenizer_of(tokenizer);
    *decoder = new smelt_decoder{t, StreamingDecoder(t, skip_special_tokens != 0), ""};
  });
}

void smelt_decoder_free(smelt_decoder* decoder) { delete decoder; }

smelt_status smelt_decoder_push(smelt_decoder* decoder, int32_t id, const char** text, size_t* bytes) {
  return show(decoder, text, bytes, [&](smelt_decoder& d) {
    return d.tokenizer.id_to_token(id) ? d.decoder.push(id) : std::string();
  });
}

smelt_status smelt_decoder_finish(smelt_decoder* decoder, const char** text, size_t* bytes) {
  return show(decoder, text, bytes, [](smelt_decoder& d) { return d.decoder.finish(); });
}

}  // extern "C"
