#include "codegen/cuda/printers/vector_printer.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt {

// ---- loads

bool VectorPrinter::loads_by_vector(const BlockNest& nest, int id) const {
  return nest.in_vectors(id) && c_.shape.is_vector_load(id);
}

bool VectorPrinter::has_loads(const BlockNest& nest) const {
  return llvm::any_of(nest.block->instructions, [&](int id) { return loads_by_vector(nest, id); });
}

void VectorPrinter::declare_loads(const BlockNest& nest, const std::string& slots) {
  for (int id : nest.block->instructions)
    if (loads_by_vector(nest, id) && !c_.is_cached(id))
      c_.out.line("{} a{}{}[{}];", cuda_type(c_.memory_kind(id)), id, slots, c_.width);
}

std::string VectorPrinter::source_of_load(int id) const {
  const Form form = c_.instruction(id).form;
  if (form == Form::prefetched) return prefetch_.prefetched_vector(id);
  return form == Form::early ? prefetch_.early_vector(id) : addresses_.vector(id);
}

void VectorPrinter::print_loads(const BlockNest& nest, const std::string& slot) {
  for (int id : nest.block->instructions) {
    if (!loads_by_vector(nest, id)) continue;
    if (c_.is_cached(id) && c_.is_flag(id)) c_.reject(id, "keeps a flag that is read from memory");
    std::string array = slot.empty() ? fmt::format("a{}", id) : fmt::format("a{}[{}]", id, slot);
    if (c_.is_cached(id)) array = fmt::format("kept{}[{}]", id, c_.place.slot);
    c_.out.line("sm_load{}({}, {}, {});", addresses_.vector_form(id), array, source_of_load(id),
                c_.columns_left());
    loaded_[id] = array;
  }
}

// ---- column values that are kept from block to block; flags are bits

void VectorPrinter::declare_kept(const KernelBlock& block) {
  for (int id : block.instructions) {
    if (!c_.is_cached(id)) continue;
    if (c_.is_flag(id))
      c_.out.line("unsigned kept{}[{}] = {{}};", id, c_.vectors);
    else
      c_.out.line("{} kept{}[{}][{}];", cuda_type(cuda_kind(c_.instruction(id).dtype)), id, c_.vectors,
                  c_.width);
  }
}

/// Returns the current element of a value that an earlier block kept.
CudaValue VectorPrinter::kept_value(int id) const {
  const std::string& slot = c_.place.slot;
  if (c_.is_flag(id))
    return {fmt::format("(kept{}[{}] >> {} & 1u) != 0", id, slot, c_.element()), CudaKind::flag};
  return {fmt::format("kept{}[{}][{}]", id, slot, c_.element()), cuda_kind(c_.instruction(id).dtype)};
}

// ---- the work on a vector

void VectorPrinter::print_vector(const BlockNest& nest, const std::string& slot) {
  c_.place.slot = slot;
  set_inner_index("c");
  for (int id : nest.block->instructions)
    if (nest.in_vectors(id)) declare_whole(nest, id);
  print_lanes(nest);
  for (int id : nest.block->instructions)
    if (nest.in_vectors(id)) finish_whole(nest, id);
}

void VectorPrinter::declare_whole(const BlockNest& nest, int id) {
  if (instructions_.draws_by_vector(id)) instructions_.declare_random_words(id);
  if (instructions_.stores_by_vector(nest, id))
    c_.out.line("{} s{}[{}];", cuda_type(c_.memory_kind(id)), id, c_.width);
  if (reductions_.takes_vectors(id)) reductions_.declare_vector(id);
}

void VectorPrinter::finish_whole(const BlockNest& nest, int id) {
  if (reductions_.takes_vectors(id)) reductions_.print_vector(id);
  if (!instructions_.stores_by_vector(nest, id)) return;
  const std::string predicate = c_.predicate_of(id);
  c_.out.line_if(predicate, fmt::format("sm_store{}({}, s{}, {});", addresses_.vector_form(id),
                                        addresses_.vector(id), id, c_.columns_left()));
}

void VectorPrinter::set_inner_index(const std::string& text) {
  if (c_.shape.inner >= 0) c_.place.indices[c_.shape.inner] = text;
}

void VectorPrinter::print_lanes(const BlockNest& nest) {
  c_.place.in_lanes = true;
  c_.place.lane_guard = c_.shape.has_whole_vectors() ? "" : "live";
  set_inner_index(c_.width == 1 ? "c" : "c + j");
  if (c_.width > 1) c_.out.open_unrolled("j", c_.width);
  if (!c_.place.lane_guard.empty()) c_.out.line("const bool live = c + j < {};", c_.columns_end());
  bind_values(nest);
  for (int id : nest.block->instructions)
    if (nest.in_vectors(id) && loaded_.count(id) == 0) print_lane_instruction(nest, id);
  if (c_.width > 1) c_.out.close();
  c_.place.in_lanes = false;
  c_.place.lane_guard.clear();
  set_inner_index("0");
}

/// The elements of what is loaded and of what earlier blocks kept.
void VectorPrinter::bind_values(const BlockNest& nest) {
  for (const auto& [id, array] : loaded_)
    c_.set_value(id, {fmt::format("{}[{}]", array, c_.element()), c_.memory_kind(id)});
  for (int id : c_.schedule.cached)
    if (nest.depth.count(id) == 0) c_.set_value(id, kept_value(id));
}

void VectorPrinter::print_lane_instruction(const BlockNest& nest, int id) {
  instructions_.print(nest, id);
  if (!c_.is_cached(id)) return;
  const std::string& value = c_.value_of(id).text;
  if (c_.value_of(id).kind == CudaKind::flag)
    c_.out.line("kept{}[{}] |= (unsigned){} << {};", id, c_.place.slot, operand_text(value), c_.element());
  else
    c_.out.line("kept{}[{}][{}] = {};", id, c_.place.slot, c_.element(), value);
}

}  // namespace smelt
