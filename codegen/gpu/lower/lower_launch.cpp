#include "codegen/gpu/lower/lower_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/gpu/lower/lower_function.h"

namespace smelt::gpu {
namespace {

class LaunchLowering {
 public:
  explicit LaunchLowering(const Kernel& kernel) : kernel_(kernel), names_(kernel) {}

  Launch run() {
    launch_.name = kernel_.name, launch_.threads = kernel_.threads(), launch_.copies = kernel_.copies;
    launch_.group = kernel_.schedule.team;
    launch_.numbers = number_parameters(kernel_, names_);
    if (kernel_.waits) wait();
    if (kernel_.beside.empty())
      run_kernel();
    else
      run_side_by_side();
    run_tail();
    launch_.code = out_.body();
    return std::move(launch_);
  }

 private:
  void wait() {
    out_.call("sm_allow_next_launch", {});
    out_.call("sm_wait_for_launches", {});
  }

  void add_pointers(const Kernel& kernel, const KernelNames& names, const std::string& prefix) {
    for (Parameter& pointer : pointer_parameters(kernel, names, prefix))
      launch_.pointers.push_back(std::move(pointer));
  }

  void need_shared(const LoweredBody& body) {
    launch_.shared_floats = std::max(launch_.shared_floats, body.shared_floats);
    launch_.shared_ints = std::max(launch_.shared_ints, body.shared_ints);
  }

  // ---- one kernel: its code, or a function if there are two forms of the code or other kernels after it

  void run_kernel() {
    add_pointers(kernel_, names_, "");
    if (kernel_.copies > 1) take_pointers_of_copy();
    LoweredBody body = lower_body(kernel_, block_number());
    need_shared(body);
    if (body.alignment_conditions.empty() && kernel_.tail.empty()) return out_.append_all(body.code);
    out_.call("body",
              arguments_of(kernel_, names_, {"", names_, variable("range_", Scalar::int64), block_number()}));
    launch_.functions.push_back(function_of(kernel_, "body", std::move(body)));
  }

  void take_pointers_of_copy() {
    for (const Parameter& pointer : launch_.pointers)
      out_.declare(pointer.type, pointer.name, argument_of_copy(pointer.name, pointer.type));
  }

  // ---- horizontal fusion: each kernel has blocks of its own, the first kernel's first

  void run_side_by_side() {
    Kernel alone = kernel_;
    alone.beside.clear();
    const size_t count = kernel_.beside.size() + 1;
    Expr block = out_.declare(Scalar::bits, "block", block_number());
    for (size_t i = 0; i < count; ++i) {
      const Kernel& kernel = i == 0 ? alone : kernel_.beside[i - 1];
      if (i + 1 == count) return run_beside(kernel, i, block);
      const Expr blocks = out_.declare(Scalar::bits, fmt::format("blocks{}", i), blocks_of(kernel));
      out_.open_if(block < blocks);
      run_beside(kernel, i, block);
      out_.leave();
      out_.close();
      block = out_.declare(Scalar::bits, fmt::format("block{}", i + 1), block - blocks);
    }
  }

  Expr blocks_of(const Kernel& kernel) const {
    const int64_t grain = kernel.schedule.grain;
    return cast((names_.launched_dim(kernel.range()) + (grain - 1)) / grain, Scalar::bits);
  }

  /// Threads beyond those of a block's own kernel have nothing to do.
  void run_beside(const Kernel& kernel, size_t number, const Expr& block) {
    const std::string name = fmt::format("beside{}", number);
    if (kernel.schedule.threads < kernel_.threads())
      out_.where(thread_number() >= kernel.schedule.threads, [&] { out_.leave(); });
    call_function(kernel, name, lower_body(kernel, block_parameter()),
                  {name + "_", names_, names_.launched_dim(kernel.range()), block});
  }

  void call_function(const Kernel& kernel, const std::string& name, LoweredBody body,
                     const KernelCall& call) {
    add_pointers(kernel, body.names, call.prefix);
    need_shared(body);
    out_.call(name, arguments_of(kernel, body.names, call));
    launch_.functions.push_back(function_of(kernel, name, std::move(body)));
  }

  // ---- the tail: last-block epilogues

  void run_tail() {
    if (kernel_.tail.empty()) return;
    launch_.has_last_block = true;
    out_.where(!call("is_last_block", {}, Scalar::flag), [&] { out_.leave(); });
    for (size_t i = 0; i < kernel_.tail.size(); ++i) {
      const Kernel& last = kernel_.tail[i];
      const std::string name = fmt::format("tail{}", i);
      if (i > 0) out_.barrier();
      call_function(last, name, lower_body(last, bits(0)),
                    {name + "_", names_, last.range().constant().value(), bits(0)});
    }
  }

  const Kernel& kernel_;
  const KernelNames names_;
  BodyBuilder out_;
  Launch launch_;
};

}  // namespace

Launch lower_launch(const Kernel& kernel) { return LaunchLowering(kernel).run(); }

}  // namespace smelt::gpu
