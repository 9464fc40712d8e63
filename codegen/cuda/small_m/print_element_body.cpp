#include "codegen/cuda/small_m/emit_small_m.h"

#include <fmt/format.h>

#include "codegen/cuda/printers/body_arguments.h"
#include "codegen/cuda/printers/print_expression.h"
#include "codegen/cuda/printers/print_statements.h"
#include "codegen/gpu/lower/block_lowerings.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

class ElementBodyPrinter {
 public:
  explicit ElementBodyPrinter(const Kernel& kernel) : kernel_(kernel), names_(kernel) {
    for (const KernelBlock& block : kernel.blocks)
      for (const int id : block.instructions)
        if (is_early(instruction(id))) early_.push_back(id);
  }

  std::string run() const { return body_arguments(kernel_, names_) + types() + load() + body(); }

 private:
  const Instruction& instruction(int id) const { return kernel_.instructions[static_cast<size_t>(id)]; }

  static bool is_early(const Instruction& x) {
    return x.kind == Kind::load && x.predicate < 0 && x.access.computed < 0;
  }

  std::string types() const {
    const gpu::LoweringContext context(kernel_, 0);
    std::string text = "struct BodyLoads {\n";
    for (const int id : early_)
      text += fmt::format("  {} early{};\n", cuda_type(context.memory_type(id)), id);
    return text + "};\n\n";
  }

  static void begin(gpu::LoweringContext& context) {
    context.place.indices[static_cast<size_t>(context.shape.inner)] = context.column();
    context.declare_indices(gpu::variable("row", gpu::Scalar::index), context.shape.parallel);
  }

  std::string load() const {
    gpu::LoweringContext context(kernel_, 0);
    gpu::BlockLowerings lowerings(context);
    begin(context);
    for (const int id : early_)
      context.out.set(early_load(context, id), gpu::load(lowerings.addresses.element(id)));
    return body_function(kernel_, names_,
                         "SM void body_load(const BodyArguments& body, Index row, Index c, BodyLoads& loads)",
                         print(context.out.body(), 1));
  }

  std::string body() const {
    gpu::LoweringContext context(kernel_, 0);
    gpu::BlockLowerings lowerings(context);
    begin(context);
    for (const int id : early_) context.set_value(id, early_load(context, id));
    for (const KernelBlock& block : kernel_.blocks) lower(block, context, lowerings);
    return body_function(kernel_, names_,
                         "SM void body_run(const BodyArguments& body, Index row, Index c, const BodyLoads& "
                         "loads, const float (&handed)[PARTS])",
                         print(context.out.body(), 1));
  }

  static gpu::Expr early_load(const gpu::LoweringContext& context, int id) {
    return gpu::variable_of("loads.early", id, context.memory_type(id));
  }

  void lower(const KernelBlock& block, gpu::LoweringContext& context, gpu::BlockLowerings& lowerings) const {
    const BlockNest nest = context.shape.nest_of(block);
    for (const int id : block.instructions) {
      const Instruction& x = instruction(id);
      if (x.kind == Kind::handed)
        context.set_value(
            id, gpu::element(gpu::variable("handed", gpu::Type(gpu::Scalar::real).array(1)), x.slot));
      else if (!is_early(x))
        lowerings.instructions.lower(nest, id);
    }
  }

  const Kernel& kernel_;
  const gpu::KernelNames names_;
  std::vector<int> early_;
};

}  // namespace

std::string print_element_body(const Kernel& kernel) { return ElementBodyPrinter(kernel).run(); }

}  // namespace smelt
