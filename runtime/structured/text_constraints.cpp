#include "runtime/structured/text_constraints.h"

#include <algorithm>
#include <utility>

namespace smelt::structured {

ConstraintCache& TextConstraints::constraints() {
  const std::lock_guard lock(mutex_);
  if (!constraints_) {
    tokens_ = std::make_shared<const ConstraintTokens>(make_());
    constraints_ = std::make_unique<ConstraintCache>(tokens_);
  }
  return *constraints_;
}

std::shared_ptr<ConstrainedText> TextConstraints::text(const Specification& specification,
                                                       std::vector<int32_t> end_tokens,
                                                       std::span<const int32_t> prompt) {
  auto constraint = constraints().get(specification);
  const std::vector<std::string>& bytes = tokens_->texts.bytes;
  const auto has_bytes = [&](int32_t token) {
    return token >= 0 && static_cast<size_t>(token) < bytes.size() &&
           !bytes[static_cast<size_t>(token)].empty();
  };
  return std::make_shared<ConstrainedText>(std::move(constraint), std::move(end_tokens),
                                           std::ranges::any_of(prompt, has_bytes));
}

}  // namespace smelt::structured
