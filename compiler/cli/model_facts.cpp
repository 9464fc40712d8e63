// Facts about an open model; nothing here needs the compiler.
#include <algorithm>
#include <cstdint>

#include "compiler/cli/model.h"

namespace smelt::cli {

int64_t Model::vocabulary() const {
  int64_t least = int64_t{1} << 31;  // what an i32 holds
  for (const PlanEntry& entry : plan->entries)
    for (const Port& port : entry.inputs)
      if (port.ids && (port.name == "input_ids" || port.name == "labels"))
        least = std::min(least, port.ids->below);
  return least;
}

bool Model::reads_bytes() const { return about.is_object() && about.value("tokenizer", "") == "bytes"; }

const TransformerSpec* Model::spec() const {
  const bool has_spec = description && description->kind != Description::Kind::graph;
  return has_spec ? &description->spec : nullptr;
}

}  // namespace smelt::cli
