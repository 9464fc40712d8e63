#include "compiler/cli/commands/bench_workload.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "compiler/cli/commands/bench_training.h"
#include "compiler/cli/shared/timer.h"
#include "compiler/driver/plan_cache.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan_costs.h"

namespace smelt::cli {

BenchWorkload::BenchWorkload(const Description& description, const CompileOptions& compile_options,
                             const Options& options)
    : accumulate_(options.accumulate) {
  const auto begin = std::chrono::steady_clock::now();
  {
    const std::jthread preparation = prepare_executor(compile_options.target, compile_options.device);
    compilation_ = compile_or_recall(description, compile_options);
  }
  plan_ = std::make_shared<const Plan>(std::move(compilation_.plan));
  session_ = std::make_unique<Session>(plan_, SessionOptions{.threads = options.threads,
                                                             .profile = options.profile,
                                                             .device = compile_options.device,
                                                             .ranks = options.ranks});
  session_->initialize(1);
  session_->scalar("learning_rate") = 1e-4f;
  make_pipeline(options.order);
  make_inputs();
  flops_ = own_flops();
  step(true);
  first_step_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Every micro-batch is the one batch.
void BenchWorkload::make_pipeline(PipelineOrder order) {
  const auto stage = pipeline_stage(*plan_);
  if (!stage) return;
  const auto fill = [this](int64_t, Batch& batch) {
    for (const HostTensor& tensor : data_)
      std::ranges::copy(tensor.bytes, batch.add(tensor.name, tensor.dtype, tensor.shape));
  };
  const auto before = [this](int64_t micro_batch, const PlanEntry&, const SymbolValues&) {
    session_->set_random(0, step_, micro_batch);
  };
  pipeline_ = std::make_unique<PipelineWorker>(*session_, order_of(*stage, order),
                                               PipelineWorker::Host{fill, before});
}

const PlanEntry& BenchWorkload::entry() const {
  if (pipeline_) return session_->entry("batch");
  return session_->entry(accumulate_ > 1 ? "accumulate" : "train_step");
}

void BenchWorkload::make_inputs() {
  data_ = random_inputs(entry(), plan_->symbols);
  for (const HostTensor& tensor : data_)
    inputs_.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes.data()});
}

void BenchWorkload::step(bool fetch_loss) {
  if (pipeline_) pipeline_->accumulate(accumulate_);
  for (int i = 0; !pipeline_ && i < accumulate_; ++i) {
    session_->set_random(0, step_, i);
    if (accumulate_ > 1) run("accumulate", inputs_, false);
  }
  ++step_;
  if (pipeline_ || accumulate_ > 1)
    run("apply", {}, fetch_loss);
  else
    run("train_step", inputs_, fetch_loss);
}

void BenchWorkload::run(const std::string& entry, std::span<const InputTensor> inputs, bool fetch_loss) {
  const OutputBuffer output{"loss", &loss_, sizeof loss_};
  session_->run(entry, inputs, std::span(&output, fetch_loss ? 1 : 0));
  if (!std::isfinite(loss_)) fail("the loss of step {} is not finite", step_);
}

void BenchWorkload::steps(int count) {
  for (int i = 0; i < count; ++i) step(false);
  executor().synchronize();
}

SecondsByPart BenchWorkload::startup() const {
  Stopwatch parts;
  for (const auto& [phase, seconds] : compilation_.seconds)
    parts.add(phase == "emit" ? "cubins" : "compile", seconds);
  double other = first_step_;
  for (const auto& [part, seconds] : session_->executor().startup()) parts.add(part, seconds);
  for (const auto& [part, seconds] : parts.parts())
    if (part != "capture") other -= seconds;
  parts.add("other", other);
  return parts.parts();
}

int64_t BenchWorkload::parameters() const {
  int64_t count = 0;
  for (const State& state : plan_->states)
    if (state.role == Role::parameter && state.copy_of.empty())
      for (const Segment& segment : state.segments) count += segment.elements();
  return count;
}

Json BenchWorkload::states_json() const {
  const ExecutorMemory memory = executor_memory(*plan_);
  const PlanEntry& update = session_->entry(pipeline_ || accumulate_ > 1 ? "apply" : "train_step");
  const HostTraffic traffic = host_traffic(update, plan_->states, plan_->buffers, plan_->symbols);
  return {{"device_bytes", memory.states},
          {"host_bytes", memory.host},
          {"from_host_bytes", traffic.in},
          {"to_host_bytes", traffic.out}};
}

double BenchWorkload::own_flops() const {
  const SymbolValues sizes = largest_sizes(plan_->symbols);
  if (!pipeline_) return smelt::matrix_flops(entry(), sizes);
  const PipelineStage& stage = pipeline_->stage();
  double flops = 0;
  for (int64_t part = stage.stage; part < stage.parts(); part += stage.stages)
    for (const char* what : {"forward", "backward"})
      flops += smelt::matrix_flops(session_->entry(part_entry(what, part)), sizes);
  session_->ranks()->everyone().all_reduce(std::as_writable_bytes(std::span(&flops, 1)), DType::f64,
                                           CollectiveSum::add);
  return flops / static_cast<double>(plan_->mesh.ranks());
}

std::vector<double> timed_updates(BenchWorkload& work, const UpdateClock& clock) {
  std::vector<double> seconds = time_runs(clock.warm_up, clock.steps, [&] { work.steps(clock.together); });
  for (double& s : seconds) s /= clock.together;
  work.step(true);
  return seconds;
}

int64_t peak_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

int64_t BenchWorkload::tokens() const {
  for (const HostTensor& tensor : data_)
    if (tensor.name == "labels") return static_cast<int64_t>(tensor.bytes.size()) / size_of(tensor.dtype);
  return 0;
}

}  // namespace smelt::cli
