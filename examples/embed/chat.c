/* A chat in C as a transcript of "User:" and "Assistant:". It reads lines, streams a reply to each, and ends
 * a reply at an end token or where the model begins to speak for the user. No compiler in the process.
 *
 *   embed_chat_c PLAN WEIGHTS TOKENIZER [NEW_TOKENS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/smelt.h"

/* What ends a reply. Its first byte comes once in it, which say() relies on. */
static const char stop[] = "\nUser:";

/* All token ids so far. They are never encoded again, so that the caches hold all that was read before. */
typedef struct transcript {
  int32_t* ids;
  size_t count;
} transcript;

typedef struct reply {
  smelt_decoder* decoder;
  size_t matched; /* bytes of `stop` that are held back, since they may be its beginning */
} reply;

/* Ends the program with the library's message unless the call succeeded. */
static void check(smelt_status status) {
  if (status == SMELT_OK) return;
  fprintf(stderr, "error: %s\n", smelt_last_error());
  exit(1);
}

static int32_t* room_for(transcript* said, size_t more) {
  int32_t* ids = realloc(said->ids, (said->count + more + 1) * sizeof *ids);
  if (!ids) {
    fprintf(stderr, "error: no memory for a transcript of %zu tokens\n", said->count + more);
    exit(1);
  }
  said->ids = ids;
  return ids + said->count;
}

/* Special tokens stand before the first text only, and none are found in what was typed. */
static void hear(transcript* said, const smelt_tokenizer* tokenizer, const char* text) {
  const smelt_encode_options options = {.no_special_tokens = said->count > 0, .plain_text = 1};
  smelt_encoding encoding = {0}; /* the first call asks how many tokens there are */
  check(smelt_tokenizer_encode(tokenizer, text, strlen(text), &options, &encoding));
  encoding.ids = room_for(said, encoding.count);
  encoding.capacity = encoding.count;
  check(smelt_tokenizer_encode(tokenizer, text, strlen(text), &options, &encoding));
  said->count += encoding.count;
}

/* Prints a byte as soon as it cannot belong to `stop`; 1 where `stop` is complete. */
static int say(reply* to, char byte) {
  if (byte != stop[to->matched]) {
    fwrite(stop, 1, to->matched, stdout);
    to->matched = 0;
  }
  if (byte == stop[to->matched])
    ++to->matched;
  else
    putchar(byte);
  return !stop[to->matched];
}

static int show(void* user, size_t sequence, int32_t token) {
  reply* to = user;
  const char* text = NULL;
  size_t bytes = 0;
  (void)sequence; /* there is one */
  check(smelt_decoder_push(to->decoder, token, &text, &bytes));
  for (size_t i = 0; i < bytes; ++i)
    if (say(to, text[i])) return 1;
  return fflush(stdout); /* where nobody reads any more it is not 0, which ends the reply */
}

/* Prints what was held back. 1 where the reply ended with `stop`, which then is part of the transcript. */
static int finish(reply* to) {
  const char* rest = NULL;
  size_t bytes = 0;
  int stopped = !stop[to->matched];
  check(smelt_decoder_finish(to->decoder, &rest, &bytes));
  for (size_t i = 0; i < bytes && !stopped; ++i) stopped = say(to, rest[i]);
  if (!stopped) fwrite(stop, 1, to->matched, stdout);
  putchar('\n');
  return stopped;
}

static int answer(transcript* said, smelt_generator* generator, smelt_decoder* decoder, const char* json) {
  reply to = {decoder, 0};
  const smelt_prompt prompt = {said->ids, said->count};
  const smelt_generate_options options = {.json = json, .on_token = show, .user = &to};
  smelt_generation* generation = NULL;
  smelt_sequence sequence;
  check(smelt_generate(generator, &prompt, 1, &options, &generation));
  check(smelt_generation_sequence(generation, 0, &sequence));
  memcpy(room_for(said, sequence.count), sequence.ids, sequence.count * sizeof *sequence.ids);
  said->count += sequence.count;
  smelt_generation_free(generation);
  return finish(&to);
}

static void chat(smelt_generator* generator, const smelt_tokenizer* tokenizer, smelt_decoder* decoder,
                 const char* json) {
  transcript said = {NULL, 0};
  const char* speaker = stop + 1; /* the first line has no other before it */
  char line[4096], text[sizeof line + 32];
  while (fgets(line, sizeof line, stdin)) {
    if (!strchr(line, '\n') && !feof(stdin)) {
      fprintf(stderr, "error: a line is longer than %zu bytes\n", sizeof line - 2);
      exit(1);
    }
    line[strcspn(line, "\n")] = 0;
    snprintf(text, sizeof text, "%s %s\nAssistant:", speaker, line);
    hear(&said, tokenizer, text);
    speaker = answer(&said, generator, decoder, json) ? "" : stop; /* the model may have written it */
  }
  free(said.ids);
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: %s PLAN WEIGHTS TOKENIZER [NEW_TOKENS]\n", argv[0]);
    return 2;
  }
  char json[128];
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
  snprintf(json, sizeof json, "{\"sliding_window\": true, \"max_new_tokens\": %s}",
           argc > 4 ? argv[4] : "64");
  chat(generator, tokenizer, decoder, json);

  smelt_generator_free(generator);
  smelt_decoder_free(decoder);
  smelt_tokenizer_free(tokenizer);
  smelt_session_free(session);
  smelt_plan_free(plan);
  return 0;
}
