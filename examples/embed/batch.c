/* Continues a sequence of token ids in a continuous batch: one request streams its tokens, a second one is
 * cancelled, and after new weights, which come from another session, a third one gets the version of these
 * weights.
 *
 *   embed_batch PLAN WEIGHTS COUNT ID...
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/smelt.h"

/* Ends the program with the library's message unless the call succeeded. */
static void check(smelt_status status) {
  if (status == SMELT_OK) return;
  fprintf(stderr, "error: %s\n", smelt_last_error());
  exit(1);
}

static smelt_session* load(const smelt_plan* plan, const char* weights) {
  smelt_session* session = NULL;
  check(smelt_session_create(plan, NULL, &session));
  check(smelt_session_load_weights(session, weights));
  return session;
}

/* Runs steps until the request has ended, and prints its tokens as they come. Returns the version of the
 * weights that computed the last token. */
static uint64_t stream(smelt_batch* batch, uint64_t id) {
  smelt_progress progress = {.struct_size = sizeof progress};
  smelt_batch_token token = {.struct_size = sizeof token};
  printf("ids:");
  while (progress.finish == SMELT_FINISH_NONE) {
    check(smelt_batch_step(batch, NULL));
    check(smelt_batch_poll(batch, id, &progress));
    for (size_t i = 0; i < progress.count; ++i) {
      check(smelt_batch_polled_token(batch, i, &token));
      printf(" %d", (int)token.id);
    }
  }
  printf("\n");
  if (progress.finish == SMELT_FINISH_FAILED) fprintf(stderr, "error: %s\n", progress.error);
  return token.weights_version;
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: %s PLAN WEIGHTS COUNT ID...\n", argv[0]);
    return 2;
  }
  const size_t count = (size_t)(argc - 4);
  int32_t* ids = malloc(count * sizeof *ids);
  if (!ids) return 1;
  for (size_t i = 0; i < count; ++i) ids[i] = (int32_t)strtol(argv[i + 4], NULL, 10);

  smelt_plan* plan = NULL;
  check(smelt_plan_load(argv[1], &plan));
  smelt_session* session = load(plan, argv[2]);
  smelt_batch_options options = {.struct_size = sizeof options, .most_waiting = 8, .prepares = 1};
  smelt_batch* batch = NULL;
  check(smelt_batch_create(session, &options, &batch));

  char json[64];
  snprintf(json, sizeof json, "{\"max_new_tokens\": %ld, \"eos_token_id\": null}", strtol(argv[3], NULL, 10));
  smelt_request request = {.struct_size = sizeof request, .ids = ids, .count = count, .json = json};
  uint64_t first = 0, second = 0, third = 0;
  check(smelt_batch_submit(batch, &request, &first));
  request.priority = 1;
  check(smelt_batch_submit(batch, &request, &second));
  check(smelt_batch_cancel(batch, second));
  stream(batch, first);

  smelt_session* trained = load(plan, argv[2]);
  check(smelt_batch_copy_weights(batch, trained, NULL));
  check(smelt_batch_submit(batch, &request, &third));
  const uint64_t version = stream(batch, third);

  smelt_batch_counts counts = {.struct_size = sizeof counts};
  check(smelt_batch_get_counts(batch, &counts));
  printf("%llu ended, %llu cancelled, version %llu of the weights\n", (unsigned long long)counts.ended,
         (unsigned long long)counts.cancelled, (unsigned long long)version);
  smelt_batch_free(batch);
  smelt_session_free(trained);
  smelt_session_free(session);
  smelt_plan_free(plan);
  free(ids);
  return 0;
}
