/* Smelt's C interface: load a plan, look into it, give it weights, run it.
 *
 * C++ applications may use runtime/session.h (and runtime/generation/generator.h, runtime/training/trainer.h)
 * instead; this header adds nothing to them and works from both languages.
 *
 * Results. Every function that can fail returns a smelt_status; anything but SMELT_OK leaves its outputs as
 * they were (a failed run may have written part of the outputs and states), and smelt_last_error() says what
 * went wrong. The library never aborts, exits or prints.
 *
 * Threads. A smelt_plan never changes: any number of threads may use it at the same time. A smelt_session is
 * used by one thread at a time, which need not always be the same; different sessions, also of one plan, run
 * at the same time. smelt_last_error() is the calling thread's own. Freeing a plan does not disturb its
 * sessions, which keep what they need; nothing may use a handle while, or after, it is freed.
 *
 * Trust. A plan holds machine code that runs in this process. Loading checks that it is well-formed, not who
 * made it.
 */
#ifndef SMELT_RUNTIME_SMELT_H
#define SMELT_RUNTIME_SMELT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SMELT_VERSION "0.1.0"
#define SMELT_MAX_RANK 8

typedef enum smelt_status {
  SMELT_OK = 0,
  SMELT_INVALID_ARGUMENT = 1, /* a name, shape, type or value that does not fit */
  SMELT_INVALID_FILE = 2,     /* a file that is damaged, of another version or not what it should be */
  SMELT_OUT_OF_MEMORY = 3,
  SMELT_IO = 4,         /* the system refused to read or write */
  SMELT_NUMERIC = 5,    /* NaN or infinity where a number is needed */
  SMELT_INTERNAL = 6,   /* a fault of Smelt's */
  SMELT_UNAVAILABLE = 7 /* a device, driver or library that this machine lacks */
} smelt_status;

typedef enum smelt_dtype {
  SMELT_F32 = 0,
  SMELT_BF16 = 1,
  SMELT_F16 = 2,
  SMELT_F64 = 3,
  SMELT_I32 = 4,
  SMELT_I64 = 5,
  SMELT_U16 = 6,
  SMELT_U8 = 7,
  SMELT_BOOL = 8,
  SMELT_DTYPE_WIDEST = 0x7fffffff /* none: a wrong number is no undefined value */
} smelt_dtype;

typedef struct smelt_plan smelt_plan;
typedef struct smelt_session smelt_session;

/* The message of the calling thread's last failure, "" before the first; valid until its next failure. */
const char* smelt_last_error(void);
/* SMELT_VERSION of the library, which an application may compare with that of the header. */
const char* smelt_version(void);
/* "f32", "i32", ...; bytes of one element, 0 for a number that is no smelt_dtype. */
const char* smelt_dtype_name(smelt_dtype dtype);
size_t smelt_dtype_size(smelt_dtype dtype);

/* ---- plans
 * ---------------------------------------------------------------------------------------------------- */

smelt_status smelt_plan_load(const char* path, smelt_plan** plan);
/* Null is allowed. */
void smelt_plan_free(smelt_plan* plan);

/* Strings and arrays that follow live as long as the plan. */

/* "cpu-x86_64-..." or "sm_90" */
const char* smelt_plan_target(const smelt_plan* plan);
/* The description of the model, as JSON. */
const char* smelt_plan_model(const smelt_plan* plan);
/* Bytes of states, constants and the arena; a GPU takes inputs, outputs and 32 MiB of workspace beside. */
int64_t smelt_plan_memory_bytes(const smelt_plan* plan);

size_t smelt_plan_entry_count(const smelt_plan* plan);
/* Null where index is too large. */
const char* smelt_plan_entry_name(const smelt_plan* plan, size_t index);

/* One input or output of an entry. */
typedef struct smelt_port {
  const char* name;
  smelt_dtype dtype;
  int32_t rank;
  const char* shape;        /* with symbols: "[B,T,768]" */
  const int64_t* max_shape; /* rank numbers: the largest each dimension can be */
  int32_t optional;         /* of an input: 1 if it may be left out */
} smelt_port;

smelt_status smelt_plan_input_count(const smelt_plan* plan, const char* entry, size_t* count);
smelt_status smelt_plan_output_count(const smelt_plan* plan, const char* entry, size_t* count);
smelt_status smelt_plan_input(const smelt_plan* plan, const char* entry, size_t index, smelt_port* port);
smelt_status smelt_plan_output(const smelt_plan* plan, const char* entry, size_t index, smelt_port* port);

/* Memory that outlives a run: parameters, moments, counters. */
typedef struct smelt_state {
  const char* name;
  const char* role; /* "parameter", "optimizer", "state", ... */
  smelt_dtype dtype;
  int64_t elements;
  size_t segment_count; /* named parts, such as the weights in "parameters" */
} smelt_state;

/* A named part of a state, dense and row-major. */
typedef struct smelt_segment {
  const char* name;
  int32_t rank;
  const int64_t* shape; /* rank numbers */
  int64_t offset;       /* elements from the start of the state */
} smelt_segment;

size_t smelt_plan_state_count(const smelt_plan* plan);
smelt_status smelt_plan_state(const smelt_plan* plan, size_t index, smelt_state* state);
smelt_status smelt_plan_segment(const smelt_plan* plan, size_t state, size_t index, smelt_segment* segment);

/* ---- sessions
 * ------------------------------------------------------------------------------------------------- */

typedef struct smelt_session_options {
  int32_t threads; /* 0: SMELT_NUM_THREADS, OMP_NUM_THREADS or all cores */
  uint32_t seed;   /* of dropout and of other random numbers */
  int32_t device;  /* of a plan for GPUs: 1 + the GPU's number; 0: that of SMELT_DEVICE, or the first */
} smelt_session_options;

/* options may be null. All states are zero until weights are loaded or initialised. */
smelt_status smelt_session_create(const smelt_plan* plan, const smelt_session_options* options,
                                  smelt_session** session);
/* Null is allowed. */
void smelt_session_free(smelt_session* session);

/* A .safetensors file, a directory that holds model.safetensors or its index, or a checkpoint of a training
 * run. */
smelt_status smelt_session_load_weights(smelt_session* session, const char* path);
/* Writes the parameters to a .safetensors file under the names of the model's checkpoints. */
smelt_status smelt_session_save_weights(const smelt_session* session, const char* path);
/* Gives every state its first value, for training from scratch. */
smelt_status smelt_session_initialize(smelt_session* session, uint32_t seed);

/* A dense, row-major tensor in the caller's memory. */
typedef struct smelt_tensor {
  const char* name;
  smelt_dtype dtype;
  int32_t rank;
  int64_t shape[SMELT_MAX_RANK];
  void* data;   /* of an input only read */
  size_t bytes; /* that data points to */
} smelt_tensor;

/* Fills dtype, rank, shape and bytes of the outputs named in `outputs` for inputs of the given shapes; no
 * data is touched. With it a caller learns how much memory a run needs. */
smelt_status smelt_session_output_shapes(const smelt_session* session, const char* entry,
                                         const smelt_tensor* inputs, size_t input_count,
                                         smelt_tensor* outputs, size_t output_count);
/* Runs an entry. Of each output, name, data and bytes are given; dtype, rank and shape are filled in. Outputs
 * that are not named are not written. Any shape up to the plan's bounds runs. */
smelt_status smelt_session_run(smelt_session* session, const char* entry, const smelt_tensor* inputs,
                               size_t input_count, smelt_tensor* outputs, size_t output_count);
/* The place of the next runs in the random sequence: the same numbers give the same bits. micro_step: 0 to
 * 65535. */
smelt_status smelt_session_set_random(smelt_session* session, uint32_t seed, uint32_t step,
                                      uint32_t micro_step);

/* Copies a whole state, or the part of it that begins at element `offset`; `bytes` must be whole elements
 * inside it. */
smelt_status smelt_session_read_state(const smelt_session* session, const char* name, int64_t offset,
                                      void* to, size_t bytes);
smelt_status smelt_session_write_state(smelt_session* session, const char* name, int64_t offset,
                                       const void* from, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
