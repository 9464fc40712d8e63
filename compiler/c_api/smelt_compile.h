/* The compiler's C interface. It compiles the description of a model to a plan, as bytes. An application may
 * pass these bytes to smelt_plan_from_memory (runtime/smelt.h) or write them to a file.
 *
 * The compiler is a separate library, libsmelt_compiler.so, which contains LLVM. An application that ships
 * compiled plans does not need it. The rules of runtime/smelt.h about results, threads and lifetimes apply:
 * any thread may compile, and several threads may compile concurrently.
 */
#ifndef SMELT_COMPILER_SMELT_COMPILE_H
#define SMELT_COMPILER_SMELT_COMPILE_H

#include "runtime/smelt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled plan. The caller frees it with smelt_compiled_free. */
typedef struct smelt_compiled smelt_compiled;

/* Compiles the model at `path`: a model's directory, a spec (.json) or a graph in text form (.ir). Each
 * option is "NAME=VALUE", or "NAME" if it takes no value, such as "mode=infer", "target=native",
 * "max=B=32,T=1024" or "no-plan-cache"; docs/reference/compile_options.md lists them. If the cache directory
 * already has a plan for this model and these options, that plan is returned and nothing is compiled, unless
 * the option no-plan-cache is given.
 */
smelt_status smelt_compile(const char* path, const char* const* options, size_t option_count,
                           smelt_compiled** compiled);
void smelt_compiled_free(smelt_compiled* compiled);
/* Returns the plan's bytes, which live as long as `compiled`, and sets *bytes to their number unless `bytes`
 * is null. If `compiled` is null, returns null and sets *bytes to 0. */
const void* smelt_compiled_data(const smelt_compiled* compiled, size_t* bytes);

/* Returns the error message of the last call of this library that failed in the calling thread. It is like
 * smelt_last_error of runtime/smelt.h, which returns the message for calls of the runtime library. */
const char* smelt_compile_last_error(void);
/* Sets the function that receives this library's log messages. The parameters are those of smelt_set_log in
 * runtime/smelt.h, which sets the function for the runtime library. */
smelt_status smelt_compile_set_log(smelt_log callback, void* user);

#ifdef __cplusplus
}
#endif

#endif
