// Facts about an open model; nothing here needs the compiler.
#include <algorithm>
#include <cstdint>

#include "compiler/cli/shared/model.h"

namespace smelt::cli {

int64_t Model::vocabulary() const {
  int64_t least = int64_t{1} << 31;  // what an i32 holds
  for (const PlanEntry& entry : plan->entries)
    for (const Port& port : entry.inputs)
      if (port.ids && (port.name == "input_ids" || port.name == "labels"))
        least = std::min(least, port.ids->below);
  return least;
}

/// A rank's part of a sequence may be shorter: then T is the part's length, and labels are [B, ranks * T].
int64_t Model::longest_labels() const {
  int64_t longest = 0;
  for (const PlanEntry& entry : plan->entries)
    for (const Port& port : entry.inputs)
      if (port.name == "labels" && port.shape.size() == 2)
        longest = std::max(longest, plan->symbols.upper(port.shape[1]));
  return longest > 0 ? longest : plan->symbols.upper(Dim::symbol("T"));
}

bool Model::reads_bytes() const { return about.is_object() && about.value("tokenizer", "") == "bytes"; }

const TransformerSpec* Model::spec() const {
  const bool has_spec = description && description->kind != Description::Kind::graph;
  return has_spec ? &description->spec : nullptr;
}

}  // namespace smelt::cli
