/* The same in C: loads a plan and weights, says what the plan offers, continues a sequence of token ids
 * greedily.
 *
 *   embed_c PLAN WEIGHTS COUNT ID...
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

static void print_port(const char* kind, const smelt_port* port) {
  printf("  %s %s: %s%s, at most [", kind, port->name, smelt_dtype_name(port->dtype), port->shape);
  for (int32_t i = 0; i < port->rank; ++i) printf(i ? ",%lld" : "%lld", (long long)port->max_shape[i]);
  printf("]\n");
}

static void print_plan(const smelt_plan* plan) {
  printf("plan for %s, %lld bytes of memory\n", smelt_plan_target(plan),
         (long long)smelt_plan_memory_bytes(plan));
  for (size_t e = 0; e < smelt_plan_entry_count(plan); ++e) {
    const char* entry = smelt_plan_entry_name(plan, e);
    size_t count = 0;
    smelt_port port = {.struct_size = sizeof port};
    printf("entry %s\n", entry);
    check(smelt_plan_input_count(plan, entry, &count));
    for (size_t i = 0; i < count; ++i) {
      check(smelt_plan_input(plan, entry, i, &port));
      print_port("input", &port);
    }
    check(smelt_plan_output_count(plan, entry, &count));
    for (size_t i = 0; i < count; ++i) {
      check(smelt_plan_output(plan, entry, i, &port));
      print_port("output", &port);
    }
  }
}

/* The id with the largest of the last position's logits. */
static int32_t next_id(smelt_session* session, int32_t* ids, int64_t length) {
  smelt_tensor input = {.struct_size = sizeof input,
                        .name = "input_ids",
                        .dtype = SMELT_I32,
                        .rank = 2,
                        .shape = {1, length},
                        .data = ids,
                        .bytes = (size_t)length * sizeof *ids};
  smelt_tensor output = {.struct_size = sizeof output, .name = "logits"};
  check(smelt_session_output_shapes(session, "logits", &input, 1, &output, 1));
  float* logits = malloc(output.bytes);
  if (!logits) exit(1);
  output.data = logits;
  check(smelt_session_run(session, "logits", &input, 1, &output, 1, NULL));
  const int64_t vocabulary = output.shape[2];
  const float* last = logits + (length - 1) * vocabulary;
  int32_t best = 0;
  for (int64_t i = 1; i < vocabulary; ++i)
    if (last[i] > last[best]) best = (int32_t)i;
  free(logits);
  return best;
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: %s PLAN WEIGHTS COUNT ID...\n", argv[0]);
    return 2;
  }
  const int64_t prompt = argc - 4, count = atoi(argv[3]);
  smelt_plan* plan = NULL;
  smelt_session* session = NULL;
  check(smelt_plan_load(argv[1], &plan));
  print_plan(plan);
  check(smelt_session_create(plan, NULL, &session));
  check(smelt_session_load_weights(session, argv[2]));

  int32_t* ids = malloc((size_t)(prompt + count) * sizeof *ids);
  if (!ids) return 1;
  for (int64_t i = 0; i < prompt; ++i) ids[i] = atoi(argv[4 + i]);
  printf("ids:");
  for (int64_t length = prompt; length < prompt + count; ++length) {
    ids[length] = next_id(session, ids, length);
    printf(" %d", (int)ids[length]);
  }
  printf("\n");
  free(ids);
  smelt_session_free(session);
  smelt_plan_free(plan);
  return 0;
}
