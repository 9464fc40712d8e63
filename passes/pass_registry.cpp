#include "passes/pass_registry.h"

#include "passes/all_passes.h"

namespace smelt {
namespace {

constexpr bool required = true, optional = false;

constexpr Pass kPasses[] = {
#define SMELT_PASS(name, kind, description) pass_of<&smelt::name>(#name, kind, description),
#include "passes/passes.def"
};

}  // namespace

llvm::ArrayRef<Pass> pass_table() { return kPasses; }

const PassRegistry& pass_registry() {
  static const PassRegistry registry{pass_table()};
  return registry;
}

}  // namespace smelt
