// A chat over the C interface as a transcript of "User:" and "Assistant:": reads lines, streams a reply to
// each, ends a reply also where the model begins to speak for the user, and says how fast. No compiler in the
// process.
//
//   embed_chat PLAN WEIGHTS TOKENIZER [NEW_TOKENS]
//
// A model that was trained on a template of chats wants that one around every line: hear is the place for it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/smelt.h"

namespace {

/// Ends the program with the library's message unless the call succeeded.
void check(smelt_status status) {
  if (status == SMELT_OK) return;
  std::fprintf(stderr, "error: %s\n", smelt_last_error());
  std::exit(1);
}

constexpr std::string_view kStop = "\nUser:";  // what ends a reply

/// A reply's text on its way to the terminal.
class Reply {
 public:
  /// Prints the text, but holds back an end that may be the beginning of the stop text. True where that is
  /// complete.
  bool say(std::string_view text) {
    if (stopped_) return true;
    held_ += text;
    const size_t stop = held_.find(kStop);
    stopped_ = stop != std::string::npos;
    size_t kept = std::min(held_.size(), kStop.size());
    while (!held_.ends_with(kStop.substr(0, kept))) --kept;
    const size_t printed = stopped_ ? stop : held_.size() - kept;
    std::fwrite(held_.data(), 1, printed, stdout);
    held_.erase(0, printed);
    return stopped_;
  }
  /// Prints what was held back. True where the stop text ended the reply and so is part of the transcript.
  bool finish() {
    std::printf("%s\n", stopped_ ? "" : held_.c_str());
    return stopped_;
  }

 private:
  std::string held_;
  bool stopped_ = false;
};

/// Whom the library calls with a reply's tokens, as they are chosen.
struct Listener {
  smelt_decoder* decoder;
  Reply reply;
};

int show(void* user, size_t, int32_t token) {
  auto& [decoder, reply] = *static_cast<Listener*>(user);
  const char* text = nullptr;
  size_t bytes = 0;
  check(smelt_decoder_push(decoder, token, &text, &bytes));
  const bool stopped = reply.say({text, bytes});
  return std::fflush(stdout) != 0 || stopped;  // where nobody reads any more, the reply ends too
}

class Chat {
 public:
  Chat(const smelt_tokenizer* tokenizer, smelt_generator* generator, smelt_decoder* decoder, std::string json)
      : tokenizer_(tokenizer), generator_(generator), decoder_(decoder), json_(std::move(json)) {}

  /// How many tokens the reply has.
  size_t reply_to(const std::string& line) {
    hear(std::string(speaker_) + " " + line + "\nAssistant:");
    const size_t heard = said_.size();
    speaker_ = answer() ? "" : kStop;  // the model may have written it
    return said_.size() - heard;
  }

 private:
  /// Special tokens stand before the first text only, and none are found in what was typed.
  void hear(const std::string& text) {
    const smelt_encode_options options{
        .struct_size = sizeof options, .no_special_tokens = !said_.empty(), .plain_text = 1, .target = 0};
    smelt_encoding encoding{};  // the first call asks how many tokens there are
    encoding.struct_size = sizeof encoding;
    check(smelt_tokenizer_encode(tokenizer_, text.data(), text.size(), &options, &encoding));
    const size_t before = said_.size();
    said_.resize(before + encoding.count);
    encoding.ids = said_.data() + before, encoding.capacity = encoding.count;
    check(smelt_tokenizer_encode(tokenizer_, text.data(), text.size(), &options, &encoding));
  }

  /// Whether it ended with the stop text.
  bool answer() {
    Listener listener{decoder_, {}};
    const smelt_prompt prompt{sizeof prompt, said_.data(), said_.size()};
    const smelt_generate_options options{sizeof options, json_.c_str(), show, &listener, 0};
    smelt_generation* generation = nullptr;
    smelt_sequence sequence{};
    sequence.struct_size = sizeof sequence;
    const char* rest = nullptr;
    size_t bytes = 0;
    check(smelt_generate(generator_, &prompt, 1, &options, &generation));
    check(smelt_generation_sequence(generation, 0, &sequence));
    said_.insert(said_.end(), sequence.ids, sequence.ids + sequence.count);
    smelt_generation_free(generation);
    check(smelt_decoder_finish(decoder_, &rest, &bytes));
    listener.reply.say({rest, bytes});
    return listener.reply.finish();
  }

  const smelt_tokenizer* tokenizer_;
  smelt_generator* generator_;
  smelt_decoder* decoder_;
  std::string json_;
  std::vector<int32_t> said_;  // never encoded again, so that the caches hold all that was read before
  std::string_view speaker_ = kStop.substr(1);  // the first line has no other before it
};

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
  Chat chat(tokenizer, generator, decoder, json);
  size_t tokens = 0;
  std::chrono::duration<double> time{1e-9};
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    tokens += chat.reply_to(line);
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
