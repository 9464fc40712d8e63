// The letters of a matmul: "btc,oc->bto" sums over c.
#pragma once

#include <string>
#include <string_view>

namespace smelt {

/// Letters of a matmul's "ab,bc->ac".
struct MatmulSpec {
  std::string a, b, out;
  std::string str() const { return a + "," + b + "->" + out; }
};
/// Throws Error when the spec is not of that form (letters distinct within an operand, every letter of the
/// output in an operand, every letter of one operand alone in the output).
MatmulSpec parse_matmul_spec(std::string_view spec);

}  // namespace smelt
