#include "runtime/engine/serving/sentence_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"
#include "runtime/cpu/small_m.h"

namespace smelt {
namespace {

constexpr std::string_view kDenseActivations[] = {"Identity", "Tanh", "Sigmoid", "ReLU", "GELU"};

std::vector<float> applied(const SentenceModule& module, std::vector<float> x) {
  if (module.normalizes) {
    normalize(x);
    return x;
  }
  std::vector<float> y(module.out);
  const SmallM product{.rows = 1,
                       .columns = static_cast<int64_t>(module.out),
                       .k = static_cast<int64_t>(module.in),
                       .x_stride = static_cast<int64_t>(module.in),
                       .w_stride = static_cast<int64_t>(module.in),
                       .y_stride = static_cast<int64_t>(module.out),
                       .y_column_stride = 1};
  product.run(x.data(), module.weight.data(), y.data(), 0);
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = activated(module.activation, y[i] + (module.bias.empty() ? 0 : module.bias[i]));
  return y;
}

}  // namespace

std::optional<DenseActivation> find_dense_activation(const std::string& name) {
  if (!name.starts_with("torch.nn.")) return std::nullopt;
  const auto found = std::ranges::find(kDenseActivations, name.substr(name.rfind('.') + 1));
  if (found == std::end(kDenseActivations)) return std::nullopt;
  return static_cast<DenseActivation>(found - std::begin(kDenseActivations));
}

float activated(DenseActivation f, float x) {
  switch (f) {
    case DenseActivation::Identity:
      return x;
    case DenseActivation::Tanh:
      return std::tanh(x);
    case DenseActivation::Sigmoid:
      return 1 / (1 + std::exp(-x));
    case DenseActivation::ReLU:
      return std::max(x, 0.0F);
    case DenseActivation::GELU:
      return x * 0.5F * (1 + std::erf(x * std::sqrt(0.5F)));
  }
  return x;
}

size_t SentenceModules::width(size_t hidden) const {
  size_t width = hidden * pooling.size();
  for (const SentenceModule& module : rest) {
    if (module.normalizes) continue;
    if (module.in != width)
      fail("a Dense module has in_features {}, and the vectors before it have {} numbers", module.in, width);
    width = module.out;
  }
  return width;
}

std::vector<float> SentenceModules::vector_of(std::span<const float> states, size_t hidden,
                                              size_t unpooled) const {
  std::vector<float> x(hidden * pooling.size());
  for (size_t i = 0; i < pooling.size(); ++i)
    pool(pooling[i], states, unpooled, std::span(x).subspan(i * hidden, hidden));
  for (const SentenceModule& module : rest) x = applied(module, std::move(x));
  return x;
}

}  // namespace smelt
