#include "compiler/cli/shared/rounded_weights.h"

#include <cmath>
#include <random>

#include "runtime/base/error.h"

namespace smelt::cli {

double unit_roundoff(std::string_view precision) {
  if (precision == "bf16") return std::ldexp(1.0, -8);
  if (precision == "fp16" || precision == "tf32") return std::ldexp(1.0, -11);
  if (precision == "fp32") return std::ldexp(1.0, -24);
  fail("precision '{}': expected fp32, tf32, bf16 or fp16", precision);
}

void move_weights(Session& session, double unit, uint32_t draw) {
  std::mt19937 random(draw);
  std::uniform_real_distribution<double> share(-1.0, 1.0);
  for (const Segment& segment : session.plan().find_state("parameters")->segments) {
    std::vector<float> values = session.read_segment("parameters", segment.name);
    for (float& value : values) value = static_cast<float>(value * (1 + unit * share(random)));
    session.write_segment("parameters", segment.name, values);
  }
}

}  // namespace smelt::cli
