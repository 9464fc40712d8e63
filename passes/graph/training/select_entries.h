// Passes that remove graphs of a module.
//
//   keep_entries{entries=train_step+apply}    removes all others; Error if one of these is missing
//   keep_graphs{names=loss+evaluate}          removes all others; any of these may be missing
//   drop_graph{name=loss}                     removes one
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"

namespace smelt {

struct KeepEntriesOptions {
  std::vector<std::string> entries;
  std::function<std::string(const std::string& entry)> hint = {};  // ends the message about a missing entry
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
