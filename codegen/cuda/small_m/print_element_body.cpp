#include "codegen/cuda/small_m/emit_small_m.h"

#include <fmt/format.h>

#include "codegen/cuda/printers/block_printers.h"
#include "codegen/cuda/printers/print_body.h"

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
    const CudaContext context(kernel_, "0");
    std::string text = "struct BodyLoads {\n";
    for (const int id : early_)
      text += fmt::format("  {} early{};\n", cuda_type(context.memory_kind(id)), id);
    return text + "};\n\n";
  }

  static void begin(CudaContext& context) {
    context.out.indent();
    context.place.indices[static_cast<size_t>(context.shape.inner)] = "c";
    context.declare_indices("row", context.shape.parallel);
  }

  std::string load() const {
    CudaContext context(kernel_, "0");
    BlockPrinters printers(context);
    begin(context);
    for (const int id : early_)
      context.out.line("loads.early{} = sm_get({});", id, printers.addresses.element(id));
    return body_function(kernel_, names_,
                         "SM void body_load(const BodyArguments& body, Index row, Index c, BodyLoads& loads)",
                         context.out.text());
  }

  std::string body() const {
    CudaContext context(kernel_, "0");
    BlockPrinters printers(context);
    begin(context);
    for (const int id : early_)
      context.set_value(id, {fmt::format("loads.early{}", id), context.memory_kind(id)});
    for (const KernelBlock& block : kernel_.blocks) print(block, context, printers);
    return body_function(kernel_, names_,
                         "SM void body_run(const BodyArguments& body, Index row, Index c, const BodyLoads& "
                         "loads, const float (&handed)[PARTS])",
                         context.out.text());
  }

  void print(const KernelBlock& block, CudaContext& context, BlockPrinters& printers) const {
    const BlockNest nest = context.shape.nest_of(block);
    for (const int id : block.instructions) {
      const Instruction& x = instruction(id);
      if (x.kind == Kind::handed)
        context.set_value(id, {fmt::format("handed[{}]", x.slot), CudaKind::real});
      else if (!is_early(x))
        printers.instructions.print(nest, id);
    }
  }

  const Kernel& kernel_;
  const CudaNames names_;
  std::vector<int> early_;
};

}  // namespace

std::string print_element_body(const Kernel& kernel) { return ElementBodyPrinter(kernel).run(); }

}  // namespace smelt
