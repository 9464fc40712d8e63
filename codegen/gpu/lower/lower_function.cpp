#include "codegen/gpu/lower/lower_function.h"

#include <fmt/format.h>

#include "codegen/gpu/lower/lowering_context.h"
#include "codegen/kernel_passes/kernel_indices.h"

namespace smelt::gpu {
namespace {

Parameter parameter_of(const Expr& variable) { return {variable.type(), variable->name}; }

Expr random_keys() { return variable("random", Type(Scalar::bits).pointer_to_const()); }

std::vector<Expr> random_ids(const Kernel& kernel) {
  std::vector<Expr> ids;
  for (int i = 0; i < kernel.random_slots; ++i) ids.push_back(variable_of("id", i, Scalar::bits));
  return ids;
}

}  // namespace

std::vector<Parameter> pointer_parameters(const Kernel& kernel, const KernelNames& names,
                                          const std::string& prefix) {
  std::vector<Parameter> all;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const Expr pointer = names.param(static_cast<int>(i));
    all.push_back({pointer.type(), prefix + pointer->name});
  }
  return all;
}

std::vector<Parameter> number_parameters(const Kernel& kernel, const KernelNames& names) {
  std::vector<Parameter> all = {parameter_of(random_keys())};
  for (const std::string& dim : names.dims()) all.push_back({Scalar::int64, dim + "_"});
  for (const Expr& id : random_ids(kernel)) all.push_back(parameter_of(id));
  all.push_back({Scalar::int64, "range_"});
  return all;
}

Expr block_parameter() { return variable("block_", Scalar::bits); }

Function function_of(const Kernel& kernel, const std::string& name, LoweredBody body) {
  std::vector<Parameter> parameters = pointer_parameters(kernel, body.names, "");
  for (const Parameter& number : number_parameters(kernel, body.names)) parameters.push_back(number);
  for (const Expr& last :
       {block_parameter(), LoweringContext::shared_floats(), LoweringContext::shared_ints()})
    parameters.push_back(parameter_of(last));
  return {name, std::move(parameters), std::move(body.code), std::move(body.alignment_conditions),
          kernel.schedule.team};
}

std::vector<Expr> arguments_of(const Kernel& kernel, const KernelNames& own, const KernelCall& call) {
  std::vector<Expr> all;
  for (const Parameter& pointer : pointer_parameters(kernel, own, call.prefix))
    all.push_back(variable(pointer.name, pointer.type));
  all.push_back(random_keys());
  for (const Dim& dim : launch_dims(kernel)) all.push_back(call.names.launched_dim(dim));
  for (const Expr& id : random_ids(kernel)) all.push_back(id);
  for (const Expr& last :
       {call.range, call.block, LoweringContext::shared_floats(), LoweringContext::shared_ints()})
    all.push_back(last);
  return all;
}

}  // namespace smelt::gpu
