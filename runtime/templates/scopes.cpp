// Resolution of names by Jinja's rules: a scope resolves each name once, when it is entered. A name that an
// inner scope sets is a new variable there, which begins with the value of the outer one.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>

#include "runtime/templates/registry.h"
#include "runtime/templates/syntax.h"

namespace smelt::templates {
namespace {

using From = Load::From;

/// The slots of a scope, which the branches of its conditions share.
struct Slots {
  std::map<std::string, uint32_t> of_name;
  size_t work = 0;  // names in the branches that were joined
  uint32_t at(const std::string& name) {
    return of_name.emplace(name, static_cast<uint32_t>(of_name.size())).first->second;
  }
};

/// Variables of a scope, as far as the analysis has got.
class Symbols {
 public:
  explicit Symbols(const Symbols* parent)
      : parent_(parent), level_(parent ? parent->level_ + 1 : 0), slots_(std::make_shared<Slots>()) {}

  const Ref* find(const std::string& name) const {
    const auto at = refs_.find(name);
    return at != refs_.end() ? &at->second : parent_ ? parent_->find(name) : nullptr;
  }

  void load(const std::string& name) {
    if (!find(name)) define(name, {0, From::variables, name, {}});
  }

  void store(const std::string& name) {
    stores_.insert(name);
    if (refs_.contains(name)) return;
    const Ref* outer = parent_ ? parent_->find(name) : nullptr;
    define(name, outer ? Load{0, From::outer, name, *outer} : Load{0, From::nothing, name, {}});
  }

  Ref parameter(const std::string& name) {
    stores_.insert(name);
    return define(name, {0, From::parameter, name, {}});
  }

  /// Joins the branches of a condition: a name that only branches set has its outer value before them.
  void join(std::span<const Symbols> branches) {
    count_work(branches);
    std::set<std::string> stored;
    for (const Symbols& branch : branches) stored.insert(branch.stores_.begin(), branch.stores_.end());
    for (const std::string& name : stores_) stored.erase(name);
    for (const Symbols& branch : branches) {
      for (const auto& [name, ref] : branch.refs_) refs_[name] = ref;
      for (const auto& [slot, load] : branch.loads_) loads_[slot] = load;
      stores_.insert(branch.stores_.begin(), branch.stores_.end());
    }
    for (const std::string& name : stored) set_branch_load(name);
  }

  Frame frame() const {
    Frame frame{level_, static_cast<uint32_t>(slots_->of_name.size()), {}};
    for (const auto& [_, load] : loads_) frame.loads.push_back(load);
    return frame;
  }

 private:
  Ref define(const std::string& name, Load load) {
    const Ref ref{level_, slots_->at(name)};
    load.slot = ref.slot;
    loads_[ref.slot] = std::move(load);
    return refs_[name] = ref;
  }

  /// Limits the sum of the sizes of all branches.
  void count_work(std::span<const Symbols> branches) {
    for (const Symbols& branch : branches) slots_->work += branch.refs_.size();
    if (slots_->work > 5'000'000)
      fault(Fault::limit, "the template has too many names in too many conditions");
  }

  void set_branch_load(const std::string& name) {
    const uint32_t slot = find(name)->slot;
    const Ref* outer = parent_ ? parent_->find(name) : nullptr;
    loads_[slot] = outer ? Load{slot, From::outer, name, *outer} : Load{slot, From::variables, name, {}};
  }

  const Symbols* parent_;
  int level_;
  std::shared_ptr<Slots> slots_;
  std::map<std::string, Ref> refs_;
  std::map<uint32_t, Load> loads_;
  std::set<std::string> stores_;
};

// ---- First pass of a scope: which names it loads and sets, in the order of the template.

void note(Symbols& symbols, const Expression& e) {
  if (e.op == Op::name) symbols.load(e.name);
  for (const auto& part : e.parts) {
    if (part) note(symbols, *part);
  }
}

void note_target(Symbols& symbols, const Expression& e, bool parameter) {
  if (e.op == Op::name) {
    if (parameter) {
      symbols.parameter(e.name);
    } else {
      symbols.store(e.name);
    }
  } else if (e.op == Op::namespace_attribute) {
    symbols.load(e.parts[0]->name);
  } else {
    for (const auto& part : e.parts) note_target(symbols, *part, parameter);
  }
}

void note(Symbols& symbols, const Body& body);

void note_branches(Symbols& symbols, const Statement& s) {
  // Jinja visits the first condition, and then the branches apart: of an "elif", with its condition.
  note(symbols, *s.expressions[0]);
  std::vector<Symbols> branches;
  branches.push_back(symbols);
  note(branches.back(), s.bodies[0]);
  branches.push_back(symbols);
  for (size_t i = 1; i < s.expressions.size(); ++i) {
    note(branches.back(), *s.expressions[i]);
    Symbols inner = branches.back(), none = branches.back();
    note(inner, s.bodies[i]);
    const Symbols parts[] = {inner, none, none};
    branches.back().join(parts);
  }
  branches.push_back(symbols);
  if (s.bodies.size() > s.expressions.size()) note(branches.back(), s.bodies.back());
  symbols.join(branches);
}

void note(Symbols& symbols, const Statement& s) {
  switch (s.kind) {
    case StatementKind::condition:
      return note_branches(symbols, s);
    case StatementKind::loop:
      return note(symbols, *s.expressions[0]);
    case StatementKind::macro:
    case StatementKind::set_block:
      return note_target(symbols, *s.targets[0], false);
    default:
      for (const auto& e : s.expressions) note(symbols, *e);
      if (s.kind == StatementKind::set) note_target(symbols, *s.targets[0], false);
  }
}

void note(Symbols& symbols, const Body& body) {
  for (const Statement& s : body) note(symbols, s);
}

// ---- Names that a body uses, wherever inside

using Visit = std::function<void(const std::string&)>;

void visit_names(const Expression& e, const Visit& visit) {
  if (e.op == Op::name) visit(e.name);
  for (const auto& part : e.parts) {
    if (part) visit_names(*part, visit);
  }
}

void visit_names(const Body& body, const Visit& visit);

void visit_names(const Statement& s, const Visit& visit) {
  for (const auto& e : s.expressions) visit_names(*e, visit);
  for (const Body& inner : s.bodies) visit_names(inner, visit);
  visit_names(s.body, visit);
  visit_names(s.other, visit);
  if (!s.function) return;
  for (const auto& e : s.function->defaults) visit_names(*e, visit);
  visit_names(*s.function->body, visit);
}

void visit_names(const Body& body, const Visit& visit) {
  for (const Statement& s : body) visit_names(s, visit);
}

bool uses(const Body& body, std::string_view name) {
  bool found = false;
  visit_names(body, [&](const std::string& used) { found |= used == name; });
  return found;
}

// ---- Second pass: every name gets its variable. `soft` is true inside conditions of the same scope, where
// unknown filters and tests are errors only if they are reached.

void resolve(const Symbols& symbols, Expression& e, bool soft) {
  if (e.op == Op::name) {
    const Ref* ref = symbols.find(e.name);
    if (!ref)
      throw TemplateError(Fault::unsupported, fmt::format("the name '{}' is not reachable here", e.name),
                          e.line);
    e.ref = *ref;
  }
  if (e.op == Op::condition) soft = true;
  if (e.op == Op::filter && !e.filter && !soft) {
    throw TemplateError(Fault::syntax, fmt::format("there is no filter named '{}'", e.name), e.line);
  }
  if (e.op == Op::test && !e.test && !soft) {
    throw TemplateError(Fault::syntax, fmt::format("there is no test named '{}'", e.name), e.line);
  }
  for (const auto& part : e.parts) {
    if (part) resolve(symbols, *part, soft);
  }
}

void resolve(const Symbols& symbols, Body& body, bool soft);

void resolve_function(const Symbols& outer, MacroBody& macro) {
  Symbols symbols(&outer);
  for (const auto& e : macro.parameters) note_target(symbols, *e, true);
  for (const auto& e : macro.defaults) note(symbols, *e);
  const auto declare = [&](const char* name, bool& used, Ref& ref) {
    const bool listed = std::ranges::any_of(macro.parameters, [&](const auto& p) { return p->name == name; });
    used = !listed && uses(*macro.body, name);
    if (used) ref = symbols.parameter(name);
  };
  declare("caller", macro.uses_caller, macro.caller);
  declare("kwargs", macro.uses_kwargs, macro.kwargs);
  declare("varargs", macro.uses_varargs, macro.varargs);
  note(symbols, *macro.body);
  for (const auto& e : macro.parameters) resolve(symbols, *e, false);
  for (const auto& e : macro.defaults) resolve(symbols, *e, false);
  resolve(symbols, *macro.body, false);
  macro.frame = symbols.frame();
}

void resolve_loop(const Symbols& outer, Statement& s, bool soft) {
  resolve(outer, *s.expressions[0], soft);
  Symbols symbols(&outer), other(&outer), test(&outer);
  s.has_loop = s.recursive || uses(s.body, "loop");
  if (s.has_loop) s.loop = symbols.parameter("loop");
  note_target(symbols, *s.targets[0], true);
  note(symbols, s.body);
  note(other, s.other);
  resolve(symbols, *s.targets[0], false);
  resolve(symbols, s.body, false);
  resolve(other, s.other, false);
  if (s.expressions.size() > 1) {
    note_target(test, *s.targets[0], true);
    note(test, *s.expressions[1]);
    resolve(test, *s.test_target, false);
    resolve(test, *s.expressions[1], false);
  }
  s.frame = symbols.frame();
  s.other_frame = other.frame();
  s.test_frame = test.frame();
}

/// A scope of a set block, a filter block, a with block or an autoescape block.
void resolve_inner(const Symbols& outer, Statement& s, bool soft) {
  Symbols symbols(&outer);
  if (s.kind == StatementKind::set_block) resolve(outer, *s.targets[0], soft);
  if (s.kind == StatementKind::with) {
    for (const auto& e : s.targets) note_target(symbols, *e, true);
  }
  if (s.kind == StatementKind::set_block) {
    note(symbols, s.body);
  }
  if (s.kind == StatementKind::filter || s.kind == StatementKind::set_block) {
    for (const auto& e : s.expressions) note(symbols, *e);
  }
  if (s.kind != StatementKind::set_block) note(symbols, s.body);
  if (s.kind == StatementKind::with) {
    for (const auto& e : s.targets) resolve(symbols, *e, false);
    for (const auto& e : s.expressions) resolve(outer, *e, soft);
  } else {
    for (const auto& e : s.expressions) resolve(symbols, *e, false);
  }
  resolve(symbols, s.body, false);
  s.frame = symbols.frame();
}

void resolve(const Symbols& symbols, Statement& s, bool soft) {
  switch (s.kind) {
    case StatementKind::condition:
      for (const auto& e : s.expressions) resolve(symbols, *e, true);
      for (Body& body : s.bodies) resolve(symbols, body, true);
      return;
    case StatementKind::loop:
      return resolve_loop(symbols, s, soft);
    case StatementKind::set_block:
    case StatementKind::filter:
    case StatementKind::with:
    case StatementKind::scope:
      return resolve_inner(symbols, s, soft);
    default:
      for (const auto& e : s.expressions) resolve(symbols, *e, soft);
      for (const auto& e : s.targets) resolve(symbols, *e, soft);
      if (s.function) resolve_function(symbols, *s.function);
  }
}

void resolve(const Symbols& symbols, Body& body, bool soft) {
  for (Statement& s : body) resolve(symbols, s, soft);
}

}  // namespace

void resolve_names(Tree& tree) {
  Symbols symbols(nullptr);
  tree.uses_self = uses(tree.body, "self");
  if (tree.uses_self) tree.self = symbols.parameter("self");
  note(symbols, tree.body);
  resolve(symbols, tree.body, false);
  tree.frame = symbols.frame();
}

}  // namespace smelt::templates
