#include "codegen/kernel_passes/kernel_indices.h"

#include <algorithm>

namespace smelt {
namespace {

using Kind = Instruction::Kind;

/// visit(number&) for every instruction that an instruction reads.
template <typename Visit>
void visit_reads(Instruction& x, const Visit& visit) {
  for (int& operand : x.operands) visit(operand);
  visit(x.predicate);
  if (x.access.param >= 0) visit(x.access.computed);
}

/// visit(number&) for what the kernel itself names.
template <typename Visit>
void visit_names(Kernel& kernel, const Visit& visit) {
  for (KernelAxis& axis : kernel.axes) visit(axis.begin), visit(axis.end);
  for (int& cached : kernel.schedule.cached) visit(cached);
  visit(kernel.row_predicate);
}

std::vector<bool> used_instructions(Kernel& kernel) {
  std::vector<bool> used(kernel.instructions.size());
  const auto use = [&](int id) {
    if (id >= 0) used[id] = true;
  };
  visit_names(kernel, use);
  for (size_t b = kernel.blocks.size(); b-- > 0;) {
    const std::vector<int>& ids = kernel.blocks[b].instructions;
    for (size_t i = ids.size(); i-- > 0;) {
      Instruction& x = kernel.instructions[ids[i]];
      if (x.kind == Kind::store || x.kind == Kind::accumulate) used[ids[i]] = true;
      if (used[ids[i]]) visit_reads(x, use);
    }
  }
  return used;
}

/// Instructions in this order and no others.
void renumber(Kernel& kernel, const std::vector<int>& order) {
  std::vector<int> number(kernel.instructions.size(), -1);
  std::vector<Instruction> instructions;
  for (int id : order) {
    number[id] = static_cast<int>(instructions.size());
    instructions.push_back(std::move(kernel.instructions[id]));
  }
  const auto change = [&](int& id) {
    if (id >= 0) id = number[id];
  };
  kernel.instructions = std::move(instructions);
  for (KernelBlock& block : kernel.blocks)
    for (int& id : block.instructions) change(id);
  for (Instruction& x : kernel.instructions) visit_reads(x, change);
  visit_names(kernel, change);
  std::sort(kernel.schedule.cached.begin(), kernel.schedule.cached.end());
}

}  // namespace

void drop_unused_instructions(Kernel& kernel) {
  const std::vector<bool> used = used_instructions(kernel);
  for (KernelBlock& block : kernel.blocks)
    std::erase_if(block.instructions, [&](int id) { return !used[id]; });
  std::erase_if(kernel.blocks, [](const KernelBlock& block) { return block.instructions.empty(); });
  std::vector<int> order;
  for (int id = 0; id < static_cast<int>(used.size()); ++id)
    if (used[id]) order.push_back(id);
  renumber(kernel, order);
}

void number_by_blocks(Kernel& kernel) {
  std::vector<int> order;
  std::vector<bool> seen(kernel.instructions.size());
  for (const KernelBlock& block : kernel.blocks)
    for (int id : block.instructions)
      if (!seen[id]) order.push_back(id), seen[id] = true;
  renumber(kernel, order);
}

}  // namespace smelt
