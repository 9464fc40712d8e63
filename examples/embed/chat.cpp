// A chat over the C interface: reads lines, streams a reply to each, and says how fast. No compiler in the
// process.
//
//   embed_chat PLAN WEIGHTS TOKENIZER [NEW_TOKENS]
//
// A model that was trained on a template of chats wants it around every line: encode is the place for it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "runtime/smelt.h"

namespace {

/// Ends the program with the library's message unless the call succeeded.
void check(smelt_status status) {
  if (status == SMELT_OK) return;
  std::fprintf(stderr, "error: %s\n", smelt_last_error());
  std::exit(1);
}

/// Special tokens stand before the first line only, and none are found in what was typed.
std::vector<int32_t> encode(const smelt_tokenizer* tokenizer, const std::string& line, bool first) {
  const smelt_encode_options options{.no_special_tokens = !first, .plain_text = 1, .target = 0};
  smelt_encoding encoding{};  // the first call asks how many tokens there are
  check(smelt_tokenizer_encode(tokenizer, line.data(), line.size(), &options, &encoding));
  std::vector<int32_t> ids(encoding.count);
  encoding.ids = ids.data(), encoding.capacity = ids.size();
  check(smelt_tokenizer_encode(tokenizer, line.data(), line.size(), &options, &encoding));
  return ids;
}

int show(void* decoder, size_t, int32_t token) {
  const char* text = nullptr;
  size_t bytes = 0;
  check(smelt_decoder_push(static_cast<smelt_decoder*>(decoder), token, &text, &bytes));
  std::fwrite(text, 1, bytes, stdout);
  return std::fflush(stdout);  // where nobody reads any more it is not 0, which ends the reply
}

std::vector<int32_t> reply(smelt_generator* generator, smelt_decoder* decoder,
                           const std::vector<int32_t>& said, const std::string& json) {
  const smelt_prompt prompt{said.data(), said.size()};
  const smelt_generate_options options{json.c_str(), show, decoder, 0};
  smelt_generation* generation = nullptr;
  smelt_sequence sequence{};
  const char* rest = nullptr;
  size_t bytes = 0;
  check(smelt_generate(generator, &prompt, 1, &options, &generation));
  check(smelt_generation_sequence(generation, 0, &sequence));
  const std::vector<int32_t> ids(sequence.ids, sequence.ids + sequence.count);
  smelt_generation_free(generation);
  check(smelt_decoder_finish(decoder, &rest, &bytes));
  std::printf("%s\n", rest);
  return ids;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::fprintf(stderr, "usage: %s PLAN WEIGHTS TOKENIZER [NEW_TOKENS]\n", arguments[0]);
    return 2;
  }
  smelt_plan* plan = nullptr;
  smelt_session* session = nullptr;
  smelt_tokenizer* tokenizer = nullptr;
  smelt_decoder* decoder = nullptr;
  smelt_generator* generator = nullptr;
  check(smelt_plan_load(arguments[1], &plan));
  check(smelt_session_create(plan, nullptr, &session));
  check(smelt_session_load_weights(session, arguments[2]));
  check(smelt_tokenizer_load(arguments[3], &tokenizer));
  check(smelt_decoder_create(tokenizer, 1, &decoder));
  check(smelt_generator_create(session, &generator));

  const std::string most = count > 4 ? arguments[4] : "64";
  const std::string json = R"({"sliding_window": true, "max_new_tokens": )" + most + "}";
  std::vector<int32_t> said;
  size_t tokens = 0;
  std::chrono::duration<double> time{1e-9};
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    for (const int32_t id : encode(tokenizer, line + "\n", said.empty())) said.push_back(id);
    const std::vector<int32_t> answer = reply(generator, decoder, said, json);
    said.insert(said.end(), answer.begin(), answer.end());
    tokens += answer.size();
    time += std::chrono::steady_clock::now() - start;
  }
  std::printf("%zu tokens, %.1f tokens/s\n", tokens, static_cast<double>(tokens) / time.count());

  smelt_generator_free(generator);
  smelt_decoder_free(decoder);
  smelt_tokenizer_free(tokenizer);
  smelt_session_free(session);
  smelt_plan_free(plan);
  return 0;
}
