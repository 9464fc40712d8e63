#include "compiler/c_api/smelt_compile.h"

#include "compiler/cli/compile_arguments.h"
#include "compiler/cli/model.h"
#include "runtime/c_api/c_api_detail.h"
#include "runtime/plan/plan_file.h"

using namespace smelt;
using namespace smelt::c_api;

struct smelt_compiled {
  std::string plan;
};

namespace {

std::vector<std::string> words_of(const char* const* options, size_t count) {
  if (count > 0) required(options, "the list of options");
  std::vector<std::string> words;
  for (size_t i = 0; i < count; ++i) words.push_back(std::string("--") + required(options[i], "an option"));
  return words;
}

std::string compiled_plan(const char* path, std::vector<std::string> words) {
  const cli::CompileArguments arguments = cli::compile_arguments(std::move(words));
  CompileOptions options = arguments.flags.options();
  options.entries = arguments.entries;
  cli::Model model = cli::open_model(path, {});
  if (!model.description) fail("'{}' is a plan already: give it to smelt_plan_load", path);
  cli::compile_model(model, options, arguments.flags);
  return serialize_plan(*model.plan);
}

}  // namespace

extern "C" {

smelt_status smelt_compile(const char* path, const char* const* options, size_t option_count,
                           smelt_compiled** compiled) {
  return guarded([&] {
    required(path, "path"), required(compiled, "compiled");
    auto made = std::make_unique<smelt_compiled>();
    made->plan = compiled_plan(path, words_of(options, option_count));
    *compiled = made.release();
  });
}

void smelt_compiled_free(smelt_compiled* compiled) { delete compiled; }

const void* smelt_compiled_data(const smelt_compiled* compiled, size_t* bytes) {
  if (bytes) *bytes = compiled ? compiled->plan.size() : 0;
  return compiled ? compiled->plan.data() : nullptr;
}

const char* smelt_compile_last_error(void) { return smelt_last_error(); }

smelt_status smelt_compile_set_log(smelt_log callback, void* user) { return smelt_set_log(callback, user); }

}  // extern "C"
