// Names of the fields of the plan's types that are stored on disk. There is one list per type, visit_fields,
// which the writer and the reader of manifests (plan_model.h) share. A new field changes the format, so
// kPlanFormat must be increased. The lists for the kinds of steps are in runtime/plan/steps/.
#pragma once

#include <utility>

#include "runtime/plan/plan.h"

namespace smelt {

template <typename V, Is<Symbols::Bound> T>
void visit_fields(V& v, T& x) {
  v("factors", x.factors), v("upper", x.upper), v("lower", x.lower);
}

template <typename V, Is<MeshAxis> T>
void visit_fields(V& v, T& x) {
  v("name", x.name), v("size", x.size);
}

template <typename V, Is<Mesh> T>
void visit_fields(V& v, T& x) {
  v("axes", x.axes);
}

template <typename V, Is<Segment> T>
void visit_fields(V& v, T& x) {
  v("name", x.name), v("shape", x.shape), v("offset", x.offset), v("init", x.init), v("decay", x.decay);
  v("checkpoint_names", x.checkpoint_names), v("transposed", x.transposed);
  v("frozen", x.frozen), v("stacked", x.stacked), v("per_byte", x.per_byte), v("cut", x.cut),
      v("whole", x.whole);
  v("stages", x.stages);
}

template <typename V, Is<State> T>
void visit_fields(V& v, T& x) {
  v("name", x.name), v("role", x.role), v("dtype", x.dtype), v("shape", x.shape), v("init", x.init);
  v("segments", x.segments), v("copy_of", x.copy_of), v("scales_of", x.scales_of);
  v("zeros_of", x.zeros_of), v("format", x.format);
  v("from_model", x.from_model);
  v("cut", x.cut), v("partial", x.partial), v("whole", x.whole), v("resident", x.resident);
}

template <typename V, Is<BufferPart> T>
void visit_fields(V& v, T& x) {
  v("begin", x.begin), v("first_step", x.first_step), v("last_step", x.last_step);
}

template <typename V, Is<Buffer> T>
void visit_fields(V& v, T& x) {
  v("name", x.name), v("role", x.role), v("dtype", x.dtype), v("elements", x.elements), v("state", x.state);
  v("offset_bytes", x.offset_bytes), v("bytes", x.bytes), v("first_step", x.first_step);
  v("last_step", x.last_step), v("parts", x.parts), v("data", x.data);
}

template <typename V, Is<Step> T>
void visit_fields(V& v, T& x) {
  v("what", x.what), v("reads", x.reads), v("writes", x.writes), v("may_alias", x.may_alias);
  v("sources", x.sources), v("phase", x.phase), v("recomputed", x.recomputed), v("kernels", x.kernels);
  v("choice", x.choice), v("alternative", x.alternative);
}

template <typename V, Is<SizeRule> T>
void visit_fields(V& v, T& x) {
  v("value", x.value), v("below", x.below);
}

template <typename V, Is<Choice> T>
void visit_fields(V& v, T& x) {
  v("alternatives", x.alternatives), v("last_where", x.last_where);
}

template <typename V, Is<TemplateLaunch::Argument> T>
void visit_fields(V& v, T& x) {
  v("kind", x.kind), v("value", x.value), v("alignment", x.alignment), v("dtype", x.dtype);
  v("read", x.read), v("written", x.written);
}

template <typename V, Is<TemplateLaunch::Condition> T>
void visit_fields(V& v, T& x) {
  v("value", x.value), v("divisor", x.divisor), v("below", x.below);
}

template <typename V, Is<TemplateLaunch> T>
void visit_fields(V& v, T& x) {
  v("step", x.step), v("arguments", x.arguments), v("blocks", x.blocks);
  v("shared_bytes", x.shared_bytes), v("conditions", x.conditions), v("measured", x.measured);
}

template <typename V, Is<IndexBounds> T>
void visit_fields(V& v, T& x) {
  v("least", x.least), v("below", x.below), v("ignored", x.ignored);
}

template <typename V, Is<KernelAccess> T>
void visit_fields(V& v, T& x) {
  v("offset", x.offset), v("strides", x.strides);
}

template <typename V, Is<KernelParameter> T>
void visit_fields(V& v, T& x) {
  v("dtype", x.dtype), v("read", x.read), v("written", x.written), v("stage", x.stage);
  v("accesses", x.accesses);
  v("table_elements", x.table_elements), v("indices", x.indices);
}

template <typename V, Is<TensorMap> T>
void visit_fields(V& v, T& x) {
  v("parameter", x.parameter), v("extents", x.extents), v("strides", x.strides), v("box", x.box);
  v("swizzle_bytes", x.swizzle_bytes);
}

template <typename V, Is<AttentionSpec::Matrix> T>
void visit_fields(V& v, T& x) {
  v("param", x.param), v("of_keys", x.of_keys), v("batch_stride", x.batch_stride);
  v("place_stride", x.place_stride), v("head_stride", x.head_stride);
}

template <typename V, Is<AttentionSpec> T>
void visit_fields(V& v, T& x) {
  v("part", x.part), v("scale", x.scale), v("width", x.width), v("batch", x.batch), v("heads", x.heads);
  v("key_heads", x.key_heads), v("queries", x.queries), v("keys", x.keys), v("matrices", x.matrices);
  v("scales", x.scales);
  v("rows", x.rows), v("sums", x.sums), v("keeps_batch", x.keeps_batch), v("keeps_heads", x.keeps_heads);
  v("row_gradients", x.row_gradients), v("column_gradients", x.column_gradients);
  v("element_gradients", x.element_gradients);
}

template <typename V, Is<BlockTiles> T>
void visit_fields(V& v, T& x) {
  v("queries", x.queries), v("keys", x.keys), v("lanes", x.lanes);
}

template <typename V, Is<BlockedAttention> T>
void visit_fields(V& v, T& x) {
  v("spec", x.spec), v("tiles", x.tiles), v("workspace", x.workspace), v("places", x.places);
  v("places_batch_stride", x.places_batch_stride), v("places_stride", x.places_stride);
}

template <typename V, Is<KernelCode> T>
void visit_fields(V& v, T& x) {
  v("name", x.name), v("text", x.text), v("dims", x.dims), v("range", x.range), v("grain", x.grain);
  v("splits", x.splits), v("random_ids", x.random_ids), v("parameters", x.parameters), v("axes", x.axes);
  v("threads", x.threads), v("shared_bytes", x.shared_bytes), v("copies", x.copies);
  v("most_blocks", x.most_blocks), v("maps", x.maps), v("only_capability", x.only_capability);
  v("waits", x.waits), v("contracts", x.contracts);
  v("source", x.source), v("binary", x.binary), v("attention", x.attention), v("launch", x.launch);
}

template <typename V, Is<IdRange> T>
void visit_fields(V& v, T& x) {
  v("below", x.below), v("ignored", x.ignored), v("least", x.least);
}

template <typename V, Is<Port> T>
void visit_fields(V& v, T& x) {
  v("name", x.name), v("dtype", x.dtype), v("shape", x.shape), v("buffer", x.buffer);
  v("optional", x.optional), v("fill", x.fill), v("ids", x.ids);
}

template <typename V, Is<PlanEntry> T>
void visit_fields(V& v, T& x) {
  v("name", x.name), v("inputs", x.inputs), v("outputs", x.outputs), v("steps", x.steps);
  v("arena_bytes", x.arena_bytes), v("choices", x.choices);
}

template <typename V, Is<Plan> T>
void visit_fields(V& v, T& x) {
  v("target", x.target), v("features", x.features), v("model", x.model), v("symbols", x.symbols);
  v("mesh", x.mesh), v("states", x.states), v("buffers", x.buffers), v("entries", x.entries),
      v("kernels", x.kernels);
  v("binary", x.binary);
}

/// Calls `visit` with a default-constructed step of every kind, in the order of AnyStep, until a call returns
/// true. Returns whether one has.
template <typename... Kinds, typename Visit>
bool any_step_kind(std::variant<Kinds...>*, const Visit& visit) {
  return (visit(Kinds{}) || ...);
}
template <typename Visit>
bool any_step_kind(const Visit& visit) {
  return any_step_kind(static_cast<AnyStep*>(nullptr), visit);
}

/// Function object with the call operators of all `Cases`.
template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

/// Calls the function among `cases` that accepts the step's kind, and returns its result. Requires: there is
/// one for every kind.
template <Is<Step> T, typename... Cases>
decltype(auto) visit_step(T& step, Cases... cases) {
  return std::visit(Overloaded<Cases...>{std::move(cases)...}, step.what);
}

}  // namespace smelt
