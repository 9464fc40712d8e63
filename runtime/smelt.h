/* Smelt's C interface: load a plan, look into it, give it weights, run it; turn text into token ids,
 * generate, also for many requests that come and go, and turn ids into text.
 *
 * C++ applications may use runtime/session/session.h (and runtime/engine/generation/generator.h,
 * runtime/tokenizers/tokenizer.h, runtime/engine/training/trainer.h) instead; this header adds nothing to
 * them and works from both languages.
 *
 * Results. Every function that can fail returns a smelt_status; anything but SMELT_OK leaves its outputs as
 * they were (a failed run may have written part of the outputs and states, and smelt_tokenizer_encode and
 * smelt_tokenizer_decode report the needed size), and smelt_last_error() describes the fault. The
 * library never aborts, exits or prints.
 *
 * Structs. The first member of every struct is struct_size, which the caller sets to sizeof of the struct,
 * also of those that a call fills in and of every element of an array; all others are zero unless said
 * otherwise. So a library knows which members the application was built with: those that it does not have
 * count as zero, and one that is set and that the library does not know is SMELT_INVALID_ARGUMENT.
 *
 * Threads. A smelt_plan, smelt_tokenizer or smelt_generation never changes: any number of threads may use it
 * at the same time. Any other handle is used by one thread at a time, which need not always be the same;
 * different sessions, also of one plan and those that share weights, run at the same time. A smelt_generator
 * or smelt_batch works with its session, so that both count as one. smelt_last_error() is the calling
 * thread's own. The library makes no threads but those that compute.
 *
 * Lifetimes. Freeing a plan does not disturb its sessions, nor freeing a tokenizer its decoders: they keep
 * what they need. Weights live as long as any session that shares them. A generator or batch borrows its
 * session, which is freed after it. Nothing may use a handle while, or after, it is freed. Freeing null is
 * allowed.
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

#define SMELT_VERSION "0.2.0"
#define SMELT_MAX_RANK 8

/* Kinds of numbers are int32_t, so that one of another library's, or a wrong one, is no undefined value:
 * where it is none of those listed, calls return SMELT_INVALID_ARGUMENT. */
typedef int32_t smelt_status;
enum {
  SMELT_OK = 0,
  SMELT_INVALID_ARGUMENT = 1, /* a name, shape, type or value that does not fit */
  SMELT_INVALID_FILE = 2,     /* a file that is damaged, of another version or not what it should be */
  SMELT_OUT_OF_MEMORY = 3,
  SMELT_IO = 4,         /* the system refused to read or write */
  SMELT_NUMERIC = 5,    /* NaN or infinity where a number is needed */
  SMELT_INTERNAL = 6,   /* a fault of Smelt's */
  SMELT_UNAVAILABLE = 7 /* a device, driver or library that this machine lacks */
};

typedef int32_t smelt_dtype;
enum {
  SMELT_F32 = 0,
  SMELT_BF16 = 1,
  SMELT_F16 = 2,
  SMELT_F64 = 3,
  SMELT_I32 = 4,
  SMELT_I64 = 5,
  SMELT_U16 = 6,
  SMELT_U8 = 7,
  SMELT_BOOL = 8,
  SMELT_I8 = 9
};

/* Kinds of memory. For a plan for CPUs all memory is the host's. */
typedef int32_t smelt_memory;
enum {
  SMELT_MEMORY_HOST = 0,
  SMELT_MEMORY_DEVICE = 1, /* the session's GPU: a CUdeviceptr, or the result of cudaMalloc */
  SMELT_MEMORY_PINNED = 2  /* for allocators only: as from cuMemHostAlloc and cudaMallocHost */
};

typedef struct smelt_plan smelt_plan;
typedef struct smelt_session smelt_session;
typedef struct smelt_tokenizer smelt_tokenizer;
typedef struct smelt_decoder smelt_decoder;
typedef struct smelt_generator smelt_generator;
typedef struct smelt_generation smelt_generation;
typedef struct smelt_batch smelt_batch;

/* The message of the calling thread's last failure, "" before the first; valid until its next failure. */
const char* smelt_last_error(void);
/* SMELT_VERSION of the library, which an application may compare with that of the header. */
const char* smelt_version(void);
/* "f32", "i32", ...; bytes of one element; "" and 0 for a number that is no smelt_dtype. */
const char* smelt_dtype_name(smelt_dtype dtype);
size_t smelt_dtype_size(smelt_dtype dtype);

typedef int32_t smelt_log_level;
enum {
  SMELT_LOG_DEBUG = 0,  /* recurring events, such as a size that an entry runs for the first time */
  SMELT_LOG_INFO = 1,   /* once for each plan, session or call: loaded, memory, how tokens are chosen */
  SMELT_LOG_WARNING = 2 /* an application should react */
};

/* The message ends with a 0 and is valid during the call. */
typedef void (*smelt_log)(void* user, smelt_log_level level, const char* message);

/* Sets the log callback of the whole process; null (as at first): no messages. The callback is called by the
 * working threads, concurrently if there are several, and no longer after a later smelt_set_log has returned.
 * Its own calls of the library are not logged; setting another callback in it is SMELT_INVALID_ARGUMENT.
 * Messages are for people: their words may change. */
smelt_status smelt_set_log(smelt_log callback, void* user);

/* ---- plans
 * ---------------------------------------------------------------------------------------------------- */

smelt_status smelt_plan_load(const char* path, smelt_plan** plan);
/* The bytes of a .plan file, at any alignment; they may be freed after the call. `name` is their name in
 * messages; null: "memory". */
smelt_status smelt_plan_from_memory(const void* data, size_t bytes, const char* name, smelt_plan** plan);
void smelt_plan_free(smelt_plan* plan);

/* Strings and arrays that follow live as long as the plan. */

/* "cpu-x86_64-..." or "sm_90" */
const char* smelt_plan_target(const smelt_plan* plan);
/* The description of the model, as JSON. */
const char* smelt_plan_model(const smelt_plan* plan);
/* Bytes of states, constants and the arena; a GPU adds inputs, outputs and 32 MiB of workspace. */
int64_t smelt_plan_memory_bytes(const smelt_plan* plan);

size_t smelt_plan_entry_count(const smelt_plan* plan);
/* Null where index is too large. */
const char* smelt_plan_entry_name(const smelt_plan* plan, size_t index);

/* One input or output of an entry. */
typedef struct smelt_port {
  size_t struct_size;
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
  size_t struct_size;
  const char* name;
  const char* role; /* "parameter", "optimizer", "state", ... */
  smelt_dtype dtype;
  int64_t elements;
  size_t segment_count; /* named parts, such as the weights in "parameters" */
} smelt_state;

/* A named part of a state, dense and row-major. */
typedef struct smelt_segment {
  size_t struct_size;
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

/* An application's own memory for sessions: states, constants, the arena and staging memory of inputs and
 * outputs. Small tables, and on a GPU messages between ranks and memory for measurements, come from the
 * system and the driver. The functions are called by the threads that make, run and free sessions,
 * concurrently if several sessions have them; on a GPU its context is current. They must not call this
 * library, and must stay valid until the last session that has them, or shares weights with one that has, is
 * freed. */
typedef struct smelt_allocator {
  size_t struct_size;
  void* user; /* argument of both */
  /* `bytes` > 0 at a multiple of `alignment`, a power of two of at most 256; null: no memory, which is
   * SMELT_OUT_OF_MEMORY. */
  void* (*allocate)(void* user, smelt_memory memory, size_t bytes, size_t alignment);
  void (*release)(void* user, smelt_memory memory, void* data, size_t bytes);
} smelt_allocator;

typedef struct smelt_session_options {
  size_t struct_size;
  int32_t threads; /* 0: SMELT_NUM_THREADS, OMP_NUM_THREADS or all cores */
  uint32_t seed;   /* of dropout and of other random numbers */
  int32_t device;  /* of a plan for GPUs: 1 + the GPU's number; 0: that of SMELT_DEVICE, or the first */
  /* Null: the system and the driver; for smelt_session_share the allocator of `session`. The struct may be
   * freed after the call. */
  const smelt_allocator* allocator;
} smelt_session_options;

/* options may be null. All states are zero until weights are loaded or initialised. */
smelt_status smelt_session_create(const smelt_plan* plan, const smelt_session_options* options,
                                  smelt_session** session);
void smelt_session_free(smelt_session* session);
/* Creates a session of the same plan on the same device that reads the weights of `session` in place, and has
 * its own caches, other states and arena. Both, and more made from either, may run concurrently in different
 * threads. Until only one of them is left, loading, initialising and writing weights is
 * SMELT_INVALID_ARGUMENT, and so is sharing the weights of a plan whose entries write to them (plans for
 * training). options may be null; its device is 0, or that of `session`. */
smelt_status smelt_session_share(smelt_session* session, const smelt_session_options* options,
                                 smelt_session** shared);

/* A .safetensors file, a directory that holds model.safetensors or its index, or a checkpoint of a training
 * run. */
smelt_status smelt_session_load_weights(smelt_session* session, const char* path);
/* Writes the parameters to a .safetensors file under the names of the model's checkpoints. */
smelt_status smelt_session_save_weights(const smelt_session* session, const char* path);
/* Gives every state its initial value, for training from scratch. */
smelt_status smelt_session_initialize(smelt_session* session, uint32_t seed);

/* A dense, row-major tensor in the caller's memory, of the host or of the session's GPU. */
typedef struct smelt_tensor {
  size_t struct_size;
  const char* name;
  smelt_dtype dtype;
  int32_t rank;
  int64_t shape[SMELT_MAX_RANK];
  void* data;          /* of an input only read */
  size_t bytes;        /* that data points to */
  smelt_memory memory; /* of data: SMELT_MEMORY_HOST or SMELT_MEMORY_DEVICE */
} smelt_tensor;

typedef struct smelt_run_options {
  size_t struct_size;
  void* stream; /* of the session's GPU: a CUstream or cudaStream_t; null: the default stream */
  /* 1: tensors on the GPU are used in place, if they can be (at a multiple of 256 bytes), and not copied
   * within it. Launches are kept for every set of addresses, so this is for addresses that recur.
   * An output must then overlap no input and no other output. */
  int32_t in_place;
} smelt_run_options;

/* Fills dtype, rank, shape and bytes of the outputs named in `outputs` for inputs of the given shapes; no
 * data is touched. The result gives the memory that a run needs. */
smelt_status smelt_session_output_shapes(const smelt_session* session, const char* entry,
                                         const smelt_tensor* inputs, size_t input_count,
                                         smelt_tensor* outputs, size_t output_count);
/* Runs an entry. The caller gives name, data, bytes and memory of each output; dtype, rank and shape are
 * filled in. Outputs that are not named are not written. Any shape up to the plan's bounds runs. options may
 * be null.
 *
 * If a tensor is on the GPU, or a stream is given, the run begins after the stream's earlier work, and the
 * stream's later work sees the outputs and may write to the inputs. Such tensors do not pass through the
 * host. The call waits only if an output is the host's; otherwise it returns while the GPU works, and faults
 * are reported by the next call that waits. Token ids and 64-bit integers, which are checked, must be in the
 * host's memory. */
smelt_status smelt_session_run(smelt_session* session, const char* entry, const smelt_tensor* inputs,
                               size_t input_count, smelt_tensor* outputs, size_t output_count,
                               const smelt_run_options* options);
/* Waits until all runs have ended, and returns the fault of one that failed. */
smelt_status smelt_session_synchronize(smelt_session* session);
/* Sets the position of the next runs in the random sequence: the same numbers give the same bits. micro_step:
 * 0 to 65535. */
smelt_status smelt_session_set_random(smelt_session* session, uint32_t seed, uint32_t step,
                                      uint32_t micro_step);

/* Copies a whole state, or the part of it that begins at element `offset`; `bytes` must be whole elements
 * inside it. */
smelt_status smelt_session_read_state(const smelt_session* session, const char* name, int64_t offset,
                                      void* to, size_t bytes);
smelt_status smelt_session_write_state(smelt_session* session, const char* name, int64_t offset,
                                       const void* from, size_t bytes);

/* ---- tokenizers
 * -----------------------------------------------------------------------------------------------
 * Text is UTF-8 with its length in bytes, without a 0 at the end; text that is no UTF-8 is an error. */

/* A directory with tokenizer.json, with Marian's source.spm, target.spm and vocab.json, or with T5's
 * spiece.model; or one such file. */
smelt_status smelt_tokenizer_load(const char* path, smelt_tokenizer** tokenizer);
/* The text of a tokenizer.json. */
smelt_status smelt_tokenizer_from_json(const char* text, size_t bytes, smelt_tokenizer** tokenizer);
void smelt_tokenizer_free(smelt_tokenizer* tokenizer);
/* Including added tokens; 0 for null. */
size_t smelt_tokenizer_vocabulary_size(const smelt_tokenizer* tokenizer);

typedef struct smelt_encode_options {
  size_t struct_size;
  int32_t no_special_tokens; /* 1: none around the text, as for a chat's template with its own */
  int32_t plain_text;        /* 1: "</s>" in the text is text, as in untrusted input */
  int32_t target;            /* 1: Marian: the text is in the target language */
} smelt_encode_options;

/* Bytes of the text; 0,0 for a token that is not in it. An element of arrays, without a size. */
typedef struct smelt_text_range {
  uint32_t begin, end;
} smelt_text_range;

/* Destination of the tokens of a text. */
typedef struct smelt_encoding {
  size_t struct_size;
  int32_t* ids;              /* capacity entries, or null */
  smelt_text_range* offsets; /* likewise */
  size_t capacity;
  size_t count; /* filled in: the number of tokens */
} smelt_encoding;

/* options may be null. A text is truncated if the file asks for it, never padded. If there are more tokens
 * than capacity, count alone is filled in, which is SMELT_INVALID_ARGUMENT unless ids and offsets are null:
 * the caller asks with both null first, or tries again with more capacity. */
smelt_status smelt_tokenizer_encode(const smelt_tokenizer* tokenizer, const char* text, size_t bytes,
                                    const smelt_encode_options* options, smelt_encoding* encoding);
/* Always UTF-8; *bytes is the number of bytes, by the same rule: text may be null, to ask.
 * skip_special_tokens: 1 leaves them out. */
smelt_status smelt_tokenizer_decode(const smelt_tokenizer* tokenizer, const int32_t* ids, size_t count,
                                    int32_t skip_special_tokens, char* text, size_t capacity, size_t* bytes);

/* Decoder for text that arrives token by token. */
smelt_status smelt_decoder_create(const smelt_tokenizer* tokenizer, int32_t skip_special_tokens,
                                  smelt_decoder** decoder);
void smelt_decoder_free(smelt_decoder* decoder);
/* Returns the text that the token adds, in whole characters; 0 bytes while it may be the beginning of one,
 * and for an id without a token, which a model may choose if it has more ids than the tokenizer. *text, which
 * ends with a 0 that is not counted, is valid until the decoder's next call. */
smelt_status smelt_decoder_push(smelt_decoder* decoder, int32_t id, const char** text, size_t* bytes);
/* Returns the text that was held back, and resets the decoder. */
smelt_status smelt_decoder_finish(smelt_decoder* decoder, const char** text, size_t* bytes);

/* ---- generation
 * ----------------------------------------------------------------------------------------------- */

/* Requires: the plan has an entry decode, with caches, or logits. A generator tracks the contents of the
 * session's caches, so that a prompt that continues the one before is not read again. After another generator
 * of the session, a run of its entries or new weights, a new generator is needed. */
smelt_status smelt_generator_create(smelt_session* session, smelt_generator** generator);
void smelt_generator_free(smelt_generator* generator);

typedef struct smelt_generator_limits {
  size_t struct_size;
  int64_t vocabulary, max_batch, max_length; /* max_length: a prompt and all new tokens but the last */
  int32_t reads_source; /* 1: an encoder reads the prompt, which then does not count in max_length */
} smelt_generator_limits;

smelt_status smelt_generator_get_limits(const smelt_generator* generator, smelt_generator_limits* limits);

typedef struct smelt_prompt {
  size_t struct_size;
  const int32_t* ids;
  size_t count;
} smelt_prompt;

/* Called with each new token of a sequence as soon as it is chosen; anything but 0 ends the generation, which
 * then holds the tokens up to this one. A beam search, which may replace tokens, calls when all tokens are
 * known and is not stopped. It must not use the session or the generator. */
typedef int (*smelt_on_token)(void* user, size_t sequence, int32_t token);

typedef struct smelt_generate_options {
  size_t struct_size;
  /* A JSON object with Hugging Face's names, over the values of the model's generation_config.json:
   * {"max_new_tokens": 64, "do_sample": true, "temperature": 0.8, "seed": 1}. Further names are
   * decoder_start_token_id, seed and sliding_window (true: beyond max_length continue from the last tokens);
   * others are errors. Null: the model's own values. */
  const char* json;
  smelt_on_token on_token;   /* or null */
  void* user;                /* argument of on_token */
  int32_t log_probabilities; /* 1: keep those of the new tokens; not of a beam search */
} smelt_generate_options;

/* Continues every prompt: num_return_sequences sequences for each, in the order of the prompts, best first
 * if they have scores. options may be null. */
smelt_status smelt_generate(smelt_generator* generator, const smelt_prompt* prompts, size_t prompt_count,
                            const smelt_generate_options* options, smelt_generation** generation);
void smelt_generation_free(smelt_generation* generation);

/* One result; its arrays live as long as the generation. */
typedef struct smelt_sequence {
  size_t struct_size;
  const int32_t* ids; /* new tokens, an end-of-sequence token included */
  size_t count;
  const float* log_probabilities; /* one per token, by the model's own logits; null if not kept */
  float score;   /* of a beam search, else NaN: the sum of log-probabilities / length_penalty's divisor */
  size_t prompt; /* whose continuation it is */
} smelt_sequence;

/* 0 for null. */
size_t smelt_generation_count(const smelt_generation* generation);
smelt_status smelt_generation_sequence(const smelt_generation* generation, size_t index,
                                       smelt_sequence* sequence);

/* ---- continuous batches
 * ----------------------------------------------------------------------------------------
 * Requests that join and leave a batch while it runs. It has no threads: smelt_batch_step does the
 * work, and all functions of one batch are called by one thread at a time. */

typedef struct smelt_batch_options {
  size_t struct_size;
  size_t slots;        /* requests that run together; 0: all of the plan's (on a CPU at most 32) */
  size_t most_waiting; /* requests that wait while no slot is free; 0: 64 */
  size_t chunk;        /* tokens of a prompt that are read between two tokens of the others; 0: 64 */
} smelt_batch_options;

/* Requires: the plan is a decoder alone with caches, in pages or those of an entry decode. options may be
 * null. Nothing else may run the session while the batch exists. */
smelt_status smelt_batch_create(smelt_session* session, const smelt_batch_options* options,
                                smelt_batch** batch);
/* Requests that have not ended end without a report. */
void smelt_batch_free(smelt_batch* batch);

typedef struct smelt_request {
  size_t struct_size;
  const int32_t* ids; /* the prompt: at least one token */
  size_t count;
  /* As in smelt_generate_options, over the model's own values except num_beams and num_return_sequences:
   * a batch has no beams, and a request is one sequence. Null: the model's own values. */
  const char* json;
  const smelt_tokenizer* tokenizer; /* null: no text is reported. May be freed after the call. */
  const char* const* stop;          /* texts, ended by a 0, that end the request; with a tokenizer only */
  size_t stop_count;
  int32_t log_probabilities; /* 1: keep those of the new tokens */
} smelt_request;

/* First come, first served. *id is never 0. A request that can never run is SMELT_INVALID_ARGUMENT; one that
 * could later, when others have ended, is SMELT_UNAVAILABLE. The request's
 * memory may be freed after the call. */
smelt_status smelt_batch_submit(smelt_batch* batch, const smelt_request* request, uint64_t* id);
/* One more token of every running request, and a chunk of one prompt. *worked, if not null: 0 if there
 * was nothing to do. The failure of a request is reported when it is polled, and the others continue. */
smelt_status smelt_batch_step(smelt_batch* batch, int32_t* worked);

typedef int32_t smelt_finish;
enum {
  SMELT_FINISH_NONE = 0,      /* it waits or runs */
  SMELT_FINISH_STOP = 1,      /* an end token or a stop text */
  SMELT_FINISH_LENGTH = 2,    /* max_new_tokens */
  SMELT_FINISH_CANCELLED = 3, /* smelt_batch_cancel */
  SMELT_FINISH_FAILED = 4     /* error gives the reason */
};

/* Progress of a request since it was polled last. Its memory is valid until the batch's next
 * smelt_batch_poll, and the batch's. */
typedef struct smelt_progress {
  size_t struct_size;
  const int32_t* ids; /* new tokens, the end token and those of a stop text among them */
  size_t count;
  const float* log_probabilities; /* one per token, by the model's own logits; null if not kept */
  const char* text; /* whole characters, without a stop text; ends with a 0 that is not counted */
  size_t bytes;
  smelt_finish finish;
  const char* error; /* "" but for SMELT_FINISH_FAILED */
} smelt_progress;

/* After the call that reports its end the request is forgotten, and its id is SMELT_INVALID_ARGUMENT. */
smelt_status smelt_batch_poll(smelt_batch* batch, uint64_t id, smelt_progress* progress);
/* Ends a request that has not ended: its slot is free for the next one, and smelt_batch_poll reports its
 * end. Ignores an unknown id. */
smelt_status smelt_batch_cancel(smelt_batch* batch, uint64_t id);

#ifdef __cplusplus
}
#endif

#endif
