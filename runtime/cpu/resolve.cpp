#include "runtime/cpu/resolve.h"

#include "runtime/error.h"
#include "runtime/plan/index_flow.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {
namespace {

class Resolver {
 public:
  Resolver(const Plan& plan, const std::vector<KernelFunctions>& functions,
           const std::vector<std::byte*>& bases, ResolvedEntry& resolved)
      : plan_(plan), functions_(functions), bases_(bases), resolved_(resolved) {}

  void run() {
    const PlanEntry& entry = *resolved_.entry;
    resolved_.launches.reserve(entry.steps.size());  // patches point into them
    for (size_t i = 0; i < entry.steps.size(); ++i) {
      place_ = describe_step(entry, i);
      check_ranges(plan_, entry.steps[i], resolved_.values, place_);
      std::visit([this](const auto& step) { add(step); }, entry.steps[i].what);
    }
    check_indices(plan_, entry, resolved_.values);
    for (const Port& port : entry.inputs) resolved_.inputs.push_back(port_size(port));
    for (const Port& port : entry.outputs) resolved_.outputs.push_back(port_size(port));
  }

 private:
  int64_t value(const Dim& dim) const { return dim.evaluate(resolved_.values); }
  const Buffer& buffer(int index) const { return plan_.buffers[static_cast<size_t>(index)]; }

  ResolvedEntry::ResolvedPort port_size(const Port& port) const {
    const int64_t count = value(element_count(port.shape));
    return {count * size_of(port.dtype), count == value(buffer(port.buffer).elements)};
  }

  void point(void*& pointer, const BufferRef& ref) {
    const int64_t bytes = value(ref.offset) * size_of(buffer(ref.buffer).dtype);
    std::byte* base = bases_[static_cast<size_t>(ref.buffer)];
    if (base)
      pointer = base + bytes;
    else
      resolved_.patches.push_back({&pointer, ref.buffer, bytes});
  }

  template <typename L>
  L& launch() {
    return std::get<L>(resolved_.launches.emplace_back(std::in_place_type<L>));
  }

  void add(const KernelStep& step) {
    const KernelCode& kernel = plan_.kernels[static_cast<size_t>(step.kernel)];
    KernelLaunch& l = launch<KernelLaunch>();
    l.functions = functions_[static_cast<size_t>(step.kernel)];
    l.buffers.resize(step.arguments.size());
    for (size_t i = 0; i < step.arguments.size(); ++i) point(l.buffers[i], step.arguments[i]);
    for (const Dim& dim : kernel.dims) l.dims.push_back(value(dim));
    l.random_ids = step.random_ids.data();
    l.random_count = step.random_ids.size();
    for (const RandomPart& of : step.random_parts)
      l.random_parts.emplace_back(value(of.parts), value(of.part));
    l.range = value(kernel.range);
    if (l.range < 0) fail_with(Status::invalid_file, "{}: the range {} is below 0", place_, l.range);
    const int64_t splits = kernel.splits;
    l.chunk = splits > 0 ? std::max<int64_t>(1, l.range / splits + (l.range % splits != 0)) : kernel.grain;
    if (kernel.attention) l.attention = PreparedAttention(kernel, resolved_.values);
    l.chunks = splits > 0 ? splits : l.range / l.chunk + (l.range % l.chunk != 0);
  }

  void add(const GemmStep& step) {
    for (DType dtype : {step.dtype, step.result_dtype})
      if (!is_float(dtype) || dtype == DType::f64)
        fail_with(Status::invalid_file, "{}: a GEMM of {} matrices: expected f32, bf16 or f16", place_,
                  name(dtype));
    const auto matrix = [&](const GemmStep::Matrix& m) {
      return GemmSizes::Matrix{value(m.row_stride), value(m.column_stride)};
    };
    GemmSizes sizes{value(step.m),  value(step.n),  value(step.k), matrix(step.a),
                    matrix(step.b), matrix(step.c), step.alpha,    step.beta};
    for (const GemmStep::Batch& batch : step.batch)
      sizes.batch.push_back({value(batch.extent), value(batch.a_stride), value(batch.b_stride),
                             batch.reduced ? 0 : value(batch.c_stride), batch.reduced});
    GemmLaunch& l = launch<GemmLaunch>();
    l.gemm = TypedGemm(sizes, step.dtype, step.result_dtype, place_, {step.a_i8, step.b_i8});
    point(l.a, step.a.base), point(l.b, step.b.base), point(l.c, step.c.base);
    if (step.bias) point(l.bias, *step.bias);
  }

  void add(const SortIndexStep& step) {
    SortLaunch& l = launch<SortLaunch>();
    point(l.indices, step.indices), point(l.permutation, step.permutation), point(l.begins, step.begins);
    l.count = value(step.count), l.rows = value(step.rows);
  }

  void add(const ScanStep& step) {
    ScanLaunch& l = launch<ScanLaunch>();
    point(l.x, step.x), point(l.y, step.y);
    l.sizes = {value(step.outer),    value(step.count),
               value(step.inner),    value(step.x_outer_stride),
               value(step.x_stride), value(step.y_outer_stride),
               value(step.y_stride), step.kind,
               step.exclusive,       step.dtype};
  }

  void add(const TopKStep& step) {
    TopKLaunch& l = launch<TopKLaunch>();
    point(l.x, step.x), point(l.values, step.values), point(l.indices, step.indices);
    l.sizes = {value(step.rows), value(step.count), value(step.row_stride), value(step.k)};
  }

  void add(const SampleStep& step) {
    SampleLaunch& l = launch<SampleLaunch>();
    point(l.scores, step.scores), point(l.numbers, step.numbers), point(l.integers, step.integers);
    point(l.tokens, step.tokens), point(l.log_probabilities, step.log_probabilities);
    l.sizes = {value(step.rows), value(step.count), value(step.row_stride), value(step.numbers_stride),
               value(step.integers_stride)};
  }

  void add(const CopyStep& step) {
    std::vector<CopyAxis> axes;
    for (size_t i = 0; i < step.extents.size(); ++i)
      axes.push_back({value(step.extents[i]), value(step.from_strides[i]), value(step.to_strides[i])});
    CopyLaunch& l = launch<CopyLaunch>();
    l.copy = PreparedCopy(std::move(axes), size_of(step.dtype));
    point(l.from, step.from), point(l.to, step.to);
  }

  void add(const FillStep& step) {
    FillLaunch& l = launch<FillLaunch>();
    l.count = value(step.elements), l.dtype = buffer(step.to.buffer).dtype, l.value = step.value;
    point(l.to, step.to);
  }

  void add(const CollectiveStep& step) {
    CollectiveLaunch& l = launch<CollectiveLaunch>();
    const int64_t size = size_of(step.dtype);
    l.sizes = {step.kind,
               *plan_.mesh.find(step.axis),
               value(step.ranks),
               value(step.from_elements()) * size,
               value(step.to_elements()) * size,
               step.dtype,
               step.sum,
               value(step.rows),
               value(step.from_stride) * size,
               value(step.to_stride) * size};
    point(l.from, step.from), point(l.to, step.to);
  }

  const Plan& plan_;
  const std::vector<KernelFunctions>& functions_;
  const std::vector<std::byte*>& bases_;
  ResolvedEntry& resolved_;
  std::string place_;
};

}  // namespace

ResolvedEntry resolve(const Plan& plan, const PlanEntry& entry, const SymbolValues& values,
                      const std::vector<KernelFunctions>& functions, const std::vector<std::byte*>& bases) {
  plan.symbols.check(values);
  ResolvedEntry resolved;
  resolved.entry = &entry;
  resolved.values = values;
  Resolver(plan, functions, bases, resolved).run();
  return resolved;
}

}  // namespace smelt
