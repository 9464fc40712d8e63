#include "compiler/c_api/smelt_compile.h"

#include <map>

#include "compiler/cli/shared/model.h"
#include "compiler/driver/option_table.h"
#include "runtime/c_api/c_api_detail.h"
#include "runtime/plan/plan_file.h"

using namespace smelt;
using namespace smelt::c_api;

struct smelt_compiled {
  std::string plan;
};

namespace {

/// Options from "NAME=VALUE" or "NAME". Values of lists that are given several times are joined.
CompileOptions options_of(const char* const* words, size_t count) {
  if (count > 0) required(words, "the list of options");
  CompileOptions options = default_options();
  std::map<const CompileOption*, std::string> lists;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view word = required(words[i], "an option");
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    std::string value(equals == std::string_view::npos ? "true" : word.substr(equals + 1));
    const CompileOption* option = find_option(name);
    if (option && is_list(option->kind)) {
      std::string& list = lists[option];
      value = list += (list.empty() ? "" : ",") + value;
    }
    set_option(options, name, value, OptionSpelling::c);
  }
  return options;
}

std::string compiled_plan(const char* path, const cli::CompileFlags& flags) {
  const CompileOptions options = flags.options();
  cli::Model model = cli::open_model(path, {});
  if (!model.description) fail("'{}' is a plan already: give it to smelt_plan_load", path);
  cli::compile_model(model, options, flags);
  return serialize_plan(*model.plan);
}

}  // namespace

extern "C" {

smelt_status smelt_compile(const char* path, const char* const* options, size_t option_count,
                           smelt_compiled** compiled) {
  return guarded([&] {
    required(path, "path"), required(compiled, "compiled");
    auto made = std::make_unique<smelt_compiled>();
    made->plan = with_spelling(OptionSpelling::c, [&] {
      return compiled_plan(path, cli::silent_flags(options_of(options, option_count)));
    });
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
