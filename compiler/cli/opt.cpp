// smelt opt: passes over a module, or over a kernel, in text form; also runs the reproducers that a failing
// pass leaves.
#include <fmt/format.h>

#include <cstdio>

#include "codegen/kernel_passes/kernel_pass_registry.h"
#include "compiler/cli/command.h"
#include "ir/kernel.h"
#include "ir/text/operations_page.h"
#include "ir/text/text.h"
#include "ir/verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "passes/pass_manager.h"
#include "runtime/error.h"
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
  for (const PassInfo& pass : all_passes())
    fmt::print("{:<24} {:<9} {}\n", pass.name, pass.required ? "required" : "optional", pass.description);
  fmt::print("\nover kernels:\n");
  for (const KernelPass& pass : all_kernel_passes())
    fmt::print("{:<24} {:<9} {}\n", pass.name, pass.kind == KernelPassKind::gpu ? "gpu" : "alone",
               pass.description);
}

/// What a reproducer or a file test says in its first lines: "// RUN: fuse".
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

/// Behind comments and empty lines comes the word `kernel`.
bool is_kernel(llvm::StringRef text) {
  for (text = text.ltrim(); text.consume_front("//"); text = text.ltrim()) text = text.split('\n').second;
  return text.starts_with("kernel ");
}

std::string run_on_kernel(const OptCommand& options, const std::string& text) {
  if (!options.graph.empty() || options.bisect_limit >= 0 || !options.disabled.empty() || options.timing ||
      !options.dump_dir.empty())
    fail("{}: on a kernel, opt takes --pipeline, --print-after, --print-after-all and -o alone",
         options.file);
  Kernel kernel = parse_kernel(text, options.file);
  for (const KernelPass* pass : parse_kernel_pipeline(pipeline_of(options, text))) {
    pass->run(kernel);
    if (options.print_after_all || llvm::is_contained(options.print_after, pass->name))
      fmt::print(stderr, "// after {}\n{}\n", pass->name, print(kernel));
  }
  return print(kernel);
}

std::string run_on_module(const OptCommand& options, const std::string& text) {
  const std::unique_ptr<Module> module = parse_module(text, options.file);
  verify_or_throw(*module);
  if (!options.graph.empty()) {
    if (!module->find_graph(options.graph)) fail("{}: there is no graph @{}", options.file, options.graph);
    llvm::erase_if(module->graphs, [&](const auto& graph) { return graph->name != options.graph; });
  }
  PassManager manager(manager_options(options));
  manager.add(pipeline_of(options, text));
  manager.run(*module);
  if (options.timing) fmt::print(stderr, "{}", manager.timing_report());
  return print(*module);
}

void run_opt(const OptCommand& options) {
  if (options.list) return list_passes();
  if (options.list_operations) return fmt::print("{}", operations_page());
  if (options.file.empty())
    fail(
        "opt: name a graph or a kernel in text form (.ir, .kernel), or give --list or "
        "--list-operations");
  const std::string text = read_text_file(options.file);
  write_result(options, is_kernel(text) ? run_on_kernel(options, text) : run_on_module(options, text));
}

}  // namespace

void add_opt(CLI::App& app) {
  auto options = std::make_shared<OptCommand>();
  CLI::App* command =
      app.add_subcommand("opt", "Run passes over a graph or a kernel in text form and print the result");
  command->add_option("file", options->file, "graph or kernel in text form (.ir, .kernel)");
  command->add_option("--pipeline", options->pipeline, "passes to run; default: the file's own // RUN: line");
  command->add_option("--graph", options->graph, "only this graph of the module");
  command->add_option("-o,--output", options->output, "file to write instead of standard output");
  command->add_option("--disable-pass", options->disabled, "leave optional passes out")->delimiter(',');
  command->add_option("--bisect-limit", options->bisect_limit, "stop optional passes after so many changes");
  command->add_flag("--verify-each,!--no-verify-each", options->verify_each,
                    "verify after every pass (default)");
  command->add_flag("--print-after-all", options->print_after_all, "print after every pass to stderr");
  command->add_option("--print-after", options->print_after, "print after these passes")->delimiter(',');
  command->add_option("--dump-dir", options->dump_dir, "write the graph after each pass, numbered");
  command->add_flag("--timing", options->timing, "print the time of each pass to stderr");
  command->add_flag("--list", options->list, "list the passes");
  command->add_flag("--list-operations", options->list_operations,
                    "list the operations and their attributes, in Markdown");
  on_call(command, options, run_opt);
}

}  // namespace smelt::cli
