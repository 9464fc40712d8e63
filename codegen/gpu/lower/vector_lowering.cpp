#include "codegen/gpu/lower/vector_lowering.h"

#include "llvm/ADT/STLExtras.h"

namespace smelt::gpu {

// ---- loads

bool VectorLowering::loads_by_vector(const BlockNest& nest, int id) const {
  return nest.in_vectors(id) && c_.shape.is_vector_load(id);
}

bool VectorLowering::has_loads(const BlockNest& nest) const {
  return llvm::any_of(nest.block->instructions, [&](int id) { return loads_by_vector(nest, id); });
}

void VectorLowering::declare_loads(const BlockNest& nest, std::optional<int64_t> slots) {
  std::vector<int64_t> extents = {c_.width};
  if (slots) extents.insert(extents.begin(), *slots);
  for (int id : nest.block->instructions)
    if (loads_by_vector(nest, id) && !c_.is_cached(id))
      c_.out.declare_array(c_.memory_type(id), fmt::format("a{}", id), extents);
}

Expr VectorLowering::source_of_load(int id) const {
  const Form form = c_.instruction(id).form;
  if (form == Form::prefetched) return prefetch_.prefetched_vector(id);
  return form == Form::early ? prefetch_.early_vector(id) : addresses_.vector(id);
}

Expr VectorLowering::target_of_load(int id, const Expr& slot) const {
  if (c_.is_cached(id)) return kept_vector(id);
  const Expr array = variable_of("a", id, Type(c_.memory_type(id)).array(slot ? 2 : 1));
  return slot ? element(array, slot) : array;
}

void VectorLowering::lower_loads(const BlockNest& nest, const Expr& slot) {
  for (int id : nest.block->instructions) {
    if (!loads_by_vector(nest, id)) continue;
    if (c_.is_cached(id) && c_.is_flag(id)) c_.reject(id, "keeps a flag that is read from memory");
    loaded_[id] = target_of_load(id, slot);
    c_.out.append(addresses_.vector_access(id, source_of_load(id), loaded_[id]));
  }
}

// ---- column values that are kept from block to block; flags are bits

void VectorLowering::declare_kept(const KernelBlock& block) {
  for (int id : block.instructions) {
    if (!c_.is_cached(id)) continue;
    const std::string name = fmt::format("kept{}", id);
    if (c_.is_flag(id))
      c_.out.declare_array(Scalar::bits, name, {c_.vectors}, true);
    else
      c_.out.declare_array(computed_type(c_.instruction(id).dtype), name, {c_.vectors, c_.width});
  }
}

/// Returns the elements of the current vector that are kept; of flags, a number with a bit for each.
Expr VectorLowering::kept_vector(int id) const {
  const Type type =
      c_.is_flag(id) ? Type(Scalar::bits).array(1) : Type(computed_type(c_.instruction(id).dtype)).array(2);
  return element(variable_of("kept", id, type), c_.place.slot);
}

/// Returns the current element of a value that an earlier block kept.
Expr VectorLowering::kept_value(int id) const {
  const Expr vector = kept_vector(id);
  return c_.is_flag(id) ? (vector >> c_.element() & bits(1)) != 0 : element(vector, c_.element());
}

void VectorLowering::keep(int id) {
  const Expr& value = c_.value_of(id);
  if (value.scalar() == Scalar::flag)
    c_.out.assign(Assignment::Op::inclusive_or, kept_vector(id), cast(value, Scalar::bits) << c_.element());
  else
    c_.out.set(element(kept_vector(id), c_.element()), value);
}

// ---- the work on a vector

void VectorLowering::lower_vector(const BlockNest& nest, const Expr& slot) {
  c_.place.slot = slot;
  set_inner_index(c_.column());
  for (int id : nest.block->instructions)
    if (nest.in_vectors(id)) declare_whole(nest, id);
  lower_lanes(nest);
  for (int id : nest.block->instructions)
    if (nest.in_vectors(id)) finish_whole(nest, id);
}

void VectorLowering::declare_whole(const BlockNest& nest, int id) {
  if (instructions_.draws_by_vector(id)) instructions_.declare_random_words(id);
  if (instructions_.stores_by_vector(nest, id))
    c_.out.declare_array(c_.memory_type(id), instructions_.stored_vector(id)->name, {c_.width});
  if (reductions_.takes_vectors(id)) reductions_.declare_vector(id);
}

void VectorLowering::finish_whole(const BlockNest& nest, int id) {
  if (reductions_.takes_vectors(id)) reductions_.lower_vector(id);
  if (!instructions_.stores_by_vector(nest, id)) return;
  c_.out.where(c_.predicate_of(id), [&] {
    c_.out.append(addresses_.vector_access(id, addresses_.vector(id), instructions_.stored_vector(id)));
  });
}

void VectorLowering::set_inner_index(const Expr& index) {
  if (c_.shape.inner >= 0) c_.place.indices[c_.shape.inner] = index;
}

void VectorLowering::lower_lanes(const BlockNest& nest) {
  const bool whole = c_.shape.has_whole_vectors(), one = c_.width == 1;
  c_.place.in_lanes = true;
  if (!one) c_.out.open_unrolled("j", c_.width);
  const Expr column = one ? c_.column() : c_.column() + c_.element();
  set_inner_index(column);
  if (!whole) c_.place.lane_guard = c_.out.declare(Scalar::flag, "live", column < c_.columns_end());
  bind_values(nest);
  for (int id : nest.block->instructions)
    if (nest.in_vectors(id) && loaded_.count(id) == 0) lower_lane_instruction(nest, id);
  if (!one) c_.out.close();
  c_.place.in_lanes = false;
  c_.place.lane_guard = {};
  set_inner_index(0);
}

/// The elements of what is loaded and of what earlier blocks kept.
void VectorLowering::bind_values(const BlockNest& nest) {
  for (const auto& [id, array] : loaded_) c_.set_value(id, element(array, c_.element()));
  for (int id : c_.schedule.cached)
    if (nest.depth.count(id) == 0) c_.set_value(id, kept_value(id));
}

void VectorLowering::lower_lane_instruction(const BlockNest& nest, int id) {
  instructions_.lower(nest, id);
  if (c_.is_cached(id)) keep(id);
}

}  // namespace smelt::gpu
