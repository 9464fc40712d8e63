// Passes that remove graphs of a module. Each returns whether it removed any.
//
//   keep_entries{entries=train_step+apply}    removes all other graphs; Error if a named graph is missing
//   keep_graphs{names=loss+evaluate}          removes all other graphs; named graphs may be missing
//   drop_graph{name=loss}                     removes the named graph, which may be missing
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct KeepEntriesOptions {
  std::vector<std::string> entries;
  /// Returns text that is appended to the message about a missing entry, such as the option that creates it;
  /// null: no text.
  std::function<std::string(const std::string& entry)> hint = {};
};
template <typename Field>
void visit_options(Field& field, KeepEntriesOptions& o) {
  field("entries", o.entries);
}
bool keep_entries(Module& module, const KeepEntriesOptions& options);

struct KeepGraphsOptions {
  std::vector<std::string> names;
};
template <typename Field>
void visit_options(Field& field, KeepGraphsOptions& o) {
  field("names", o.names);
}
bool keep_graphs(Module& module, const KeepGraphsOptions& options);

struct DropGraphOptions {
  std::string name = "loss";
};
template <typename Field>
void visit_options(Field& field, DropGraphOptions& o) {
  field("name", o.name);
}
bool drop_graph(Module& module, const DropGraphOptions& options);

}  // namespace smelt
