#include "passes/graph/sharding/gathered_segments.h"

#include "llvm/ADT/STLExtras.h"
#include "passes/graph/sharding/written_shardings.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Returns the state that computations read: the flat state's rounded copy, if there is one.
const State& read_state(const Module& module, const State& flat) {
  const auto copy = llvm::find_if(module.states, [&](const State& s) { return s.copy_of == flat.name; });
  return copy == module.states.end() ? flat : *copy;
}

const Segment& segment_of(const State& flat, const std::string& name) {
  const Segment* segment = find_segment(flat, name);
  if (!segment) fail("parameter \"{}\" is no segment of state \"{}\"", name, flat.name);
  return *segment;
}

/// Returns the sharding of the parameter, independent of each rank's part of the flat state.
Sharding sharding_of(const Node& parameter) {
  const Value& value = *parameter.result();
  return written_sharding(value).value_or(replicated(value.rank()));
}

}  // namespace

const State* cut_flat_state(const Node& node) {
  if (!node.is(Op::parameter)) return nullptr;
  Module& module = node.graph().module();
  const std::string& name = node.get(attr::name);
  const State* flat = module.find_parameter_state(name, node.result()->dtype());
  if (!flat) flat = module.state_of_parameter(name);
  return flat && !flat->cut.empty() ? flat : nullptr;
}

Value* GatheredSegments::value(const Node& parameter, const State& flat, Phase phase) {
  const State& read = read_state(b_.module(), flat);
  const bool backward = phase == Phase::backward && !read.cut.empty();
  Value*& value = values_[{&parameter, backward}];
  if (!value) value = read.cut.empty() ? read_copy(parameter, read) : slice_of(parameter, read, backward);
  return value;
}

Value* GatheredSegments::read_copy(const Node& parameter, const State& copy) {
  Node* narrow = b_.graph().clone(parameter, {});
  const Sharding lies = sharding_of(parameter);
  narrow->result()->type = {copy.dtype, sizes_.part(parameter.result()->shape(), lies)};
  narrow->result()->sharding = lies;
  return b_.convert(narrow->result(), parameter.result()->dtype());
}

Value* GatheredSegments::slice_of(const Node& parameter, const State& flat, bool backward) {
  const Segment& segment = segment_of(flat, parameter.get(attr::name));
  Value* slice = b_.slice(gathered(flat, backward), 0, segment.offset, segment.elements());
  Value* part = b_.reshape(slice, sizes_.part(parameter.result()->shape(), sharding_of(parameter)));
  const DType dtype = parameter.result()->dtype();
  return part->dtype() == dtype ? part : b_.convert(part, dtype);
}

/// All of it as one dim.
Value* GatheredSegments::gathered(const State& flat, bool backward) {
  Value*& whole = flats_[{flat.name, backward}];
  if (whole) return whole;
  const Sharding lies = smelt::sharding_of(flat, b_.module().mesh());
  const Type type{flat.dtype, sizes_.part(flat.shape, lies)};
  Value* part = b_.create(Op::state, {}, {attr::name(flat.name)}, type)->result();
  part->sharding = lies;
  Value* all = resharder_.move(part, lies, replicated(part->rank()), "parameters");
  return whole = all->rank() == 1 ? all : b_.reshape(all, {element_count(all->shape())});
}

}  // namespace smelt
