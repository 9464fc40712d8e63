#include "compiler/make_program.h"

#include <fmt/format.h>

#include "codegen/launches/attach_tails.h"
#include "codegen/launches/dependent_launches.h"
#include "codegen/launches/few_row_bodies.h"
#include "codegen/launches/gemm_bodies.h"
#include "codegen/launches/merge_launches.h"
#include "codegen/launches/side_by_side.h"
#include "codegen/lowering/lower.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "ir/analysis/attention_form.h"
#include "passes/fusion/fuse_gemm_epilogues.h"
#include "passes/fusion/split_bodies.h"
#include "passes/memory/assign_layout.h"
#include "passes/memory/join_gathers.h"
#include "passes/memory/order_steps.h"
#include "passes/memory/place_collectives.h"
#include "passes/memory/split_buffers.h"
#include "passes/offload/stream_states.h"
#include "passes/sharding/bucket_collectives.h"
#include "passes/sharding/fill_waits.h"
#include "passes/sharding/overlap_collectives.h"
#include "runtime/interrupt.h"

namespace smelt {
namespace {

/// A gather whose reader follows its indices.
bool is_read_in_place(const Node& node, const MakeProgram& make) {
  if (!node.is(Op::gather) || node.result()->dtype() != make.options.storage) return false;
  if (!make.target.is_cuda()) return is_read_in_table(node, TableQueries::any);
  return make.target.attention == AttentionTemplates::measured && is_read_in_table(node, TableQueries::few);
}

void run_passes(PassManager& passes, Module& module, Compilation& result) {
  passes.run(module);
  result.pass_timing += passes.timing_report();
}

PassCall rematerialize_call(const MakeProgram& make) {
  const CompileOptions& options = make.options;
  if (!options.recompute.has_price()) return {"rematerialize", {}};
  return parse_pipeline(fmt::format("rematerialize{{{},target={},storage={},tf32={}}}",
                                    options.recompute.str(), make.target.str(), name(options.storage),
                                    options.tf32))[0];
}

}  // namespace

void recompute(Module& module, const MakeProgram& make, RematerializeReport* report) {
  const CompileOptions& options = make.options;
  if (!options.pipeline.empty()) return;
  PassManager passes(options.passes);
  const NodeSecondsOptions time = {rates_of(make.target), options.storage, options.tf32};
  passes.add(rematerialize_call(make),
             [&](Graph& g) { return rematerialize(g, {report, options.recompute, time}); });
  passes.add("simplify");
  run_passes(passes, module, make.result);
}

void fuse_and_place(Module& module, const MakeProgram& make) {
  const CompileOptions& options = make.options;
  const Target& target = make.target;
  PassManager passes(options.passes);
  FusionReport* report = options.explain_fusion ? &make.result.fusions : nullptr;
  passes.add("guard_indices");
  const auto stays = [&](const Node& node) { return is_read_in_place(node, make); };
  passes.add({"fuse", {}}, [&](Graph& g) {
    return fuse(g, {.report = report, .stays = stays, .updates_apart = options.offload.on()});
  });
  passes.add("accumulate_gemms");
  if (options.storage != DType::f32)
    passes.add(PassCall{"assign_precision", {{"storage", std::string(name(options.storage))}}}.str());
  // A CPU has no room for the rest in its tiles.
  if (options.storage != DType::f32 && target.is_cuda()) passes.add("keep_attention_rest");
  if (options.tf32) passes.add("allow_tf32");
  passes.add({"fuse_gemm_epilogues", {}}, [&](Graph& g) { return fuse_gemm_epilogues(g, {target}); });
  passes.add({"split_bodies", {}}, [&](Graph& g) { return split_bodies(g, {target}); });
  passes.add({"assign_layout", {}},
             [&](Graph& g) { return assign_layout(g, {.log = &make.result.layout_copies}); });
  run_passes(passes, module, make.result);
}

void make_program(const MakeProgram& make) {
  Program& program = make.result.program;
  program = lower(*make.result.fused, make.target);
  poll_interrupt();
  offload_states(program, make.options.offload);
  fuse_few_rows(program, make.target);
  offer_gemm_bodies(program, make.target);
  schedule_kernels(program, make.target);
  poll_interrupt();
  bucket_collectives(program, make.options.buckets);
  split_buffers(program);
  order_steps(program, {});
  place_collectives(program);
  join_gathers(program);
  if (make.target.is_cuda()) attach_tails(program), merge_launches(program);
  if (make.target.is_cuda()) run_side_by_side(program);
  if (make.target.is_cuda()) fill_waits(program);
  if (make.target.is_cuda()) mark_dependent_launches(program);
  if (make.target.is_cuda()) overlap_collectives(program, {});
  poll_interrupt();
  stream_states(program, {});
  plan_memory(program, {.report = &make.result.memory});
}

}  // namespace smelt
