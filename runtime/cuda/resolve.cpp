#include "runtime/cuda/resolve.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include "runtime/base/error.h"
#include "runtime/base/half.h"
#include "runtime/cuda/template_launch.h"
#include "runtime/plan/plan_checks.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/row_parts.h"
#include "runtime/plan/step_values.h"

namespace smelt::cuda {
namespace {

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
  Resolver(const Device& device, const Plan& plan, const Addresses& addresses, const PartsOf& parts_of,
           ResolvedEntry& resolved)
      : device_(device), plan_(plan), addresses_(addresses), parts_of_(parts_of), resolved_(resolved) {}

  void run() {
    const PlanEntry& entry = *resolved_.entry;
    for (size_t i = 0; i < entry.steps.size(); ++i) {
      place_ = describe_step(entry, i);
      check_ranges(plan_, entry.steps[i], resolved_.values, place_);
      step_ = &entry.steps[i];
      std::visit([this](const auto& what) { resolved_.launches.emplace_back(launch(what)); }, step_->what);
    }
    if (parts_of_)
      for (size_t i = 0; i < entry.steps.size(); ++i) part_product_of(i);
    check_indices(plan_, entry, resolved_.values);
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

  /// Returns the position in host memory; null if the data are on the GPU.
  std::byte* host_place(const BufferRef& ref) const {
    const Buffer& b = buffer(ref.buffer);
    std::byte* const base = addresses_.host[static_cast<size_t>(ref.buffer)];
    const int64_t at = value(ref.offset);
    if (!base || at >= plan_.states[static_cast<size_t>(b.state)].resident) return nullptr;
    return base + at * size_of(b.dtype);
  }

  unsigned blocks(int64_t count) const {
    if (count < 0 || count > std::numeric_limits<int32_t>::max())
      fail_with(Status::invalid_file, "{}: {} blocks: expected 0 to 2^31 - 1", place_, count);
    return static_cast<unsigned>(count);
  }

  KernelLaunch launch(const KernelStep& step) const {
    const KernelCode& kernel = plan_.kernels[static_cast<size_t>(step.kernel)];
    if (addresses_.kernels[static_cast<size_t>(step.kernel)] == nullptr) return {};
    if (kernel.launch) return required_launch(step.kernel, launch_values());
    const int64_t range = value(kernel.range);
    if (range < 0) fail_with(Status::invalid_file, "{}: the range {} is below 0", place_, range);
    std::vector<uint64_t> values;
    for (const BufferRef& argument : step.arguments) values.push_back(address(argument));
    values.push_back(addresses_.random.address(step, place_));
    for (const Dim& dim : kernel.dims) values.push_back(static_cast<uint64_t>(value(dim)));
    values.insert(values.end(), step.random_ids.begin(), step.random_ids.end());
    values.push_back(static_cast<uint64_t>(range));
    KernelLaunch l;
    for (const TensorMap& map : kernel.maps) l.maps.push_back(encode(kernel, map, step));
    l.values = std::move(values);
    l.function = addresses_.kernels[static_cast<size_t>(step.kernel)];
    l.blocks = blocks(kernel.splits > 0 ? kernel.splits : range / kernel.grain + (range % kernel.grain != 0));
    if (kernel.most_blocks > 0) l.blocks = std::min(l.blocks, static_cast<unsigned>(kernel.most_blocks));
    l.copies = static_cast<unsigned>(kernel.copies);
    if (kernel.copies > 1) l.together = step.arguments.size();
    l.threads = static_cast<unsigned>(kernel.threads);
    l.shared_bytes = static_cast<unsigned>(kernel.shared_bytes);
    l.waits = kernel.waits;
    return l;
  }

  DriverTensorMap encode(const KernelCode& kernel, const TensorMap& map, const KernelStep& step) const {
    const auto parameter = static_cast<size_t>(map.parameter);
    return cuda::encode(map, kernel.parameters[parameter].dtype, address(step.arguments[parameter]),
                        resolved_.values, place_);
  }

  /// Launches the first of the step's templates that supports the sizes, the library, or the faster of the
  /// two. A step in order must have a template.
  Launch launch(const GemmStep& step) const {
    auto own = first_template();
    if (own && !plan_.kernels[static_cast<size_t>(own->kernel)].launch->measured)
      return TemplateLaunches{{std::move(own->launch)}};
    PreparedGemm gemm = prepared(step);
    if (step.in_order && !own && gemm.calls() > 0)
      fail_with(Status::invalid_file,
                "{}: a matmul in order, for whose sizes the plan has no kernel: compile it "
                "again for a GPU",
                place_);
    if (own) gemm.consider(std::move(own->launch));
    return GemmLaunch{std::move(gemm)};
  }

  DevicePointer address_if(const std::optional<BufferRef>& ref) const { return ref ? address(*ref) : 0; }

  PreparedGemm prepared(const GemmStep& step) const {
    if (step.a_i8 || step.b_i8)
      fail_with(Status::invalid_file, "{}: an operand of i8: expected floats, which a GPU multiplies",
                place_);
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
                    .tf32 = step.tf32,
                    .in_order = step.in_order,
                    .padded = step.padded};
    for (const GemmStep::Batch& batch : step.batch)
      sizes.batch.push_back({value(batch.extent), value(batch.a_stride), value(batch.b_stride),
                             batch.reduced ? 0 : value(batch.c_stride), batch.reduced});
    return {device_,
            sizes,
            address(step.a.base),
            address(step.b.base),
            address(step.c.base),
            place_,
            {.bias = address_if(step.bias), .scales = {address_if(step.a_scale), address_if(step.b_scale)}}};
  }

  /// Parts the product that reads or makes a collective's parts, where the library computes it and no other
  /// collective has parted it. Older plans have no memory for that: their buffers live too short.
  void part_product_of(size_t index) {
    auto* collective = std::get_if<CollectiveLaunch>(&resolved_.launches[index]);
    if (!collective || collective->ranks == 1) return;
    const std::vector<Step>& steps = resolved_.entry->steps;
    const auto& step = std::get<CollectiveStep>(steps[index].what);
    if (const auto maker = maker_in_parts(steps, index);
        maker && buffer(step.to.buffer).first_step <= static_cast<int>(*maker)) {
      const bool adds = std::get<GemmStep>(steps[*maker].what).beta != 0;
      const bool in_place = !adds && !is_read_by_others(step.from.buffer, index);
      collective->own_part_is_there = in_place;
      const PartsMade parts{true, part_made, in_place ? own_part_made : part_made};
      collective->made_in_parts = part_product(*maker, *collective, step, parts);
      collective->own_part_is_there &= collective->made_in_parts;
    } else if (const auto reader = reader_in_parts(steps, index);
               reader && buffer(step.from.buffer).last_step >= static_cast<int>(*reader)) {
      collective->read_in_parts = part_product(*reader, *collective, step, {false, part_read, own_part_read});
    }
  }

  /// Returns whether another step than `but` reads a buffer of the arena, or it is an output.
  bool is_read_by_others(int index, size_t but) const {
    const PlanEntry& entry = *resolved_.entry;
    if (std::ranges::count(entry.outputs, index, &Port::buffer) > 0) return true;
    for (size_t i = 0; i < entry.steps.size(); ++i)
      if (i != but && std::ranges::count(entry.steps[i].reads, index) > 0) return true;
    return false;
  }

  /// Descriptions of a product's parts: those of other ranks, and this rank's.
  struct PartsMade {
    using PartOf = GemmStep (*)(const GemmStep&, const CollectiveStep&, int64_t);
    bool makes;
    PartOf others, own;
  };
  bool part_product(size_t index, const CollectiveLaunch& collective, const CollectiveStep& step,
                    const PartsMade& parts) {
    const auto* whole = std::get_if<GemmLaunch>(&resolved_.launches[index]);
    if (!whole || !lie_in_arena(step)) return false;
    const Collectives::Parts wanted = parts_of_(collective);
    const auto& product = std::get<GemmStep>(resolved_.entry->steps[index].what);
    if (product.in_order) return false;  // parts have no kernel of their own
    if (!pays_in_parts(parts.others(product, step, 0), step, wanted.computed)) return false;
    place_ = describe_step(*resolved_.entry, index);
    PartedGemm parted{{}, collective, parts.makes};
    for (int64_t rank = 0; rank < collective.ranks; ++rank)
      parted.parts.push_back(prepared((rank == wanted.own ? parts.own : parts.others)(product, step, rank)));
    resolved_.launches[index] = std::move(parted);
    return true;
  }

  bool lie_in_arena(const CollectiveStep& step) const {
    const auto lies = [&](const BufferRef& ref) {
      const Buffer& b = buffer(ref.buffer);
      return in_arena(b.role) && b.parts.empty();
    };
    return lies(step.from) && lies(step.to);
  }

  bool pays_in_parts(const GemmStep& part, const CollectiveStep& step, PeerCopies::Parts wanted) const {
    if (wanted != PeerCopies::Parts::where_faster) return wanted == PeerCopies::Parts::always;
    const auto sizes = parted_sizes(part, step, [this](const Dim& dim) { return value(dim); });
    const PartedSeconds seconds = parted_seconds(sizes, device_.info().model.multiprocessors);
    return seconds.parts < seconds.whole;
  }

  struct OwnLaunch {
    int kernel;
    KernelLaunch launch;
  };
  /// Returns the first template of the current step's kernels that can be launched.
  std::optional<OwnLaunch> first_template() const {
    if (step_->kernels.empty()) return std::nullopt;
    const LaunchValues values = launch_values();
    for (const int kernel : step_->kernels)
      if (auto launch = template_launch(kernel, values)) return OwnLaunch{kernel, std::move(*launch)};
    return std::nullopt;
  }

  /// Any kind of step that its templates do: those of them that take these sizes.
  template <typename Kind>
  TemplateLaunches launch(const Kind&) const {
    if (step_->kernels.empty())
      fail_with(Status::invalid_file, "{}: the plan has no kernel for it: compile it again for a GPU",
                place_);
    const LaunchValues values = launch_values();
    TemplateLaunches launches;
    std::vector<int> taken;
    for (const int kernel : step_->kernels)
      if (auto own = template_launch(kernel, values)) {
        launches.kernels.push_back(std::move(*own));
        taken.push_back(kernel);
      }
    check_results(plan_, *step_, taken, place_);
    return launches;
  }

  /// Returns the values that the current step gives: its fields, the plan's symbols and the random numbers.
  LaunchValues launch_values() const {
    const StepValues fields = values_of(*step_);
    LaunchValues values;
    values.integers = resolved_.values;
    for (const auto& [name, dim] : fields.integers) values.integers[name] = value(dim);
    for (const auto& [name, place] : fields.addresses) values.addresses[name] = address(place);
    for (const auto& [name, number] : fields.reals) values.reals[name] = number;
    values.addresses["random"] = random();
    return values;
  }

  DevicePointer random() const {
    const auto* launch = std::get_if<KernelStep>(&step_->what);
    return launch ? addresses_.random.address(*launch, place_) : addresses_.random.whole();
  }

  std::optional<KernelLaunch> template_launch(int kernel, const LaunchValues& values) const {
    const auto index = static_cast<size_t>(kernel);
    try {
      return launch_of(plan_.kernels[index], addresses_.kernels[index], values);
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", place_, error.what()), error.status());
    }
  }

  KernelLaunch required_launch(int kernel, const LaunchValues& values) const {
    auto launch = template_launch(kernel, values);
    if (!launch)
      fail_with(Status::invalid_file, "{}: kernel '{}' does not take these sizes", place_,
                plan_.kernels[static_cast<size_t>(kernel)].name);
    return std::move(*launch);
  }

  /// Launches the first of the step's templates that supports the sizes, or the driver's copy.
  Launch launch(const CopyStep& step) const {
    int64_t elements = 1;
    bool dense = true;
    for (size_t i = step.extents.size(); i-- > 0;) {
      const int64_t extent = value(step.extents[i]);
      dense &=
          extent == 1 || (value(step.from_strides[i]) == elements && value(step.to_strides[i]) == elements);
      elements *= extent;
    }
    if (!dense) return strided_copy();
    std::byte *const from = host_place(step.from), *const to = host_place(step.to);
    if (from || to) return host_copy(step, from, to, elements);
    if (auto own = first_template()) return TemplateLaunches{{std::move(own->launch)}};
    return CopyLaunch{address(step.from), address(step.to),
                      static_cast<size_t>(elements * size_of(step.dtype))};
  }

  Launch strided_copy() const {
    auto own = first_template();
    if (!own) fail_with(Status::invalid_file, "{}: a strided copy: expected a kernel for it", place_);
    return TemplateLaunches{{std::move(own->launch)}};
  }

  HostCopyLaunch host_copy(const CopyStep& step, std::byte* from, std::byte* to, int64_t elements) const {
    if (from && to)
      fail_with(Status::invalid_file, "{}: a copy in the host's memory: expected one to or from the GPU",
                place_);
    return {.device = address(from ? step.to : step.from),
            .host = from ? from : to,
            .bytes = static_cast<size_t>(elements * size_of(step.dtype)),
            .to_device = from != nullptr,
            .waited_at = end_of(step.waited_at)};
  }

  /// The step that waits, or the next one.
  size_t end_of(int waited_at) const {
    return waited_at < 0 ? resolved_.launches.size() + 1 : static_cast<size_t>(waited_at);
  }

  CollectiveLaunch launch(const CollectiveStep& step) const {
    return {.kind = step.kind,
            .axis = plan_.mesh.find(step.axis).value(),
            .ranks = value(step.ranks),
            .from = address(step.from),
            .to = address(step.to),
            .elements = value(step.elements),
            .dtype = step.dtype,
            .sum = step.sum,
            .waited_at = end_of(step.waited_at),
            .waited_at_once = end_of(step.waited_at) == end_of(-1),
            .rows = value(step.rows),
            .from_stride = value(step.from_stride),
            .to_stride = value(step.to_stride),
            .same_place = is_at_one_place(step)};
  }

  /// All ranks of a group have equally many elements and rows in a step; other parts of its address may
  /// differ.
  static bool is_at_one_place(const CollectiveStep& step) {
    std::vector<std::string> sizes, place;
    for (const Dim* size : {&step.elements, &step.rows}) size->collect_symbols(sizes);
    for (const Dim* offset : {&step.to.offset, &step.to_stride}) offset->collect_symbols(place);
    return std::ranges::all_of(
        place, [&](const std::string& symbol) { return std::ranges::find(sizes, symbol) != sizes.end(); });
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

  const Device& device_;
  const Plan& plan_;
  const Addresses& addresses_;
  const PartsOf& parts_of_;
  ResolvedEntry& resolved_;
  const Step* step_ = nullptr;  // the current one
  std::string place_;           // of that
};

/// Drivers of before CUDA 12.3 have none in graphs.
bool has_dependent_launches(const Device& device) {
  int version = 0;
  check(driver().DriverGetVersion(&version), "asking for the driver's version");
  return device.info().compute_capability >= 90 && version >= 12030 && driver().LaunchKernelEx != nullptr;
}

std::vector<KernelLaunch*> kernels_of(Launch& launch) {
  std::vector<KernelLaunch*> kernels;
  if (auto* one = std::get_if<KernelLaunch>(&launch)) kernels.push_back(one);
  if (auto* several = std::get_if<TemplateLaunches>(&launch))
    for (KernelLaunch& kernel : several->kernels) kernels.push_back(&kernel);
  if (auto* gemm = std::get_if<GemmLaunch>(&launch))
    if (KernelLaunch* own = gemm->gemm.considered()) kernels.push_back(own);
  return kernels;
}

/// Marks kernels that may begin when their predecessor has begun. Such a kernel may read weights at once, so
/// the first kernel that surely runs begins after all work before the entry, such as a write of those
/// weights. So does the first kernel after a wait for a collective or a copy.
void set_dependent(ResolvedEntry& resolved) {
  std::set<size_t> waits;
  bool follows = false;
  for (size_t i = 0; i < resolved.launches.size(); ++i) {
    if (const auto* collective = std::get_if<CollectiveLaunch>(&resolved.launches[i]))
      waits.insert({collective->waited_at, collective->waited_at + (collective->read_in_parts ? 1 : 0)});
    if (const auto* copy = std::get_if<HostCopyLaunch>(&resolved.launches[i])) waits.insert(copy->waited_at);
    if (waits.contains(i)) follows = false;
    const bool surely = resolved.entry->steps[i].choice < 0 &&
                        !std::holds_alternative<GemmLaunch>(resolved.launches[i]) &&
                        !std::holds_alternative<PartedGemm>(resolved.launches[i]);
    for (KernelLaunch* kernel : kernels_of(resolved.launches[i])) {
      kernel->dependent = kernel->waits && follows;
      follows |= surely && kernel->blocks > 0;
    }
  }
}

}  // namespace

ResolvedEntry resolve(const Device& device, const Plan& plan, const PlanEntry& entry,
                      const SymbolValues& values, const Addresses& addresses, bool dependent,
                      const PartsOf& parts_of) {
  plan.symbols.check(values);
  ResolvedEntry resolved;
  resolved.entry = &entry;
  resolved.values = values;
  resolved.launches.reserve(entry.steps.size());
  resolved.taken.assign(entry.choices.size(), -1);
  Resolver(device, plan, addresses, parts_of, resolved).run();
  if (dependent && has_dependent_launches(device)) set_dependent(resolved);
  return resolved;
}

}  // namespace smelt::cuda
