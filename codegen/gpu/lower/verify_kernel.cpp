#include "codegen/gpu/lower/verify_kernel.h"

#include <fmt/format.h>

#include "codegen/gpu/lower/lower_body.h"
#include "codegen/gpu/thread_ir/verify.h"

namespace smelt::gpu {
namespace {

Expr block_of_body() { return variable("block_", Scalar::bits); }

/// Returns the parameters and shared arrays of the function around a kernel's code.
std::vector<Expr> names_around(const Kernel& kernel, const KernelNames& names) {
  std::vector<Expr> known = {block_of_body(), variable("random", Type(Scalar::bits).pointer_to_const()),
                             variable("range_", Scalar::int64),
                             variable("shared_floats", Type(Scalar::real).pointer_to()),
                             variable("shared_ints", Type(Scalar::int32).pointer_to())};
  for (size_t i = 0; i < kernel.params.size(); ++i) known.push_back(names.param(static_cast<int>(i)));
  for (const std::string& dim : names.dims()) known.push_back(variable(dim + "_", Scalar::int64));
  for (int i = 0; i < kernel.random_slots; ++i)
    known.push_back(variable(fmt::format("id{}", i), Scalar::bits));
  return known;
}

void verify_body(const Kernel& kernel, std::vector<std::string>& faults) {
  const LoweredBody body = lower_body(kernel, block_of_body());
  for (const std::string& fault : verify({body.code, names_around(kernel, body.names), kernel.schedule.team}))
    faults.push_back(fmt::format("kernel {}: {}", kernel.name, fault));
}

}  // namespace

std::vector<std::string> verify_kernel(const Kernel& kernel) {
  std::vector<std::string> faults;
  if (!kernel.has_template()) verify_body(kernel, faults);
  for (const std::vector<Kernel>* others : {&kernel.before, &kernel.beside, &kernel.tail})
    for (const Kernel& other : *others) verify_body(other, faults);
  return faults;
}

}  // namespace smelt::gpu
