#include "codegen/gpu/thread_ir/visit_statements.h"

namespace smelt::gpu {
namespace {

/// Returns the body within a statement; null if it has none.
struct BodyWithin {
  const Body* operator()(const Loop& x) const { return x.body.get(); }
  const Body* operator()(const Branch& x) const { return x.body.get(); }
  const Body* operator()(const Scope& x) const { return x.body.get(); }
  template <typename Kind>
  const Body* operator()(const Kind&) const {
    return nullptr;
  }
};

struct ExpressionVisitor {
  const std::function<void(const Expr&)>& visit;

  void operator()(const Declaration& x) const { visit(x.value); }
  void operator()(const Assignment& x) const { visit(x.target), visit(x.value); }
  void operator()(const Call& x) const { visit(x.call); }
  void operator()(const Store& x) const { visit(x.element), visit(x.value); }
  void operator()(const VectorAccess& x) const {
    visit(x.registers), visit(x.address), visit(x.count);
    if (x.lane) visit(x.lane);
  }
  void operator()(const Combination& x) const {
    for (const Expr& scalar : x.state) visit(scalar);
    for (const Expr& scalar : x.others) visit(scalar);
  }
  void operator()(const Loop& x) const {
    if (x.variable) (*this)(*x.variable);
    visit(x.condition);
    if (x.step) (*this)(*x.step);
  }
  void operator()(const Branch& x) const { visit(x.condition); }
  void operator()(const Scope&) const {}
  void operator()(const Barrier& x) const { visit(x.group), visit(x.mask); }
  void operator()(const Jump&) const {}
};

}  // namespace

void visit_statements(const Body& body, const std::function<void(const Statement&)>& visit) {
  for (const Statement& statement : body) {
    visit(statement);
    if (const Body* within = std::visit(BodyWithin(), statement.as)) visit_statements(*within, visit);
  }
}

void visit_statements(const Launch& launch, const std::function<void(const Statement&)>& visit) {
  for (const Function& function : launch.functions) visit_statements(function.code, visit);
  visit_statements(launch.code, visit);
}

void visit_expressions(const Statement& statement, const std::function<void(const Expr&)>& visit) {
  std::visit(ExpressionVisitor{visit}, statement.as);
}

}  // namespace smelt::gpu
