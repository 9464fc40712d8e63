// Exponentials, logarithms, sigmoids and circular functions: range reductions and polynomials.
#include <limits>

#include "codegen/llvm/scalar_math.h"

namespace smelt {

using V = ScalarMath::V;
namespace intrinsic = llvm::Intrinsic;

// ---- exponentials

/// Adding 1.5 * 2^23 rounds to a whole number, which then stands in the low bits. ln 2 comes in two parts,
/// the first short enough for its product with any such number to be exact.
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

V ScalarMath::tanh(V a) {
  return odd_rational(
      a, 9.02,
      {1.0, 0.13679982721805573, 0.003868418512865901, 2.8009993911837228e-05, 3.059544795291913e-08,
       -1.2216340786186386e-11},
      {1.0, 0.4701331555843353, 0.027246152982115746, 0.00039388120057992637, 1.287595978283207e-06});
}

V ScalarMath::erf(V a) {
  return odd_rational(a, 3.93,
                      {1.1283791065216064, 0.19272203743457794, 0.052958086133003235, 0.0038318366277962923,
                       0.0002810188161674887, 1.9675271687447093e-06},
                      {1.0, 0.504128634929657, 0.11497710645198822, 0.015114319510757923,
                       0.0011680532479658723, 3.7021094613010064e-05});
}

// ---- circular functions

/// sin(x + quarter_turns pi/2). The reduction by pi/2, the sum of two doubles, is done in double, whose low
/// bits (after 1.5 * 2^52 is added) count the quarter turns: accurate for |x| up to 1e14 where a multiply-add
/// rounds once, else up to about 1e9; in -1 to 1 beyond.
V ScalarMath::sine(V x, int quarter_turns) {
  llvm::Type* wide = with_element(x->getType(), b.getDoubleTy());
  V value = b.CreateFPExt(x, wide);
  V shifter = llvm::ConstantFP::get(wide, 6755399441055744.0);
  V shifted = multiply_add(value, llvm::ConstantFP::get(wide, 0.63661977236758134), shifter);
  V quarters = b.CreateFSub(shifted, shifter);
  V rest = multiply_add(quarters, llvm::ConstantFP::get(wide, -1.5707963267948966), value);
  rest = multiply_add(quarters, llvm::ConstantFP::get(wide, -6.1232339957367660e-17), rest);
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
