#include "compiler/cli/data_flags.h"

#include "runtime/error.h"

namespace smelt::cli {
namespace {

std::shared_ptr<const TokenData> read(const std::vector<std::string>& files, TokenFormat format,
                                      int64_t vocabulary) {
  const std::vector<std::filesystem::path> paths(files.begin(), files.end());
  return std::make_shared<const TokenData>(paths, format, vocabulary);
}

}  // namespace

void DataFlags::add_to(CLI::App& app) {
  app.add_option("--data", data, "files of tokens or text, one after another");
  app.add_option("--validation-data", validation, "held-back files; default: the end of --data");
  app.add_option("--data-format", format, "automatic, bytes (text), llmc (.bin of llm.c), u16 (raw numbers)")
      ->check(CLI::IsMember({"automatic", "bytes", "llmc", "u16"}))
      ->capture_default_str();
  app.add_option("--held-back", held_back, "share of --data that is held back for validation")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
}

TokenSplit DataFlags::open(int64_t vocabulary) const {
  if (data.empty()) fail("there is no data: name text or token files with --data");
  const TokenFormat kind = *parse_token_format(format);
  const auto train = read(data, kind, vocabulary);
  return split_tokens(train, validation.empty() ? nullptr : read(validation, kind, vocabulary), held_back);
}

}  // namespace smelt::cli
