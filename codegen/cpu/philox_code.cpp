#include "codegen/cpu/philox_code.h"

namespace smelt {

using V = PhiloxCode::V;

V PhiloxCode::number(V like, uint32_t n) { return llvm::ConstantInt::get(like->getType(), n); }

/// 32 x 32 -> 64 bits, as two halves.
PhiloxCode::Product PhiloxCode::multiply(V x, uint32_t factor) {
  const int width = width_of(x->getType());
  if (width > 1 && width % 2 == 0) return multiply_vector(x, factor);
  llvm::Type* wide = with_element(x->getType(), b.getInt64Ty());
  V product = b.CreateMul(b.CreateZExt(x, wide), llvm::ConstantInt::get(wide, factor));
  return {b.CreateTrunc(b.CreateLShr(product, 32), x->getType()), b.CreateTrunc(product, x->getType())};
}

/// Even and odd lanes apart, because processors multiply every second 32-bit lane into a 64-bit one.
PhiloxCode::Product PhiloxCode::multiply_vector(V x, uint32_t factor) {
  const int width = width_of(x->getType());
  llvm::Type* wide = lanes_of(b.getInt64Ty(), width / 2);
  V pairs = b.CreateBitCast(x, wide), k = llvm::ConstantInt::get(wide, factor);
  V even = b.CreateMul(b.CreateAnd(pairs, llvm::ConstantInt::get(wide, 0xFFFFFFFFu)), k);
  V odd = b.CreateMul(b.CreateLShr(pairs, 32), k);
  V even_lanes = b.CreateBitCast(even, x->getType()), odd_lanes = b.CreateBitCast(odd, x->getType());
  llvm::SmallVector<int, 32> low, high;
  for (int i = 0; i < width; i += 2) {
    low.append({i, width + i});
    high.append({i + 1, width + i + 1});
  }
  return {b.CreateShuffleVector(even_lanes, odd_lanes, high),
          b.CreateShuffleVector(even_lanes, odd_lanes, low)};
}

std::array<V, 4> PhiloxCode::words(const PhiloxStream& stream, V row, V group) {
  const int width = std::max(width_of(row->getType()), width_of(group->getType()));
  const auto wide = [&](V x) { return width_of(x->getType()) == width ? x : b.CreateVectorSplat(width, x); };
  std::array<V, 4> c = {wide(stream.step), wide(stream.micro_step), wide(row), wide(group)};
  V k0 = stream.seed, k1 = stream.id;
  for (int round = 0; round < 7; ++round) {
    const Product p0 = multiply(c[0], 0xD2511F53u), p1 = multiply(c[2], 0xCD9E8D57u);
    c = {b.CreateXor(b.CreateXor(p1.high, c[1]), wide(k0)), p1.low,
         b.CreateXor(b.CreateXor(p0.high, c[3]), wide(k1)), p0.low};
    k0 = b.CreateAdd(k0, number(k0, 0x9E3779B9u));
    k1 = b.CreateAdd(k1, number(k1, 0xBB67AE85u));
  }
  return c;
}

V PhiloxCode::bits(const PhiloxStream& stream, V row, V column) {
  const std::array<V, 4> w = words(stream, row, b.CreateLShr(column, 3));
  V which = b.CreateAnd(b.CreateLShr(column, 1), number(column, 3));
  if (width_of(w[0]->getType()) > width_of(which->getType()))
    which = b.CreateVectorSplat(width_of(w[0]->getType()), which);
  V word = w[0];
  for (uint32_t i = 1; i < 4; ++i) word = b.CreateSelect(b.CreateICmpEQ(which, number(which, i)), w[i], word);
  V shift = b.CreateShl(b.CreateAnd(column, number(column, 1)), 4);
  if (width_of(word->getType()) > width_of(shift->getType()))
    shift = b.CreateVectorSplat(width_of(word->getType()), shift);
  return b.CreateAnd(b.CreateLShr(word, shift), number(word, 0xFFFF));
}

/// Word w of group g goes to 4 g + w, so the decisions are in the order of the columns in memory.
V PhiloxCode::interleave(const std::array<V, 4>& words) {
  llvm::SmallVector<int, 2 * kGroups> both(2 * kGroups);
  for (int i = 0; i < 2 * kGroups; ++i) both[i] = i;
  V first = b.CreateShuffleVector(words[0], words[1], both),
    second = b.CreateShuffleVector(words[2], words[3], both);
  llvm::SmallVector<int, 4 * kGroups> order;
  for (int group = 0; group < kGroups; ++group)
    for (int word = 0; word < 4; ++word) order.push_back(word * kGroups + group);
  return b.CreateShuffleVector(first, second, order);
}

void PhiloxCode::fill(const PhiloxStream& stream, V row, V first, V place) {
  llvm::SmallVector<llvm::Constant*, kGroups> lanes;
  for (int i = 0; i < kGroups; ++i) lanes.push_back(b.getInt32(i));
  V groups = b.CreateAdd(b.CreateVectorSplat(kGroups, first), llvm::ConstantVector::get(lanes));
  b.CreateAlignedStore(interleave(words(stream, row, groups)), place, llvm::Align(4));
}

}  // namespace smelt
