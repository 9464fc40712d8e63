// smelt doctor: what this machine offers and what Smelt found on it.
#include "compiler/cli/commands/doctor.h"

#include <cblas.h>
#include <fmt/ranges.h>
#include <omp.h>
#include <unistd.h>

#include <cstdio>

#include "codegen/code_generator.h"
#include "compiler/cli/command.h"
#include "compiler/cli/shared/subprocess.h"
#include "runtime/base/error.h"
#include "runtime/cpu/features.h"
#include "runtime/cpu/memory.h"
#include "runtime/ranks/rank_rates.h"
#include "runtime/smelt.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/environment.h"

namespace smelt::cli {
namespace {

struct DoctorCommand {
  bool measure = true, ranks = false;
  std::string target = "native";
};

/// The value of a variable, or its default; what is wrong with a value that the variable does not take.
std::string value_text(const VariableInfo& variable) {
  try {
    check_variable(variable);
  } catch (const Error& problem) {
    return problem.what();
  }
  const auto value = process_environment()(variable.name);
  if (!value) return fmt::format("not set; default: {}", variable.standard);
  return variable.values.kind == VariableValues::Kind::secret ? "set" : *value;
}

/// Smelt's own variables, and those of launchers and other programs that are set.
void add_variable_rows(TextTable& table) {
  for (const VariableInfo& variable : variables())
    if (variable.group <= VariableGroup::ranks || process_environment()(variable.name))
      table.add({std::string(variable.name), value_text(variable)});
}

/// Returns a text about the data that is kept between processes, and whether more can be stored.
std::string cache_text() {
  const CacheContents cache = cache_contents();
  if (cache.directory.empty()) return "none: SMELT_CACHE_DIR, XDG_CACHE_HOME and HOME are not set";
  return fmt::format(
      "{}: {} files, {}, {}", cache.directory.string(), count_text(cache.files), bytes_text(cache.bytes),
      cache.writable ? "writable" : "cannot be written: every process makes its kernels again");
}

void run_doctor(const DoctorCommand& options) {
  if (options.ranks) return measure_ranks(options.target);
  fmt::print("{}", doctor_table(options.measure).text());
}

std::string or_none(std::string text) { return text.empty() ? "none" : text; }

}  // namespace

TextTable doctor_table(bool measure) {
  const CodeGenerator& generator = code_generator(BackEnd::cpu);
  TextTable table({"what", "found"});
  table.add({"smelt", SMELT_VERSION});
  table.add({"processor", processor_name()});
  table.add({"instructions", fmt::format("{}", fmt::join(host_features(), " "))});
  table.add({"compiles for", or_none(generator.processor({}))});
  table.add({"cores", std::to_string(::sysconf(_SC_NPROCESSORS_ONLN))});
  table.add({"free memory", bytes_text(available_memory())});
  table.add({"threads (OpenMP)", std::to_string(omp_get_max_threads())});
  if (measure)
    table.add({"copy bandwidth", fmt::format("{:.1f} GB/s, all threads", copy_bytes_per_second() / 1e9)});
  table.add({"BLAS", fmt::format("{}; kernels for {}; {} threads", openblas_get_config(),
                                 openblas_get_corename(), openblas_get_num_threads())});
  table.add({"code generator", or_none(generator.version())});
  table.add({"cache directory", cache_text()});
  const std::string graphviz = find_program("dot");
  table.add({"Graphviz", graphviz.empty() ? "not found: graphs stay text (package graphviz)" : graphviz});
  add_gpu_rows(table);
  add_variable_rows(table);
  return table;
}

void add_doctor(CLI::App& app) {
  auto options = std::make_shared<DoctorCommand>();
  CLI::App* command =
      app.add_subcommand("doctor", "Show what this machine offers and which libraries were found");
  command->add_flag("!--no-measure", options->measure, "leave the copy bandwidth out");
  auto* ranks = command->add_flag("--ranks", options->ranks,
                                  "measure what ranks do together, and keep it for predictions "
                                  "(docs/guides/distributed.md): as in `smelt launch -n "
                                  "2 -- smelt doctor --ranks`");
  command
      ->add_option("--target", options->target,
                   "whose ranks: cpu, cuda, or native (GPUs where there are any)")
      ->check(CLI::IsMember({"cpu", "cuda", "native"}))
      ->capture_default_str()
      ->needs(ranks);
  on_call(command, options, run_doctor);
}

}  // namespace smelt::cli
