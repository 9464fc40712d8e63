#include "codegen/gpu/thread_ir/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/gpu/thread_ir/check_types.h"
#include "codegen/gpu/thread_ir/divergence.h"

namespace smelt::gpu {
namespace {

struct DeclaredVariable {
  Type type = Scalar::int32;
  bool constant = true;
  Agreement agreement = Agreement::block;
};

/// The variables of a block, and who runs its statements.
struct OpenBlock {
  std::map<std::string, DeclaredVariable> variables = {};
  Agreement runs = Agreement::block;  // threads that agree on whether they run the next statement
  bool loop = false;
};

class Verifier {
 public:
  explicit Verifier(const CheckedCode& code) : group_(code.group) {
    blocks_.emplace_back();
    for (const Expr& variable : code.known) blocks_[0].variables[variable->name] = {variable.type()};
    blocks_.emplace_back();
  }

  void check_all(const Body& body) {
    for (const Statement& statement : body) std::visit(*this, statement.as);
  }
  std::vector<std::string> take_faults() { return std::move(faults_); }

  // ---- statements

  void operator()(const Declaration& x) {
    check(x.value);
    const Type type = x.type.rank == 0 ? x.type.array(static_cast<int>(x.extents.size())) : x.type;
    if (x.value && !takes(type, x.value.type()))
      fault("'{}' is declared with a value of another type", x.name);
    if (blocks_.back().variables.count(x.name) != 0) fault("'{}' is declared twice in a block", x.name);
    const bool known = x.constant && x.extents.empty();
    blocks_.back().variables[x.name] = {type, x.constant, known ? agreement(x.value) : Agreement::block};
  }
  void operator()(const Assignment& x) {
    check(x.target), check(x.value);
    if (!takes(x.target.type(), x.value.type()) && !is_wide_sum(x))
      fault("a value of another type is assigned to '{}'", name_of(x.target));
    if (x.target->kind != ExprNode::Kind::variable && x.target->kind != ExprNode::Kind::element)
      fault("only variables and elements are assigned to");
    if (const DeclaredVariable* variable = find(name_of(x.target));
        variable != nullptr && variable->constant && !variable->type.pointer && variable->type.rank == 0)
      fault("'{}' is constant and is assigned to", name_of(x.target));
  }
  void operator()(const Call& x) { check(x.call); }
  void operator()(const Store& x) {
    check(x.element), check(x.value);
    if (x.element.scalar() != Scalar::stored || x.element.type().read_only)
      fault("a store takes an element in memory that the kernel may write");
    else if (x.value.scalar() != computed_type(x.element.type().element))
      fault("a number of another type is stored to '{}'", name_of(x.element));
  }
  void operator()(const VectorAccess& x) {
    check(x.registers), check(x.address), check(x.count);
    if (x.lane) check(x.lane);
    if ((x.aligned == VectorAccess::Aligned::shifted) != (x.store && x.lane))
      fault("stores alone are shifted, by the number of a lane");
    if (x.registers.type().rank != 1 && !x.registers.type().pointer)
      fault("a vector is an array of one dimension, not '{}'", name_of(x.registers));
    if (!x.address.type().pointer && x.address.type().rank == 0) fault("a vector has an address");
  }
  void operator()(const Combination& x) {
    for (const Expr& scalar : x.state) check(scalar);
    for (const Expr& scalar : x.others) check(scalar);
    const size_t others = x.with == Combination::With::state ? x.state.size() : 1;
    if (x.state.size() != info(x.op).state.size() || x.others.size() != others)
      fault("a state of {} has {} scalars", info(x.op).name, info(x.op).state.size());
  }
  void operator()(const Loop& x) {
    blocks_.emplace_back();
    if (x.variable) (*this)(*x.variable);
    check_condition(x.condition);
    Agreement runs = agreement(x.condition);
    if (x.variable) runs = std::max(runs, agreement(x.variable->value));
    if (x.variable) blocks_.back().variables[x.variable->name].agreement = runs;
    if (x.step) (*this)(*x.step);
    check_block(*x.body, runs, true);
    blocks_.pop_back();
  }
  void operator()(const Branch& x) {
    check_condition(x.condition);
    check_block(*x.body, agreement(x.condition), false);
  }
  void operator()(const Scope& x) { check_block(*x.body, Agreement::block, false); }
  void operator()(const Barrier& x) {
    check(x.group), check(x.mask);
    const bool of_block = x.of == Barrier::Of::block;
    if (runs() > (of_block ? Agreement::block : Agreement::group))
      fault("a barrier of a {} is not reached by all of its threads", of_block ? "thread block" : "group");
  }
  /// The statements after a jump run only in the threads that did not jump.
  void operator()(const Jump& x) {
    const Agreement left = runs_within(x);
    for (size_t i = blocks_.size(); i-- > 0;) {
      blocks_[i].runs = std::max(blocks_[i].runs, left);
      if (x.next_iteration && blocks_[i].loop) return;
    }
    if (x.next_iteration) fault("there is no loop around a jump to the next iteration");
  }

 private:
  template <typename... Args>
  void fault(fmt::format_string<Args...> format, Args&&... args) {
    faults_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  static std::string name_of(const Expr& place) {
    if (place->kind == ExprNode::Kind::variable) return place->name;
    return place->operands.empty() ? "" : name_of(place->operands[0]);
  }

  /// An f64 sum takes f32 terms.
  static bool is_wide_sum(const Assignment& x) {
    return x.op == Assignment::Op::add && x.target.type().is_real() && x.value.type().is_real();
  }

  const DeclaredVariable* find(const std::string& name) const {
    for (size_t i = blocks_.size(); i-- > 0;)
      if (const auto found = blocks_[i].variables.find(name); found != blocks_[i].variables.end())
        return &found->second;
    return nullptr;
  }

  // ---- expressions

  void check(const Expr& tree) {
    visit_nodes(tree, [&](const ExprNode& node) {
      if (node.kind == ExprNode::Kind::variable) check_variable(node);
      if (const std::string message = type_fault(node); !message.empty()) fault("{}", message);
    });
  }

  void check_variable(const ExprNode& node) {
    const DeclaredVariable* const variable = find(node.name);
    if (variable == nullptr)
      fault("'{}' is not declared", node.name);
    else if (!takes(variable->type, node.type))
      fault("'{}' is used with another type than it is declared with", node.name);
  }

  void check_condition(const Expr& condition) {
    check(condition);
    if (condition.scalar() != Scalar::flag) fault("a condition is a flag");
  }

  // ---- who runs a statement

  Agreement agreement(const Expr& value) const {
    return agreement_of(value, group_, [&](const std::string& name) {
      const DeclaredVariable* const variable = find(name);
      return variable == nullptr ? Agreement::block : variable->agreement;
    });
  }

  void check_block(const Body& body, Agreement runs, bool loop) {
    blocks_.push_back({{}, runs, loop});
    check_all(body);
    blocks_.pop_back();
  }

  Agreement runs() const {
    Agreement least = Agreement::block;
    for (const OpenBlock& block : blocks_) least = std::max(least, block.runs);
    return least;
  }

  /// Who agrees on a jump: of one to the next iteration, in the blocks within the loop.
  Agreement runs_within(const Jump& jump) const {
    Agreement least = Agreement::block;
    for (size_t i = blocks_.size(); i-- > 0;) {
      if (jump.next_iteration && blocks_[i].loop) break;
      least = std::max(least, blocks_[i].runs);
    }
    return least;
  }

  const int group_;
  std::vector<OpenBlock> blocks_;
  std::vector<std::string> faults_;
};

void add_variables(std::vector<Expr>& all, const std::vector<Parameter>& parameters) {
  for (const auto& [type, name] : parameters) all.push_back(variable(name, type));
}

}  // namespace

std::vector<std::string> verify(const Launch& launch) {
  std::vector<std::string> faults;
  const auto add = [&](const std::string& name, const CheckedCode& code) {
    for (const std::string& fault : verify(code)) faults.push_back(fmt::format("{}: {}", name, fault));
  };
  std::vector<Expr> known = {variable("shared_floats", Type(Scalar::real).pointer_to()),
                             variable("shared_ints", Type(Scalar::int32).pointer_to())};
  add_variables(known, launch.numbers);
  if (launch.copies == 1) add_variables(known, launch.pointers);
  add(launch.name, {launch.code, known, launch.group});
  for (const Function& function : launch.functions) {
    std::vector<Expr> parameters;
    add_variables(parameters, function.parameters);
    add(function.name, {function.code, parameters, function.group});
  }
  return faults;
}

std::vector<std::string> verify(const CheckedCode& code) {
  Verifier verifier(code);
  verifier.check_all(code.code);
  return verifier.take_faults();
}

}  // namespace smelt::gpu
