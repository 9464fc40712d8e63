// GB/s of compiled kernels beside memcpy on the same number of threads, and the time to compile them.
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <omp.h>

#include <cstring>

#include "codegen/scheduling/schedule.h"
#include "runtime/cpu/gemm.h"
#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

constexpr int64_t kHidden = 768;

struct Workload {
  Kernel kernel;
  std::vector<int64_t> sizes;  // elements of each buffer
  double bytes;                // that must move
};

/// All chunks on all threads, as the executor does.
void run_chunks(KernelFunction function, const KernelArgs& arguments, int64_t range) {
  const int64_t chunk = arguments.chunk, chunks = (range + chunk - 1) / chunk;
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t i = 0; i < chunks; ++i) function(&arguments, i * chunk, std::min((i + 1) * chunk, range));
}

void run(benchmark::State& state, Workload work) {
  const SharedObject object(compile_kernels({&work.kernel}, CpuTarget::host()));
  const auto function = reinterpret_cast<KernelFunction>(object.symbol(work.kernel.name));
  std::vector<std::vector<float>> memory;
  std::vector<void*> buffers;
  for (size_t i = 0; i < work.sizes.size(); ++i)
    memory.push_back(random_floats(static_cast<size_t>(work.sizes[i]), static_cast<uint32_t>(i), 0.1f, 1));
  for (auto& values : memory) buffers.push_back(values.data());
  const uint32_t ids[] = {1, 2};
  const int64_t range = *work.kernel.range().constant();
  const int64_t splits = work.kernel.schedule.splits;
  const KernelArgs arguments = {buffers.data(),
                                nullptr,
                                ids,
                                1,
                                2,
                                3,
                                0,
                                splits ? (range + splits - 1) / splits : work.kernel.schedule.grain};
  for (auto _ : state) run_chunks(function, arguments, range);
  state.SetBytesProcessed(static_cast<int64_t>(work.bytes) * state.iterations());
}

void memcpy_on_all_threads(benchmark::State& state) {
  const int64_t n = state.range(0) * kHidden;
  const auto from = random_floats(static_cast<size_t>(n), 1);
  std::vector<float> to(static_cast<size_t>(n));
  for (auto _ : state) {
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t i = 0; i < n; i += 16384)
      std::memcpy(&to[i], &from[i], static_cast<size_t>(std::min<int64_t>(16384, n - i)) * 4);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(n * 8 * state.iterations());
}

Workload copy(int64_t rows) {
  KernelBuilder b("copy");
  const int64_t n = rows * kHidden;
  const int c = b.column(n), x = b.input(), y = b.output();
  b.column_block();
  b.store(y, {{c, 1}}, b.load(x, {{c, 1}}));
  b.kernel.schedule.flat = true;
  b.kernel.schedule.grain = 16384;
  return {b.kernel, {n, n}, 8.0 * static_cast<double>(n)};
}

Workload layer_norm(int64_t rows) {
  KernelBuilder b("layer_norm");
  const int64_t n = kHidden;
  const int r = b.parallel(rows), c = b.column(n);
  const int x = b.input(), w = b.input(), bias = b.input(), y = b.output(), mean = b.output(),
            rstd = b.output();
  b.row_block();
  const int shift = b.load(x, {{r, n}});
  b.column_block();
  const int d = b.op(ScalarOp::sub, {b.load(x, {{r, n}, {c, 1}}), shift});
  const int s = b.reduce(ReduceOp::add, d), q = b.reduce(ReduceOp::add, b.op(ScalarOp::mul, {d, d}));
  b.row_block();
  const int inverse = b.number(1.0 / n), mu = b.op(ScalarOp::mul, {s, inverse});
  const int variance =
      b.op(ScalarOp::sub, {b.op(ScalarOp::mul, {q, inverse}), b.op(ScalarOp::mul, {mu, mu})});
  const int scale = b.op(ScalarOp::rsqrt, {b.op(ScalarOp::add, {variance, b.number(1e-5)})});
  const int center = b.op(ScalarOp::add, {mu, shift});
  b.store(mean, {{r, 1}}, center);
  b.store(rstd, {{r, 1}}, scale);
  b.column_block();
  const int normal = b.op(ScalarOp::mul, {b.op(ScalarOp::sub, {b.load(x, {{r, n}, {c, 1}}), center}), scale});
  b.store(y, {{r, n}, {c, 1}},
          b.op(ScalarOp::add, {b.op(ScalarOp::mul, {normal, b.load(w, {{c, 1}})}), b.load(bias, {{c, 1}})}));
  b.kernel.schedule.grain = 21;
  return {b.kernel, {rows * n, n, n, rows * n, rows, rows}, 8.0 * static_cast<double>(rows * n)};
}

/// dx, and the gradients of weight and bias in partial sums.
Workload layer_norm_backward(int64_t rows) {
  KernelBuilder b("layer_norm_backward");
  const int64_t n = kHidden, splits = 32;
  const int r = b.parallel(rows), c = b.column(n);
  const int x = b.input(), dy = b.input(), w = b.input(), mean = b.input(), rstd = b.input(), dx = b.output();
  const int dw = b.partial(n), db = b.partial(n);
  const auto normalised = [&](int m, int scale) {
    return b.op(ScalarOp::mul, {b.op(ScalarOp::sub, {b.load(x, {{r, n}, {c, 1}}), m}), scale});
  };
  b.row_block();
  const int m = b.load(mean, {{r, 1}}), scale = b.load(rstd, {{r, 1}});
  b.column_block();
  int h = normalised(m, scale), g = b.load(dy, {{r, n}, {c, 1}});
  b.accumulate(dw, {{c, 1}}, b.op(ScalarOp::mul, {g, h}));
  b.accumulate(db, {{c, 1}}, g);
  int wg = b.op(ScalarOp::mul, {g, b.load(w, {{c, 1}})});
  const int s = b.reduce(ReduceOp::add, wg), t = b.reduce(ReduceOp::add, b.op(ScalarOp::mul, {wg, h}));
  b.row_block();
  const int inverse = b.number(1.0 / n), a = b.op(ScalarOp::mul, {s, inverse}),
            e = b.op(ScalarOp::mul, {t, inverse});
  b.column_block();
  h = normalised(m, scale), g = b.load(dy, {{r, n}, {c, 1}});
  wg = b.op(ScalarOp::mul, {g, b.load(w, {{c, 1}})});
  const int inner = b.op(ScalarOp::sub, {b.op(ScalarOp::sub, {wg, a}), b.op(ScalarOp::mul, {h, e})});
  b.store(dx, {{r, n}, {c, 1}}, b.op(ScalarOp::mul, {scale, inner}));
  b.kernel.schedule.splits = splits;
  return {b.kernel,
          {rows * n, rows * n, n, rows, rows, rows * n, splits * n, splits * n},
          12.0 * static_cast<double>(rows * n)};
}

Workload bias_gelu(int64_t rows, bool tanh) {
  KernelBuilder b(tanh ? "bias_gelu_tanh" : "bias_gelu_erf");
  const int64_t n = 4 * kHidden;
  rows /= 4;
  const int r = b.parallel(rows), c = b.column(n), x = b.input(), bias = b.input(), y = b.output();
  b.column_block();
  const int v = b.op(ScalarOp::add, {b.load(x, {{r, n}, {c, 1}}), b.load(bias, {{c, 1}})});
  int inner = b.op(ScalarOp::mul, {v, b.number(0.70710678118654757)});
  if (tanh) {
    const int cube = b.op(ScalarOp::mul, {b.op(ScalarOp::mul, {v, v}), v});
    inner = b.op(ScalarOp::mul, {b.op(ScalarOp::add, {v, b.op(ScalarOp::mul, {cube, b.number(0.044715)})}),
                                 b.number(0.79788456080286541)});
  }
  const int gate = b.op(ScalarOp::add, {b.op(tanh ? ScalarOp::tanh : ScalarOp::erf, {inner}), b.number(1)});
  b.store(y, {{r, n}, {c, 1}}, b.op(ScalarOp::mul, {b.op(ScalarOp::mul, {v, b.number(0.5)}), gate}));
  schedule(b.kernel, Symbols());
  return {b.kernel, {rows * n, n, rows * n}, 8.0 * static_cast<double>(rows * n)};
}

Workload dropout_residual(int64_t rows) {
  KernelBuilder b("dropout_residual");
  const int64_t n = kHidden;
  const int r = b.parallel(rows), c = b.column(n), x = b.input(), residual = b.input(), y = b.output();
  b.column_block();
  const int keep = b.op(ScalarOp::ge, {b.random(0, c, {{r, 1}}), b.number(6554, DType::i32)}, DType::i32);
  const int scaled = b.op(ScalarOp::mul, {b.load(x, {{r, n}, {c, 1}}), b.number(65536.0 / (65536 - 6554))});
  const int kept = b.op(ScalarOp::select, {keep, scaled, b.number(0)});
  b.store(y, {{r, n}, {c, 1}}, b.op(ScalarOp::add, {kept, b.load(residual, {{r, n}, {c, 1}})}));
  b.kernel.schedule.grain = 21;
  return {b.kernel, {rows * n, rows * n, rows * n}, 12.0 * static_cast<double>(rows * n)};
}

Workload softmax(int64_t rows, int64_t n) {
  KernelBuilder b("softmax");
  rows = rows * kHidden / n;
  const int r = b.parallel(rows), c = b.column(n), x = b.input(), y = b.output();
  b.column_block();
  const int m = b.reduce(ReduceOp::max_sumexp, b.load(x, {{r, n}, {c, 1}})), s = b.second(m);
  b.row_block();
  const int inverse = b.op(ScalarOp::reciprocal, {s});
  b.column_block();
  const int e = b.op(ScalarOp::exp, {b.op(ScalarOp::sub, {b.load(x, {{r, n}, {c, 1}}), m})});
  b.store(y, {{r, n}, {c, 1}}, b.op(ScalarOp::mul, {e, inverse}));
  schedule(b.kernel, Symbols());
  return {b.kernel, {rows * n, rows * n}, 8.0 * static_cast<double>(rows * n)};
}

Workload adamw(int64_t rows) {
  KernelBuilder b("adamw");
  const int64_t n = rows * kHidden;
  const int c = b.column(n), g = b.input(), w = b.output(), m = b.output(), v = b.output(), rate = b.input();
  b.row_block();
  const int lr = b.load(rate, {});
  b.column_block();
  const auto mix = [&](int old, double keep, int fresh) {
    return b.op(ScalarOp::add, {b.op(ScalarOp::mul, {old, b.number(keep)}),
                                b.op(ScalarOp::mul, {fresh, b.number(1 - keep)})});
  };
  const int grad = b.load(g, {{c, 1}}), weight = b.load(w, {{c, 1}});
  const int first = mix(b.load(m, {{c, 1}}), 0.9, grad);
  const int second = mix(b.load(v, {{c, 1}}), 0.999, b.op(ScalarOp::mul, {grad, grad}));
  const int root = b.op(ScalarOp::add, {b.op(ScalarOp::sqrt, {second}), b.number(1e-8)});
  const int decayed = b.op(
      ScalarOp::mul, {weight, b.op(ScalarOp::sub, {b.number(1), b.op(ScalarOp::mul, {lr, b.number(0.01)})})});
  const int step = b.op(ScalarOp::mul, {lr, b.op(ScalarOp::div, {first, root})});
  b.store(w, {{c, 1}}, b.op(ScalarOp::sub, {decayed, step}));
  b.store(m, {{c, 1}}, first);
  b.store(v, {{c, 1}}, second);
  b.kernel.schedule.flat = true;
  b.kernel.schedule.grain = 16384;
  return {b.kernel, {n, n, n, n, 1}, 28.0 * static_cast<double>(n)};
}

Workload column_sum(int64_t rows) {
  KernelBuilder b("column_sum");
  const int64_t n = kHidden;
  const int k = b.reduced(rows), c = b.column(n), x = b.input(), y = b.output();
  b.reduced_block();
  const int s = b.reduce(ReduceOp::add, b.load(x, {{k, n}, {c, 1}}));
  b.column_block();
  b.store(y, {{c, 1}}, s);
  b.kernel.schedule.tile = 256;
  return {b.kernel, {rows * n, n}, 4.0 * static_cast<double>(rows * n)};
}

/// 40 kernels of the kinds above, linked into one object.
void compile_40(benchmark::State& state) {
  std::vector<Kernel> kernels;
  for (int i = 0; i < 5; ++i)
    for (const Workload& work : {copy(64), layer_norm(64), layer_norm_backward(64), bias_gelu(64, true),
                                 dropout_residual(64), softmax(64, 512), adamw(64), column_sum(64)}) {
      kernels.push_back(work.kernel);
      kernels.back().name += "_" + std::to_string(i);
    }
  std::vector<const Kernel*> pointers;
  for (const Kernel& kernel : kernels) pointers.push_back(&kernel);
  for (auto _ : state) benchmark::DoNotOptimize(compile_kernels(pointers, CpuTarget::host()));
}

/// Rows times weights [columns, k], which are in memory, not in a cache, as those of a model.
void product(benchmark::State& state, bool blas) {
  constexpr int64_t kFloats = 1 << 24;  // of all weights
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const int64_t count = std::max<int64_t>(1, kFloats / (n * k));
  const auto x = random_floats(static_cast<size_t>(m * k), 1),
             weights = random_floats(static_cast<size_t>(count * n * k), 2);
  std::vector<float> y(static_cast<size_t>(m * n));
  const PreparedGemm gemm({m, n, k, {k, 1}, {1, k}, {n, 1}}, "product");
  int64_t turn = 0;
  for (auto _ : state) {
    const float* w = weights.data() + turn++ % count * n * k;
    if (blas)
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(m), static_cast<int>(n),
                  static_cast<int>(k), 1, x.data(), static_cast<int>(k), w, static_cast<int>(k), 0, y.data(),
                  static_cast<int>(n));
    else
      gemm.run(x.data(), w, y.data());
  }
  state.counters["FLOP/s"] = benchmark::Counter(2.0 * static_cast<double>(m * n * k * state.iterations()),
                                                benchmark::Counter::kIsRate);
}

void product_sizes(benchmark::internal::Benchmark* one) {
  one->ArgsProduct({{32, 48, 64, 128, 197, 256, 512, 1024}, {3072}, {768}})->Args({128, 768, 3072});
  one->UseRealTime()->Unit(benchmark::kMicrosecond);
}

#define SMELT_WORKLOAD(name, ...)                                         \
  void name##_bench(benchmark::State& state) { run(state, __VA_ARGS__); } \
  BENCHMARK(name##_bench)->Arg(64)->Arg(2048)->Arg(16384)->UseRealTime()->Name(#name)

BENCHMARK(memcpy_on_all_threads)->Arg(64)->Arg(2048)->Arg(16384)->UseRealTime()->Name("memcpy");
SMELT_WORKLOAD(copy, copy(state.range(0)));
SMELT_WORKLOAD(layer_norm, layer_norm(state.range(0)));
SMELT_WORKLOAD(layer_norm_backward, layer_norm_backward(state.range(0)));
SMELT_WORKLOAD(bias_gelu_tanh, bias_gelu(state.range(0), true));
SMELT_WORKLOAD(bias_gelu_erf, bias_gelu(state.range(0), false));
SMELT_WORKLOAD(dropout_residual, dropout_residual(state.range(0)));
SMELT_WORKLOAD(softmax_512, softmax(state.range(0), 512));
SMELT_WORKLOAD(softmax_50257, softmax(state.range(0), 50257));
SMELT_WORKLOAD(adamw, adamw(state.range(0)));
SMELT_WORKLOAD(column_sum, column_sum(state.range(0)));
BENCHMARK_CAPTURE(product, smelt, false)->Apply(product_sizes);
BENCHMARK_CAPTURE(product, blas, true)->Apply(product_sizes);
BENCHMARK(compile_40)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace smelt::test
