#include "compiler/cli/encoded_files.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "runtime/data/token_data.h"
#include "runtime/error.h"
#include "runtime/system/file.h"
#include "runtime/tokenizers/tokenizer.h"

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

/// llm.c's header, whose first numbers say that tokens are u32, which version this is and how many there are.
std::string token_file(const std::vector<int32_t>& ids) {
  std::array<int32_t, 256> header = {20240801, 1, static_cast<int32_t>(ids.size())};
  std::string bytes(reinterpret_cast<const char*>(header.data()), sizeof header);
  return bytes.append(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t));
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
  const std::vector<int32_t> ids = tokenizer.encode(read_text_file(text), {.add_special_tokens = false}).ids;
  const fs::path directory = made_.path / std::to_string(paths_.size());
  make_directories(directory);
  write_file(directory / text.filename(), token_file(ids));
  return directory / text.filename();
}

}  // namespace smelt::cli
