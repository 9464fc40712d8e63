/* The compiler's C interface: a description of a model becomes the bytes of a plan, which
 * smelt_plan_from_memory (runtime/smelt.h) takes and an application may write to a file.
 *
 * It is a library of its own, libsmelt_compiler.so, with LLVM in it; an application that comes with its plans
 * does without. Results, threads and lifetimes are as in runtime/smelt.h: any thread may compile, several at
 * the same time.
 */
#ifndef SMELT_COMPILER_SMELT_COMPILE_H
#define SMELT_COMPILER_SMELT_COMPILE_H

#include "runtime/smelt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smelt_compiled smelt_compiled;

/* `path`: a model's directory, a spec (.json) or a graph in text form (.ir). Each option is "NAME=VALUE", or
 * "NAME" of one that takes no value, as docs/compile_options.md lists them: "mode=infer", "target=native",
 * "max=B=32,T=1024", "no-plan-cache". A plan that was made before is taken
 * from the cache directory. */
smelt_status smelt_compile(const char* path, const char* const* options, size_t option_count,
                           smelt_compiled** compiled);
void smelt_compiled_free(smelt_compiled* compiled);
/* The plan, which lives as long as `compiled`. *bytes is set, too; null and 0 of null. */
const void* smelt_compiled_data(const smelt_compiled* compiled, size_t* bytes);

/* Of this library's calls, as smelt_last_error and smelt_set_log are of the other's. */
const char* smelt_compile_last_error(void);
smelt_status smelt_compile_set_log(smelt_log callback, void* user);

#ifdef __cplusplus
}
#endif

#endif
