#include "runtime/engine/serving/new_tokens.h"

#include "runtime/base/error.h"

namespace smelt {

void count_new_tokens(Request& request) {
  GenerationOptions& options = request.options;
  if (!options.max_length) return;
  options.max_new_tokens = options.new_tokens(request.prompt.size());
  if (options.max_new_tokens < 1)
    fail("max_length {}: a prompt of {} tokens leaves no room for new ones; give max_new_tokens",
         *options.max_length, request.prompt.size());
  options.max_length.reset();
}

}  // namespace smelt
