#include "ir/ops/matmul_spec.h"

#include "runtime/base/error.h"

namespace smelt {
namespace {

void need_distinct(std::string_view letters, std::string_view spec) {
  for (size_t i = 0; i < letters.size(); ++i) {
    const bool letter = (letters[i] >= 'a' && letters[i] <= 'z') || (letters[i] >= 'A' && letters[i] <= 'Z');
    if (!letter) fail("matmul: '{}' in \"{}\" is no letter", letters[i], spec);
    if (letters.find(letters[i], i + 1) != std::string_view::npos)
      fail("matmul: '{}' stands twice in one part of \"{}\"", letters[i], spec);
  }
}

}  // namespace

MatmulSpec parse_matmul_spec(std::string_view spec) {
  const size_t comma = spec.find(','), arrow = spec.find("->");
  if (comma == std::string_view::npos || arrow == std::string_view::npos || comma > arrow)
    fail("matmul: spec \"{}\" is not of the form \"ab,bc->ac\"", spec);
  MatmulSpec result{std::string(spec.substr(0, comma)),
                    std::string(spec.substr(comma + 1, arrow - comma - 1)),
                    std::string(spec.substr(arrow + 2))};
  for (const std::string* part : {&result.a, &result.b, &result.out}) need_distinct(*part, spec);
  for (char letter : result.out)
    if (result.a.find(letter) == std::string::npos && result.b.find(letter) == std::string::npos)
      fail("matmul: '{}' of the result is in no operand of \"{}\"", letter, spec);
  for (char letter : result.a + result.b) {
    const bool both =
        result.a.find(letter) != std::string::npos && result.b.find(letter) != std::string::npos;
    if (!both && result.out.find(letter) == std::string::npos)
      fail("matmul: '{}' of one operand alone must be in the result of \"{}\"", letter, spec);
  }
  return result;
}

}  // namespace smelt
