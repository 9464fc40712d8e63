// Launches of compiled kernels, over OpenMP threads.
#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/cpu/bind_step.h"

namespace smelt {
namespace {

struct KernelLaunch {
  KernelFunctions functions;
  PreparedAttention attention = {};  // of a part of attention
  std::vector<BoundPointer<void>> arguments;
  std::vector<void*> buffers;  // of the arguments, in this run
  std::vector<int64_t> dims;
  const std::vector<uint32_t>* random_ids = nullptr;
  std::vector<std::pair<int64_t, int64_t>> random_parts;  // parts and part, as KernelStep::random_parts
  int64_t range = 0, chunk = 1, chunks = 0;

  /// One per random id of the launch.
  std::vector<uint32_t> micro_steps(const Philox& random) const {
    std::vector<uint32_t> steps(random_ids->size(), random.micro_step);
    for (size_t i = 0; i < random_parts.size(); ++i)
      steps[i] = random.of_part(random_parts[i].first, random_parts[i].second).micro_step;
    return steps;
  }

  void operator()(const StepRun& run) {
    const Philox& random = run.random;
    std::ranges::copy(arguments, buffers.begin());
    const std::vector<uint32_t> own = micro_steps(random);
    const KernelArgs args{.buffers = buffers.data(),
                          .dims = dims.data(),
                          .random_ids = random_ids->data(),
                          .seed = random.seed,
                          .step = random.step,
                          .micro_step = random.micro_step,
                          .reserved = 0,
                          .chunk = chunk,
                          .micro_steps = own.data()};
    if (attention.attention) return attention.run(functions, buffers, args);
    const auto run_chunk = [&](int64_t i) {
      const int64_t begin = i * chunk;
      functions.run(&args, begin, std::max(begin, std::min(begin + chunk, range)));
    };
    if (chunks == 1) return run_chunk(0);
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t i = 0; i < chunks; ++i) run_chunk(i);
  }
};

}  // namespace

Launch bind_step(const KernelStep& step, StepBinder& binder) {
  const KernelCode& kernel = binder.plan().kernels[static_cast<size_t>(step.kernel)];
  KernelLaunch l;
  l.functions = binder.functions(step.kernel);
  for (const BufferRef& argument : step.arguments) l.arguments.push_back(binder.pointer<void>(argument));
  for (const Dim& dim : kernel.dims) l.dims.push_back(binder.value(dim));
  l.buffers.resize(l.arguments.size());
  l.random_ids = &step.random_ids;
  for (const RandomPart& of : step.random_parts)
    l.random_parts.emplace_back(binder.value(of.parts), binder.value(of.part));
  l.range = binder.value(kernel.range);
  if (l.range < 0) fail_with(Status::invalid_file, "{}: the range {} is below 0", binder.name(), l.range);
  const int64_t splits = kernel.splits;
  l.chunk = splits > 0 ? std::max<int64_t>(1, l.range / splits + (l.range % splits != 0)) : kernel.grain;
  l.chunks = splits > 0 ? splits : l.range / l.chunk + (l.range % l.chunk != 0);
  if (kernel.attention) l.attention = PreparedAttention(kernel, binder.values());
  return l;
}

}  // namespace smelt
