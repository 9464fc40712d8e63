// Reads lines of a golden.jsonl from standard input and prints those of which the tokenizer in the given
// directory makes something else: the other side of tests/fuzz/tokenizer_texts.py.
#include <cstdio>
#include <exception>
#include <iostream>

#include "tests/runtime/tokenizers/golden.h"

namespace {

constexpr int kMostShown = 20;

int run(const char* directory) {
  const smelt::Tokenizer tokenizer = smelt::Tokenizer::load(directory);
  int texts = 0, wrong = 0;
  for (std::string line; std::getline(std::cin, line); ++texts) {
    const smelt::Json golden = smelt::Json::parse(line);
    const std::string found = smelt::differences(tokenizer, golden);
    if (!found.empty() && wrong++ < kMostShown)
      std::printf("%s:%s\n", golden["text"].dump(-1, ' ', true).c_str(), found.c_str());
  }
  std::printf("%s: %d of %d texts differ\n", directory, wrong, texts);
  return wrong == 0 && texts > 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count == 2) return run(arguments[1]);
  std::fprintf(stderr, "usage: %s DIRECTORY < GOLDEN.jsonl\n", arguments[0]);
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
