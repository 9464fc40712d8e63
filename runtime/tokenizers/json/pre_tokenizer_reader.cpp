#include <array>
#include <utility>

#include "runtime/tokenizers/json/readers.h"
#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
    {"Removed", SplitBehavior::removed},
    {"Isolated", SplitBehavior::isolated},
    {"MergedWithPrevious", SplitBehavior::merged_with_previous},
    {"MergedWithNext", SplitBehavior::merged_with_next},
    {"Contiguous", SplitBehavior::contiguous}};

SplitBehavior read_behavior(PartReader& part, std::string otherwise) {
  const std::string name = part.text("behavior", std::move(otherwise));
  for (const auto& [known, behavior] : kBehaviors)
    if (known == name) return behavior;
  part.problem("behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
  return SplitBehavior::isolated;
}

std::unique_ptr<PreTokenizer> read_split_pre_tokenizer(PartReader& part) {
  auto pattern = read_pattern(part);
  const SplitBehavior behavior = read_behavior(part, "");
  const bool invert = part.flag("invert", false);
  return pattern ? split_pre_tokenizer(std::move(pattern), behavior, invert) : nullptr;
}

std::unique_ptr<PreTokenizer> read_byte_level_pre_tokenizer(PartReader& part) {
  part.ignore({"trim_offsets"});
  const bool add_prefix_space = part.flag("add_prefix_space", true), use_regex = part.flag("use_regex", true);
  return byte_level_pre_tokenizer(add_prefix_space, use_regex);
}

PrependScheme read_scheme(PartReader& part) {
  const std::string scheme = part.text("prepend_scheme", "always");
  const bool add_prefix_space = part.flag("add_prefix_space", true);
  if (!add_prefix_space && part.find("prepend_scheme") && scheme != "never")
    part.problem("add_prefix_space", "what prepend_scheme says");
  if (!add_prefix_space || scheme == "never") return PrependScheme::never;
  if (scheme != "always" && scheme != "first") part.problem("prepend_scheme", "always, first or never");
  return scheme == "first" ? PrependScheme::first : PrependScheme::always;
}

std::string read_replacement(PartReader& part) {
  std::string text;
  append_utf8(text, part.character("replacement", U'▁'));
  return text;
}

std::unique_ptr<PreTokenizer> read_metaspace_pre_tokenizer(PartReader& part) {
  part.ignore({"str_rep"});
  const PrependScheme scheme = read_scheme(part);
  const bool split = part.flag("split", true);
  return metaspace_pre_tokenizer(read_replacement(part), scheme, split);
}

std::unique_ptr<PreTokenizer> read_bert_pre_tokenizer(PartReader&) {
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  parts.push_back(split_pre_tokenizer(class_pattern(kWhitespace), SplitBehavior::removed));
  parts.push_back(split_pre_tokenizer(class_pattern(kPunctuation), SplitBehavior::isolated));
  return sequence_pre_tokenizer(std::move(parts));
}

std::unique_ptr<PreTokenizer> read_digits_pre_tokenizer(PartReader& part) {
  return split_pre_tokenizer(class_pattern(kNumeric), part.flag("individual_digits", false)
                                                          ? SplitBehavior::isolated
                                                          : SplitBehavior::contiguous);
}

std::unique_ptr<PreTokenizer> read_delimiter_pre_tokenizer(PartReader& part) {
  std::string text;
  append_utf8(text, part.character("delimiter", U' '));
  return split_pre_tokenizer(literal_pattern(std::move(text)), SplitBehavior::removed);
}

std::unique_ptr<PreTokenizer> read_fixed_length_pre_tokenizer(PartReader& part) {
  const uint64_t length = part.count("length", 5);
  if (length > 0 && length < 1u << 30) return fixed_length_pre_tokenizer(static_cast<uint32_t>(length));
  part.problem("length", "at least 1");
  return nullptr;
}

constexpr PartType<PreTokenizer> kPreTokenizerTypes[] = {
    {"ByteLevel", read_byte_level_pre_tokenizer},
    {"Split", read_split_pre_tokenizer},
    {"Metaspace", read_metaspace_pre_tokenizer},
    {"BertPreTokenizer", read_bert_pre_tokenizer},
    {"Whitespace",
     [](PartReader&) { return split_pre_tokenizer(words_pattern(), SplitBehavior::removed, true); }},
    {"WhitespaceSplit",
     [](PartReader&) { return split_pre_tokenizer(class_pattern(kWhitespace), SplitBehavior::removed); }},
    {"Punctuation",
     [](PartReader& part) {
       return split_pre_tokenizer(class_pattern(kPunctuation), read_behavior(part, "Isolated"));
     }},
    {"Digits", read_digits_pre_tokenizer},
    {"CharDelimiterSplit", read_delimiter_pre_tokenizer},
    {"Delimiter", read_delimiter_pre_tokenizer},
    {"FixedLength", read_fixed_length_pre_tokenizer},
    {"Sequence",
     [](PartReader& part) {
       return sequence_pre_tokenizer(read_sequence<PreTokenizer>(part, "pretokenizers", read_pre_tokenizer));
     }},
};

}  // namespace

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const Json& json, const std::string& place,
                                                 Problems& problems) {
  return read_part(kPreTokenizerTypes, json, place, problems);
}

}  // namespace smelt
