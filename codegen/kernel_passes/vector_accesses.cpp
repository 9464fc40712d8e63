#include "codegen/kernel_passes/vector_accesses.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"

namespace smelt {

using Kind = Instruction::Kind;

bool VectorAccesses::is_load(int id) const {
  return k_.instructions[id].kind == Kind::load && shape_.is_vector_access(id);
}

int64_t VectorAccesses::bytes(int id) const {
  return size_of(k_.params[k_.instructions[id].access.param].dtype);
}

std::vector<int> VectorAccesses::all() const {
  std::vector<int> ids;
  for (int id = 0; id < static_cast<int>(k_.instructions.size()); ++id)
    if (shape_.block_of(id) >= 0 && shape_.is_vector_access(id)) ids.push_back(id);
  return ids;
}

int64_t VectorAccesses::narrowest() const {
  int64_t narrowest = 0;
  for (const int id : all()) narrowest = narrowest == 0 ? bytes(id) : std::min(narrowest, bytes(id));
  return narrowest;
}

bool VectorAccesses::are_mostly_wide() const {
  int wide = 0, narrow = 0;
  for (const int id : all())
    if (llvm::any_of(shape_.parallel, [&](int axis) { return shape_.moves(id, axis); }))
      ++(bytes(id) >= 4 ? wide : narrow);
  return wide > narrow;
}

bool VectorAccesses::draw_random() const {
  for (int id = 0; id < static_cast<int>(k_.instructions.size()); ++id)
    if (shape_.block_of(id) >= 0 && shape_.is_vector_random(id)) return true;
  return false;
}

bool VectorAccesses::need_order() const {
  for (const KernelBlock& block : k_.blocks) {
    bool stored = false;
    for (const int id : block.instructions) {
      stored |= k_.instructions[id].kind == Kind::store;
      if (stored && k_.instructions[id].kind == Kind::load) return true;
    }
  }
  return false;
}

int64_t VectorAccesses::loads() const {
  int64_t most = 1;
  for (const KernelBlock& block : k_.blocks)
    most = std::max<int64_t>(most, llvm::count_if(block.instructions, [&](int id) { return is_load(id); }));
  return most;
}

int64_t VectorAccesses::loaded_bytes() const {
  int64_t most = 0;
  for (const KernelBlock& block : k_.blocks) {
    int64_t total = 0;
    for (const int id : block.instructions) total += is_load(id) ? bytes(id) : 0;
    most = std::max(most, total);
  }
  return most;
}

}  // namespace smelt
