#include "compiler/cli/shared/encoded_files.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "runtime/base/error.h"
#include "runtime/engine/data/token_data.h"
#include "runtime/system/file.h"
#include "runtime/tokenizers/tokenizer.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

fs::path make_directory() {
  std::string name = (fs::temp_directory_path() / "smelt_tokens_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    fail_with(Status::io, "'{}': a directory for encoded texts cannot be made there",
              fs::temp_directory_path().string());
  return name;
}

/// Writes llm.c's header: the first numbers specify u32 tokens, the version, and the number of tokens.
std::string token_file(const std::vector<int32_t>& ids) {
  std::array<int32_t, 256> header = {20240801, 1, static_cast<int32_t>(ids.size())};
  std::string bytes(reinterpret_cast<const char*>(header.data()), sizeof header);
  return bytes.append(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t));
}

/// Reads a text; one that ends within a character is read up to that character.
std::string read_utf8(const fs::path& file) {
  std::string text = read_text_file(file);
  const Utf8Prefix prefix = valid_utf8_prefix(text);
  if (prefix.valid != text.size() && !prefix.incomplete)
    fail_with(Status::invalid_file,
              "'{0}': byte {1} is no UTF-8: expected a text in UTF-8 (--data-format=bytes takes any bytes); "
              "convert it, such as from Latin-1: iconv -f LATIN1 -t UTF-8 '{0}' > data.txt",
              file.string(), prefix.valid + 1);
  return text;
}

}  // namespace

EncodedFiles::EncodedFiles(const Model& model, const std::vector<std::string>& files) {
  const bool encodes = !model.reads_bytes() && !Tokenizer::files_in(model.path).empty();
  for (const std::string& file : files) {
    const bool text = encodes && format_of(file) == TokenFormat::bytes;
    paths_.push_back(text ? encode(model, file) : fs::path(file));
  }
}

EncodedFiles::Directory::~Directory() {
  std::error_code ignored;
  if (!path.empty()) fs::remove_all(path, ignored);
}

/// Special tokens are those that the text writes out, such as <|endoftext|> between documents.
fs::path EncodedFiles::encode(const Model& model, const fs::path& text) {
  if (made_.path.empty()) made_.path = make_directory();
  Tokenizer tokenizer = Tokenizer::load(model.path);
  tokenizer.set_truncation(std::nullopt), tokenizer.set_padding(std::nullopt);
  const std::vector<int32_t> ids = tokenizer.encode(read_utf8(text), {.add_special_tokens = false}).ids;
  const fs::path directory = made_.path / std::to_string(paths_.size());
  make_directories(directory);
  write_file(directory / text.filename(), token_file(ids));
  return directory / text.filename();
}

}  // namespace smelt::cli
