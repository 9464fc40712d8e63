#include "runtime/cuda/resolve.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "runtime/batched_gemm.h"
#include "runtime/error.h"
#include "runtime/half.h"
#include "runtime/plan/plan_validate.h"

namespace smelt::cuda {
namespace {

constexpr const char* kRankKernel = "smelt_sort_rank";
constexpr const char* kBeginsKernel = "smelt_sort_begins";

/// The bits of one element.
uint64_t pattern(DType dtype, double value) {
  const auto number = static_cast<float>(value);
  if (dtype == DType::f32) return std::bit_cast<uint32_t>(number);
  if (dtype == DType::f64) return std::bit_cast<uint64_t>(value);
  if (dtype == DType::bf16) return to_bf16(number);
  if (dtype == DType::f16) return to_f16(number);
  if (dtype == DType::boolean) return value != 0;
  return static_cast<uint64_t>(static_cast<int64_t>(value));
}

class Resolver {
 public:
  Resolver(const Plan& plan, const Addresses& addresses, ResolvedEntry& resolved)
      : plan_(plan), addresses_(addresses), resolved_(resolved) {}

  void run() {
    const PlanEntry& entry = *resolved_.entry;
    for (size_t i = 0; i < entry.steps.size(); ++i) {
      place_ = describe_step(entry, i);
      check_ranges(plan_, entry.steps[i], resolved_.values, place_);
      std::visit([this](const auto& step) { resolved_.launches.emplace_back(launch(step)); },
                 entry.steps[i].what);
    }
    for (const Port& port : entry.inputs) resolved_.input_bytes.push_back(bytes(port));
    for (const Port& port : entry.outputs) resolved_.output_bytes.push_back(bytes(port));
  }

 private:
  int64_t value(const Dim& dim) const { return dim.evaluate(resolved_.values); }
  const Buffer& buffer(int index) const { return plan_.buffers[static_cast<size_t>(index)]; }
  int64_t bytes(const Port& port) const { return value(element_count(port.shape)) * size_of(port.dtype); }

  DevicePointer address(const BufferRef& ref) const {
    return addresses_.buffers[static_cast<size_t>(ref.buffer)] +
           static_cast<DevicePointer>(value(ref.offset) * size_of(buffer(ref.buffer).dtype));
  }

  unsigned blocks(int64_t count) const {
    if (count < 0 || count > std::numeric_limits<int32_t>::max())
      fail_with(Status::invalid_file, "{}: {} blocks: expected 0 to 2^31 - 1", place_, count);
    return static_cast<unsigned>(count);
  }

  KernelLaunch launch(const KernelStep& step) const {
    const KernelCode& kernel = plan_.kernels[static_cast<size_t>(step.kernel)];
    const int64_t range = value(kernel.range);
    if (range < 0) fail_with(Status::invalid_file, "{}: the range {} is below 0", place_, range);
    std::vector<uint64_t> values;
    for (const BufferRef& argument : step.arguments) values.push_back(address(argument));
    values.push_back(addresses_.random);
    for (const Dim& dim : kernel.dims) values.push_back(static_cast<uint64_t>(value(dim)));
    values.insert(values.end(), step.random_ids.begin(), step.random_ids.end());
    values.push_back(static_cast<uint64_t>(range));
    KernelLaunch l;
    l.values = std::move(values);
    l.function = addresses_.kernels[static_cast<size_t>(step.kernel)];
    l.blocks = blocks(kernel.splits > 0 ? kernel.splits : range / kernel.grain + (range % kernel.grain != 0));
    l.copies = static_cast<unsigned>(kernel.copies);
    if (kernel.copies > 1) l.together = step.arguments.size();
    l.threads = static_cast<unsigned>(kernel.threads);
    l.shared_bytes = static_cast<unsigned>(kernel.shared_bytes);
    return l;
  }

  GemmLaunch launch(const GemmStep& step) const {
    const auto matrix = [&](const GemmStep::Matrix& m) {
      return GemmSizes::Matrix{value(m.row_stride), value(m.column_stride)};
    };
    GemmSizes sizes{.m = value(step.m),
                    .n = value(step.n),
                    .k = value(step.k),
                    .a = matrix(step.a),
                    .b = matrix(step.b),
                    .c = matrix(step.c),
                    .alpha = step.alpha,
                    .beta = step.beta,
                    .dtype = step.dtype,
                    .result_dtype = step.result_dtype,
                    .tf32 = step.tf32};
    for (const GemmStep::Batch& batch : step.batch)
      sizes.batch.push_back({value(batch.extent), value(batch.a_stride), value(batch.b_stride),
                             batch.reduced ? 0 : value(batch.c_stride), batch.reduced});
    PreparedGemm gemm(sizes, address(step.a.base), address(step.b.base), address(step.c.base), place_,
                      step.bias ? address(*step.bias) : 0);
    if (const auto own = batched_gemm(step)) gemm.consider(own_kernel(*own, sizes, step));
    return {std::move(gemm)};
  }

  /// Nothing where the plan has no such kernel, or these sizes are not aligned as it needs them.
  KernelLaunch own_kernel(const BatchedGemm& own, GemmSizes s, const GemmStep& step) const {
    const auto found = std::ranges::find(plan_.kernels, own.name(), &KernelCode::name);
    if (found == plan_.kernels.end()) return {};
    DevicePointer a = address(step.a.base), b = address(step.b.base);
    const DevicePointer c = address(step.c.base);
    if (own.swapped) s = transposed(s), std::swap(a, b);
    const auto pitch = [](const GemmSizes::Matrix& m, bool columns) {
      return columns ? m.row_stride : m.column_stride;
    };
    const GemmSizes::Batch &outer = s.batch[0], &inner = s.batch[1];
    const std::vector<int64_t> strides = {pitch(s.a, own.a_by_k),
                                          pitch(s.b, !own.b_by_k),
                                          s.c.row_stride,
                                          outer.a,
                                          outer.b,
                                          outer.c,
                                          inner.a,
                                          inner.b,
                                          inner.c};
    const int64_t in = size_of(s.dtype), out = size_of(s.result_dtype);
    bool aligned = (a | b | c) % 16 == 0;
    for (size_t i = 0; i < strides.size(); ++i) aligned &= strides[i] * (i % 3 == 2 ? out : in) % 16 == 0;
    if (!aligned || std::max({strides[0], strides[1], strides[2]}) >= kBatchedGemmPitches) return {};
    KernelLaunch l;
    l.function = addresses_.kernels[static_cast<size_t>(found - plan_.kernels.begin())];
    const auto tiles = [](int64_t extent) { return (extent + kBatchedGemmTile - 1) / kBatchedGemmTile; };
    l.blocks = blocks(outer.extent * inner.extent * tiles(s.m) * tiles(s.n));
    l.threads = kBatchedGemmThreads;
    l.shared_bytes = static_cast<unsigned>(std::clamp<int64_t>(tiles(s.k), 1, 2)) * kBatchedGemmStage;
    l.values = {a, b, c};
    for (const int64_t number : {s.m, s.n, s.k, strides[0], strides[1], strides[2], inner.extent})
      l.values.push_back(static_cast<uint64_t>(number));
    for (size_t i = 3; i < strides.size(); ++i) l.values.push_back(static_cast<uint64_t>(strides[i]));
    l.values.push_back(std::bit_cast<uint32_t>(static_cast<float>(s.alpha)));
    return l;
  }

  SortLaunch launch(const SortIndexStep& step) const {
    const auto count = static_cast<uint64_t>(value(step.count)),
               rows = static_cast<uint64_t>(value(step.rows));
    const std::vector<uint64_t> arguments = {address(step.indices), address(step.permutation),
                                             address(step.begins), count, rows};
    return {built_in(kRankKernel, arguments, static_cast<int64_t>(count)),
            built_in(kBeginsKernel, arguments, static_cast<int64_t>(rows) + 1)};
  }

  KernelLaunch built_in(std::string_view name, const std::vector<uint64_t>& arguments, int64_t range) const {
    const auto found = std::ranges::find(plan_.kernels, name, &KernelCode::name);
    if (found == plan_.kernels.end())
      fail_with(Status::invalid_file, "{}: the plan has no kernel '{}'", place_, name);
    KernelLaunch l;
    l.values = arguments;
    l.function = addresses_.kernels[static_cast<size_t>(found - plan_.kernels.begin())];
    l.blocks = blocks(range / found->grain + (range % found->grain != 0));
    l.threads = static_cast<unsigned>(found->threads);
    l.shared_bytes = static_cast<unsigned>(found->shared_bytes);
    return l;
  }

  CopyLaunch launch(const CopyStep& step) const {
    int64_t elements = 1;
    bool dense = true;
    for (size_t i = step.extents.size(); i-- > 0;) {
      const int64_t extent = value(step.extents[i]);
      dense &=
          extent == 1 || (value(step.from_strides[i]) == elements && value(step.to_strides[i]) == elements);
      elements *= extent;
    }
    if (!dense) fail_with(Status::invalid_file, "{}: a strided copy: expected a kernel for it", place_);
    return {address(step.from), address(step.to), static_cast<size_t>(elements * size_of(step.dtype))};
  }

  FillLaunch launch(const FillStep& step) const {
    const DType dtype = buffer(step.to.buffer).dtype;
    const uint64_t bits = pattern(dtype, step.value);
    FillLaunch l{address(step.to), static_cast<size_t>(value(step.elements)),
                 static_cast<int>(size_of(dtype)), static_cast<uint32_t>(bits)};
    if (l.width == 8) {
      if (bits >> 32 != (bits & 0xFFFFFFFFu))
        fail_with(Status::invalid_file, "{}: filling with {}: expected both halves of its bits to be equal",
                  place_, step.value);
      l.width = 4, l.count *= 2;
    }
    return l;
  }

  const Plan& plan_;
  const Addresses& addresses_;
  ResolvedEntry& resolved_;
  std::string place_;
};

}  // namespace

ResolvedEntry resolve(const Plan& plan, const PlanEntry& entry, const SymbolValues& values,
                      const Addresses& addresses) {
  plan.symbols.check(values);
  ResolvedEntry resolved;
  resolved.entry = &entry;
  resolved.values = values;
  resolved.launches.reserve(entry.steps.size());
  Resolver(plan, addresses, resolved).run();
  return resolved;
}

}  // namespace smelt::cuda
