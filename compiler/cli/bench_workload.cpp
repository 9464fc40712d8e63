#include "compiler/cli/bench_workload.h"

#include <chrono>
#include <cmath>
#include <random>

#include "compiler/plan_cache.h"
#include "runtime/error.h"
#include "runtime/plan/matrix_flops.h"

namespace smelt::cli {
namespace {

SymbolValues largest(const Symbols& symbols) {
  SymbolValues values;
  for (const std::string& name : symbols.names()) values[name] = symbols.upper(Dim::symbol(name));
  return values;
}

/// Ids that the input takes, ones for other integers (masks), a normal distribution for floats.
HostTensor random_input(const Port& port, const SymbolValues& sizes, std::mt19937& random) {
  HostTensor tensor{port.name, port.dtype, {}, {}};
  int64_t count = 1;
  for (const Dim& dim : port.shape) tensor.shape.push_back(dim.evaluate(sizes)), count *= tensor.shape.back();
  tensor.bytes.resize(static_cast<size_t>(count * size_of(port.dtype)));
  std::uniform_int_distribution<int32_t> id(0, port.ids ? static_cast<int32_t>(port.ids->below) - 1 : 0);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i) {
    if (port.dtype == DType::f32)
      reinterpret_cast<float*>(tensor.bytes.data())[i] = normal(random);
    else if (port.dtype == DType::i32)
      reinterpret_cast<int32_t*>(tensor.bytes.data())[i] = port.ids ? id(random) : 1;
    else
      fail("input '{}' is {}: the benchmark makes f32 and i32", port.name, name(port.dtype));
  }
  return tensor;
}

}  // namespace

BenchWorkload::BenchWorkload(const Description& description, const CompileOptions& compile_options,
                             const Options& options)
    : accumulate_(options.accumulate) {
  const auto begin = std::chrono::steady_clock::now();
  {
    const std::jthread preparation = prepare_executor(compile_options.target, compile_options.device);
    compilation_ = options.plan_cache ? compile_or_recall(description, compile_options)
                                      : compile(description, compile_options);
  }
  plan_ = std::make_shared<const Plan>(std::move(compilation_.plan));
  session_ = std::make_unique<Session>(
      plan_, SessionOptions{.threads = options.threads, .profile = options.profile});
  session_->initialize(1);
  session_->scalar("learning_rate") = 1e-4f;
  make_inputs();
  step(true);
  first_step_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void BenchWorkload::make_inputs() {
  std::mt19937 random(1);
  for (const Port& port : entry().inputs)
    if (!port.optional) data_.push_back(random_input(port, largest(plan_->symbols), random));
  for (const HostTensor& tensor : data_)
    inputs_.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes.data()});
}

void BenchWorkload::step(bool fetch_loss) {
  for (int i = 0; i < accumulate_; ++i) {
    session_->set_random(0, step_, i);
    if (accumulate_ > 1) run("accumulate", inputs_, false);
  }
  ++step_;
  if (accumulate_ > 1)
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
  for (const Segment& segment : plan_->find_state("parameters")->segments) count += segment.elements();
  return count;
}

double BenchWorkload::matrix_flops() const { return smelt::matrix_flops(entry(), largest(plan_->symbols)); }

int64_t BenchWorkload::tokens() const {
  for (const HostTensor& tensor : data_)
    if (tensor.name == "labels") return static_cast<int64_t>(tensor.bytes.size()) / size_of(tensor.dtype);
  return 0;
}

}  // namespace smelt::cli
