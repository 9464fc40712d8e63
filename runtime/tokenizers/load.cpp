// Tokenizers from files.
#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/engine/weights/gguf/gguf_file.h"
#include "runtime/system/file.h"
#include "runtime/tokenizers/gguf_tokenizer.h"
#include "runtime/tokenizers/json/readers.h"
#include "runtime/tokenizers/sentencepiece/spm_parts.h"
#include "runtime/tokenizers/tokenizer.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr const char *kJson = "tokenizer.json", *kSource = "source.spm", *kTarget = "target.spm",
                     *kVocabulary = "vocab.json", *kT5 = "spiece.model";

bool has(const fs::path& directory, const char* name) { return fs::is_regular_file(directory / name); }

SpmFile read_spm(const fs::path& path) { return parse_spm(read_text_file(path), path.string()); }

Tokenizer load_marian(const fs::path& directory) {
  const SpmFile source = read_spm(directory / kSource), target = read_spm(directory / kTarget);
  const Json vocabulary = read_json_file(directory / kVocabulary);
  const auto side = [&](const SpmFile& file, const char* name) {
    return std::make_shared<TokenizerParts>(
        marian_parts(file, source, vocabulary, (directory / name).string()));
  };
  return Tokenizer(side(source, kSource), side(target, kTarget));
}

Tokenizer load_directory(const fs::path& directory) {
  const std::vector<fs::path> files = Tokenizer::files_in(directory);
  if (files.empty())
    fail_with(Status::io, "'{}': no tokenizer: expected {}, or {} with {} and {}, or {}", directory.string(),
              kJson, kSource, kTarget, kVocabulary, kT5);
  return files[0].filename() == kSource ? load_marian(directory) : Tokenizer::load(files[0]);
}

/// Returns whether the byte-level tokenizer of a GPT-2 puts a space before a text that has none.
bool puts_space_before(const Tokenizer& tokenizer) {
  const std::vector<int32_t> ids = tokenizer.encode("a", {.add_special_tokens = false}).ids;
  return !ids.empty() && tokenizer.id_to_token(ids[0]).value_or("").starts_with("\u0120");
}

Tokenizer load_gguf(const fs::path& path) {
  const Json json = gguf_tokenizer_json(read_gguf_metadata(path), path.string());
  return Tokenizer(std::make_shared<TokenizerParts>(read_tokenizer_object(json, path.string())));
}

bool is_spm(const fs::path& path) { return path.extension() == ".spm" || path.extension() == ".model"; }

}  // namespace

Tokenizer Tokenizer::load(const fs::path& path) {
  if (fs::is_directory(path)) return load_directory(path);
  if (is_gguf_file(path)) return load_gguf(path);
  if (is_spm(path))
    return Tokenizer(std::make_shared<TokenizerParts>(t5_parts(read_spm(path), path.string())));
  Tokenizer tokenizer = from_json(read_text_file(path), path.string());
  if (path.filename() == kJson) tokenizer.take(read_tokenizer_config(path.parent_path()), path.parent_path());
  return tokenizer;
}

/// Applies the settings of the files next to tokenizer.json. Settings that are not supported are refused
/// where they matter.
void Tokenizer::take(const TokenizerConfig& config, const fs::path& directory) {
  splits_special_tokens_ = config.splits_special_tokens;
  for (const NamedToken& token : config.tokens)
    if (!token.text.empty() && !parts_->added_tokens.id(token.text)) unknown_.push_back(token);
  if (config.puts_space_before && *config.puts_space_before != puts_space_before(*this))
    fail_with(
        Status::invalid_file,
        "'{}': add_prefix_space of tokenizer_config.json is {}, and tokenizer.json says otherwise: save "
        "the tokenizer again, as with AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)",
        directory.string(), *config.puts_space_before);
}

Tokenizer Tokenizer::from_json(std::string_view text, std::string_view name) {
  return Tokenizer(std::make_shared<TokenizerParts>(read_tokenizer_json(text, name)));
}

std::vector<fs::path> Tokenizer::files_in(const fs::path& directory) {
  if (is_gguf_file(directory)) {
    const bool has = has_gguf_tokenizer(read_gguf_metadata(directory));
    return has ? std::vector{directory} : std::vector<fs::path>();
  }
  const std::vector<const char*> kinds[] = {{kJson}, {kSource, kTarget, kVocabulary}, {kT5}};
  std::vector<fs::path> files;
  for (const auto& names : kinds) {
    if (!files.empty() || !std::ranges::all_of(names, [&](const char* n) { return has(directory, n); }))
      continue;
    for (const char* name : names) files.push_back(directory / name);
  }
  return files;
}

}  // namespace smelt
