#include "ir/analysis/node_seconds.h"

#include <algorithm>

#include "ir/ops/matmul_spec.h"

namespace smelt {
namespace {

struct Row {
  int compute_capability;  // 0: a CPU
  Rates rates;
};

// The part of a memory's bandwidth that sweeps reach on GPUs (docs/bench/benchmarks.md).
constexpr double kReachedBandwidth = 0.85;

// clang-format off
constexpr Row kRows[] = {
    //   bytes per second; FLOP per second of f32, tf32 and 16 bits; share in attention; seconds of a launch
    {0,   {2e10,           1e11,   1e11,   5e10,  0.5,  2e-6}},    // a few cores
    {80,  {2.04e12 * kReachedBandwidth, 1.7e13, 1.2e14, 2.3e14,  0.8,  2e-6}},  // A100
    {86,  {0.70e12 * kReachedBandwidth, 2.5e13, 5.0e13, 1.0e14,  0.8,  2e-6}},  // A40
    {89,  {0.86e12 * kReachedBandwidth, 6.0e13, 1.2e14, 2.4e14,  0.8,  2e-6}},  // L40S
    {90,  {3.35e12 * kReachedBandwidth, 4.5e13, 3.5e14, 7.0e14, 0.55, 2e-6}},  // H100, H200
    {100, {8.00e12 * kReachedBandwidth, 6.0e13, 8.0e14, 1.5e15,  0.7,  2e-6}},  // B200
};
// clang-format on

double upper(const Node& node, const Dim& dim) {
  return static_cast<double>(node.graph().module().symbols.upper(dim));
}

double stored_bytes(const Value& value, DType storage) {
  const DType dtype = is_float(value.dtype()) ? storage : value.dtype();
  return upper(*value.node(), element_count(value.shape())) * static_cast<double>(size_of(dtype));
}

double product_flops(const Node& matmul) {
  const MatmulSpec spec = parse_matmul_spec(matmul.get(attr::spec));
  double flops = 2;
  for (size_t i = 0; i < spec.a.size(); ++i) flops *= upper(matmul, matmul.operand(0)->shape()[i]);
  for (size_t i = 0; i < spec.b.size(); ++i)
    if (spec.a.find(spec.b[i]) == std::string::npos) flops *= upper(matmul, matmul.operand(1)->shape()[i]);
  return flops;
}

/// Returns the operations of the products q[bthd] k[bskd] and weights v: two products, and five for the
/// gradients.
double attention_flops(const Node& attention) {
  const double products = attention.is(Op::attention) ? 2 : 5;
  return 2 * products * upper(attention, element_count(attention.operand(0)->shape())) *
         upper(attention, attention.operand(1)->shape()[1]);
}

bool attends(const Node& node) { return node.is(Op::attention) || node.is(Op::attention_grad); }

}  // namespace

double Rates::seconds(double bytes, double flop, double flops_per_second) const {
  return launch_seconds + std::max(bytes / bytes_per_second, flop / flops_per_second);
}

Rates rates_of(const Target& target) {
  const Row* best = &kRows[0];
  for (const Row& row : kRows)
    if (row.compute_capability <= target.compute_capability) best = &row;
  Rates rates = best->rates;
  if (target.device.memory_bytes_per_second > 0)
    rates.bytes_per_second = target.device.memory_bytes_per_second * kReachedBandwidth;
  return rates;
}

double matrix_flops(const Node& node) {
  if (node.is(Op::matmul)) return product_flops(node);
  return attends(node) ? attention_flops(node) : 0;
}

double node_seconds(const Node& node, const NodeSecondsOptions& options) {
  double bytes = 0;
  for (const Value* operand : node.operands()) bytes += stored_bytes(*operand, options.storage);
  for (const auto& result : node.results()) bytes += stored_bytes(*result, options.storage);
  const double share = attends(node) ? options.rates.attention_share : 1;
  return options.rates.seconds(bytes, matrix_flops(node),
                               share * options.rates.flops(options.storage, options.tf32));
}

}  // namespace smelt
