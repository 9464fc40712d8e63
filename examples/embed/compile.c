/* Compiles a model in the application itself, and writes the plan to a file.
 *
 *   embed_compile MODEL PLAN [NAME=VALUE]...
 *
 * It needs the component compiler beside the runtime: libsmelt_compiler.so, with LLVM.
 */
#include <stdio.h>

#include "compiler/c_api/smelt_compile.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s MODEL PLAN [NAME=VALUE]...\n", argv[0]);
    return 2;
  }
  smelt_compiled* compiled = NULL;
  if (smelt_compile(argv[1], (const char* const*)(argv + 3), (size_t)(argc - 3), &compiled) != SMELT_OK) {
    fprintf(stderr, "error: %s\n", smelt_compile_last_error());
    return 1;
  }
  size_t bytes = 0;
  const void* plan = smelt_compiled_data(compiled, &bytes);
  FILE* file = fopen(argv[2], "wb");
  const int written = file && fwrite(plan, 1, bytes, file) == bytes;
  if (!written || fclose(file) != 0) {
    perror(argv[2]);
    return 1;
  }
  printf("%zu bytes\n", bytes);
  smelt_compiled_free(compiled);
  return 0;
}
