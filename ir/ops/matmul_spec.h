// Letters of a matmul: "btc,oc->bto" sums over c.
#pragma once

#include <string>
#include <string_view>

namespace smelt {

/// Letters of a matmul's "ab,bc->ac".
struct MatmulSpec {
  std::string a, b, out;
  std::string str() const { return a + "," + b + "->" + out; }
};
/// Parses a spec. Throws Error if it is malformed: letters must be distinct within an operand, every letter
/// of the output must be in an operand, and every letter of only one operand must be in the output.
MatmulSpec parse_matmul_spec(std::string_view spec);

}  // namespace smelt
