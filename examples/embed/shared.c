/* Eight sessions in eight threads that read one copy of the weights, in memory that the application counts.
 *
 *   embed_shared PLAN WEIGHTS COUNT ID...
 *
 * Each thread continues the ids on its own; the program prints what the sessions took, and the common result.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/smelt.h"

enum { THREADS = 8 };

typedef struct worker {
  smelt_session* session;
  const int32_t* prompt;
  size_t prompt_count;
  const char* options;
  char text[4096]; /* the new ids */
} worker;

static void check(smelt_status status) {
  if (status == SMELT_OK) return;
  fprintf(stderr, "error: %s\n", smelt_last_error());
  exit(1);
}

static void* take(void* user, smelt_memory memory, size_t bytes, size_t alignment) {
  if (memory != SMELT_MEMORY_HOST) return NULL; /* this program is for plans for CPUs */
  void* taken = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (taken) atomic_fetch_add((atomic_size_t*)user, bytes);
  return taken;
}
static void give_back(void* user, smelt_memory memory, void* data, size_t bytes) {
  (void)memory;
  atomic_fetch_sub((atomic_size_t*)user, bytes);
  free(data);
}

static void* work(void* argument) {
  worker* self = argument;
  const smelt_prompt prompt = {sizeof prompt, self->prompt, self->prompt_count};
  const smelt_generate_options options = {.struct_size = sizeof options, .json = self->options};
  smelt_sequence sequence = {.struct_size = sizeof sequence};
  smelt_generator* generator = NULL;
  smelt_generation* generation = NULL;
  check(smelt_generator_create(self->session, &generator));
  check(smelt_generate(generator, &prompt, 1, &options, &generation));
  check(smelt_generation_sequence(generation, 0, &sequence));
  size_t end = 0;
  for (size_t i = 0; i < sequence.count && end + 12 < sizeof self->text; ++i)
    end += (size_t)snprintf(self->text + end, 12, " %d", (int)sequence.ids[i]);
  smelt_generation_free(generation);
  smelt_generator_free(generator);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: %s PLAN WEIGHTS COUNT ID...\n", argv[0]);
    return 2;
  }
  atomic_size_t taken = 0;
  const smelt_allocator allocator = {sizeof allocator, &taken, take, give_back};
  const smelt_session_options options = {
      .struct_size = sizeof options, .threads = 1, .allocator = &allocator};
  smelt_plan* plan = NULL;
  worker workers[THREADS] = {{0}};
  check(smelt_plan_load(argv[1], &plan));
  check(smelt_session_create(plan, &options, &workers[0].session));
  check(smelt_session_load_weights(workers[0].session, argv[2]));
  printf("bytes of one session: %zu\n", atomic_load(&taken));
  for (int i = 1; i < THREADS; ++i)
    check(smelt_session_share(workers[0].session, &options, &workers[i].session));

  int32_t ids[4096];
  char json[128];
  const int count = argc - 4 < 4096 ? argc - 4 : 4096;
  for (int i = 0; i < count; ++i) ids[i] = atoi(argv[4 + i]);
  snprintf(json, sizeof json, "{\"max_new_tokens\": %d, \"eos_token_id\": [], \"do_sample\": false}",
           atoi(argv[3]));
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    workers[i].prompt = ids, workers[i].prompt_count = (size_t)count, workers[i].options = json;
    if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) return 1;
  }
  int same = 1;
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    same &= strcmp(workers[i].text, workers[0].text) == 0;
  }
  printf("bytes of %d sessions: %zu\n", THREADS, atomic_load(&taken));
  printf("ids:%s\n", same ? workers[0].text : " the threads disagree");
  for (int i = 0; i < THREADS; ++i) smelt_session_free(workers[i].session);
  smelt_plan_free(plan);
  printf("bytes left: %zu\n", atomic_load(&taken));
  return same && atomic_load(&taken) == 0 ? 0 : 1;
}
