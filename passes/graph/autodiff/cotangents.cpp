#include <algorithm>

#include "passes/expressions.h"
#include "passes/graph/autodiff/vjp.h"

namespace smelt {
namespace {

/// `cotangent` of value[begin : begin + length) along `axis`, with zeros around it.
Value* padded(GraphBuilder& b, const Value* value, int64_t axis, const Dim& begin, Value* cotangent) {
  llvm::SmallVector<Value*, 3> pieces;
  auto pad = [&](const Dim& length) {
    if (length.is_zero()) return;
    Type type = value->type;
    type.shape[axis] = length;
    pieces.push_back(zeros(b, type));
  };
  pad(begin);
  pieces.push_back(cotangent);
  pad(value->shape()[axis] - begin - cotangent->shape()[axis]);
  return b.concat(pieces, axis);
}

}  // namespace

void Cotangents::add(Value* value, Value* cotangent) {
  if (active(value)) terms_[value].whole.push_back(cotangent);
}

void Cotangents::add_slice(Value* value, int64_t axis, Dim begin, Value* cotangent) {
  if (active(value)) terms_[value].parts.push_back({axis, std::move(begin), cotangent});
}

/// Turns parts into whole terms: chains of parts that tile the value become a concat, the rest is padded with
/// zeros.
void Cotangents::assemble(GraphBuilder& b, const Value* value, Terms& terms) {
  std::reverse(terms.parts.begin(), terms.parts.end());  // program order: differentiation walks backwards
  while (!terms.parts.empty()) {
    const int64_t axis = terms.parts.front().axis;
    llvm::SmallVector<Value*, 4> chain;
    llvm::SmallVector<size_t, 4> taken;
    Dim end = 0;
    for (bool found = true; found && end != value->shape()[axis];) {
      found = false;
      for (size_t i = 0; i < terms.parts.size() && !found; ++i) {
        const Part& part = terms.parts[i];
        if (part.axis != axis || part.begin != end || llvm::is_contained(taken, i)) continue;
        found = true;
        taken.push_back(i);
        chain.push_back(part.cotangent);
        end += part.cotangent->shape()[axis];
      }
    }
    if (end == value->shape()[axis]) {
      terms.whole.push_back(b.concat(chain, axis));
      llvm::sort(taken, std::greater<>());
      for (size_t i : taken) terms.parts.erase(terms.parts.begin() + i);
    } else {
      const Part part = terms.parts.front();
      terms.whole.push_back(padded(b, value, part.axis, part.begin, part.cotangent));
      terms.parts.erase(terms.parts.begin());
    }
  }
}

Value* Cotangents::take(GraphBuilder& b, Value* value) {
  auto it = terms_.find(value);
  if (it == terms_.end()) return nullptr;
  Terms terms = std::move(it->second);
  terms_.erase(it);
  assemble(b, value, terms);
  Value* sum = terms.whole[0];
  for (Value* term : llvm::ArrayRef<Value*>(terms.whole).drop_front()) sum = b.add(sum, term);
  return sum;
}

}  // namespace smelt
