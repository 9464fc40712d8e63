// Passes by name (passes.def), and pipelines as text: "decompose{keep=softmax+gelu},simplify".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace smelt {

using PassArguments = std::vector<std::pair<std::string, std::string>>;

struct PassInfo {
  std::string_view name, description;
  bool required;
  bool (*run_graph)(Graph&, const PassArguments&);    // null for a module pass
  bool (*run_module)(Module&, const PassArguments&);  // null for a graph pass
};
llvm::ArrayRef<PassInfo> all_passes();
/// Throws Error listing the passes where there is none of that name.
const PassInfo& find_pass(std::string_view name);

struct PassCall {
  std::string name;
  PassArguments arguments;
  std::string str() const;  // as it was written
};
/// Throws Error with the position of the fault.
std::vector<PassCall> parse_pipeline(std::string_view text);

}  // namespace smelt
