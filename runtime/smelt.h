/* C interface of the Smelt runtime. It loads a compiled plan, lists its entries and states, loads weights and
 * runs entries. It also converts text to token ids and back, and generates tokens, for one call or for many
 * concurrent requests.
 *
 * C++ applications may use runtime/session/session.h (and runtime/engine/generation/generator.h,
 * runtime/tokenizers/tokenizer.h, runtime/engine/training/trainer.h) instead. This header adds no features
 * to them, and works in C and C++.
 *
 * Results. Every function that can fail returns a smelt_status. If it is not SMELT_OK, smelt_last_error()
 * describes the fault, and the outputs of the function are unchanged. There are two exceptions: a failed run
 * may have written part of its outputs and states, and smelt_tokenizer_encode and smelt_tokenizer_decode
 * report the required size. The library never aborts, exits or prints.
 *
 * Structs. The first member of every struct is struct_size. The caller sets it to the sizeof of the struct,
 * also in structs that a call fills in, and in every element of an array. Members that an application does
 * not use must be zero. An application and a library of different versions work together: members that the
 * application does not have count as zero. A member that the library does not have must be zero, or the call
 * returns SMELT_INVALID_ARGUMENT.
 *
 * Threads. A smelt_plan, smelt_tokenizer or smelt_generation never changes, and any number of threads may use
 * it at the same time. Any other handle may be used by different threads, but only by one at a time.
 * Different sessions may run at the same time, even if they are of the same plan or share weights. A
 * smelt_generator or smelt_batch and its session count as one handle, because the generator or batch runs the
 * session. smelt_last_error() is separate for each thread. The only threads that the library starts are those
 * that compute.
 *
 * Lifetimes. A plan may be freed before its sessions, and a tokenizer before its decoders. Weights live as
 * long as any session that shares them. A generator or batch must be freed before its session. A handle must
 * not be used while or after it is freed. Freeing null is allowed.
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

/* Enumerations have the type int32_t, so that values that are not listed are well-defined. If such a value is
 * an argument, the call returns SMELT_INVALID_ARGUMENT. */
typedef int32_t smelt_status;
enum {
  SMELT_OK = 0,
  SMELT_INVALID_ARGUMENT = 1, /* a name, shape, type or value that does not fit */
  SMELT_INVALID_FILE = 2,     /* a file that is damaged, of another version or not what it should be */
  SMELT_OUT_OF_MEMORY = 3,
  SMELT_IO = 4,         /* the system refused to read or write */
  SMELT_NUMERIC = 5,    /* NaN or infinity where a number is needed */
  SMELT_INTERNAL = 6,   /* a bug in Smelt */
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
  SMELT_I8 = 9,
  SMELT_F8E4M3 = 10 /* a sign, 4 bits of exponent and 3 of mantissa; up to 448 */
};

/* Kinds of memory. With a plan for CPUs, SMELT_MEMORY_DEVICE is host memory as well. */
typedef int32_t smelt_memory;
enum {
  SMELT_MEMORY_HOST = 0,
  SMELT_MEMORY_DEVICE = 1, /* of the session's GPU: a CUdeviceptr, or the result of cudaMalloc */
  SMELT_MEMORY_PINNED = 2  /* for allocators only: page-locked host memory, as from cudaMallocHost */
};

typedef struct smelt_plan smelt_plan;
typedef struct smelt_session smelt_session;
typedef struct smelt_tokenizer smelt_tokenizer;
typedef struct smelt_decoder smelt_decoder;
typedef struct smelt_generator smelt_generator;
typedef struct smelt_generation smelt_generation;
typedef struct smelt_batch smelt_batch;

/* Returns the message of the last failure in the calling thread, "" if there was none. The message is valid
 * until the next failure in this thread. */
const char* smelt_last_error(void);
/* Returns the SMELT_VERSION that the library was built with. It may differ from that of this header. */
const char* smelt_version(void);
/* Return the name of a type ("f32", "i32", ...) and the bytes of one element; "" and 0 for a number that is
 * no smelt_dtype. */
const char* smelt_dtype_name(smelt_dtype dtype);
size_t smelt_dtype_size(smelt_dtype dtype);

typedef int32_t smelt_log_level;
enum {
  SMELT_LOG_DEBUG = 0,  /* recurring events, such as the first run of an entry at new sizes */
  SMELT_LOG_INFO = 1,   /* once per plan, session or call: files loaded, memory used, sampling method */
  SMELT_LOG_WARNING = 2 /* conditions to which an application should react */
};

/* Log callback. `user` is the argument of smelt_set_log. The message is null-terminated, and valid during the
 * call. */
typedef void (*smelt_log)(void* user, smelt_log_level level, const char* message);

/* Sets the log callback of the whole process. Null, the initial value, disables logging. The callback is
 * called in the threads that do the work, possibly concurrently. When smelt_set_log returns, the previous
 * callback is no longer called. Calls of the library within the callback are not logged, and smelt_set_log
 * within it returns SMELT_INVALID_ARGUMENT. The texts of messages may change between versions. */
smelt_status smelt_set_log(smelt_log callback, void* user);

/* ---- plans
 * ---------------------------------------------------------------------------------------------------- */

/* Loads a plan from a .plan file. */
smelt_status smelt_plan_load(const char* path, smelt_plan** plan);
/* Loads a plan from the bytes of a .plan file in memory, at any alignment. They may be freed after the call.
 * `name` is used in messages; null: "memory". */
smelt_status smelt_plan_from_memory(const void* data, size_t bytes, const char* name, smelt_plan** plan);
void smelt_plan_free(smelt_plan* plan);

/* The strings and arrays that the functions of this section return live as long as the plan. */

/* Returns the machine that the plan is compiled for: "cpu-x86_64-..." or, for example, "sm_90". */
const char* smelt_plan_target(const smelt_plan* plan);
/* Returns the description of the model, as JSON. */
const char* smelt_plan_model(const smelt_plan* plan);
/* Returns the bytes of states, constants and temporaries of a session. A GPU also needs memory for inputs and
 * outputs and 32 MiB of workspace. */
int64_t smelt_plan_memory_bytes(const smelt_plan* plan);

/* An entry is a function of the plan, such as "logits", "decode" or "train_step". */
size_t smelt_plan_entry_count(const smelt_plan* plan);
/* Returns the name of an entry; null if index is too large. */
const char* smelt_plan_entry_name(const smelt_plan* plan, size_t index);

/* An input or output of an entry. */
typedef struct smelt_port {
  size_t struct_size;
  const char* name;
  smelt_dtype dtype;
  int32_t rank;
  const char* shape;        /* as text, with symbols for sizes that are chosen per run: "[B,T,768]" */
  const int64_t* max_shape; /* `rank` numbers: the upper bound of each dimension */
  int32_t optional;         /* 1: the input may be omitted */
} smelt_port;

/* Set *count to the number of inputs or outputs of an entry, and *port to the one with this index. */
smelt_status smelt_plan_input_count(const smelt_plan* plan, const char* entry, size_t* count);
smelt_status smelt_plan_output_count(const smelt_plan* plan, const char* entry, size_t* count);
smelt_status smelt_plan_input(const smelt_plan* plan, const char* entry, size_t index, smelt_port* port);
smelt_status smelt_plan_output(const smelt_plan* plan, const char* entry, size_t index, smelt_port* port);

/* Memory that outlives a run: parameters, optimizer moments, caches, counters. */
typedef struct smelt_state {
  size_t struct_size;
  const char* name;
  const char* role; /* "parameter", "optimizer", "state", ... */
  smelt_dtype dtype;
  int64_t elements;
  size_t segment_count; /* number of named parts, such as the weights in the state "parameters" */
} smelt_state;

/* A named part of a state, dense and row-major. */
typedef struct smelt_segment {
  size_t struct_size;
  const char* name;
  int32_t rank;
  const int64_t* shape; /* `rank` numbers */
  int64_t offset;       /* of the first element, in elements from the start of the state */
} smelt_segment;

/* Return the number of states, set *state to the one with this index, and set *segment to segment `index` of
 * state number `state`. */
size_t smelt_plan_state_count(const smelt_plan* plan);
smelt_status smelt_plan_state(const smelt_plan* plan, size_t index, smelt_state* state);
smelt_status smelt_plan_segment(const smelt_plan* plan, size_t state, size_t index, smelt_segment* segment);

/* ---- sessions
 * ------------------------------------------------------------------------------------------------- */

/* Allocator that an application provides for the memory of sessions: states, constants, temporaries, and
 * staging memory of inputs and outputs. Other memory still comes from the system and the CUDA driver: small
 * tables, and on a GPU messages between ranks and memory for measurements. The functions are called in the
 * threads that create, run and free sessions, concurrently if several sessions use the allocator. For a GPU
 * its CUDA context is current during the call. The functions must not call this library. They must stay valid
 * until every session that uses them, and every session that shares weights with such a session, is freed. */
typedef struct smelt_allocator {
  size_t struct_size;
  void* user; /* passed to both functions */
  /* Returns `bytes` > 0 bytes of memory at a multiple of `alignment`, a power of two of at most 256. If it
   * returns null, the call of the library fails with SMELT_OUT_OF_MEMORY. */
  void* (*allocate)(void* user, smelt_memory memory, size_t bytes, size_t alignment);
  void (*release)(void* user, smelt_memory memory, void* data, size_t bytes);
} smelt_allocator;

typedef struct smelt_session_options {
  size_t struct_size;
  int32_t threads; /* 0: SMELT_NUM_THREADS, OMP_NUM_THREADS or all cores */
  uint32_t seed;   /* seed of dropout and of other random numbers */
  int32_t device;  /* 1 + the number of the GPU; 0: the number in SMELT_DEVICE, or else the first GPU */
  /* Null: memory comes from the system and the CUDA driver, or, for smelt_session_share, from the allocator
   * of `session`. The struct may be freed after the call. */
  const smelt_allocator* allocator;
} smelt_session_options;

/* Creates a session: the memory in which a plan runs. `options` may be null. All states are zero until
 * weights are loaded or initialized. */
smelt_status smelt_session_create(const smelt_plan* plan, const smelt_session_options* options,
                                  smelt_session** session);
void smelt_session_free(smelt_session* session);
/* Creates a session of the same plan on the same device that uses the weights of `session`, and allocates its
 * own caches, other states and temporaries. All sessions that share weights may run concurrently in different
 * threads. While there are several of them, loading, initializing and writing weights returns
 * SMELT_INVALID_ARGUMENT. This function returns SMELT_INVALID_ARGUMENT if entries of the plan write to
 * weights (plans for training). `options` may be null; its device must be 0 or that of `session`. */
smelt_status smelt_session_share(smelt_session* session, const smelt_session_options* options,
                                 smelt_session** shared);

/* Loads weights from a .safetensors file, a directory with model.safetensors or its index, or a checkpoint of
 * a training run. */
smelt_status smelt_session_load_weights(smelt_session* session, const char* path);
/* Writes the weights as f32 to a .safetensors file, under the names that the model's checkpoints use. */
smelt_status smelt_session_save_weights(const smelt_session* session, const char* path);
/* Sets every state to its initial value, for training from scratch. `seed` determines the random values. */
smelt_status smelt_session_initialize(smelt_session* session, uint32_t seed);

/* A dense, row-major tensor in memory of the caller, on the host or on the session's GPU. */
typedef struct smelt_tensor {
  size_t struct_size;
  const char* name;
  smelt_dtype dtype;
  int32_t rank;
  int64_t shape[SMELT_MAX_RANK];
  void* data;          /* the data of an input is only read */
  size_t bytes;        /* size of the memory at `data` */
  smelt_memory memory; /* location of `data`: SMELT_MEMORY_HOST or SMELT_MEMORY_DEVICE */
} smelt_tensor;

typedef struct smelt_run_options {
  size_t struct_size;
  void* stream; /* CUstream or cudaStream_t of the session's GPU; null: the default stream */
  /* 1: tensors on the GPU whose addresses are multiples of 256 bytes are accessed in place. 0: they are
   * copied within the GPU. With 1, an output must not overlap an input or another output. The library then
   * keeps a CUDA graph per set of addresses, so an application should reuse the same addresses. */
  int32_t in_place;
} smelt_run_options;

/* Sets dtype, rank, shape and bytes of the outputs that `outputs` names, for inputs of the given shapes. Only
 * name, dtype, rank and shape of the inputs are read. An application can then allocate the outputs of a
 * run. */
smelt_status smelt_session_output_shapes(const smelt_session* session, const char* entry,
                                         const smelt_tensor* inputs, size_t input_count,
                                         smelt_tensor* outputs, size_t output_count);
/* Runs an entry. The caller sets name, data, bytes and memory of each output; the call sets dtype, rank and
 * shape. Outputs of the entry that `outputs` does not name are not written. Shapes may have any sizes up to
 * the bounds of the plan. `options` may be null.
 *
 * If a tensor is on the GPU, or a stream is given, the run begins after the earlier work of the stream, and
 * the later work of the stream sees the outputs and may write to the inputs. Tensors on the GPU are not
 * copied to the host. If no output is in host memory, the call may return before the GPU has finished, and
 * faults are reported by the next call that waits. Token ids and 64-bit integers must be in host memory,
 * because the call checks them. */
smelt_status smelt_session_run(smelt_session* session, const char* entry, const smelt_tensor* inputs,
                               size_t input_count, smelt_tensor* outputs, size_t output_count,
                               const smelt_run_options* options);
/* Waits until all runs have ended. Returns the status of a run that failed, or SMELT_OK. */
smelt_status smelt_session_synchronize(smelt_session* session);
/* Sets the position of the following runs in the sequence of random numbers: equal arguments give equal
 * numbers. micro_step: 0 to 65535. */
smelt_status smelt_session_set_random(smelt_session* session, uint32_t seed, uint32_t step,
                                      uint32_t micro_step);

/* Copy `bytes` bytes of a state, from element `offset` on, to or from host memory. They must be whole
 * elements of the state. */
smelt_status smelt_session_read_state(const smelt_session* session, const char* name, int64_t offset,
                                      void* to, size_t bytes);
smelt_status smelt_session_write_state(smelt_session* session, const char* name, int64_t offset,
                                       const void* from, size_t bytes);

/* ---- tokenizers
 * -----------------------------------------------------------------------------------------------
 * Text arguments are UTF-8 with their length in bytes, without a terminating null; other text is an error. */

/* Loads a tokenizer from a directory with tokenizer.json, with source.spm, target.spm and vocab.json of
 * Marian, or with spiece.model of T5; or from a file tokenizer.json or spiece.model. */
smelt_status smelt_tokenizer_load(const char* path, smelt_tokenizer** tokenizer);
/* Creates a tokenizer from the text of a tokenizer.json. */
smelt_status smelt_tokenizer_from_json(const char* text, size_t bytes, smelt_tokenizer** tokenizer);
void smelt_tokenizer_free(smelt_tokenizer* tokenizer);
/* Returns the number of tokens, including added tokens; 0 for null. */
size_t smelt_tokenizer_vocabulary_size(const smelt_tokenizer* tokenizer);

typedef struct smelt_encode_options {
  size_t struct_size;
  int32_t no_special_tokens; /* 1: adds no special tokens around the text (a chat template has its own) */
  int32_t plain_text; /* 1: does not find special tokens such as "</s>" in the text, which is untrusted */
  int32_t target;     /* 1: the text is in the target language (Marian only) */
} smelt_encode_options;

/* A range of bytes of the text; 0,0 for a token that is not in the text, such as a special token that was
 * added. This struct is an element of an array, and has no struct_size. */
typedef struct smelt_text_range {
  uint32_t begin, end;
} smelt_text_range;

/* Arrays for the tokens of a text. */
typedef struct smelt_encoding {
  size_t struct_size;
  int32_t* ids;              /* array of `capacity` elements, or null */
  smelt_text_range* offsets; /* array of `capacity` elements, or null */
  size_t capacity;
  size_t count; /* set by the call: the number of tokens */
} smelt_encoding;

/* Converts a text to token ids. `options` may be null. The result is truncated if the tokenizer's file
 * specifies it, and is never padded. If ids and offsets are both null, only `count` is set. If there are more
 * tokens than `capacity`, only `count` is set, and the call returns SMELT_INVALID_ARGUMENT. */
smelt_status smelt_tokenizer_encode(const smelt_tokenizer* tokenizer, const char* text, size_t bytes,
                                    const smelt_encode_options* options, smelt_encoding* encoding);
/* Converts token ids to text, which is always UTF-8. *bytes is set to the number of bytes of the text. If
 * `text` is null, only *bytes is set. If the text is longer than `capacity` bytes, only *bytes is set, and
 * the call returns SMELT_INVALID_ARGUMENT. skip_special_tokens: 1 omits special tokens. */
smelt_status smelt_tokenizer_decode(const smelt_tokenizer* tokenizer, const int32_t* ids, size_t count,
                                    int32_t skip_special_tokens, char* text, size_t capacity, size_t* bytes);

/* Creates a decoder that converts tokens to text one by one. */
smelt_status smelt_decoder_create(const smelt_tokenizer* tokenizer, int32_t skip_special_tokens,
                                  smelt_decoder** decoder);
void smelt_decoder_free(smelt_decoder* decoder);
/* Decodes one token. *text and *bytes are set to the text that the token adds, in whole characters. This text
 * is empty if the token may be the beginning of a character, or if no token has this id (a model may have
 * more ids than its tokenizer). *text is null-terminated; *bytes does not count the null. The text is valid
 * until the decoder's next call. */
smelt_status smelt_decoder_push(smelt_decoder* decoder, int32_t id, const char** text, size_t* bytes);
/* Sets *text and *bytes to the text that smelt_decoder_push has not returned yet, and resets the decoder. */
smelt_status smelt_decoder_finish(smelt_decoder* decoder, const char** text, size_t* bytes);

/* ---- generation
 * ----------------------------------------------------------------------------------------------- */

/* Creates a generator. Requires: the plan has an entry "decode", with key-value caches, or "logits". A
 * generator tracks the contents of the session's caches: if a prompt begins with the tokens of the previous
 * sequence, they are not processed again. A generator must not be used after another generator of the session
 * was used, an entry was run or weights were loaded. The application must then create a new generator. */
smelt_status smelt_generator_create(smelt_session* session, smelt_generator** generator);
void smelt_generator_free(smelt_generator* generator);

typedef struct smelt_generator_limits {
  size_t struct_size;
  /* Number of token ids, of sequences at a time, and of tokens per sequence. max_length counts the prompt and
   * all new tokens except the last. */
  int64_t vocabulary, max_batch, max_length;
  int32_t reads_source; /* 1: an encoder reads the prompt, and max_length counts new tokens only */
} smelt_generator_limits;

smelt_status smelt_generator_get_limits(const smelt_generator* generator, smelt_generator_limits* limits);

typedef struct smelt_prompt {
  size_t struct_size;
  const int32_t* ids;
  size_t count;
} smelt_prompt;

/* Callback for each new token of a sequence, called as soon as the token is chosen. If it returns a number
 * other than 0, the generation ends, and the result has the tokens up to this one. A beam search may replace
 * tokens; it calls the callback when all tokens are final, and a result other than 0 only ends the calls. The
 * callback must not use the session or the generator. */
typedef int (*smelt_on_token)(void* user, size_t sequence, int32_t token);

typedef struct smelt_generate_options {
  size_t struct_size;
  /* A JSON object with options of Hugging Face's generation, which override the model's
   * generation_config.json: {"max_new_tokens": 64, "do_sample": true, "temperature": 0.8}. Further options
   * are decoder_start_token_id, seed and sliding_window (true: after max_length tokens, generation continues
   * with the last tokens as context). Other names are errors. Null: the model's own options. */
  const char* json;
  smelt_on_token on_token;   /* may be null */
  void* user;                /* passed to on_token */
  int32_t log_probabilities; /* 1: store the log-probabilities of new tokens; an error for beam search */
} smelt_generate_options;

/* Continues every prompt. The result has num_return_sequences (an option) sequences per prompt, in the order
 * of the prompts. Sequences of a beam search are sorted by score, the best first. `options` may be null. */
smelt_status smelt_generate(smelt_generator* generator, const smelt_prompt* prompts, size_t prompt_count,
                            const smelt_generate_options* options, smelt_generation** generation);
void smelt_generation_free(smelt_generation* generation);

/* A generated sequence. Its arrays live as long as the smelt_generation. */
typedef struct smelt_sequence {
  size_t struct_size;
  const int32_t* ids; /* new tokens, including an end-of-sequence token */
  size_t count;
  const float* log_probabilities; /* one per token, from the unmodified logits; null if not requested */
  /* Beam search: the sum of log-probabilities, divided as length_penalty (an option) specifies. Else NaN. */
  float score;
  size_t prompt; /* index of the prompt that the sequence continues */
} smelt_sequence;

/* Returns the number of sequences; 0 for null. */
size_t smelt_generation_count(const smelt_generation* generation);
smelt_status smelt_generation_sequence(const smelt_generation* generation, size_t index,
                                       smelt_sequence* sequence);

/* ---- continuous batches
 * ----------------------------------------------------------------------------------------
 * Requests join and leave a batch while it runs. A batch has no thread: smelt_batch_step does the work.
 * Different threads may call the functions of a batch, but only one at a time. */

typedef struct smelt_batch_options {
  size_t struct_size;
  size_t slots;        /* maximum number of running requests; 0: as many as possible (see below) */
  size_t most_waiting; /* maximum number of requests that wait for a slot; 0: 64 */
  /* Approximate number of prompt tokens that one step reads; 0: a default, which is 64 for most plans. If the
   * plan has the entry "mixed_pages" or "tiled_pages", one run can read prompts and generate tokens. By
   * default the run then reads one token of each running request, and as many prompt tokens as fit. */
  size_t chunk;
  /* Maximum number of draft tokens per request and step; 0: no drafts. A draft is a guess of the next tokens,
   * which the batch finds as an earlier occurrence of the text's last tokens. One step checks all tokens of a
   * draft, and the results of a request are the same as without drafts. With drafts the host samples all
   * tokens. Requires: the plan has the entry "mixed_pages" or "tiled_pages". */
  size_t draft;
  /* 1 + the number of steps that may be in progress while the host processes the tokens of an earlier step;
   * 0: a default, which is one step on a GPU and none on a CPU. The number has an effect while the plan
   * samples all tokens. */
  size_t ahead;
  int32_t prepares; /* 1: smelt_batch_create compiles and tunes, so that requests do not wait for it */
  int32_t no_shared_prefixes; /* 1: equal beginnings of prompts are read for each request */
  int32_t host_samples;       /* 1: the host samples, even if the plan has an entry that samples */
} smelt_batch_options;

/* Creates a batch. `options` may be null. The number of slots is limited by the plan's bound of the batch
 * size, and on a CPU also by 32. Requires: the plan is that of a decoder without an encoder, and has
 * key-value caches. Nothing else may run the session while the batch exists. */
smelt_status smelt_batch_create(smelt_session* session, const smelt_batch_options* options,
                                smelt_batch** batch);
/* Frees the batch, and drops requests that have not ended. */
void smelt_batch_free(smelt_batch* batch);

typedef struct smelt_batch_limits {
  size_t struct_size;
  int64_t vocabulary; /* number of token ids */
  size_t capacity;    /* maximum number of tokens of a request: the prompt and all new tokens but the last */
  size_t most_requests; /* maximum number of requests that run or wait */
} smelt_batch_limits;

smelt_status smelt_batch_get_limits(const smelt_batch* batch, smelt_batch_limits* limits);

/* Present numbers of requests and pages, and totals since the batch was created. */
typedef struct smelt_batch_counts {
  size_t struct_size;
  size_t slots, running, waiting; /* slots, and requests that have one or wait for one */
  uint64_t steps;                 /* calls of smelt_batch_step that had work */
  uint64_t prompt_tokens;         /* prompt tokens that were read; not those that were found in the caches */
  uint64_t new_tokens;
  uint64_t plan_tokens;                     /* those of the new tokens that the plan has sampled */
  uint64_t draft_tokens, kept_draft_tokens; /* draft tokens that were read; those of them that were sampled */
  uint64_t ended, cancelled, failed;        /* requests, by their ends */
  uint64_t weights_version, weight_updates; /* version of the weights, and the number of their updates */
  int64_t cache_bytes;                      /* memory of the caches */
  /* Pages of the caches: all of them, those of running requests, those of several requests, and those that
   * are kept for later prompts. All are 0 if the caches are not in pages. */
  size_t pages, used_pages, shared_pages, kept_pages;
  uint64_t found_pages; /* pages that prompts have found in the caches and not read; a total */
} smelt_batch_counts;

smelt_status smelt_batch_get_counts(const smelt_batch* batch, smelt_batch_counts* counts);

typedef struct smelt_request {
  size_t struct_size;
  const int32_t* ids; /* the prompt: at least one token */
  size_t count;
  /* Options as in smelt_generate_options. num_beams and num_return_sequences of the model's
   * generation_config.json are ignored. num_beams above 1 is a beam search, which takes as many slots, has no
   * stop texts, log-probabilities and specification, and reports its results when it ends
   * (smelt_batch_polled_beam). Without it, num_return_sequences must be 1. Null: the model's own options. */
  const char* json;
  const smelt_tokenizer* tokenizer; /* null: no text is reported. May be freed after the call. */
  const char* const* stop;          /* null-terminated texts that end the request; they need a tokenizer */
  size_t stop_count;
  int32_t log_probabilities; /* 1: report the log-probabilities of new tokens */
  /* Number of the sequence: a request gets the random numbers that smelt_generate uses for the sequence with
   * this index. With the same seed (an option), requests with different indices are independent. */
  size_t index;
  size_t best; /* number of most probable tokens that are reported with each new token */
  /* A JSON object with one member that specifies the text, as in requests to the server: response_format,
   * structured_outputs, guided_json, guided_regex, guided_choice or guided_grammar. Only tokens that fit the
   * specification are then sampled. It needs a tokenizer. Null: any text. */
  const char* specification;
  size_t prompt_best; /* number of most probable tokens that are reported with each token of the prompt */
  int32_t prompt_log_probabilities; /* 1: report the log-probabilities of the prompt's tokens */
  int32_t priority;                 /* requests with a smaller number start first; those that run go on */
  /* Name of an adapter that smelt_batch_load_adapter has loaded, with which the model reads and continues the
   * prompt. The request keeps it until its end. Null: none. */
  const char* adapter;
} smelt_request;

/* Adds a request to the queue, and sets *id, which is never 0. Requests of one priority start in the order of
 * these calls.
 * Returns SMELT_INVALID_ARGUMENT if the request can never run, and SMELT_UNAVAILABLE if the queue is full and
 * the call may succeed later. The memory of the request may be freed after the call. */
smelt_status smelt_batch_submit(smelt_batch* batch, const smelt_request* request, uint64_t* id);
/* Generates one more token for every running request, and reads about `chunk` tokens of prompts. If `worked`
 * is not null, *worked is set to 0 if there was nothing to do, else to 1. If a request fails,
 * smelt_batch_poll reports it, and the other requests continue. */
smelt_status smelt_batch_step(smelt_batch* batch, int32_t* worked);

typedef int32_t smelt_finish;
enum {
  SMELT_FINISH_NONE = 0,      /* the request waits or runs */
  SMELT_FINISH_STOP = 1,      /* the model chose an end token, or the text has a stop text */
  SMELT_FINISH_LENGTH = 2,    /* the request has max_new_tokens new tokens */
  SMELT_FINISH_CANCELLED = 3, /* smelt_batch_cancel was called */
  SMELT_FINISH_FAILED = 4     /* smelt_progress.error has the reason */
};

/* Progress of a request since the last smelt_batch_poll for it. The arrays and strings are valid until the
 * next smelt_batch_poll for any request of the batch, or until the batch is freed. */
typedef struct smelt_progress {
  size_t struct_size;
  const int32_t* ids; /* new tokens, including the end token and the tokens of a stop text */
  size_t count;
  const float* log_probabilities; /* one per token, from the unmodified logits; null if not requested */
  const char* text;               /* new text in whole characters, without the stop text; null-terminated */
  size_t bytes;                   /* length of `text`, without the null */
  smelt_finish finish;
  const char* error;         /* "" unless finish is SMELT_FINISH_FAILED */
  size_t prompt_count;       /* tokens of the prompt whose log-probabilities have become known */
  int32_t has_begun;         /* 1: the request has left the queue since the last poll */
  int32_t is_requests_fault; /* 1: the request has failed because of its own options */
  size_t beam_count;         /* sequences that a beam search has found; 0 before its end */
} smelt_progress;

/* Reports the progress of a request. The call that reports its end removes the request: later calls with its
 * id return SMELT_INVALID_ARGUMENT. */
smelt_status smelt_batch_poll(smelt_batch* batch, uint64_t id, smelt_progress* progress);
/* A token of the last poll. Its arrays are valid until the next smelt_batch_poll. */
typedef struct smelt_batch_token {
  size_t struct_size;
  int32_t id;
  int32_t has_log_probability; /* 0: not requested, or of the first token of a prompt, which has none */
  float log_probability;       /* from the unmodified logits */
  int32_t reserved;            /* 0 */
  const int32_t* best_ids;     /* `best_count` most probable tokens, the most probable one first */
  const float* best_log_probabilities;
  size_t best_count;
  size_t rank;              /* of a token of a prompt: 1 if it is the most probable one; else 0 */
  uint64_t weights_version; /* version of the weights that computed the log-probabilities */
} smelt_batch_token;

/* The last smelt_batch_poll of the batch has reported new tokens, and tokens of the prompt. The first
 * function sets *token to number `index` of the former, the second one to number `index` of the latter. */
smelt_status smelt_batch_polled_token(const smelt_batch* batch, size_t index, smelt_batch_token* token);
smelt_status smelt_batch_polled_prompt_token(const smelt_batch* batch, size_t index,
                                             smelt_batch_token* token);
/* A sequence that a beam search has found. Its arrays and its text are valid until the next
 * smelt_batch_poll. */
typedef struct smelt_batch_beam {
  size_t struct_size;
  const int32_t* ids; /* new tokens, including the end token */
  size_t count;
  const uint64_t* weights_versions; /* one per token: version of the weights that computed it */
  const char* text;                 /* the text of the new tokens, null-terminated; "" without a tokenizer */
  size_t bytes;                     /* length of `text`, without the null */
  float score;         /* the sum of log-probabilities, divided as length_penalty (an option) specifies */
  smelt_finish finish; /* SMELT_FINISH_STOP: it has an end token; else SMELT_FINISH_LENGTH */
} smelt_batch_beam;

/* The last smelt_batch_poll of the batch has reported the end of a beam search. Sets *beam to result number
 * `index`; the first result has the best score. */
smelt_status smelt_batch_polled_beam(const smelt_batch* batch, size_t index, smelt_batch_beam* beam);
/* Ends a request that has not ended. Its slot becomes free, and the next smelt_batch_poll reports its end. An
 * unknown id is ignored. */
smelt_status smelt_batch_cancel(smelt_batch* batch, uint64_t id);

typedef struct smelt_weight_update {
  size_t struct_size;
  uint64_t version; /* number that results and counts report for the new weights; 0: one more than before */
  /* 0: beginnings of prompts that the previous weights have read are read again for later prompts. 1: later
   * prompts use keys and values of the previous weights. */
  int32_t keeps_prefixes;
  /* 0: running requests go on with the new weights, after the keys and values that the previous weights have
   * computed. 1: running requests end with the previous weights, and no other request starts before the last
   * of them has ended. The call returns at once, and a later update replaces one that waits. */
  int32_t waits;
} smelt_weight_update;

/* Replaces the weights of the batch's session between two steps. `tensors` are all weights of the model, in
 * host memory, with the names, shapes and dimension order of weight files, and of any float type. They are
 * converted to what the plan stores, for example to rounded or quantized weights. A further tensor is
 * accepted only if it repeats one that the plan uses, such as the head of a model with tied embeddings. If a
 * tensor is missing, unknown or has another shape, or if other sessions share the weights, the call returns
 * SMELT_INVALID_ARGUMENT or SMELT_INVALID_FILE and changes nothing. The memory of the tensors may be freed
 * after the call. `update` may be null. */
smelt_status smelt_batch_update_weights(smelt_batch* batch, const smelt_tensor* tensors, size_t count,
                                        const smelt_weight_update* update);
/* Does the same with a copy of the weights of another session, for example one that trains the same model. */
smelt_status smelt_batch_copy_weights(smelt_batch* batch, const smelt_session* from,
                                      const smelt_weight_update* update);

/* Low-rank adapters (LoRA), which requests choose by name. A plan has slots for N of them if it was compiled
 * with adapters=N; requests with different adapters, and without one, run together.
 *
 * Loads an adapter between two steps. `directory` has adapter_config.json and adapter_model.safetensors, as
 * PEFT writes them. Returns SMELT_INVALID_FILE, with a message that names all reasons, if a slot cannot hold
 * the adapter, SMELT_IO if a file is missing, SMELT_INVALID_ARGUMENT if the name is taken or empty or the
 * plan has no slots, and SMELT_UNAVAILABLE if all slots are taken. Nothing is changed then. */
smelt_status smelt_batch_load_adapter(smelt_batch* batch, const char* name, const char* directory);
/* Drops an adapter: later requests do not find it. Those that run or wait keep it until their end, and then
 * its slot is free. Returns SMELT_INVALID_ARGUMENT if there is no adapter of this name. */
smelt_status smelt_batch_unload_adapter(smelt_batch* batch, const char* name);
/* Sets *names to the names of the *count adapters that are loaded, sorted. They are valid until the next call
 * of this function for the batch, or until the batch is freed. */
smelt_status smelt_batch_list_adapters(smelt_batch* batch, const char* const** names, size_t* count);

#ifdef __cplusplus
}
#endif

#endif
