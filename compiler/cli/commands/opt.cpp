// smelt opt: passes over a module, a program or a kernel in text form; also runs the reproducers that a
// failing pass leaves.
#include <fmt/format.h>

#include <cstdio>

#include "compiler/cli/command.h"
#include "compiler/driver/pass_pipeline.h"
#include "ir/graph/verifier.h"
#include "ir/program_verifier.h"
#include "ir/text/text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "passes/pass_manager.h"
#include "runtime/base/error.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

struct OptCommand {
  std::string file, pipeline, output, graph;
  std::vector<std::string> disabled, print_after;
  int64_t bisect_limit = -1;
  bool verify_each = true, print_after_all = false, timing = false, list = false, list_operations = false;
  std::string dump_dir;
};

void list_passes() {
  for (const Pass& pass : all_passes().all())
    fmt::print("{:<24} {:<9} {:<9} {}\n", pass.name, name(pass.unit), pass.required ? "required" : "optional",
               pass.description);
}

/// Returns the pass pipeline in the first lines of a reproducer or a file test: "// RUN: fuse".
std::string pipeline_of(llvm::StringRef text) {
  for (llvm::StringRef rest = text.ltrim(); rest.consume_front("//");) {
    const auto [line, after] = rest.split('\n');
    llvm::StringRef comment = line.trim();
    if (comment.consume_front("RUN:")) return comment.trim().str();
    rest = after.ltrim();
  }
  return {};
}

PassManagerOptions manager_options(const OptCommand& options) {
  PassManagerOptions result;
  result.verify_each = options.verify_each;
  result.print_after_all = options.print_after_all;
  result.print_after = options.print_after;
  result.print_to = [](std::string_view text) { fmt::print(stderr, "{}\n", text); };
  result.dump_dir = options.dump_dir;
  result.bisect_limit = options.bisect_limit;
  result.disabled = options.disabled;
  return result;
}

void write_result(const OptCommand& options, const std::string& text) {
  if (options.output.empty())
    std::fwrite(text.data(), 1, text.size(), stdout);
  else
    write_file(options.output, text);
}

std::string pipeline_of(const OptCommand& options, const std::string& text) {
  return options.pipeline.empty() ? pipeline_of(text) : options.pipeline;
}

/// The unit that a file holds: a program has entries, a kernel begins with its keyword.
PassUnit unit_of(llvm::StringRef text) {
  if (text.starts_with("entry @") || text.contains("\nentry @")) return PassUnit::program;
  for (text = text.ltrim(); text.consume_front("//"); text = text.ltrim()) text = text.split('\n').second;
  return text.starts_with("kernel ") ? PassUnit::kernel : PassUnit::module;
}

std::unique_ptr<Module> read_module(const OptCommand& options, const std::string& text) {
  std::unique_ptr<Module> module = parse_module(text, options.file);
  verify_or_throw(*module);
  if (options.graph.empty()) return module;
  if (!module->find_graph(options.graph)) fail("{}: there is no graph @{}", options.file, options.graph);
  llvm::erase_if(module->graphs, [&](const auto& graph) { return graph->name != options.graph; });
  return module;
}

template <typename Unit>
std::string run_over(Unit unit, const std::string& pipeline, PassManager& manager) {
  manager.add(pipeline).run(unit);
  return print(unit);
}

/// The result is a program where a pass lowers the module.
std::string run_over(Module& module, const std::string& pipeline, PassManager& manager) {
  const std::vector<PassCall> calls = all_passes().parse(pipeline);
  Program program;
  manager.run(calls, module, program);
  const bool lowers = llvm::any_of(
      calls, [](const PassCall& call) { return smelt::unit_of(call.body) == PassUnit::lowering; });
  return lowers ? print(program) : print(module);
}

std::string run_passes(const OptCommand& options, const std::string& text, PassManager& manager) {
  const std::string pipeline = pipeline_of(options, text);
  const PassUnit unit = unit_of(text);
  if (unit == PassUnit::module) return run_over(*read_module(options, text), pipeline, manager);
  if (!options.graph.empty())
    fail("{} is a {}: --graph selects a graph of a module", options.file, name(unit));
  if (unit == PassUnit::kernel) return run_over(parse_kernel(text, options.file), pipeline, manager);
  return run_over(parse_program(text, options.file), pipeline, manager);
}

void run_opt(const OptCommand& options) {
  if (options.list) return list_passes();
  if (options.list_operations) return fmt::print("{}", operations_page());
  if (options.file.empty())
    fail(
        "opt: name a graph, a program or a kernel in text form (.ir, .kernel), or give --list or "
        "--list-operations");
  PassManager manager(manager_options(options), all_passes());
  write_result(options, run_passes(options, read_text_file(options.file), manager));
  if (options.timing) fmt::print(stderr, "{}", manager.timing_report());
}

}  // namespace

void add_opt(CLI::App& app) {
  auto options = std::make_shared<OptCommand>();
  CLI::App* command = app.add_subcommand(
      "opt", "Run passes over a graph, a program or a kernel in text form and print the result");
  command->add_option("file", options->file, "graph, program or kernel in text form (.ir, .kernel)");
  command->add_option("--pipeline", options->pipeline, "passes to run; default: the file's own // RUN: line");
  command->add_option("--graph", options->graph, "only this graph of the module");
  command->add_option("-o,--output", options->output, "file to write instead of standard output");
  command->add_option("--disable-pass", options->disabled, "leave optional passes out")->delimiter(',');
  command->add_option("--bisect-limit", options->bisect_limit, "stop optional passes after so many changes");
  command->add_flag("--verify-each,!--no-verify-each", options->verify_each,
                    "verify after every pass (default)");
  command->add_flag("--print-after-all", options->print_after_all, "print after every pass to stderr");
  command->add_option("--print-after", options->print_after, "print after these passes")->delimiter(',');
  command->add_option("--dump-dir", options->dump_dir, "write the result of each pass, numbered");
  command->add_flag("--timing", options->timing, "print the time of each pass to stderr");
  command->add_flag("--list", options->list, "list the passes");
  command->add_flag("--list-operations", options->list_operations,
                    "list the operations and their attributes, in Markdown");
  on_call(command, options, run_opt);
}

}  // namespace smelt::cli
