#include "passes/graph/training/select_entries.h"

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

std::string entry_names(const Module& module) {
  std::string text;
  for (const auto& graph : module.graphs) text += (text.empty() ? "@" : ", @") + graph->name;
  return text;
}

bool remove_graphs(Module& module, llvm::function_ref<bool(const std::string&)> is_removed) {
  const size_t before = module.graphs.size();
  llvm::erase_if(module.graphs, [&](const auto& graph) { return is_removed(graph->name); });
  return module.graphs.size() != before;
}

}  // namespace

bool keep_entries(Module& module, const KeepEntriesOptions& options) {
  for (const std::string& entry : options.entries)
    if (!module.find_graph(entry))
      fail("there is no entry @{}; there are: {}{}", entry, entry_names(module),
           options.hint ? options.hint(entry) : "");
  return keep_graphs(module, {options.entries});
}

bool keep_graphs(Module& module, const KeepGraphsOptions& options) {
  return remove_graphs(module,
                       [&](const std::string& name) { return !llvm::is_contained(options.names, name); });
}

bool drop_graph(Module& module, const DropGraphOptions& options) {
  return remove_graphs(module, [&](const std::string& name) { return name == options.name; });
}

}  // namespace smelt
