/* Tensors in a GPU's memory and a stream of the application's: token ids come from the host, logits stay on
 * the GPU, and of them the last position alone comes back. The plan is read by the application itself, and
 * what the library has to say goes to stderr. Of a plan for CPUs "the device" is the host, and there is no
 * stream.
 *
 *   embed_device PLAN WEIGHTS ID...
 *
 * It needs no CUDA headers: the few functions of the driver are declared here.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/smelt.h"

/* Memory and a stream of the GPU with number 0, or of the host. */
typedef struct device {
  int (*memory_allocate)(uint64_t* address, size_t bytes);
  int (*copy_to_host)(void* to, uint64_t from, size_t bytes, void* stream);
  int (*wait)(void* stream);
  void* stream;
} device;

static void fail(const char* what) {
  fprintf(stderr, "error: %s\n", what);
  exit(1);
}

static void check(smelt_status status) {
  if (status != SMELT_OK) fail(smelt_last_error());
}

static void check_driver(int code, const char* what) {
  if (code != 0) fail(what);
}

static void say(void* user, smelt_log_level level, const char* message) {
  (void)user;
  if (level >= SMELT_LOG_INFO) fprintf(stderr, "smelt: %s\n", message);
}

/* A function of the driver; POSIX has such pointers as wide as those to data. */
static void load(void* driver, const char* name, void* function) {
  void* found = dlsym(driver, name);
  if (!found) fail(name);
  memcpy(function, &found, sizeof found);
}

static int host_allocate(uint64_t* address, size_t bytes) {
  return (*address = (uint64_t)(uintptr_t)malloc(bytes)) == 0;
}
static int host_copy(void* to, uint64_t from, size_t bytes, void* stream) {
  (void)stream;
  return memcpy(to, (const void*)(uintptr_t)from, bytes) != to;
}
static int host_wait(void* stream) { return stream != NULL; }

static device open_device(const smelt_plan* plan) {
  device opened = {host_allocate, host_copy, host_wait, NULL};
  if (strncmp(smelt_plan_target(plan), "sm_", 3) != 0) return opened;
  int (*initialize)(unsigned), (*retain)(void**, int), (*use)(void*), (*make_stream)(void**, unsigned);
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
  if (!driver) fail("there is no libcuda.so.1");
  load(driver, "cuInit", &initialize), load(driver, "cuDevicePrimaryCtxRetain", &retain);
  load(driver, "cuCtxSetCurrent", &use), load(driver, "cuStreamCreate", &make_stream);
  load(driver, "cuMemAlloc_v2", &opened.memory_allocate);
  load(driver, "cuMemcpyDtoHAsync_v2", &opened.copy_to_host);
  load(driver, "cuStreamSynchronize", &opened.wait);
  check_driver(initialize(0) || retain(&context, 0) || use(context) || make_stream(&opened.stream, 0),
               "the GPU cannot be used");
  return opened;
}

static smelt_plan* read_plan(const char* path) {
  smelt_plan* plan = NULL;
  FILE* file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) fail(path);
  const size_t bytes = (size_t)ftell(file);
  void* data = malloc(bytes);
  rewind(file);
  if (!data || fread(data, 1, bytes, file) != bytes) fail(path);
  fclose(file);
  check(smelt_plan_from_memory(data, bytes, path, &plan));
  free(data);
  return plan;
}

/* Runs the entry and copies the last position's logits, `*vocabulary` of them, to memory of the host. */
static float* last_logits(smelt_session* session, const device* on, int32_t* ids, int64_t length,
                          int64_t* vocabulary) {
  const smelt_tensor input = {.struct_size = sizeof input,
                              .name = "input_ids",
                              .dtype = SMELT_I32,
                              .rank = 2,
                              .shape = {1, length},
                              .data = ids,
                              .bytes = (size_t)length * sizeof *ids};
  smelt_tensor output = {.struct_size = sizeof output, .name = "logits", .memory = SMELT_MEMORY_DEVICE};
  const smelt_run_options options = {.struct_size = sizeof options, .stream = on->stream};
  check(smelt_session_output_shapes(session, "logits", &input, 1, &output, 1));
  uint64_t address = 0;
  check_driver(on->memory_allocate(&address, output.bytes), "the device's memory does not suffice");
  output.data = (void*)(uintptr_t)address;
  check(smelt_session_run(session, "logits", &input, 1, &output, 1, &options));
  *vocabulary = output.shape[2];
  const size_t row = (size_t)*vocabulary * sizeof(float);
  float* last = malloc(row);
  if (!last) fail("the host's memory does not suffice");
  check_driver(on->copy_to_host(last, address + output.bytes - row, row, on->stream) || on->wait(on->stream),
               "the logits cannot be copied");
  return last;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: %s PLAN WEIGHTS ID...\n", argv[0]);
    return 2;
  }
  check(smelt_set_log(say, NULL));
  smelt_plan* plan = read_plan(argv[1]);
  const smelt_session_options options = {.struct_size = sizeof options, .device = 1};
  smelt_session* session = NULL;
  check(smelt_session_create(plan, &options, &session));
  check(smelt_session_load_weights(session, argv[2]));
  const device on = open_device(plan);
  const int64_t length = argc - 3;
  int32_t* ids = malloc((size_t)length * sizeof *ids);
  if (!ids) return 1;
  for (int64_t i = 0; i < length; ++i) ids[i] = atoi(argv[3 + i]);
  int64_t vocabulary = 0, best = 0;
  const float* logits = last_logits(session, &on, ids, length, &vocabulary);
  for (int64_t i = 1; i < vocabulary; ++i)
    if (logits[i] > logits[best]) best = i;
  printf("ids: %lld\n", (long long)best);
  smelt_session_free(session);
  smelt_plan_free(plan);
  return 0;
}
