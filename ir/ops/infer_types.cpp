// The result types of an op, by its rule and its body. Builder, parser and verifier all ask here.
#include "ir/graph/body.h"
#include "ir/ops/op_attributes.h"
#include "ir/ops/type_rules.h"

namespace smelt {
namespace {

using rules::Context;
using rules::Types;

using Rule = Types (*)(const Context&);
constexpr Rule kRules[] = {
#define SMELT_OP(name, fewest, most, traits, rule, ...) rules::infer_##rule,
#include "ir/ops/ops.def"
};

bool fits(const OpInfo& row, size_t operands) {
  const auto count = static_cast<int>(operands);
  return count >= row.fewest && (row.most < 0 || count <= row.most);
}

void check_arity(const Context& c) {
  const OpInfo& row = info(c.op);
  if (!fits(row, c.operands.size()))
    fail("{}: {} operands, expected {}{}{}", row.name, c.operands.size(), row.fewest,
         row.most < 0             ? " or more"
         : row.most == row.fewest ? ""
                                  : fmt::format(" to {}", row.most),
         row.has(Trait::region) ? " and those that a body takes" : "");
  if (row.has(Trait::declared) && c.declared.size() != 1) fail("{}: its type must be written down", row.name);
}

}  // namespace

std::vector<Type> infer_body_inputs(Op op, llvm::ArrayRef<Value*> own, llvm::ArrayRef<Value*> arguments,
                                    const Attributes& attributes) {
  if (!info(op).has(Trait::region)) fail("{}: this operation takes no body", name(op));
  const Context context{op, {}, {}, own, attributes, {}, true};
  check_arity(context);
  check_attributes(op, attributes, own, {});
  Types types = kRules[static_cast<size_t>(op)](context);
  for (const Value* argument : arguments) types.push_back(argument->type);
  return types;
}

namespace {

/// The inputs are what the body is given; the outputs are the node's results, or the op's rule says what
/// those are.
Types infer_from_body(Op op, llvm::ArrayRef<Value*> operands, const Attributes& attributes,
                      const Graph& body) {
  const std::vector<Node*> inputs = body.inputs();
  const size_t handed = handed_to_body(op).size(), arguments = inputs.size() - handed;
  if (inputs.size() < handed || operands.size() < arguments || !fits(info(op), operands.size() - arguments))
    fail("{}: its body has {} inputs for {} operands", name(op), inputs.size(), operands.size());
  const Types given =
      infer_body_inputs(op, operands.drop_back(arguments), operands.take_back(arguments), attributes);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]->result()->type != given[i])
      fail("{}: input {} of its body is {}, expected {}", name(op), i, str(inputs[i]->result()->type),
           str(given[i]));
  Types returned;
  for (const Graph::Output& output : body.outputs) returned.push_back(output.value->type);
  if (returns_its_body(op)) return returned;
  return kRules[static_cast<size_t>(op)](
      {op, {}, {}, operands.drop_back(arguments), attributes, {}, false, &returned});
}

}  // namespace

std::vector<Type> infer_types(Op op, ScalarOp scalar, ReduceOp reduce, llvm::ArrayRef<Value*> operands,
                              const Attributes& attributes, llvm::ArrayRef<Type> declared,
                              const Graph* body) {
  if (body) return infer_from_body(op, operands, attributes, *body);
  const Context context{op, scalar, reduce, operands, attributes, declared};
  check_arity(context);
  check_attributes(op, attributes, operands, declared);
  return kRules[static_cast<size_t>(op)](context);
}

}  // namespace smelt
