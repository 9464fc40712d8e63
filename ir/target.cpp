#include "ir/target.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "ir/analysis/attention_form.h"
#include "ir/analysis/epilogue.h"
#include "runtime/error.h"

namespace smelt {
namespace {

std::string known_targets() {
  std::string names = "cpu";
  for (const int capability : named_architectures()) names += fmt::format(", sm_{}", capability);
  return names;
}

}  // namespace

std::string Target::str() const { return is_cuda() ? fmt::format("sm_{}", compute_capability) : "cpu"; }

std::optional<std::string> Target::refuses(const Node& composite, DType storage) const {
  if (!composite.is(Op::attention) && !composite.is(Op::attention_grad)) return "no target takes it whole";
  return is_cuda() ? why_no_attention_kernel(composite, storage) : why_no_blocked_attention(composite);
}

/// Every library adds to what is where the result goes (beta = 1); cuBLASLt also adds a bias to rows.
bool Target::keeps_body(const Node& matmul) const {
  const auto found = epilogue(matmul);
  if (!found) return false;
  return found->kind == Epilogue::Kind::matrix || (is_cuda() && has_rows(matmul));
}

Target parse_target(std::string_view text) {
  if (text == "cpu") return {};
  if (text.starts_with("sm_")) {
    int number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 3, end, number);
    const std::vector<int> all = named_architectures();
    const bool known = std::ranges::find(all, number) != all.end();
    if (error == std::errc{} && stop == end && known)
      return {Target::Kind::cuda, number, device_model(number)};
  }
  fail("target '{}' is not known; there are: {}", text, known_targets());
}

}  // namespace smelt
