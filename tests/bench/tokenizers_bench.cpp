// Speed of tokenizers, a core: build/tokenizers_bench --tokenizer DIR --text FILE [google-benchmark's
// options] "Solid" is a text without spaces of the given number of bytes: the time must grow as its length
// does.
#include <benchmark/benchmark.h>

#include <cctype>
#include <string>

#include "runtime/system/file.h"
#include "runtime/tokenizers/tokenizer.h"

namespace smelt {
namespace {

std::string repeated(std::string text, size_t bytes) {
  while (text.size() < bytes) text += text;
  return text.substr(0, bytes);
}

std::string letters_of(const std::string& text) {
  std::string letters;
  for (const char c : text)
    if (std::isalpha(static_cast<unsigned char>(c))) letters.push_back(c);
  return letters;
}

void encode(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.encode(text));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

void decode(benchmark::State& state, const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
            size_t bytes) {
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.decode(ids));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void add_benchmarks(const Tokenizer& tokenizer, const std::string& text) {
  const std::string words = repeated(text, 1 << 20), letters = letters_of(text);
  benchmark::RegisterBenchmark("encode", [=](auto& state) { encode(state, tokenizer, words); });
  benchmark::RegisterBenchmark("decode", [=, ids = tokenizer.encode(words).ids](auto& state) {
    decode(state, tokenizer, ids, words.size());
  });
  for (const size_t bytes : {625'000, 2'500'000, 10'000'000}) {
    benchmark::RegisterBenchmark(("encode_solid/" + std::to_string(bytes)).c_str(), [=](auto& state) {
      encode(state, tokenizer, repeated(letters, bytes));
    })->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace smelt

int main(int count, char** arguments) {
  std::string tokenizer, text;
  for (int i = 1; i + 1 < count; ++i) {
    if (std::string_view(arguments[i]) == "--tokenizer") tokenizer = arguments[i + 1];
    if (std::string_view(arguments[i]) == "--text") text = arguments[i + 1];
  }
  benchmark::Initialize(&count, arguments);
  if (tokenizer.empty() || text.empty()) {
    std::fprintf(stderr, "usage: %s --tokenizer DIR --text FILE\n", arguments[0]);
    return 2;
  }
  smelt::add_benchmarks(smelt::Tokenizer::load(tokenizer), smelt::read_text_file(text));
  benchmark::RunSpecifiedBenchmarks();
}
