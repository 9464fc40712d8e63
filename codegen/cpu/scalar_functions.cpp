// Exponentials, logarithms, sigmoids and circular functions: range reductions and polynomials.
#include <limits>

#include "codegen/cpu/scalar_math.h"

namespace smelt {

using V = ScalarMath::V;
namespace intrinsic = llvm::Intrinsic;

// ---- exponentials

/// Adding 1.5 * 2^23 rounds to a whole number, which is then in the low bits. ln 2 is split in two parts, the
/// first short enough for its product with any such number to be exact.
ScalarMath::Reduced ScalarMath::reduce_by_ln2(V x) {
  V shifter = constant(x, 12582912.0);
  V shifted = multiply_add(x, constant(x, 1.4426950408889634), shifter);
  V count = b.CreateFSub(shifted, shifter);
  V rest = multiply_add(count, constant(x, -0.693359375), x);
  rest = multiply_add(count, constant(x, 2.12194440054690583e-4), rest);
  return {b.CreateSub(bits(shifted), bits(shifter)), rest};
}

/// 2 e^r times 2^(n - 1), which stays finite up to n = 128 and is zero at n = -126: results below 1.7e-38 are
/// zero, and no slow subnormal number appears.
V ScalarMath::exp(V a) {
  a = clamp(a, -87.33, 89.0);
  const auto [power, r] = reduce_by_ln2(a);
  V twice = polynomial(r, {2.0, 2.0, 0.99999988, 0.3333304, 0.083336786, 0.016737562, 0.0027628944});
  return b.CreateFMul(twice, power_of_two(b.CreateSub(power, integer(power, 1))));
}

/// 2^n (e^r - 1) + (2^n - 1), with 2^n halved so that n = 128 stays finite.
V ScalarMath::expm1(V a) {
  const auto [power, r] = reduce_by_ln2(clamp(a, -30.0, 89.0));
  V q = polynomial(r, {0.49999997, 0.16666543, 0.0416672, 0.00836658, 0.0013882511});
  V y = multiply_add(b.CreateFMul(r, r), q, r);
  V scale = power_of_two(b.CreateSub(power, integer(power, 1)));
  V sum = multiply_add(y, scale, b.CreateFSub(scale, constant(a, 0.5)));
  V tiny = b.CreateFCmpOLT(unary(intrinsic::fabs, a), constant(a, 1e-30));  // r r underflows, 2 (r / 2) too
  return b.CreateSelect(tiny, a, b.CreateFAdd(sum, sum));
}

V ScalarMath::sigmoid(V a) {
  V e = exp(b.CreateFNeg(unary(intrinsic::fabs, a)));
  V numerator = b.CreateSelect(b.CreateFCmpOLT(a, constant(a, 0)), e, constant(a, 1));
  return b.CreateFDiv(numerator, b.CreateFAdd(e, constant(a, 1)));
}

// ---- logarithms

/// x = m 2^e with m in [sqrt(1/2), sqrt(2)), x normal and finite: e ln 2 + log m.
V ScalarMath::log_of_positive(V x) {
  V pattern = bits(x);
  V e = b.CreateAShr(b.CreateSub(pattern, integer(x, 0x3F3504F3)), integer(x, 23));
  V f = b.CreateFSub(real(b.CreateSub(pattern, b.CreateShl(e, integer(x, 23)))), constant(x, 1));
  V power = b.CreateSIToFP(e, x->getType());
  V square = b.CreateFMul(f, f);
  V p = polynomial(f, {0.3333333, -0.25000823, 0.20001228, -0.16623339, 0.14201704, -0.13160326, 0.12762047,
                       -0.076346934});
  V y = b.CreateFMul(b.CreateFMul(f, square), p);
  y = multiply_add(power, constant(x, -2.12194440054690583e-4), y);
  y = multiply_add(square, constant(x, -0.5), y);
  return multiply_add(power, constant(x, 0.693359375), b.CreateFAdd(f, y));
}

V ScalarMath::log(V a) {
  const double infinity = std::numeric_limits<double>::infinity();
  V tiny = b.CreateFCmpOLT(a, constant(a, 0x1p-126));
  V normal = b.CreateSelect(tiny, b.CreateFMul(a, constant(a, 0x1p23)), a);
  V y = log_of_positive(normal);
  y = b.CreateSelect(tiny, b.CreateFSub(y, constant(a, 15.942385152878742)), y);
  y = b.CreateSelect(b.CreateFCmpOEQ(a, constant(a, infinity)), a, y);
  y = b.CreateSelect(b.CreateFCmpOEQ(a, constant(a, 0)), constant(a, -infinity), y);
  return b.CreateSelect(b.CreateFCmpOGE(a, constant(a, 0)), y,
                        constant(a, std::numeric_limits<double>::quiet_NaN()));
}

/// log u for u = 1 + a rounded, and what the rounding lost.
V ScalarMath::log1p(V a) {
  V one = constant(a, 1), zero = constant(a, 0);
  V u = b.CreateFAdd(a, one);
  V lost = b.CreateFDiv(b.CreateFSub(a, b.CreateFSub(u, one)), u);
  V finite = b.CreateAnd(b.CreateFCmpOGT(u, zero),
                         b.CreateFCmpOLT(u, constant(a, std::numeric_limits<double>::infinity())));
  return b.CreateFAdd(log(u), b.CreateSelect(finite, lost, zero));
}

// ---- sigmoids

/// The limits of tanh and erf are where the quotients have passed 1; the quotients are then clamped to 1, the
/// value at infinity.
V ScalarMath::tanh(V a) {
  return odd_rational(
      a, 9.1,
      {1.0, 0.13679982721805573, 0.003868418512865901, 2.8009993911837228e-05, 3.059544795291913e-08,
       -1.2216340786186386e-11},
      {1.0, 0.4701331555843353, 0.027246152982115746, 0.00039388120057992637, 1.287595978283207e-06});
}

V ScalarMath::erf(V a) {
  return odd_rational(a, 4.1,
                      {1.1283791065216064, 0.19272203743457794, 0.052958086133003235, 0.0038318366277962923,
                       0.0002810188161674887, 1.9675271687447093e-06},
                      {1.0, 0.504128634929657, 0.11497710645198822, 0.015114319510757923,
                       0.0011680532479658723, 3.7021094613010064e-05});
}

/// exp(-x^2) P((x - 4) / (x + 4)) / (1 + 2 x) of x = |a|, and 2 less that below 0. The square is taken in two
/// parts, the first of them exact, since an exponential makes an absolute error of its operand a relative
/// one.
V ScalarMath::erfc(V a) {
  V x = clamp(unary(intrinsic::fabs, a), 0, 10.1);
  V high = real(b.CreateAnd(bits(x), integer(x, -4096)));
  V rest = b.CreateFMul(b.CreateFSub(x, high), b.CreateFAdd(x, high));
  V e = b.CreateFMul(exp(b.CreateFNeg(rest)), exp(b.CreateFNeg(b.CreateFMul(high, high))));
  V q = b.CreateFDiv(b.CreateFSub(x, constant(x, 4)), b.CreateFAdd(x, constant(x, 4)));
  V p = polynomial(q, {1.2329951524734497, -0.1396210640668869, 0.015377477742731571, 0.06809357553720474,
                       -0.10099279880523682, 0.093817800283432, -0.06662391126155853, 0.036434564739465714,
                       -0.015918664634227753, 0.006978998426347971, 0.0008666120120324194});
  V tail = b.CreateFMul(e, b.CreateFDiv(p, multiply_add(x, constant(x, 2), constant(x, 1))));
  return b.CreateSelect(b.CreateFCmpOLT(a, constant(a, 0)), b.CreateFSub(constant(a, 2), tail), tail);
}

// ---- circular functions

namespace {
constexpr double kShifter =
    6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number, in the low bits
constexpr double kLargeAngle = 1e9;
}  // namespace

/// Subtracts multiples of pi/2, which is the sum of two doubles.
ScalarMath::Quarters ScalarMath::quarters_of_usual(V x) {
  V shifter = constant(x, kShifter);
  V shifted = multiply_add(x, constant(x, 0.63661977236758134), shifter);
  V quarters = b.CreateFSub(shifted, shifter);
  V rest = multiply_add(quarters, constant(x, -1.5707963267948966), x);
  return {shifted, multiply_add(quarters, constant(x, -6.1232339957367660e-17), rest)};
}

/// 1 / (2 pi) in parts of 28 bits: the product of a float with each part is exact, and so are the turns
/// without their whole number. An infinity becomes NaN.
ScalarMath::Quarters ScalarMath::quarters_of_large(V x) {
  static constexpr double kParts[] = {0x1.0e41070000000p-172, 0x1.14acc9e000000p-141, 0x1.bb81b68000000p-115,
                                      0x1.7d1f534000000p-86,  0x1.29fc274000000p-58,  0x1.727220a000000p-29,
                                      0x1.45f3068000000p-3};
  V shifter = constant(x, kShifter), sum = b.CreateFSub(x, x);
  for (double part : kParts) {
    V turns = b.CreateFMul(x, constant(x, part));
    V whole = b.CreateFSub(b.CreateFAdd(turns, shifter), shifter);
    V is_whole = b.CreateFCmpOGE(unary(intrinsic::fabs, turns), constant(x, 0x1p52));
    sum = b.CreateFAdd(sum, b.CreateSelect(is_whole, constant(x, 0), b.CreateFSub(turns, whole)));
  }
  V quarters = b.CreateFMul(sum, constant(x, 4)), shifted = b.CreateFAdd(quarters, shifter);
  V rest = b.CreateFSub(quarters, b.CreateFSub(shifted, shifter));
  return {shifted, b.CreateFMul(rest, constant(x, 1.5707963267948966))};
}

/// Large angles take a branch, or where code is put into a finished block a choice.
ScalarMath::Quarters ScalarMath::quarters_of(V x) {
  const Quarters usual = quarters_of_usual(x);
  V is_large = b.CreateFCmpOGT(unary(intrinsic::fabs, x), constant(x, kLargeAngle));
  const auto chosen = [&] {
    const Quarters large = quarters_of_large(x);
    return Quarters{b.CreateSelect(is_large, large.shifted, usual.shifted),
                    b.CreateSelect(is_large, large.rest, usual.rest)};
  };
  llvm::BasicBlock* before = b.GetInsertBlock();
  if (b.GetInsertPoint() != before->end()) return chosen();
  auto* large = llvm::BasicBlock::Create(b.getContext(), "large", before->getParent());
  auto* after = llvm::BasicBlock::Create(b.getContext(), "reduced", before->getParent());
  b.CreateCondBr(width_of(x->getType()) > 1 ? b.CreateOrReduce(is_large) : is_large, large, after);
  b.SetInsertPoint(large);
  const Quarters exact = chosen();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  const auto either = [&](V usually, V otherwise) -> V {
    llvm::PHINode* phi = b.CreatePHI(x->getType(), 2);
    phi->addIncoming(usually, before), phi->addIncoming(otherwise, large);
    return phi;
  };
  V shifted = either(usual.shifted, exact.shifted);
  return {shifted, either(usual.rest, exact.rest)};
}

/// sin(x + quarter_turns pi/2), reduced in double.
V ScalarMath::sine(V x, int quarter_turns) {
  llvm::Type* wide = with_element(x->getType(), b.getDoubleTy());
  const auto [shifted, rest] = quarters_of(b.CreateFPExt(x, wide));
  V r = clamp(b.CreateFPTrunc(rest, x->getType()), -0.8, 0.8);
  V low = b.CreateTrunc(b.CreateBitCast(shifted, with_element(wide, b.getInt64Ty())),
                        with_element(wide, b.getInt32Ty()));
  V turns = b.CreateAdd(low, integer(x, quarter_turns));

  V t = b.CreateFMul(r, r);
  V sine =
      multiply_add(b.CreateFMul(r, t),
                   polynomial(t, {-0.16666655242443085, 0.008332177996635437, -0.00019517233886290342}), r);
  V cosine = polynomial(t, {1.0, -0.5, 0.04166664555668831, -0.0013887366512790322, 2.443839366605971e-05});
  V odd = b.CreateICmpNE(b.CreateAnd(turns, integer(x, 1)), integer(x, 0));
  V flip = b.CreateShl(b.CreateAnd(turns, integer(x, 2)), integer(x, 30));
  return real(b.CreateXor(bits(b.CreateSelect(odd, cosine, sine)), flip));
}

V ScalarMath::sin(V a) { return sine(a, 0); }
V ScalarMath::cos(V a) { return sine(a, 1); }

}  // namespace smelt
