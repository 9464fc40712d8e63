/* A chat in C: reads lines and streams a reply to each. No compiler in the process.
 *   embed_chat_c PLAN WEIGHTS TOKENIZER [NEW_TOKENS] */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/smelt.h"

enum { most = 1 << 20 }; /* tokens of a chat */
/* All tokens so far. They are never encoded again, so that the caches hold all that was read before. */
static int32_t said[most];
static size_t count;

/* Ends the program with the library's message unless the call succeeded. */
static void check(smelt_status status) {
  if (status == SMELT_OK) return;
  fprintf(stderr, "error: %s\n", smelt_last_error());
  exit(1);
}

static int show(void* decoder, size_t sequence, int32_t token) {
  const char* text = NULL;
  size_t bytes = 0;
  if (sequence > 0 || count == most) return sequence == 0; /* one reply, while there is room */
  check(smelt_decoder_push(decoder, token, &text, &bytes));
  fwrite(text, 1, bytes, stdout);
  said[count++] = token;
  return fflush(stdout); /* where nobody reads any more it is not 0, which ends the reply */
}

int main(int argc, char** argv) {
  if (argc < 4) return fprintf(stderr, "usage: %s PLAN WEIGHTS TOKENIZER [NEW_TOKENS]\n", argv[0]), 2;
  smelt_plan* plan = NULL;
  smelt_session* session = NULL;
  smelt_tokenizer* tokenizer = NULL;
  smelt_decoder* decoder = NULL;
  smelt_generator* generator = NULL;
  check(smelt_plan_load(argv[1], &plan));
  check(smelt_session_create(plan, NULL, &session));
  check(smelt_session_load_weights(session, argv[2]));
  check(smelt_tokenizer_load(argv[3], &tokenizer));
  check(smelt_decoder_create(tokenizer, 1, &decoder));
  check(smelt_generator_create(session, &generator));

  char json[128], *line = NULL;
  snprintf(json, sizeof json, "{\"sliding_window\": true, \"max_new_tokens\": %s}",
           argc > 4 ? argv[4] : "64");
  size_t room = 0, rest = 0;
  for (ssize_t bytes; (bytes = getline(&line, &room, stdin)) > 0;) {
    const smelt_encode_options typed = {
        .struct_size = sizeof typed, .no_special_tokens = count > 0, .plain_text = 1};
    smelt_encoding heard = {.struct_size = sizeof heard, .ids = said + count, .capacity = most - count};
    check(smelt_tokenizer_encode(tokenizer, line, (size_t)bytes, &typed, &heard));
    count += heard.count;
    const smelt_prompt prompt = {sizeof prompt, said, count};
    const smelt_generate_options options = {
        .struct_size = sizeof options, .json = json, .on_token = show, .user = decoder};
    smelt_generation* generation = NULL;
    check(smelt_generate(generator, &prompt, 1, &options, &generation));
    smelt_generation_free(generation);
    const char* text = NULL;
    check(smelt_decoder_finish(decoder, &text, &rest));
    printf("%s\n", text);
  }
  free(line);
  smelt_generator_free(generator);
  smelt_decoder_free(decoder);
  smelt_tokenizer_free(tokenizer);
  smelt_session_free(session);
  smelt_plan_free(plan);
  return 0;
}
