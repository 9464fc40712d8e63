#include "passes/graph/fusion/adjacency.h"

#include <algorithm>
#include <set>

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using NameList = std::vector<std::string>;

int64_t place_in(const NameList& group, const std::string& name) {
  auto it = llvm::find(group, name);
  return it == group.end() ? -1 : it - group.begin();
}

/// Sorts the stack as the group has it; false where a name is missing or one between them is.
bool order_as(const NameList& group, Stack& stack) {
  for (const std::string& name : stack)
    if (place_in(group, name) < 0) return false;
  llvm::sort(stack, [&](const auto& l, const auto& r) { return place_in(group, l) < place_in(group, r); });
  return place_in(group, stack.back()) - place_in(group, stack.front()) + 1 ==
         static_cast<int64_t>(stack.size());
}

bool order_as_flat(const State& flat, Stack& stack) {
  for (const std::string& name : stack)
    if (!find_segment(flat, name)) return false;
  llvm::sort(stack, [&](const auto& l, const auto& r) {
    return find_segment(flat, l)->offset < find_segment(flat, r)->offset;
  });
  for (size_t i = 1; i < stack.size(); ++i) {
    const Segment* before = find_segment(flat, stack[i - 1]);
    if (before->offset + before->elements() != find_segment(flat, stack[i])->offset) return false;
  }
  return true;
}

bool free_of_groups(const Module& module, const Stack& stack) {
  for (const NameList& group : module.adjacent)
    for (const std::string& name : stack)
      if (place_in(group, name) >= 0) return false;
  return true;
}

/// Flat states have trained parameters, frozen ones, and of these those that decay, apart.
bool updated_alike(Module& module, const Stack& stack) {
  const Module::Parameter& first = *module.find_parameter(stack[0]);
  return llvm::all_of(stack, [&](const std::string& name) {
    const Module::Parameter& other = *module.find_parameter(name);
    return other.decay == first.decay && other.frozen == first.frozen;
  });
}

}  // namespace

std::optional<Stack> stackable(Module& module, Stack stack) {
  if (std::set<std::string>(stack.begin(), stack.end()).size() != stack.size()) return std::nullopt;
  if (module.find_state(kParameters)) {
    const State* flat = module.state_of_parameter(stack[0]);
    return flat && order_as_flat(*flat, stack) ? std::optional(stack) : std::nullopt;
  }
  for (const NameList& group : module.adjacent)
    if (order_as(group, stack)) return stack;
  if (!free_of_groups(module, stack) || !updated_alike(module, stack)) return std::nullopt;
  return stack;
}

bool recorded(const Module& module, const Stack& stack) {
  Stack copy = stack;
  return llvm::any_of(module.adjacent, [&](const NameList& group) { return order_as(group, copy); });
}

void record(Module& module, const Stack& stack) {
  if (!recorded(module, stack) && !module.find_state(kParameters)) module.adjacent.push_back(stack);
}

std::string parameter_name(const Value* value) {
  return value->node()->is(Op::parameter) ? value->node()->get(attr::name) : "";
}

Value* build_stack(GraphBuilder& b, const Stack& stack) {
  llvm::SmallVector<Value*, 4> parts;
  const std::string source = b.source();
  b.set_source("");
  for (const std::string& name : stack) parts.push_back(b.parameter(name));
  b.set_source(source);
  return b.concat(parts, 0);
}

}  // namespace smelt
