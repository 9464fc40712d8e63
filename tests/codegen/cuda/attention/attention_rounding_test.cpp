// Which rounding of attention is seen in its gradients: a model that rounds where matmuls around a softmax
// do, and where kernels do, whose delta is made of the means as they are stored, or of these and their rest.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "runtime/base/half.h"

namespace smelt::test {
namespace {

enum class Form : uint8_t { exact, unfused, stored_means, means_and_rest };
using Round = double (*)(double);

double to_bf16_and_back(double x) { return from_bf16(to_bf16(static_cast<float>(x))); }
double to_f16_and_back(double x) { return from_f16(to_f16(static_cast<float>(x))); }

constexpr int kLength = 128, kWidth = 32;
struct Matrix {
  std::vector<double> data = std::vector<double>(size_t{kLength} * kWidth);
  double* row(int i) { return data.data() + size_t(i) * kWidth; }
  const double* row(int i) const { return data.data() + size_t(i) * kWidth; }
};

double dot(const double* a, const double* b) {
  double sum = 0;
  for (int d = 0; d < kWidth; ++d) sum += a[d] * b[d];
  return sum;
}
void add_multiple(double* to, double factor, const double* from) {
  for (int d = 0; d < kWidth; ++d) to[d] += factor * from[d];
}
double distance(const Matrix& a, const Matrix& b) {
  double sum = 0;
  for (size_t i = 0; i < a.data.size(); ++i) sum += (a.data[i] - b.data[i]) * (a.data[i] - b.data[i]);
  return std::sqrt(sum);
}

/// Keys and values have a mean, as biases give them one.
struct Inputs {
  Matrix q, k, v, dy;
  Inputs(Round round, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    for (Matrix* matrix : {&q, &k, &v, &dy}) {
      std::array<double, kWidth> mean{};
      for (double& x : mean) x = matrix == &k || matrix == &v ? normal(engine) : 0;
      for (int i = 0; i < kLength; ++i)
        for (int d = 0; d < kWidth; ++d) matrix->row(i)[d] = round(mean[d] + normal(engine));
    }
  }
};

struct Gradients {
  Matrix q, k, v;
};

/// One query's weights, the gradients of its scores, and delta.
class Row {
 public:
  Row(const Inputs& in, int t, Form form, Round round) : in_(in), form_(form), round_(round) {
    for (int s = 0; s < kLength; ++s) {
      score_[s] = kScale * dot(in.q.row(t), in.k.row(s)), product_[s] = dot(in.dy.row(t), in.v.row(s));
      if (form == Form::unfused) score_[s] = round(score_[s]), product_[s] = round(product_[s]);
      top_ = std::max(top_, score_[s]);
    }
    for (const double score : score_) sum_ += std::exp(score - top_);
    delta_ = form_ == Form::exact || form_ == Form::unfused ? sum_of_products() : dot(in.dy.row(t), means());
  }
  double weight(int s) const { return std::exp(score_[s] - top_) / sum_; }
  double score_gradient(int s) const { return weight(s) * (product_[s] - delta_); }

  static constexpr double kScale = 0.17677669529663687;

 private:
  double sum_of_products() const {
    double sum = 0;
    for (int s = 0; s < kLength; ++s) sum += weight(s) * product_[s];
    return sum;
  }
  /// As kernels compute them: weights below the largest are rounded, and their sum is not.
  const double* means() {
    for (int s = 0; s < kLength; ++s)
      add_multiple(means_.data(), round_(std::exp(score_[s] - top_)) / sum_, in_.v.row(s));
    for (double& x : means_) {
      const double stored = round_(x);
      x = form_ == Form::means_and_rest ? stored + round_(x - stored) : stored;
    }
    return means_.data();
  }

  const Inputs& in_;
  const Form form_;
  const Round round_;
  std::array<double, kLength> score_{}, product_{};
  std::array<double, kWidth> means_{};
  double top_ = -INFINITY, sum_ = 0, delta_ = 0;
};

Gradients gradients(const Inputs& in, Form form, Round round) {
  Gradients g;
  const auto rounded = [&](double x) { return form == Form::exact ? x : round(x); };
  for (int t = 0; t < kLength; ++t) {
    const Row row(in, t, form, round);
    for (int s = 0; s < kLength; ++s) {
      const double gradient = rounded(row.score_gradient(s));
      add_multiple(g.q.row(t), Row::kScale * gradient, in.k.row(s));
      add_multiple(g.k.row(s), Row::kScale * gradient, in.q.row(t));
      add_multiple(g.v.row(s), rounded(row.weight(s)), in.dy.row(t));
    }
  }
  for (Matrix* matrix : {&g.q, &g.k, &g.v})
    for (double& x : matrix->data) x = rounded(x);
  return g;
}

/// Relative errors; of the bias of keys, whose gradient is zero, in units of the gradient of keys.
struct Errors {
  double q = 0, k = 0, v = 0, key_bias = 0;
};
Errors errors_of(Form form, Round round) {
  Errors mean;
  constexpr unsigned kSeeds = 4;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Inputs in(round, seed);
    const Gradients exact = gradients(in, Form::exact, round), found = gradients(in, form, round);
    std::array<double, kWidth> bias{};
    for (int s = 0; s < kLength; ++s) add_multiple(bias.data(), 1, found.k.row(s));
    mean.q += distance(found.q, exact.q) / distance(exact.q, {}) / kSeeds;
    mean.k += distance(found.k, exact.k) / distance(exact.k, {}) / kSeeds;
    mean.v += distance(found.v, exact.v) / distance(exact.v, {}) / kSeeds;
    mean.key_bias += std::sqrt(dot(bias.data(), bias.data())) / distance(exact.k, {}) / kSeeds;
  }
  return mean;
}

class AttentionRounding : public ::testing::TestWithParam<Round> {};

TEST_P(AttentionRounding, OfMeansIsSeenInGradientsUnlessTheyHaveTheirRest) {
  const Errors unfused = errors_of(Form::unfused, GetParam()),
               stored = errors_of(Form::stored_means, GetParam()),
               rest = errors_of(Form::means_and_rest, GetParam());
  EXPECT_GT(stored.key_bias, 3 * unfused.key_bias);
  EXPECT_LT(rest.key_bias, 1.5 * unfused.key_bias);
  EXPECT_GT(stored.q, 1.3 * rest.q);
  EXPECT_LT(rest.q, unfused.q);
  EXPECT_LT(rest.k, unfused.k);
  EXPECT_LT(rest.v, unfused.v);
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionRounding, ::testing::Values(to_bf16_and_back, to_f16_and_back),
                         [](const auto& info) { return info.index == 0 ? "bf16" : "fp16"; });

}  // namespace
}  // namespace smelt::test
