#include "passes/fusion/adjacency.h"

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

const Segment* segment(const State& flat, const std::string& name) {
  auto it = llvm::find_if(flat.segments, [&](const Segment& s) { return s.name == name; });
  return it == flat.segments.end() ? nullptr : &*it;
}

bool order_as_flat(const State& flat, Stack& stack) {
  for (const std::string& name : stack)
    if (!segment(flat, name)) return false;
  llvm::sort(stack, [&](const auto& l, const auto& r) {
    return segment(flat, l)->offset < segment(flat, r)->offset;
  });
  for (size_t i = 1; i < stack.size(); ++i) {
    const Segment* before = segment(flat, stack[i - 1]);
    if (before->offset + before->elements() != segment(flat, stack[i])->offset) return false;
  }
  return true;
}

bool free_of_groups(const Module& module, const Stack& stack) {
  for (const NameList& group : module.adjacent)
    for (const std::string& name : stack)
      if (place_in(group, name) >= 0) return false;
  return true;
}

bool decay_alike(Module& module, const Stack& stack) {
  for (const std::string& name : stack)
    if (module.find_parameter(name)->decay != module.find_parameter(stack[0])->decay) return false;
  return true;
}

}  // namespace

std::optional<Stack> stackable(Module& module, Stack stack) {
  if (std::set<std::string>(stack.begin(), stack.end()).size() != stack.size()) return std::nullopt;
  if (const State* flat = module.find_state("parameters"))
    return order_as_flat(*flat, stack) ? std::optional(stack) : std::nullopt;
  for (const NameList& group : module.adjacent)
    if (order_as(group, stack)) return stack;
  if (!free_of_groups(module, stack) || !decay_alike(module, stack)) return std::nullopt;
  return stack;
}

bool recorded(const Module& module, const Stack& stack) {
  Stack copy = stack;
  return llvm::any_of(module.adjacent, [&](const NameList& group) { return order_as(group, copy); });
}

void record(Module& module, const Stack& stack) {
  if (!recorded(module, stack) && !module.find_state("parameters")) module.adjacent.push_back(stack);
}

std::string parameter_name(const Value* value) {
  return value->node()->is(Op::parameter) ? value->node()->string_attr("name") : "";
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
