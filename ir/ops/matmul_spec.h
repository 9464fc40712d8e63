// The spec of a matmul: one letter per dim of each operand and of the result. "btc,oc->bto" sums over c,
// which is not in the result.
#pragma once

#include <string>
#include <string_view>

namespace smelt {

/// Letters of the first operand, of the second operand and of the result.
struct MatmulSpec {
  std::string a, b, out;
  std::string str() const { return a + "," + b + "->" + out; }
};
/// Parses a spec. Throws Error if it is malformed. Letters must be distinct within an operand and within the
/// result. Every letter of the result must be in an operand. A letter that is in one operand only must be in
/// the result.
MatmulSpec parse_matmul_spec(std::string_view spec);

}  // namespace smelt
