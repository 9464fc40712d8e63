// What of the plan's types is kept on disk, under which name: one list a type, read by the writer and by the
// reader of manifests. A field that is added here changes the format: raise kPlanFormat. Kinds of steps have
// a row with their names beside their fields; a kind without one does not compile.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/plan/plan.h"

namespace smelt {

template <typename T, typename Of>
concept Is = std::same_as<std::remove_const_t<T>, Of>;

/// A kind of step: what manifests, messages and reports call it, and the word that begins its line in the
/// text of a program.
template <typename Kind>
struct StepKind;

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
  v("frozen", x.frozen), v("stacked", x.stacked), v("cut", x.cut), v("whole", x.whole);
  v("stages", x.stages);
}

template <typename V, Is<State> T>
void visit_fields(V& v, T& x) {
  v("name", x.name), v("role", x.role), v("dtype", x.dtype), v("shape", x.shape), v("init", x.init);
  v("segments", x.segments), v("copy_of", x.copy_of), v("scales_of", x.scales_of);
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

template <typename V, Is<BufferRef> T>
void visit_fields(V& v, T& x) {
  v("buffer", x.buffer), v("offset", x.offset);
}

template <typename V, Is<RandomPart> T>
void visit_fields(V& v, T& x) {
  v("parts", x.parts), v("part", x.part);
}

template <>
struct StepKind<KernelStep> {
  static constexpr std::string_view name = "kernel", keyword = "launch";
};
template <typename V, Is<KernelStep> T>
void visit_fields(V& v, T& x) {
  v("kernel", x.kernel), v("arguments", x.arguments), v("random_ids", x.random_ids);
  v("random_parts", x.random_parts);
}

template <typename V, Is<GemmStep::Matrix> T>
void visit_fields(V& v, T& x) {
  v("base", x.base), v("row_stride", x.row_stride), v("column_stride", x.column_stride);
}

template <typename V, Is<GemmStep::Batch> T>
void visit_fields(V& v, T& x) {
  v("extent", x.extent), v("a_stride", x.a_stride), v("b_stride", x.b_stride), v("c_stride", x.c_stride);
  v("reduced", x.reduced);
}

template <>
struct StepKind<GemmStep> {
  static constexpr std::string_view name = "gemm", keyword = "gemm";
};
template <typename V, Is<GemmStep> T>
void visit_fields(V& v, T& x) {
  v("a", x.a), v("b", x.b), v("c", x.c), v("m", x.m), v("n", x.n), v("k", x.k);
  v("alpha", x.alpha), v("beta", x.beta), v("batch", x.batch), v("dtype", x.dtype);
  v("result_dtype", x.result_dtype), v("bias", x.bias), v("tf32", x.tf32);
  v("a_i8", x.a_i8), v("b_i8", x.b_i8);
}

template <typename V, Is<SortIndexStep::Workspace> T>
void visit_fields(V& v, T& x) {
  v("base", x.base), v("elements", x.elements);
}

template <>
struct StepKind<SortIndexStep> {
  static constexpr std::string_view name = "sort_index", keyword = "sort_index";
};
template <typename V, Is<SortIndexStep> T>
void visit_fields(V& v, T& x) {
  v("indices", x.indices), v("permutation", x.permutation), v("begins", x.begins);
  v("count", x.count), v("rows", x.rows), v("workspace", x.workspace);
}

template <>
struct StepKind<ScanStep> {
  static constexpr std::string_view name = "scan", keyword = "scan";
};
template <typename V, Is<ScanStep> T>
void visit_fields(V& v, T& x) {
  v("x", x.x), v("y", x.y), v("outer", x.outer), v("count", x.count), v("inner", x.inner);
  v("x_outer_stride", x.x_outer_stride), v("x_stride", x.x_stride);
  v("y_outer_stride", x.y_outer_stride), v("y_stride", x.y_stride);
  v("combine", x.kind), v("exclusive", x.exclusive), v("dtype", x.dtype);
}

template <>
struct StepKind<TopKStep> {
  static constexpr std::string_view name = "top_k", keyword = "top_k";
};
template <typename V, Is<TopKStep> T>
void visit_fields(V& v, T& x) {
  v("x", x.x), v("values", x.values), v("indices", x.indices), v("rows", x.rows), v("count", x.count);
  v("row_stride", x.row_stride), v("k", x.k);
}

template <>
struct StepKind<SampleStep> {
  static constexpr std::string_view name = "sample", keyword = "sample";
};
template <typename V, Is<SampleStep> T>
void visit_fields(V& v, T& x) {
  v("scores", x.scores), v("numbers", x.numbers), v("integers", x.integers), v("tokens", x.tokens);
  v("log_probabilities", x.log_probabilities), v("rows", x.rows), v("count", x.count);
  v("row_stride", x.row_stride), v("numbers_stride", x.numbers_stride);
  v("integers_stride", x.integers_stride);
}

template <>
struct StepKind<CopyStep> {
  static constexpr std::string_view name = "copy", keyword = "copy";
};
template <typename V, Is<CopyStep> T>
void visit_fields(V& v, T& x) {
  v("from", x.from), v("to", x.to), v("extents", x.extents), v("from_strides", x.from_strides);
  v("to_strides", x.to_strides), v("dtype", x.dtype), v("waited_at", x.waited_at);
}

template <>
struct StepKind<FillStep> {
  static constexpr std::string_view name = "fill", keyword = "fill";
};
template <typename V, Is<FillStep> T>
void visit_fields(V& v, T& x) {
  v("to", x.to), v("elements", x.elements), v("value", x.value);
}

template <>
struct StepKind<CollectiveStep> {
  static constexpr std::string_view name = "collective", keyword = "collective";
};
template <typename V, Is<CollectiveStep> T>
void visit_fields(V& v, T& x) {
  v("collective", x.kind), v("axis", x.axis), v("from", x.from), v("to", x.to), v("elements", x.elements);
  v("ranks", x.ranks), v("dtype", x.dtype), v("sum", x.sum), v("waited_at", x.waited_at);
  v("rows", x.rows), v("from_stride", x.from_stride), v("to_stride", x.to_stride);
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
  v("waits", x.waits);
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

/// Calls `visit` with a default-made step of every kind, in the order of Step::what, until one call is true.
template <typename... Kinds, typename Visit>
bool any_step_kind(std::variant<Kinds...>*, const Visit& visit) {
  return (visit(Kinds{}) || ...);
}
template <typename Visit>
bool any_step_kind(const Visit& visit) {
  return any_step_kind(static_cast<decltype(Step::what)*>(nullptr), visit);
}

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

/// Calls the one of `cases` for the step's kind: there must be one for every kind.
template <Is<Step> T, typename... Cases>
decltype(auto) visit_step(T& step, Cases... cases) {
  return std::visit(Overloaded<Cases...>{std::move(cases)...}, step.what);
}

}  // namespace smelt
