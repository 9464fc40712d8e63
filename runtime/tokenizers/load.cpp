// Tokenizers from files.
#include <algorithm>

#include "runtime/error.h"
#include "runtime/system/file.h"
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

bool is_spm(const fs::path& path) { return path.extension() == ".spm" || path.extension() == ".model"; }

}  // namespace

Tokenizer Tokenizer::load(const fs::path& path) {
  if (fs::is_directory(path)) return load_directory(path);
  if (is_spm(path))
    return Tokenizer(std::make_shared<TokenizerParts>(t5_parts(read_spm(path), path.string())));
  return from_json(read_text_file(path), path.string());
}

Tokenizer Tokenizer::from_json(std::string_view text, std::string_view name) {
  return Tokenizer(std::make_shared<TokenizerParts>(read_tokenizer_json(text, name)));
}

std::vector<fs::path> Tokenizer::files_in(const fs::path& directory) {
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
