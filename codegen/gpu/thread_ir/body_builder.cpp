#include "codegen/gpu/thread_ir/body_builder.h"

namespace smelt::gpu {

// ---- variables

Expr BodyBuilder::declare(const Type& type, const std::string& name, const Expr& value, std::string comment) {
  append(Declaration{
      .type = type, .name = name, .value = value, .constant = true, .comment = std::move(comment)});
  return variable(name, type);
}

Expr BodyBuilder::declare_changing(const Type& type, const std::string& name, const Expr& value) {
  append(Declaration{.type = type, .name = name, .value = value});
  return variable(name, type);
}

Expr BodyBuilder::declare_array(const Type& type, const std::string& name, std::vector<int64_t> extents,
                                bool zero, int alignment) {
  const auto rank = static_cast<int>(extents.size());
  append(Declaration{
      .type = type, .name = name, .extents = std::move(extents), .zero = zero, .alignment = alignment});
  return variable(name, type.array(rank));
}

// ---- statements

void BodyBuilder::assign(Assignment::Op op, const Expr& target, const Expr& value) {
  append(Assignment{op, target, value});
}

void BodyBuilder::call(const std::string& name, std::vector<Expr> operands, std::vector<Expr> constants) {
  append(Call{gpu::call(name, std::move(operands), Scalar::flag, std::move(constants))});
}

// ---- blocks

void BodyBuilder::open_if(const Expr& condition) {
  if (condition)
    open(Branch{condition});
  else
    open_scope();
}

Expr BodyBuilder::open_loop(const Type& type, const std::string& name, const Expr& begin, const Expr& end,
                            int64_t step, int64_t unroll) {
  const Expr i = variable(name, type);
  open(Loop{Declaration{.type = type, .name = name, .value = begin}, i < end,
            Assignment{Assignment::Op::add, i, step}, unroll});
  return i;
}

Expr BodyBuilder::open_halving(int first, int last, int64_t unroll) {
  const Expr d = variable("d", Scalar::int32);
  open(Loop{Declaration{.type = Scalar::int32, .name = "d", .value = first}, d >= last,
            Assignment{Assignment::Op::divide, d, 2}, unroll});
  return d;
}

void BodyBuilder::close() {
  Statement block = std::move(heads_.back());
  Body body = std::move(bodies_.back());
  heads_.pop_back(), bodies_.pop_back();
  std::visit(
      [&](auto& kind) {
        if constexpr (requires { kind.body; }) kind.body = std::make_shared<const Body>(std::move(body));
      },
      block.as);
  top().push_back(std::move(block));
}

}  // namespace smelt::gpu
