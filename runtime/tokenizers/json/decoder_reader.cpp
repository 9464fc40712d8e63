#include "runtime/tokenizers/json/readers.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

std::unique_ptr<TokenDecoder> read_byte_level_decoder(PartReader& part) {
  part.ignore({"add_prefix_space", "trim_offsets", "use_regex"});
  return byte_level_decoder();
}

std::unique_ptr<TokenDecoder> read_strip_decoder(PartReader& part) {
  const char32_t content = part.character("content", U' ');
  const uint64_t start = part.count("start", 0), stop = part.count("stop", 0);
  return strip_decoder(content, start, stop);
}

std::unique_ptr<TokenDecoder> read_replace_decoder(PartReader& part) {
  auto pattern = read_pattern(part);
  std::string content = part.text("content", "");
  return pattern ? replace_decoder(std::move(pattern), std::move(content)) : nullptr;
}

std::unique_ptr<TokenDecoder> read_metaspace_decoder(PartReader& part) {
  part.ignore({"str_rep", "split"});
  std::string replacement;
  append_utf8(replacement, part.character("replacement", U'▁'));
  const bool prefixed = part.flag("add_prefix_space", true);
  return metaspace_decoder(std::move(replacement),
                           prefixed && part.text("prepend_scheme", "always") != "never");
}

std::unique_ptr<TokenDecoder> read_word_piece_decoder(PartReader& part) {
  const bool cleanup = part.flag("cleanup", true);
  return word_piece_decoder(part.text("prefix", "##"), cleanup);
}

std::unique_ptr<TokenDecoder> read_ctc_decoder(PartReader& part) {
  const bool cleanup = part.flag("cleanup", true);
  std::string pad = part.text("pad_token", "<pad>"), delimiter = part.text("word_delimiter_token", "|");
  return ctc_decoder(std::move(pad), std::move(delimiter), cleanup);
}

constexpr PartType<TokenDecoder> kDecoderTypes[] = {
    {"ByteLevel", read_byte_level_decoder},
    {"ByteFallback", [](PartReader&) { return byte_fallback_decoder(); }},
    {"Fuse", [](PartReader&) { return fuse_decoder(); }},
    {"Strip", read_strip_decoder},
    {"Replace", read_replace_decoder},
    {"Metaspace", read_metaspace_decoder},
    {"WordPiece", read_word_piece_decoder},
    {"BPEDecoder", [](PartReader& part) { return bpe_decoder(part.text("suffix", "</w>")); }},
    {"CTC", read_ctc_decoder},
    {"Sequence",
     [](PartReader& part) {
       return sequence_decoder(read_sequence<TokenDecoder>(part, "decoders", read_decoder));
     }},
};

}  // namespace

std::unique_ptr<TokenDecoder> read_decoder(const Json& json, const std::string& place, Problems& problems) {
  return read_part(kDecoderTypes, json, place, problems);
}

}  // namespace smelt
