// smelt tokenize: text to token ids and back.
#include <fmt/ranges.h>

#include <cstdio>
#include <iostream>
#include <iterator>

#include "compiler/cli/command.h"
#include "runtime/base/error.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"
#include "runtime/tokenizers/tokenizer.h"

namespace smelt::cli {
namespace {

struct TokenizeCommand {
  std::string tokenizer, text, file;
  bool has_text = false, decode = false, no_special_tokens = false, offsets = false, json = false,
       target = false;
};

std::string input(const TokenizeCommand& options) {
  if (options.has_text) return options.text;
  if (!options.file.empty()) return read_text_file(options.file);
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void print_text(const TokenizeCommand& options, const Tokenizer& tokenizer) {
  const std::string text = tokenizer.decode(parse_token_ids(input(options)), options.no_special_tokens);
  fmt::print("{}\n", options.json ? dump({{"text", text}}) : text);
}

void print_json(const TokenizeCommand& options, const Tokenizer& tokenizer, const Encoding& encoding) {
  Json json = {{"ids", encoding.ids}, {"tokens", Json::array()}};
  for (const int32_t id : encoding.ids) json["tokens"].push_back(tokenizer.id_to_token(id).value_or(""));
  if (options.offsets) {
    json["offsets"] = Json::array();
    for (const TextRange& range : encoding.offsets) json["offsets"].push_back({range.begin, range.end});
  }
  fmt::print("{}\n", dump(json));
}

/// Prints a line per token: its id, its position in the text, and its decoded text.
void print_offsets(const Tokenizer& tokenizer, const Encoding& encoding) {
  for (size_t i = 0; i < encoding.size(); ++i)
    fmt::print("{:>8} {:>10} {:>10}  {}\n", encoding.ids[i], encoding.offsets[i].begin,
               encoding.offsets[i].end, tokenizer.id_to_token(encoding.ids[i]).value_or(""));
}

void run_tokenize(const TokenizeCommand& options) {
  if (options.has_text && !options.file.empty()) fail("--text and --file: give one of them");
  const Tokenizer tokenizer = Tokenizer::load(options.tokenizer);
  if (options.decode) return print_text(options, tokenizer);
  EncodeOptions encode;
  encode.add_special_tokens = !options.no_special_tokens;
  encode.target = options.target;
  const Encoding encoding = tokenizer.encode(input(options), encode);
  if (options.json) return print_json(options, tokenizer, encoding);
  if (options.offsets) return print_offsets(tokenizer, encoding);
  fmt::print("{}\n", fmt::join(encoding.ids, " "));
}

}  // namespace

void add_tokenize(CLI::App& app) {
  auto options = std::make_shared<TokenizeCommand>();
  CLI::App* command = app.add_subcommand("tokenize", "Turn text into token ids, or ids into text");
  command
      ->add_option("tokenizer", options->tokenizer,
                   "directory of a model, tokenizer.json, or a T5's spiece.model")
      ->required();
  CLI::Option* text = command->add_option("--text", options->text, "the text (default: standard input)");
  command->add_option("--file", options->file, "a file with the text");
  command->add_flag("--decode", options->decode, "the input is token ids: print their text");
  command->add_flag("--no-special-tokens", options->no_special_tokens,
                    "add none around the text; with --decode, leave them out");
  command->add_flag("--offsets", options->offsets, "where each token is in the text, in code points");
  command->add_flag("--target", options->target, "the text is in the target language (Marian)");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options, text] {
    options->has_text = text->count() > 0;
    run_tokenize(*options);
  });
}

}  // namespace smelt::cli
